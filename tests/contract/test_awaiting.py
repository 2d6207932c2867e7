"""Contracts 1 and 2 where only the world can go on: no simulation knows its answer, and methods then plan again."""

from typing import Any

import pytest

from iad_policy import Candidate, Commit, IADPolicyWrapper, Propose, Simulate, State, Verify, per_step
from iad_policy.simulators.noisy import NoisySimulator
from iad_policy.simulators.recorded import record
from iad_policy.simulators.retrieval import RetrievalSimulator
from iad_policy.strategies.building_blocks.rollouts import Rollout, best_of
from iad_policy.types.outcome_types import END, SUCCESS, type_of
from iad_policy.verifiers import load_verifier
from tests.contract.canned import HERE, canned, drive
from tests.contract.components import STRATEGIES, Hunch, Wanderer, declared, play
from tests.contract.toy import GUEST, Cafe

WHOLE_EPISODE = ["bon-episode", "reflexion", "artis", "artis-parallel", "q-guided-episodes", "lats", "beam"]
"""Methods that plan several actions before they commit the first; best-first may find its first action good enough."""


class Waiter:
    """Asks, brews what the guest said, brings it, and closes after the second drink."""

    def propose(self, state: State, **_: Any) -> Candidate:
        text, n_answers = state.observation, state.info["facts"]["n_answers"]
        n_brought = 2 if "brought 2" in text else 1 if "brought 1" in text else 0
        if n_brought == 2 or state.info["page"]["brewed"]:
            return Candidate("close" if n_brought == 2 else "bring")
        wanted = text.rpartition(GUEST)[2].split()[0].strip(".")
        return Candidate("ask" if n_answers <= n_brought else f"brew {wanted}")


def play_all(name: str, agent: Any, *, verifier: Any = None, **options: Any) -> tuple[IADPolicyWrapper, dict[str, Any]]:
    env = Cafe(max_steps=10)
    how = {"n": 2, **STRATEGIES[name], **options}
    verifier = load_verifier("oracle", env) if declared(how).needs == "oracle" else verifier or Hunch()
    policy = IADPolicyWrapper(agent, env, verifier=verifier, **how)
    observation, info = env.reset(options={"task_id": "milk-coffee"})
    while not info["stop_reason"]:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        policy.observe(observation, info, reward=float(reward), done=terminated or truncated)
    return policy, info


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_every_strategy_plays_to_the_end_and_no_simulation_knows_the_answer(name: str) -> None:
    class Watched(Wanderer):
        def propose(self, state: State, **options: Any) -> Candidate:
            proposed_at.append(state)
            return super().propose(state, **options)

    class Watching(Hunch):
        def verify(self, state: State, candidates: Any) -> Any:
            previews.extend(candidate.preview for candidate in candidates)
            return super().verify(state, candidates)

    proposed_at, previews = list[State](), list[State]()
    policy, info = play_all(name, Watched(errors=0.1), verifier=Watching(), seed=3)
    assert info["stop_reason"] in ("done", "max_steps")
    previews += [one.preview for decision in policy.decisions for one in decision.candidates if one.preview is not None]
    assert not any(state.is_awaiting for state in proposed_at)
    for state in (*proposed_at, *previews):
        n_real = len(state.history) - len(state.path)
        root = state.history[n_real].info if state.path else state.info
        assert state.observation.count(GUEST) == root["facts"]["n_answers"]


@pytest.mark.parametrize("name", [*WHOLE_EPISODE, "mcts", "best-first", "iad", "bon", "single"])
def test_an_agent_that_asks_serves_the_guest_and_whole_episode_methods_plan_again_after_each_answer(name: str) -> None:
    policy, info = play_all(name, Waiter(), verifier=load_verifier("oracle", Cafe()))
    served = ["ask", "brew milk", "bring", "ask", "brew coffee", "bring", "close"]
    assert [decision.committed.action for decision in policy.decisions] == served
    assert info["success"]
    assert [place for place, decision in enumerate(policy.decisions) if decision.state.is_answered] == [1, 4]
    if name in WHOLE_EPISODE:
        policy, _ = play_all(name, Waiter())
        planned = [decision.usage.simulations > 0 for decision in policy.decisions]
        assert [planned[0], planned[1], planned[4]] == [True] * 3
        # These plan more often: after so many levels or actions.
        assert sum(planned) == 3 or name in ("lats", "beam", "artis-parallel")


