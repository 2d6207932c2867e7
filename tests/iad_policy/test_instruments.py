"""Agents whose errors are known, and what strategies make of them: held to what can be worked out by hand."""

import json
from math import comb
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from typer.testing import CliRunner

import iad_envs  # noqa: F401 (registers)
from iad_policy import Candidate, Feedback, IADPolicyWrapper, State
from iad_policy.agents import load_agent
from iad_policy.agents.instruments import Instrument, feedback_responsive, noisy_oracle, over_reflector, stubborn
from iad_policy.cli import app
from iad_policy.errors import GoldError, UnknownName
from iad_policy.evaluation.trace import RunTraces
from iad_policy.evaluation.viewer.shown import run_json
from iad_policy.types import Verifier
from iad_policy.verifiers.corrupted import LEVELS, NoisyVerifier, SparseVerifier
from tests.iad_policy.quiz import N_ANSWERS, Examiner, Quiz, answer, n_solved, other_answer

N_TRIALS = 500
EPSILON, SIGMA, RHO, BETA = 0.6, 0.25, 0.5, 0.7
RATES = f"epsilon={EPSILON},sigma={SIGMA},rho={RHO}"
KINDS = {"noisy": noisy_oracle, "responsive": feedback_responsive, "stubborn": stubborn, "over": over_reflector}
PERFECT = Examiner()


def made(kind: str, rates: str = "") -> Instrument:
    rates = rates or (f"{RATES},beta={BETA}" if kind == "over" else RATES)
    return KINDS[kind](Quiz(), rates, gold=answer, mistakes=other_answer)


def bon(n: int) -> float:
    """With a perfect verifier: one of n independent answers is right."""
    return 1 - EPSILON**n


def mended(n: int, share: float) -> float:
    """With a perfect verifier: right at first, or mended in one of n - 1 refinements."""
    return 1 - EPSILON * (1 - share) ** (n - 1)


def bon_accepted(n: int, a: float, b: float) -> float:
    """With a verifier that accepts right answers with probability a, wrong ones with b.

    The first accepted one is committed; without any, the first.
    """
    right = 1 - EPSILON
    accepted = right * a + EPSILON * b
    return (1 - (1 - accepted) ** n) * right * a / accepted + (1 - accepted) ** (n - 1) * right * (1 - a)


def bon_with_noise(n: int, sd: float) -> float:
    """With noise on a perfect verifier's scores, the same for equal answers: the right one must beat each wrong one."""
    z = np.linspace(-8, 8, 4001)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    below = np.array([NormalDist().cdf((1 + sd * one) / sd) for one in z])
    reached = 0.0
    for n_wrong in range(n):
        share = comb(n, n_wrong) * EPSILON**n_wrong * (1 - EPSILON) ** (n - n_wrong)
        beats = sum(q * (density * below**k).sum() for k, q in different(n_wrong).items())
        reached += share * float(beats)
    return reached


def different(n_wrong: int) -> dict[int, float]:
    """How many different ones there are among so many wrong answers, drawn alike: the chance of each number."""
    chances = {0: 1.0}
    for _ in range(n_wrong):
        step: dict[int, float] = {}
        for k, chance in chances.items():
            step[k] = step.get(k, 0.0) + chance * k / (N_ANSWERS - 1)
            step[k + 1] = step.get(k + 1, 0.0) + chance * (1 - k / (N_ANSWERS - 1))
        chances = step
    return chances


def sparse(full: float, threshold: float) -> float:
    """With scores of right answers spread from 0 to 1 and only those above the threshold seen: else the first stays."""
    return (1 - threshold) * full + threshold * (1 - EPSILON)


def last_version(n: int, mended: float, broken: float) -> float:
    """With the last of n versions committed, whatever it is worth."""
    right = 1 - EPSILON
    for _ in range(n - 1):
        right = right * (1 - broken) + (1 - right) * mended
    return right


