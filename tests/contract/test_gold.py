"""Contract 3: who may see gold, and what happens to those who reach for it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import pytest

from iad_policy import Candidate, IADPolicyWrapper, Simulate, State, Verdict, per_step
from iad_policy.errors import ContractError, GoldError, ModelError, ReadOnlyError
from iad_policy.requests import Propose
from iad_policy.types.information import Information
from iad_policy.verifiers import load_verifier
from iad_policy.world import adapt
from tests.contract.components import Hunch, Wanderer
from tests.contract.toy import Digger

GOLD = sorted(Digger.GOLD_INFO)


@dataclass
class Asked:
    """A verifier that does what it is told to."""

    judge: Callable[[State, Sequence[Candidate]], Sequence[Verdict]]
    information: Information = "proxy"
    needs_preview: bool = True
    per_candidate: bool = False

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        return self.judge(state, candidates)


def decide(verifier: Any, *, agent: Any = None, env: Any = None, strategy: Any = "bon") -> Any:
    env = env or Digger()
    with IADPolicyWrapper(agent or Wanderer(errors=0.0), env, verifier=verifier, strategy=strategy) as policy:
        policy.act(*env.reset(seed=5))
        return policy.decisions[0]


@pytest.mark.parametrize("read", [lambda info, key: info[key], lambda info, key: info.get(key)])
def test_reading_gold_raises_for_agent_function_and_verifier(read: Any) -> None:
    for key in GOLD:
        agent = type("Peeker", (), {"propose": lambda self, state, key=key, **_: read(state.info, key)})()
        for players in (
            {"verifier": Hunch(), "agent": lambda observation, info, key=key: read(info, key)},
            {"verifier": Hunch(), "agent": agent},
            {"verifier": Asked(lambda state, candidates, key=key: read(state.info, key))},  # type: ignore[misc]
            {"verifier": Asked(lambda _, candidates, key=key: [read(c.preview.info, key) for c in candidates])},  # type: ignore[misc]
        ):
            with pytest.raises(GoldError, match=f"'{key}'"):
                decide(**players)


def test_gold_is_not_in_info_however_it_is_looked_at() -> None:
    seen: list[Mapping[str, Any]] = []

    class Looker(Wanderer):
        def propose(self, state: State, **options: Any) -> Candidate:
            seen.append(state.info)
            assert not hasattr(state, "progress")
            assert all(isinstance(turn.observation, str) for turn in state.history)
            return super().propose(state, **options)

    @per_step
    def deep(here: State) -> Any:
        (first,) = yield from Propose(here, 1)
        there = yield from Simulate(here, first)
        seen.append(there.info)
        yield from Propose(there, 1)
        return first

    decide(Hunch(), agent=Looker(errors=0.0), strategy=deep)
    assert len(seen) == 3
    for info in seen:
        assert not any(set(GOLD) & set(keys) for keys in (info, dict(info), info | {}))
        assert not any(key in info for key in (*GOLD, "no such key"))
        assert info.get("no such key", 7) == 7
        with pytest.raises(KeyError):
            info["no such key"]


def test_only_an_oracle_gets_gold_in_previews_and_nobody_keeps_it() -> None:
    golds: list[Any] = []

    def judge(state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        assert state.gold is None
        golds.extend(one.preview and one.preview.gold for one in candidates)
        return [Verdict(float(one.preview is not None)) for one in candidates]

    decision = decide(Asked(judge, information="oracle", needs_preview=False), strategy="iad")
    assert all(set(one) == {"reward", "progress", "success", "reward_parts", "reference"} for one in golds)
    assert all(one.preview.gold is None for one in (*decision.candidates, decision.committed))
    golds.clear()
    for needs_preview in (False, True):  # others get previews only if they need them
        assert {one.score for one in decide(Asked(judge, needs_preview=needs_preview)).candidates} == {needs_preview}
    assert set(golds) == {None}


@pytest.mark.parametrize("name", ["Toy/Digger-v0", "IAD/WebShop-v0"])
def test_an_oracle_reads_the_solution_when_it_wants_to_and_cannot_change_it(name: str) -> None:
    read: list[Any] = []

    def judge(state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        for candidate in candidates:
            gold: Any = candidate.preview and candidate.preview.gold
            assert "solution" not in gold
            read.append(gold["solution"])
            assert gold["solution"] is gold["solution"]
            with pytest.raises(ReadOnlyError):
                gold["solution"].append("more")
            with pytest.raises(KeyError):
                gold["no such key"]
        return [Verdict(0.0) for _ in candidates]

    env: Any = gym.make(name).unwrapped
    tell = lambda observation, info, rng: str(rng.choice(info["available_actions"]))  # noqa: E731
    decision = decide(Asked(judge, information="oracle"), agent=tell, env=env)
    assert all(math.isfinite(one.score) for one in decision.candidates)  # the verifier did not fail
    assert read[0] == env.oracle(env.snapshot())["solution"]
    dice = gym.make("Toy/Dice-v0", is_copyable=True)  # of which no solution is known
    world = adapt(dice)
    world.begin(dice.reset(seed=1)[0])
    assert world.oracle(world.snapshot())["solution"] is None


def test_the_oracle_verifier_scores_by_progress_before_the_end_and_by_reward_at_it() -> None:
    env, actions = Digger(), iter(["go west", "go east", "dig"])
    agent = type("Reciter", (), {"propose": lambda self, state, **_: Candidate(next(actions))})()
    with IADPolicyWrapper(agent, env, verifier=load_verifier("oracle", env), strategy="bon") as policy:
        policy.act(*env.reset(options={"task_id": "mill"}))  # one room to the west of the start
        assert [candidate.score for candidate in policy.decisions[0].candidates] == [1.0, 0.5, 0.0]


def test_a_verifier_that_raises_or_gives_no_number_scores_minus_infinity_and_says_why() -> None:
    for error, kind in ((ZeroDivisionError(), "crash"), (ModelError("no answer", kind="timeout"), "timeout")):
        for apart in (False, True):
            for candidate in decide(Asked(raising(error), per_candidate=apart)).candidates:
                assert candidate.score == -math.inf
                assert candidate.verdict.critique.startswith("verification failed")
                assert candidate.verdict.details == {"error_kind": kind}
    decision = decide(Asked(lambda state, candidates: [Verdict(math.nan, "hm")] * len(candidates)))
    assert all(candidate.score == -math.inf for candidate in decision.candidates)
    assert decision.committed.verdict.critique.endswith("not a number. hm")


def raising(error: Exception) -> Any:
    def judge(state: State, candidates: Sequence[Candidate]) -> Any:
        raise error

    return judge


def test_what_breaks_the_contract_is_refused() -> None:
    for n in (0, 1, 4):
        with pytest.raises(ContractError, match=rf"\b3 verdicts from Asked, .*got {n}"):
            decide(Asked(lambda state, candidates, n=n: [Verdict(0.0)] * n))  # type: ignore[misc]
    blurter = type("Blurter", (), {"propose": lambda self, state, **_: "dig"})()
    with pytest.raises(ContractError, match="Candidate"):
        decide(Hunch(), agent=blurter)
    with pytest.raises(ValueError, match="learned, oracle, proxy, self"):
        load_verifier(Asked(lambda state, candidates: [], information="psychic"), Digger())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="information"):
        load_verifier(type("Mute", (), {"verify": None})(), Digger())
