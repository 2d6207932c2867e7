"""Contract 2: what every strategy keeps, under every driver.

A verifier judges the set that a strategy holds, so without feedback a chain is best-of-n, exactly.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import product
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iad_policy import Candidate, Decision, IADPolicyWrapper, State, Verdict
from iad_policy.errors import ContractError, UnknownName
from iad_policy.models import Messages
from iad_policy.models.scripted import ScriptedModel, text_of
from iad_policy.requests import All, Ask, Commit, Keep, Propose, Simulate, Verify
from iad_policy.strategies import load_strategy, per_step
from iad_policy.types import FALLBACK, score
from iad_policy.types.hashing import seed_of
from iad_policy.verifiers import load_verifier
from iad_policy.verifiers.judge import finalising_judge, judge, pairwise_judge
from tests.contract.canned import HERE, canned, drive, seen_by
from tests.contract.components import ENVIRONMENTS, STRATEGIES, Hunch, Wanderer, decide, declared, play
from tests.contract.drawing import N_TOKENS, SEEDS, agent, drawn
from tests.contract.rule_based import made
from tests.contract.toy import Digger

NAMES = list(STRATEGIES)


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
    firsts = [play("digger", how, n_decisions=1).decisions[0].candidates[0] for how in STRATEGIES.values()]
    assert len({(first.action, first.error) for first in firsts}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_where_no_answer_is_an_action_the_first_legal_one_is_taken(name: str) -> None:
    for environment in ENVIRONMENTS:
        played = play(environment, {**STRATEGIES[name], "agent": Wanderer(errors=1.0)}, n_decisions=1)
        (decision,) = played.decisions
        assert decision.committed.error
        assert (FALLBACK in decision.notes, decision.is_fallback) == (True, True)
        assert environment == "dice" or played.actions == ["go north"]


def test_an_answer_of_a_wrong_type_is_refused_first_and_later_a_candidate_with_error() -> None:
    for environment, answer, words in (
        ("digger", None, "a text .*UnicodeText.*NoneType None"),
        ("digger", 3, "a text .*int 3.*Candidate"),
        ("digger", {"action": "dig"}, "a text .*dict"),
        ("digger", Candidate(["dig"]), "a text .*list"),
        ("dice", "north", "a whole number .*Discrete.*str 'north'"),
        ("dice", 2.0, r"a whole number .*float 2\.0"),
    ):
        how = {"strategy": "iad", "agent": lambda observation, info, answer=answer: answer}
        with pytest.raises(TypeError, match=words) as refused:
            play(environment, how, n_decisions=1)
        assert isinstance(refused.value, ContractError)  # which ends a whole run
    answers = iter(["go north", None, None, None])
    played = play("digger", {"strategy": "bon", "n": 2, "agent": lambda *_: next(answers)}, n_decisions=2)
    assert played.actions[0] == "go north"
    assert "None" in played.decisions[0].candidates[1].error
    assert played.decisions[1].is_fallback
    shouting = {"strategy": "single", "agent": lambda *_: "x" * 20_000}  # outside the action space
    assert "UnicodeText" in play("digger", shouting, n_decisions=1).decisions[0].candidates[0].error


def test_an_error_committed_by_choice_gives_way_to_the_best_usable_candidate_proposed_here() -> None:
    @per_step
    def stubborn(here: State) -> Any:
        first, second = yield from Propose(here, 2)
        there = yield from Simulate(here, second)
        deeper = yield from Propose(there, 1)
        yield from Verify(there, deeper)
        return first

    answers = iter([Candidate(None, error="?"), Candidate("go west"), Candidate("go east")])
    reciter = type("Reciter", (), {"propose": lambda self, state, **_: next(answers)})()
    (decision,) = play("digger", {"strategy": stubborn, "agent": reciter}, n_decisions=1).decisions
    assert decision.committed.action == "go west"
    assert any("best usable" in note for note in decision.notes)


def test_a_strategy_may_try_actions_that_nobody_proposed_and_branches_may_nest_and_end_at_different_times() -> None:
    seen: list[tuple[str, ...]] = []

    @per_step
    def try_all(here: State) -> Any:
        made = [Candidate(action) for action in here.info["available_actions"]]
        ends = yield from All([iter(Simulate(here, candidate)) for candidate in made])
        assert len({end.observation for end in ends}) == 5
        verified = yield from Verify(here, made)
        assert [c.preview.observation for c in verified] == [end.observation for end in ends]
        for at in (here, here.noted("mind the gap"), here):
            seen.append((yield from Simulate(at, made[0])).notes)
        return max(verified, key=score)

    played = play("digger", {"strategy": try_all}, n_decisions=1, threads=4)
    assert len(played.decisions[0].candidates) == 5
    assert played.decisions[0].committed.key == played.actions[0]
    assert seen == [(), ("mind the gap",), ()]
    results: list[Any] = []

    def chain(here: State, length: int) -> Any:
        for _ in range(length):
            (candidate,) = yield from Propose(here, 1)
            here = yield from Simulate(here, candidate)
        return len(here.path)

    @per_step
    def nested(here: State) -> Any:
        both = iter(All([chain(here, 1), chain(here, 3)]))
        results.extend((yield from All([chain(here, 0), both, iter(All([])), chain(here, 2)])))
        return (yield from Propose(here, 1))[0]

    play("digger", {"strategy": nested}, n_decisions=1, threads=3)
    assert results == [0, [1, 3], [], 2]


def committing_inside(here: State) -> Any:
    def committing(here: State) -> Any:
        (candidate,) = yield from Propose(here, 1)
        yield from Commit(candidate)

    yield from All([committing(here)])


def nostalgic(here: State) -> Any:
    (candidate,) = yield from Propose(here, 1)
    there = yield from Commit(candidate)
    yield from Commit((yield from Propose(there, 1))[0])
    yield from Simulate(here, candidate)


@per_step
def undeclared(here: State) -> Any:
    return (yield from Verify(here, (yield from Propose(here, 2))))[0]


def asking(*requests: Any) -> Any:
    def strategy(here: State) -> Any:
        yield from requests

    return strategy


FORMS = "best-worst, best-worst-ever, best-worst-judge, facts, findings, hints, judge, none, results, scalar"


@pytest.mark.parametrize(
    ("strategy", "options", "error", "words"),
    [
        (committing_inside, {}, ContractError, "Commit"),
        (nostalgic, {}, ContractError, "from before"),
        (asking(), {}, ContractError, "commit"),
        (asking("hello"), {}, ContractError, "Propose, Verify, Simulate"),
        (asking(Ask("oracle of Delphi", State("", {}))), {}, UnknownName, "critic, evaluator"),
        ("iad", {"n": 0}, ValueError, "n, the proposals per decision"),
        ("iad", {"gamma": 1}, ValueError, "delta, feedback, instruct, n, stop, temperature"),
        ("bom", {}, ValueError, "bon, bon-episode, bon-sc, chains, iad, iad-fb"),
        ("iad", {"feedback": "loud"}, ValueError, FORMS),
        ("iad", {"instruct": "do better"}, ValueError, "differ, fix, improve, none, reflect"),
        ("iad", {"stop": "later"}, ValueError, "never, passed, repeat, score:X"),
        ("iad", {"threads": 0}, ValueError, "threads of 1 or more"),
        (undeclared, {"verifier": None}, ContractError, "verifier"),
    ],
)
def test_what_makes_no_sense_is_refused_with_known_names(strategy: Any, options: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        play("dice", {"strategy": strategy}, **options)


def test_feedback_that_a_plain_function_can_not_take_is_reported_as_dropped() -> None:
    heard: list[Any] = []

    def listen(observation: str, info: Mapping[str, Any], feedback: Any) -> str:
        heard.append(feedback)
        return "go north"

    for player, is_dropped in ((lambda observation, info: "go north", True), (listen, False)):
        (one,) = play("digger", {"strategy": "iad", "agent": player}, n_decisions=1).decisions
        assert any("feedback dropped" in note for note in one.notes) == is_dropped
    assert heard[0] is None
    assert "go north" in heard[1].text


def test_an_error_in_an_agent_ends_the_episode_and_the_true_reward_is_for_the_oracle_alone() -> None:
    def flaky(observation: str, info: Mapping[str, Any]) -> str:
        raise OSError("connection lost")

    env = Digger()
    with IADPolicyWrapper(flaky, env, verifier=Hunch(), strategy="iad", threads=2) as policy:
        with pytest.raises(OSError, match="connection lost"):
            policy.act(*env.reset(seed=0))
        observation, _, _, _, info = env.step("go west")
        with pytest.raises(ContractError, match="running episode"):
            policy.act(observation, info)
    play("digger", {"strategy": "artis", "evaluate": False}, verifier=None)
    for verifier in (Hunch(), "none"):
        with pytest.raises(ValueError, match="'oracle' for try-again"):
            IADPolicyWrapper(Wanderer(), Digger(), strategy="try-again", verifier=verifier)


DELTA = {"strategy": "iad", "delta": 1.0}


@pytest.mark.parametrize(
    ("how", "committed_of"),
    [
        ("single", {("a",): "a"}),
        ("bon", {("a", "ccc", "bb"): "ccc", ("aa", "bb", "c"): "aa", ("", "", "a"): "a"}),
        ("bon-sc", {("a", "b", "b"): "b", ("b", "a", "c"): "b", ("", "", "a"): "a", ("", "", ""): ""}),
        ("iad", {("a", "bbb", "cc"): "bbb", ("aa", "bb", "a"): "aa", ("", "a", "b"): "a"}),
        ("iad-delta", {("a", "bb", "c"): "bb"}),
        (DELTA, {("a", "bb", "cccc"): "cccc", ("a", "bb", "cc"): "a"}),
        ("iad-best-worst-judge", {("a", "bb", "c"): "bb"}),
        ("iad-judge", {("a", "bb", "ccc"): "ccc"}),
    ],
)
def test_canned_answers_drive_a_strategy_without_a_driver(how: Any, committed_of: dict[tuple[str, ...], str]) -> None:
    strategy = load_strategy(**{"n": 3, **(STRATEGIES[how] if isinstance(how, str) else how)})
    assert {said: drive(strategy(HERE), canned(*said)) for said in committed_of} == {
        said: [committed] for said, committed in committed_of.items()
    }


def test_each_decision_is_a_fresh_start_and_a_usable_candidate_whose_verification_failed_is_better_than_none() -> None:
    strategy = load_strategy("single")
    assert drive(strategy(HERE), canned("a", "b", "c"), n_commits=3) == ["a", "b", "c"]
    assert list(strategy(State("end", {}, done=True))) == []
    for name in ("iad", "bon"):
        answers = canned("", "a", "")
        answers[Verify] = lambda request: [replace(c, verdict=Verdict(-math.inf)) for c in request.candidates]
        assert drive(load_strategy(name, n=3)(HERE), answers) == ["a"]


def test_iad_shows_the_verifier_all_that_it_tried_whose_last_verdict_counts_and_the_agent_best_and_worst() -> None:
    answers, proposed = seen_by(canned("a", "bbb", "cc"), Propose)
    answers, verified = seen_by(answers, Verify)
    drive(load_strategy("iad", n=3)(HERE), answers)
    assert ["".join(one.action[0] for one in request.candidates) for request in verified] == ["a", "ab", "abc"]
    hints = [request.feedback and (request.feedback.best, request.feedback.worst) for request in proposed]
    assert [hint and [one and one.action for one in hint] for hint in hints] == [None, ["a", None], ["bbb", "a"]]
    rounds = iter([{"a": 0.9}, {"a": 0.1, "b": 0.2}, {"a": 0.8, "b": 0.3, "c": 0.4}])

    def verify(request: Verify) -> Any:
        scores = next(rounds)
        return [replace(one, verdict=Verdict(scores[one.action])) for one in request.candidates]

    assert drive(load_strategy("iad", n=3)(HERE), {**canned("a", "b", "c"), Verify: verify}) == ["a"]


VERIFIERS = ("proxy", "apart", "oracle", None)


@pytest.mark.parametrize("name", NAMES)
@given(st.sampled_from(list(ENVIRONMENTS)), st.sampled_from(VERIFIERS), st.sampled_from(["", "noisy:0.5"]), SEEDS)
@example("dice", "proxy", "", 0)
@example("slippery", "oracle", "", 1)
@example("digger", None, "noisy:0.5", 2)
@drawn
def test_threads_and_a_log_change_nothing(
    name: str, environment: str, verifier: str | None, simulator: str, seed: int
) -> None:
    needs = declared(STRATEGIES[name]).needs
    how = {**STRATEGIES[name], "agent": agent(seed)}
    if simulator and "oracle" not in (verifier, needs):  # only the true outcome has gold
        how["simulator"] = simulator
    options: dict[str, Any] = {"n_tokens": N_TOKENS, "n_decisions": 3, "env_seed": seed, "seed": seed}
    options["verifier"] = verifier or (None if needs == "nothing" else "proxy")
    with TemporaryDirectory() as folder:
        plain = play(environment, how, **options)
        for changed in ({"threads": 16}, {"threads": 4, "log": f"{folder}/log"}):
            other = play(environment, how, **options, **changed)
            assert other.actions == plain.actions
            assert other.counts == plain.counts
            assert [told(decision) for decision in other.decisions] == [told(decision) for decision in plain.decisions]


def told(decision: Decision) -> list[tuple[Any, ...]]:
    """What was proposed and what was said of it, without the seconds that no two runs share."""
    return [(one.id, *one.named_by()) for one in decision.candidates]


@pytest.mark.parametrize("name", NAMES)
def test_a_strategy_asks_and_commits_and_does_nothing_else(name: str) -> None:
    """It is given a state, no environment; every request is about that state or one that was simulated from it."""
    asked: set[str] = set()
    ends = {HERE.id}

    def simulate(request: Simulate) -> State:
        end = State("there", HERE.info, id=f"{request.at.id}/{request.candidate.key}", done=len(request.at.path) > 1)
        ends.add(end.id)
        return end

    made = {
        Propose: lambda request: [Candidate("go", key="go") for _ in range(request.n)],
        Verify: lambda request: [replace(one, verdict=Verdict(0.5)) for one in request.candidates],
        Simulate: simulate,
    }
    answers = {kind: lambda request, f=f: (asked.add(request.at.id), f(request))[1] for kind, f in made.items()}
    answers |= {Ask: lambda request: "0" if request.role == "ranker" else "words", Keep: lambda request: None}
    answers[Commit] = lambda request: HERE
    assert drive(load_strategy(**{"n": 3, **STRATEGIES[name]})(HERE), answers, n_commits=2) == ["go", "go"]
    assert asked <= ends


def typing(observation: str, info: Mapping[str, Any], rng: Random) -> str:
    """Commands whose output is the same whenever they are run, which that of `ls -l` is not."""
    return rng.choice(("pwd", "cd /usr", "echo one", "ls /", "ls /none", "submit"))


AGENTS: dict[str, Any] = {"WebShop": "shopper", "Booking": "booker", "InterCodeBash": typing}
AGENTS |= dict.fromkeys(("BIRD", "Sketch2Code", "BFCL", "ACEBench"), "solution:0.4")
N = 4


def arbitrary(messages: Messages) -> str:
    """A judge's answer that depends on every word of the question, as a model's does."""
    question = "".join(text_of(message["content"]) for message in messages)
    value = seed_of(question)
    decision, better = ("finalise", "iterate")[value % 2], ("first", "second", "equal")[value % 3]
    return f"Well. Score: {value % 11}\nDecision: {decision}\nBetter: {better}"


NAMED = ("proxy", "oracle", "alone:proxy", "noisy:0.3:proxy", "sparse:medium:proxy")
JUDGES = (judge, pairwise_judge, finalising_judge)


def committed(agent: Any, env: gym.Env[Any, Any], verifier: Any, **options: Any) -> list[tuple[Any, list[float]]]:
    with IADPolicyWrapper(agent, env, n=N, verifier=verifier, seed=3, temperature=1.0, **options) as policy:
        observation, info = env.reset(seed=7)
        for _ in range(3):
            observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
            if terminated or truncated:
                break
        return [(made.committed.action, [one.score for one in made.candidates]) for made in policy.decisions]


@pytest.mark.parametrize("name", AGENTS)
def test_without_feedback_a_chain_commits_what_best_of_n_does(name: str) -> None:
    with closing(made(f"IAD/{name}-v0")) as env:
        # A page takes long to be judged, so there one verifier does.
        for kind in (pairwise_judge,) if name == "Sketch2Code" else (*NAMED, *JUDGES):
            one = load_verifier(kind, env) if isinstance(kind, str) else kind(env, ScriptedModel(arbitrary))
            chain = committed(AGENTS[name], env, one, strategy="iad", feedback="none")
            best = committed(AGENTS[name], env, one, strategy="bon")
            assert len(best[0][1]) == N
            assert chain == best, kind


class Agreeing:
    """Scores a candidate by the share of the set that has its action, as a vote does."""

    information = "proxy"
    needs_preview = False
    compares = True

    def __init__(self) -> None:
        self.sets: list[list[Any]] = []

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        assert all(one.verdict is None for one in candidates)
        actions = [one.action for one in candidates]
        self.sets.append(actions)
        return [Verdict(actions.count(action) / len(actions)) for action in actions]


@pytest.mark.parametrize("compares", [True, False])
def test_a_verifier_that_compares_sees_all_that_were_tried_and_another_each_once(compares: bool) -> None:
    verifier = Agreeing()
    verifier.compares = compares
    decision = decide(verifier=verifier, strategy="iad", feedback="none", n=4)
    actions = [one.action for one in decision.candidates]
    shares = [actions.count(action) / 4 for action in actions]
    sets = [actions[:n] for n in range(1, 5)] if compares else [[action] for action in actions]
    assert (verifier.sets, decision.budget["verifier"].verifications) == (sets, 4)
    assert [one.score for one in decision.candidates] == (shares if compares else [1.0] * 4)