SHADES = Examiner(in_shades=True)
CURVES: list[tuple[str, str, dict[str, Any], Verifier, int, float]] = [
    *[("noisy", "bon", {}, PERFECT, n, bon(n)) for n in (1, 2, 4)],
    *[("noisy", "iad", {}, PERFECT, n, bon(n)) for n in (2, 4)],  # it ignores feedback
    *[("responsive", "bon", {}, PERFECT, n, bon(n)) for n in (2, 4)],
    *[("responsive", "iad", {}, PERFECT, n, mended(n, SIGMA)) for n in (1, 2, 4)],
    *[("responsive", "iad", {"feedback": "judge"}, PERFECT, n, mended(n, RHO)) for n in (2, 4)],
    ("responsive", "iad", {"feedback": "none"}, PERFECT, 4, bon(4)),
    ("stubborn", "bon", {}, PERFECT, 4, bon(1)),
    ("stubborn", "iad", {}, PERFECT, 4, mended(4, SIGMA)),
    ("stubborn", "iad", {"feedback": "judge"}, PERFECT, 4, mended(4, RHO)),
    ("over", "iad", {"feedback": "judge"}, PERFECT, 4, mended(4, RHO)),  # the incumbent is kept
    *[("noisy", "bon", {}, Examiner(0.8, 0.3), n, bon_accepted(n, 0.8, 0.3)) for n in (2, 4)],
    *[("noisy", "bon", {}, Examiner(0.3, 0.6), n, bon_accepted(n, 0.3, 0.6)) for n in (2, 4)],
    *[("noisy", "bon", {}, NoisyVerifier(PERFECT, sd), 4, bon_with_noise(4, sd)) for sd in (0.3, 0.6, 1.2)],
    *[("noisy", "bon", {}, SparseVerifier(SHADES, t), 4, sparse(bon(4), t)) for t in (0.25, 0.5, 0.75)],
    *[("responsive", "iad", {}, SparseVerifier(SHADES, t), 4, sparse(mended(4, SIGMA), t)) for t in (0.25, 0.75)],
    *[("over", "self-refine", {}, PERFECT, n, last_version(n, SIGMA, BETA)) for n in (2, 4)],  # a critique of nothing
    *[("over", "sk2code-feedback", {}, PERFECT, n, last_version(n, RHO, BETA)) for n in (2, 4)],
    ("responsive", "sk2code-feedback", {}, PERFECT, 4, last_version(4, RHO, 0.0)),
]
CONFIDENCE = 1 - 0.01 / len(CURVES)
"""Of each cell, so that all of them together are inside by chance in 99 of 100 draws of the seeds (Bonferroni)."""


def fits(n_successes: int, n: int, rate: float, confidence: float = CONFIDENCE) -> bool:
    """Whether so many successes lie in the exact binomial interval of a rate."""
    below, above = (
        sum(comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in side)
        for side in (range(n_successes + 1), range(n_successes, n + 1))
    )
    return min(below, above) > (1 - confidence) / 2


@pytest.mark.parametrize(
    ("kind", "strategy", "options", "verifier", "n", "expected"),
    CURVES,
    ids=lambda value: str(value) if isinstance(value, str | int) else "",
)
def test_a_strategy_reaches_its_closed_form(
    kind: str, strategy: str, options: dict[str, Any], verifier: Verifier, n: int, expected: float
) -> None:
    solved = n_solved(made(kind), verifier, N_TRIALS, strategy=strategy, n=n, **options)
    assert fits(solved, N_TRIALS, expected), (solved / N_TRIALS, expected)


def test_the_criterion_tells_the_forms_apart() -> None:
    solved = n_solved(made("responsive"), PERFECT, N_TRIALS, strategy="iad", n=4)
    assert not fits(solved, N_TRIALS, bon(4))
    assert not fits(solved, N_TRIALS, mended(4, RHO))
    assert not fits(solved, N_TRIALS, mended(3, SIGMA))


@pytest.mark.parametrize("strategy", ["bon", "iad"])
@pytest.mark.parametrize(
    "verifiers",
    [
        [NoisyVerifier(PERFECT, sd) for sd in (0.0, 0.5, 2.0)],
        [SparseVerifier(SHADES, LEVELS[level]) for level in ("none", "low", "high")],
    ],
    ids=["noise", "sparsity"],
)
def test_a_worse_verifier_is_worth_less(strategy: str, verifiers: list[Verifier]) -> None:
    first, *others = [n_solved(made("responsive"), one, N_TRIALS, strategy=strategy, n=4) for one in verifiers]
    alone = n_solved(made("responsive"), None, N_TRIALS, strategy="single")
    assert first > others[0] + 15 > others[1] + 30 > alone


def test_diversity_is_what_a_vote_needs() -> None:
    """Mistakes that are all alike outvote the right answer; mistakes that differ don't."""
    options = {"strategy": "bon-sc", "n": 7}
    alike, various = (n_solved(made("noisy", f"epsilon=0.6,tau={tau}"), None, 200, **options) for tau in (0, 1))
    right = sum(comb(7, k) * 0.4**k * 0.6 ** (7 - k) for k in range(4, 8))
    assert fits(alike, 200, right, 0.99)
    assert various > alike + 40