def test_candidates_carry_what_the_environment_says_of_their_actions() -> None:
    drawn = iter(["ask", "brew tea", "close", None, "brew tea"])

    class Reciter:
        def propose(self, state: State, **_: Any) -> Candidate:
            action = next(drawn)
            return Candidate(action, error="" if action else "nothing to parse", is_terminal=True)

    @per_step
    def strategy(here: State) -> Any:
        found.extend((yield from Propose(here, 5)))
        found.extend((yield from Verify(here, [Candidate("close "), Candidate("brew milk"), Candidate("ask")])))
        return found[-2]

    found: list[Candidate] = []
    (decision,) = play(Cafe, {"strategy": strategy, "agent": Reciter()}, n_decisions=1).decisions
    flags = [f"{'terminal' * one.is_terminal}{'irreversible' * one.is_irreversible}" for one in found]
    assert flags == ["", "irreversible", "terminal", "", "irreversible", "terminal", "irreversible", ""]
    assert decision.committed.is_irreversible
    assert decision.candidates == tuple(found)

    class Terse(Cafe):
        def _view(self, state: Any, complaint: str) -> Any:
            return super()._view(state, complaint)._replace(available_actions=("brew tea",))

    # What stands in for an unusable answer carries it too.
    (decision,) = play(Terse, {"strategy": "single", "agent": Wanderer(errors=1.0)}, n_decisions=1).decisions
    assert (decision.committed.error != "", decision.committed.is_irreversible) == (True, True)


def test_recorded_candidates_carry_it_and_their_questions_keep_their_digests(tmp_path: Any) -> None:
    silent = type("Silent", (Cafe,), {name: lambda self, action: False for name in ("terminal", "irreversible")})

    def run(kind: type[Cafe]) -> list[Candidate]:
        options: dict[str, Any] = {"verifier": Hunch(), "feedback": "judge", "n": 4, "log": tmp_path}
        with IADPolicyWrapper(Wanderer(errors=0.1), kind(), **options) as policy:
            policy.act(*policy.env.reset(seed=1))
            return list(policy.decisions[0].candidates)

    before = run(silent)
    log = (tmp_path / "answers.jsonl").read_bytes()
    found = run(Cafe)
    assert (tmp_path / "answers.jsonl").read_bytes() == log
    assert b'"role":"critic"' in log  # which is asked about candidates
    assert [one.action for one in found] == [one.action for one in before]
    risks = [(one.action == "close", str(one.action).startswith("brew")) for one in found if not one.error]
    flags = [[(one.is_terminal, one.is_irreversible) for one in each if not one.error] for each in (before, found)]
    assert flags == [[(False, False)] * len(risks), risks]
    assert any(map(any, risks))


def test_an_oracle_scores_what_awaits_by_its_progress_and_the_score_decides_between_rollouts() -> None:
    @per_step
    def strategy(here: State) -> Any:
        found.extend((yield from Verify(here, [Candidate("ask"), Candidate("close")])))
        return found[-2]

    found: list[Candidate] = []
    env = Cafe()
    with IADPolicyWrapper(Waiter(), env, strategy=strategy, verifier="oracle") as policy:
        env.reset(options={"task_id": "tea-milk"})
        env.step("brew tea")
        observation, _, _, _, info = env.step("bring")
        policy.act(observation, {**info, "step": 0})
    assert [one.score for one in found] == [0.5, 0.0]

    def rollout(action: str, stop_reason: str) -> Rollout:
        there = State(action, {"stop_reason": stop_reason}, done=stop_reason != "")
        return Rollout(HERE, (Candidate(action, key=action),), (there,))

    def strategy(rollouts: list[Rollout]) -> Any:
        best = yield from best_of(rollouts)
        yield Commit(Candidate(best.end.observation))

    for asks, other in ((("asks at length", "awaiting"), ("ends", "done")), (("asks", "awaiting"), ("is cut", ""))):
        assert drive(strategy([rollout(*asks), rollout(*other)]), canned("x")) == [asks[0]]


def test_simulators_that_err_or_remember_say_that_an_outcome_awaits() -> None:
    env = Cafe()
    observation, info = env.reset(options={"task_id": "tea-milk"})
    ends = [env.simulate(env.snapshot(), action) for action in ("ask", "close")]
    assert [type_of(end.info, end.done) for end in ends] == [SUCCESS, END]

    @per_step
    def strategy(here: State) -> Any:
        (candidate,) = yield from Propose(here)
        found.append((yield from Simulate(here, candidate)))
        return candidate

    found: list[State] = []
    records = record(Cafe(split="train"), Waiter(), tasks=["milk-milk"], n_episodes=1)
    for simulator in (RetrievalSimulator(records), NoisySimulator(env, 1.0)):
        with IADPolicyWrapper(Waiter(), env, strategy=strategy, verifier="none", simulator=simulator) as policy:
            assert policy.act(observation, info) == "ask"
    assert [state.is_awaiting for state in found] == [True, True]
