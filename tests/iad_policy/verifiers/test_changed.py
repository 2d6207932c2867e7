"""Verifiers whose verdicts are changed: what they change, what they pass on, and how they are named."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import Candidate, IADPolicyWrapper, State, Verdict
from iad_policy.errors import ContractError
from iad_policy.run.config import RunConfig
from iad_policy.types import AWAITING
from iad_policy.types.information import Information
from iad_policy.verifiers import load_verifier
from iad_policy.verifiers.changed import (
    LEVELS,
    BinaryVerifier,
    CalibratedVerifier,
    NoisyVerifier,
    SparseVerifier,
    TerminalOracleVerifier,
)
from tests.contract.components import Hunch, Wanderer
from tests.contract.toy import Digger

HERE = State("start", {}, id="here")


class Told:
    """Scores an action by the number that it is; its words and its parts tell the score."""

    information: Information = "learned"
    needs_preview = False
    per_candidate = True
    identity = "told"

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        return [self._verdict(float(candidate.action)) for candidate in candidates]

    def _verdict(self, score: float) -> Verdict:
        return Verdict(score, f"worth {score}", passed=score >= 1, details={"score": score})


def candidates(*scores: float) -> list[Candidate]:
    return [Candidate(score, key=str(score)) for score in scores]


def test_noise_is_gaussian_and_the_same_for_an_action_in_a_state_however_it_is_asked() -> None:
    many = candidates(*(place / 1000 for place in range(1000)))
    verdicts = NoisyVerifier(Told(), 0.25).verify(HERE, many)
    noise = [verdict.score - one.action for verdict, one in zip(verdicts, many, strict=True)]
    assert abs(fmean(noise)) < 3 * 0.25 / math.sqrt(1000)
    assert stdev(noise) == pytest.approx(0.25, rel=0.1)
    assert all(verdict.passed is None and not verdict.details for verdict in verdicts)
    noisy = NoisyVerifier(Told(), 0.5)
    one, other = candidates(0.5, 0.7)
    first, second = noisy.verify(HERE, [one, other])
    assert [first] == noisy.verify(HERE, [one]) == noisy.verify(HERE, [replace(one, thought="again")])
    assert [first] != noisy.verify(replace(HERE, id="there"), [one])
    assert first.score - 0.5 != second.score - 0.7
    assert [one.score for one in NoisyVerifier(Told(), 0.0).verify(HERE, candidates(0.25, 1.0))] == [0.25, 1.0]


def test_a_binary_verifier_says_1_for_success_alone() -> None:
    shown = BinaryVerifier(Told()).verify(HERE, candidates(-0.5, 0.0, 0.99, 1.0, 2.0))
    assert [one.score for one in shown] == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert not any(one.details for one in shown)
    made = load_verifier("binary:oracle", Digger())
    assert (made.information, made.needs_preview) == ("oracle", True)


@pytest.mark.parametrize("level", LEVELS)
def test_a_sparse_score_is_shown_above_the_threshold_only_and_so_are_its_words(level: str) -> None:
    scores = [-0.5, 0.0, 0.25, 0.26, 0.5, 0.51, 0.75, 0.76, 1.0]
    shown = SparseVerifier(Told(), LEVELS[level]).verify(HERE, candidates(*scores))
    assert shown == [
        Verdict(score, f"worth {score}", passed=score >= 1) if score > LEVELS[level] else Verdict(0.0)
        for score in scores
    ]


def test_a_calibrated_verifier_says_chances_in_the_same_order_and_keeps_its_words() -> None:
    shown = CalibratedVerifier(Told(), -1.5, 4.0).verify(HERE, candidates(-1e6, 0.0, 0.375, 1.0, 1e6))
    chances = [one.score for one in shown]
    assert chances[1:4] == [pytest.approx(1 / (1 + math.exp(odds))) for odds in (1.5, 0.0, -2.5)]
    assert chances == sorted(chances)
    assert (chances[0], chances[4]) == (pytest.approx(0), pytest.approx(1))
    assert (shown[3].critique, shown[3].passed, shown[3].details) == ("worth 1.0", True, {"score": 1.0})
    assert load_verifier("calibrated:-1.5:4:oracle", Digger()).information == "oracle"


@pytest.mark.parametrize("name", ["noisy:0.2:oracle", "sparse:medium:oracle", "noisy:0.2:sparse:0.6:oracle"])
def test_label_and_needs_are_those_of_the_verifier_inside(name: str) -> None:
    env = Digger()
    verifier: Any = load_verifier(name, env)
    assert (verifier.information, verifier.needs_preview, verifier.per_candidate) == ("oracle", True, False)
    with IADPolicyWrapper(Wanderer(errors=0), env, verifier=verifier, strategy="bon") as policy:
        policy.act(*env.reset(seed=0))
        assert all(math.isfinite(candidate.score) for candidate in policy.decisions[0].candidates)


def test_what_it_is_made_of_names_it_and_a_model_inside_can_be_put_behind_a_cache() -> None:
    class Modelled(Told):
        model = "a model"

    made = (NoisyVerifier(Told(), 0.1), NoisyVerifier(Told(), 0.2), SparseVerifier(Told(), 1))
    assert {one.identity for one in made} == {"noisy:0.1 told", "noisy:0.2 told", "sparse:1 told"}
    assert NoisyVerifier(Hunch(), 1).identity.endswith("tests.contract.components:Hunch")
    assert (made[0].per_candidate, made[0].model) == (True, None)
    inner = Modelled()
    noisy = NoisyVerifier(SparseVerifier(inner, 0.5), 0.1)
    assert noisy.model == "a model"
    noisy.model = "a cache"
    assert inner.model == "a cache"


def test_a_failed_verification_stays_one_and_a_wrong_number_of_verdicts_is_refused() -> None:
    class Answering(Told):
        def __init__(self, *verdicts: Verdict) -> None:
            self.verify = lambda state, candidates: list(verdicts)  # type: ignore[method-assign]

    env, lost = Digger(), Verdict(-math.inf, "no answer", details={"error_kind": "timeout"})
    changed = NoisyVerifier(SparseVerifier(Answering(lost), 0.5), 0.1)
    assert changed.verify(HERE, candidates(1.0)) == [lost]
    with (
        pytest.raises(ContractError, match="expected 1 verdicts from NoisyVerifier"),
        IADPolicyWrapper(Wanderer(errors=0), env, verifier=NoisyVerifier(Answering(), 0.1), strategy="iad") as policy,
    ):
        policy.act(*env.reset(seed=0))


@pytest.mark.parametrize(
    ("name", "error"),
    [
        *((name, "noisy:<sd>:<verifier>, such as noisy:0.2:proxy") for name in ("noisy", "noisy:0.2")),
        *((f"noisy:{sd}:oracle", f"got '?{sd}") for sd in ("loud", "-1", "nan")),
        ("calibrated:1:oracle", "calibrated:<offset>:<slope>:<verifier>, such as calibrated:-1.5:4:proxy"),
        ("calibrated:1:-2:oracle", "a slope above 0, got 1 and -2"),
        ("sparse:oracle", "none.*low.*medium.*high"),
        ("sparse:some:oracle", "got 'some'; such as none, low, medium or high"),
        ("noisy:1:nobody", "known: alone, binary, calibrated, finalise, judge"),
        ("nosy:1:oracle", "noisy"),
    ],
)
def test_names_that_make_no_sense_are_refused_with_the_right_form(name: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        load_verifier(name, Digger())


@pytest.mark.parametrize(
    ("strategies", "said"),
    [
        (
            ("single", "bon", "bon-episode", "iad"),
            "not equal: n = 4 counts proposals per decision for bon, iad; simulated episodes for bon-episode; "
            "single is the reference with 1",
        ),
        (("reflexion", "bon-episode"), "equal on simulated episodes: n = 4"),
        (("single",), "one proposal per decision"),
    ],
)
def test_a_table_says_what_n_counts_where_strategies_differ(strategies: tuple[str, ...], said: str) -> None:
    assert RunConfig("Env", "random", strategies=strategies, n=4).equal_on() == said


def test_a_verifier_that_sees_each_candidate_alone_has_no_vote() -> None:
    env = gym.make("IAD/BIRD-v0")
    actions = iter(["submit[SELECT 30]", "submit[SELECT 30 AS share]", "submit[SELECT 40]"] * 2)
    scores = []
    for verifier in ("proxy", "alone:proxy"):
        with IADPolicyWrapper(lambda *_: next(actions), env, strategy="bon", verifier=verifier) as policy:
            assert policy.verifier is not None
            assert policy.verifier.information == "proxy"
            policy.act(*env.reset(seed=0))
            scores.append([candidate.score for candidate in policy.decisions[0].candidates])
    env.close()
    (voted, agreed, other), alone = scores
    assert voted == agreed > other
    assert alone == [alone[0]] * 3
    assert alone[0] > other  # two candidates speak against it


def previewed(*, done: bool, reason: str = "") -> Candidate:
    gold = {"reward": 0.25, "progress": 0.75, "reward_parts": {"r": 0.25}}
    return Candidate(0.5, key="act", preview=State("after", {"stop_reason": reason}, done=done, gold=gold))


def test_a_terminal_oracle_scores_only_an_end_by_gold_and_says_so() -> None:
    class Blind(Told):
        def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
            assert all(one.preview is None or one.preview.gold is None for one in candidates)
            return super().verify(state, candidates)

    verifier, end = TerminalOracleVerifier(Blind()), previewed(done=True)
    others = [previewed(done=False), previewed(done=True, reason=AWAITING), Candidate(0.5, key="act")]
    assert [verifier.verify(HERE, [one])[0].score for one in (end, *others)] == [0.25, 0.5, 0.5, 0.5]
    assert (verifier.information, verifier.needs_preview, verifier.identity) == ("oracle", True, "terminal-oracle told")