@pytest.mark.parametrize(("shown_right", "expected"), [(True, BETA), (False, RHO)])
def test_a_review_breaks_a_share_beta_of_an_over_reflectors_right_answers(shown_right: bool, expected: float) -> None:
    agent = made("over")
    changed = sum(_reviewed(agent, place, shown_right) != shown_right for place in range(N_TRIALS))
    assert fits(changed, N_TRIALS, expected, 0.99)
    steady = made("responsive", "beta=0")
    assert all(_reviewed(steady, place, True) for place in range(20))


def _reviewed(agent: Instrument, place: int, shown_right: bool) -> bool:
    """Whether the answer is right after a review of a right or a wrong one."""
    state = State("?", {"available_actions": [f"answer[{k}]" for k in range(20)]}, gold={"reference": "answer[3]"})
    shown = Candidate("answer[3]" if shown_right else "answer[4]")
    told = Feedback("", best=shown, critique="answer it better")
    return agent.propose(state, feedback=told, temperature=None, rng=Random(place)).action == "answer[3]"


@pytest.mark.parametrize("name", ["noisy-oracle", "feedback-responsive", "stubborn", "over-reflector"])
@pytest.mark.parametrize("env_id", ["IAD/WebShop-v0", "IAD/BIRD-v0"])
def test_by_name_an_instrument_solves_bundled_tasks_as_often_as_it_should(name: str, env_id: str) -> None:
    env = gym.make(env_id)
    inner: Any = env.unwrapped
    for epsilon, expected in ((0, 1.0), (1, 0.0)):
        with IADPolicyWrapper(f"{name}:epsilon={epsilon}", env, strategy="single") as policy:
            assert policy.agent.information == "oracle"  # type: ignore[attr-defined]
            for task_id in inner.task_ids[:5]:
                observation, info = env.reset(options={"task_id": task_id})
                done = False
                while not done:
                    observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
                    done = terminated or truncated
                assert info["success"] == expected
    env.close()


def test_gold_is_shown_to_a_labelled_agent_alone_and_kept_by_nobody() -> None:
    seen = []

    class Peeper:
        def propose(self, state: State, **_: Any) -> Any:
            seen.append(state.gold)
            with pytest.raises(GoldError):
                state.info["success"]
            return instrument.propose(State("", state.info, gold={"reference": "answer[1]"}), **_)

    instrument = made("noisy")
    env = Quiz()
    for agent in (Peeper(), instrument):
        with IADPolicyWrapper(agent, env, verifier=PERFECT, strategy="iad") as policy:
            observation, info = env.reset(seed=0)
            env.step(policy.act(observation, info))
            assert policy.decisions[0].state.gold is None
    assert seen == [None] * 3


def test_rates_and_environments_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UnknownName, match=r"rate, got 'eps'.*beta, epsilon, rho, sigma, tau"):
        load_agent("noisy-oracle:eps=0.5", Quiz())
    for rates in ("epsilon=2", "epsilon=half", "tau=-1", "tau=nan", "sigma"):
        with pytest.raises(ValueError, match="expected a rate from 0 to 1"):
            load_agent(f"stubborn:{rates}", Quiz())
    with pytest.raises(UnknownName, match="known right action"):
        load_agent("stubborn", Quiz())
    with pytest.raises(ValueError, match="pass env or mistakes"):
        noisy_oracle(None, gold=answer)


def test_an_instrument_that_can_make_no_mistake_says_so() -> None:
    agent = noisy_oracle(None, "epsilon=1", gold=answer, mistakes=lambda state, rng: answer(state))
    with pytest.raises(ValueError, match="pass mistakes="):
        n_solved(agent, PERFECT, 1, strategy="single")


def test_a_table_says_that_its_agent_knows_gold(tmp_path: Path) -> None:
    for agent, verifier, said in (("noisy-oracle", "none", True), ("linker", "proxy", False)):
        out = tmp_path / agent
        given = ["--agent", agent, "--verifier", verifier, "--strategy", "single", "--tasks", "1", "--out", str(out)]
        done = CliRunner().invoke(app, ["run", "IAD/BIRD-v0", *given])
        assert done.exit_code == 0, done.output
        assert (f"*** {agent} is an oracle agent: knows the right action" in done.stdout) == said
        summary = json.loads((out / "summary.json").read_text())
        assert summary["instruments"] == ([agent] if said else [])
        with RunTraces(out) as run:
            assert run_json(run)["instruments"] == ([agent] if said else [])
