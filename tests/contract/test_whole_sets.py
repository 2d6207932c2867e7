"""Contract 2: a verifier judges the set that a strategy holds, so without feedback a chain is best-of-n, exactly."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import Candidate, IADPolicyWrapper, State, Verdict
from iad_policy.models import Messages
from iad_policy.models.scripted import ScriptedModel, text_of
from iad_policy.types.hashing import seed_of
from iad_policy.verifiers import load_verifier
from iad_policy.verifiers.judge import finalising_judge, judge, pairwise_judge
from tests.contract.components import decide
from tests.contract.rule_based import made


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
