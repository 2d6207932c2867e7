"""Contract 2: what every strategy keeps, under every driver."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from iad_policy import All, Ask, Candidate, Commit, IADPolicyWrapper, Propose, Simulate, State, Verify
from iad_policy.errors import ContractError, UnknownName
from iad_policy.strategies import per_step
from iad_policy.types import FALLBACK, score
from tests.contract.components import ENVIRONMENTS, STRATEGIES, Hunch, Wanderer, play
from tests.contract.toy import Digger


@pytest.mark.parametrize("name", ["bon", "bon-sc", "iad", "iad-none", "iad-scalar", "iad-judge", "iad-fb", "iad-delta"])
def test_n_counts_every_proposal(name: str) -> None:
    for n in (1, 2, 5):
        played = play("digger", {**STRATEGIES[name], "n": n})
        assert all(len(decision.candidates) == n for decision in played.decisions)
        assert all(decision.usage.proposals == n for decision in played.decisions)
        assert played.counts["agent"] == n * len(played.decisions)


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name.startswith("iad")])
def test_the_incumbents_score_of_iad_never_decreases(name: str) -> None:
    delta = STRATEGIES[name].get("delta", 0.0)
    n_improved = 0
    for verifier, env_seed in product(("proxy", "apart", "oracle"), range(6)):
        for decision in play("digger", {**STRATEGIES[name], "n": 6}, verifier=verifier, env_seed=env_seed).decisions:
            scores = [score(candidate) for candidate in decision.candidates]
            incumbent = scores[0]
            for new in scores[1:]:
                incumbent = new if new - incumbent > delta else incumbent
            assert score(decision.committed) == incumbent
            n_improved += incumbent > scores[0]
    assert n_improved


def test_sample_0_is_shared_by_all_strategies() -> None:
    firsts = {}
    for name, how in STRATEGIES.items():
        first = play("digger", how, n_decisions=1).decisions[0].candidates[0]
        firsts[name] = (first.action, first.error)
    assert len(set(firsts.values())) == 1, firsts


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_where_no_answer_is_an_action_the_first_legal_one_is_taken(name: str) -> None:
    for environment in ENVIRONMENTS:
        played = play(environment, {**STRATEGIES[name], "agent": Wanderer(errors=1.0)}, n_decisions=1)
        (decision,) = played.decisions
        assert decision.committed.error
        assert FALLBACK in decision.notes
        assert decision.is_fallback
        assert environment == "dice" or played.actions == ["go north"]


@pytest.mark.parametrize(
    ("environment", "answer", "said"),
    [
        ("digger", None, r"expected a text from the agent, as actions are UnicodeText.*got NoneType None"),
        ("digger", 3, r"expected a text .*got int 3; return the action itself or a Candidate"),
        ("digger", {"action": "dig"}, r"expected a text .*got dict"),
        ("digger", Candidate(["dig"]), r"expected a text .*got list"),
        ("dice", "north", r"expected a whole number .*Discrete.*got str 'north'"),
        ("dice", 2.0, r"expected a whole number .*got float 2\.0"),
    ],
)
def test_a_first_answer_of_a_wrong_type_is_refused(environment: str, answer: Any, said: str) -> None:
    def asked(observation: Any, info: Mapping[str, Any]) -> Any:
        return answer

    with pytest.raises(TypeError, match=said) as refused:
        play(environment, {"strategy": "iad", "agent": asked}, n_decisions=1)
    assert isinstance(refused.value, ContractError)  # which ends a whole run


def test_a_later_answer_of_a_wrong_type_is_a_candidate_with_error() -> None:
    answers = iter(["go north", None, None, None])
    played = play("digger", {"strategy": "bon", "n": 2, "agent": lambda *_: next(answers)}, n_decisions=2)
    assert played.actions[0] == "go north"
    assert "got None" in played.decisions[0].candidates[1].error
    assert played.decisions[1].is_fallback


def test_an_action_outside_the_action_space_is_a_candidate_with_error() -> None:
    def shout(observation: str, info: Mapping[str, Any]) -> str:
        return "x" * 20_000

    decision = play("digger", {"strategy": "single", "agent": shout}, n_decisions=1).decisions[0]
    assert "expected an action in UnicodeText" in decision.candidates[0].error


def test_an_error_committed_by_choice_gives_way_to_the_best_usable_candidate_proposed_here() -> None:
    @per_step
    def stubborn(here: State) -> Any:
        first, second = yield from Propose(here, 2)
        there = yield from Simulate(here, second)
        deeper = yield from Propose(there, 1)
        yield from Verify(there, deeper)
        return first

    answers = iter([Candidate(None, error="?"), Candidate("go west"), Candidate("go east")])

    class Reciter:
        def propose(self, state: State, **_: Any) -> Candidate:
            return next(answers)

    (decision,) = play("digger", {"strategy": stubborn, "agent": Reciter()}, n_decisions=1).decisions
    assert decision.committed.action == "go west"
    assert any("best usable" in note for note in decision.notes)


def test_a_strategy_may_try_actions_that_nobody_proposed() -> None:
    @per_step
    def try_all(here: State) -> Any:
        made = [Candidate(action) for action in here.info["available_actions"]]
        ends = yield from All([_end(here, candidate) for candidate in made])
        assert len({end.observation for end in ends}) == 5
        verified = yield from Verify(here, made)
        assert [c.preview.observation for c in verified] == [end.observation for end in ends]
        return max(verified, key=score)

    def _end(here: State, candidate: Candidate) -> Any:
        return (yield from Simulate(here, candidate))

    played = play("digger", {"strategy": try_all}, n_decisions=1, threads=4)
    assert len(played.decisions[0].candidates) == 5
    assert played.decisions[0].committed.key == played.actions[0]


def test_a_simulation_keeps_the_notes_of_the_state_it_was_asked_for() -> None:
    seen: list[tuple[str, ...]] = []

    @per_step
    def noting(here: State) -> Any:
        (candidate,) = yield from Propose(here, 1)
        for at in (here, here.noted("mind the gap"), here):
            seen.append((yield from Simulate(at, candidate)).notes)
        return candidate

    play("digger", {"strategy": noting}, n_decisions=1)
    assert seen == [(), ("mind the gap",), ()]


def test_branches_inside_all_may_nest_and_end_at_different_times() -> None:
    results: list[Any] = []

    def chain(here: State, length: int) -> Any:
        for _ in range(length):
            (candidate,) = yield from Propose(here, 1)
            here = yield from Simulate(here, candidate)
        return len(here.path)

    def both(here: State) -> Any:
        return (yield from All([chain(here, 1), chain(here, 3)]))

    @per_step
    def nested(here: State) -> Any:
        results.append((yield from All([chain(here, 0), both(here), All([]).__iter__(), chain(here, 2)])))
        (candidate,) = yield from Propose(here, 1)
        return candidate

    play("digger", {"strategy": nested}, n_decisions=1, threads=3)
    assert results == [[0, [1, 3], [], 2]]


def test_a_commit_inside_all_is_refused() -> None:
    def committing(here: State) -> Any:
        (candidate,) = yield from Propose(here, 1)
        yield from Commit(candidate)

    def strategy(here: State) -> Any:
        yield from All([committing(here)])

    with pytest.raises(ContractError, match="Commit is for the strategy itself"):
        play("digger", {"strategy": strategy})


def test_a_state_from_before_a_commit_can_not_be_simulated_from() -> None:
    def nostalgic(here: State) -> Any:
        (candidate,) = yield from Propose(here, 1)
        there = yield from Commit(candidate)
        yield from Commit((yield from Propose(there, 1))[0])
        yield from Simulate(here, candidate)

    with pytest.raises(ContractError, match="from before it"):
        play("dice", {"strategy": nostalgic}, n_decisions=3)


@pytest.mark.parametrize("strategy", [lambda here: iter(()), lambda here: (x for x in ["hello"])])
def test_a_strategy_that_ends_or_asks_for_nothing_known_is_refused(strategy: Any) -> None:
    with pytest.raises(ContractError, match=r"expected the strategy to commit|Propose, Verify, Simulate"):
        play("digger", {"strategy": lambda here: _generator(strategy(here))})


def _generator(requests: Any) -> Any:
    yield from requests


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"strategy": "iad", "n": 0}, "n, the proposals per decision"),
        ({"strategy": "bon", "n": -1}, "n, the proposals per decision"),
        ({"strategy": "iad", "gamma": 1}, "delta, feedback, instruct, n, stop, temperature"),
        ({"strategy": "bom"}, "bon, bon-episode, bon-sc, chains, iad, iad-fb"),
        (
            {"strategy": "iad", "feedback": "loud"},
            "best-worst, best-worst-ever, best-worst-judge, facts, findings, hints, judge, none, results, scalar",
        ),
        ({"strategy": "iad", "instruct": "do better"}, "differ, fix, improve, none, reflect"),
        ({"strategy": "iad", "stop": "later"}, "never, passed, repeat, score:X"),
        ({"strategy": "iad", "threads": 0}, "threads of 1 or more"),
    ],
)
def test_options_that_make_no_sense_are_refused_with_the_known_ones(options: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        play("digger", options)


def test_a_strategy_that_needs_a_verifier_says_so() -> None:
    with pytest.raises(ValueError, match="expected a verifier for iad, which asks for verdicts, got none"):
        play("digger", {"strategy": "iad"}, verifier=None)
    with pytest.raises(ValueError, match="expected a verifier for artis, which asks for verdicts, got none"):
        play("digger", {"strategy": "artis"}, verifier=None)
    play("digger", {"strategy": "artis", "evaluate": False}, verifier=None)

    @per_step
    def undeclared(here: State) -> Any:
        return (yield from Verify(here, (yield from Propose(here, 2))))[0]

    with pytest.raises(ContractError, match="expected a verifier, as the strategy asks for verdicts, got none"):
        play("digger", {"strategy": undeclared}, verifier=None)


@pytest.mark.parametrize("verifier", [Hunch(), "none"])
def test_a_strategy_that_shows_the_true_reward_is_refused_without_the_oracle(verifier: Any) -> None:
    with pytest.raises(ValueError, match="labelled 'oracle' for try-again"):
        IADPolicyWrapper(Wanderer(), Digger(), strategy="try-again", verifier=verifier)


def test_an_unknown_role_is_refused_with_the_known_ones() -> None:
    def asking(here: State) -> Any:
        yield from Ask("oracle of Delphi", here)

    with pytest.raises(UnknownName, match="critic, evaluator"):
        play("digger", {"strategy": asking})


def test_feedback_that_a_plain_function_can_not_take_is_reported_as_dropped() -> None:
    def rotate(observation: str, info: Mapping[str, Any]) -> str:
        return "go north"

    def listen(observation: str, info: Mapping[str, Any], feedback: Any) -> str:
        heard.append(feedback)
        return "go north"

    heard: list[Any] = []
    (dropped,) = play("digger", {"strategy": "iad", "agent": rotate}, n_decisions=1).decisions
    (kept,) = play("digger", {"strategy": "iad", "agent": listen}, n_decisions=1).decisions
    assert any("feedback dropped" in note for note in dropped.notes)
    assert not any("feedback dropped" in note for note in kept.notes)
    assert heard[0] is None
    assert "go north" in heard[1].text


def test_an_error_in_an_agent_ends_the_episode_and_says_so_at_the_next_act() -> None:
    def flaky(observation: str, info: Mapping[str, Any]) -> str:
        raise OSError("connection lost")

    env = Digger()
    with IADPolicyWrapper(flaky, env, verifier=Hunch(), strategy="iad", threads=2) as policy:
        observation, info = env.reset(seed=0)
        with pytest.raises(OSError, match="connection lost"):
            policy.act(observation, info)
        observation, _, _, _, info = env.step("go west")
        with pytest.raises(ContractError, match="expected a running episode"):
            policy.act(observation, info)
