"""Verifiers whose verdicts are changed, and language models as verifiers and in the asked roles."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

import iad_envs  # noqa: F401 (registers)
from iad_policy import Candidate, IADPolicyWrapper, State, Verdict
from iad_policy.errors import ContractError, ModelError
from iad_policy.models import Messages
from iad_policy.models.scripted import ScriptedModel
from iad_policy.roles.language_model import ModelRoles
from iad_policy.types import AWAITING, Turn
from iad_policy.types.names import ROLES
from iad_policy.verifiers import changed, load_verifier
from iad_policy.verifiers.changed import LEVELS, NoisyVerifier, SparseVerifier
from iad_policy.verifiers.judge import FinalisingJudge, PairwiseJudge, ScoringJudge, finalising_judge, judge
from tests.contract.components import Hunch, Wanderer, decide
from tests.contract.toy import Digger
from tests.folders import prompts
from tests.iad_policy.toy_lamp import LampEnv

HERE = State("start", {}, id="here")


class Told:
    """Scores an action by the number that it is; its words and its parts tell the score."""

    information, needs_preview, per_candidate, identity = "learned", False, True, "told"

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        scores = [float(candidate.action) for candidate in candidates]
        return [Verdict(one, f"worth {one}", passed=one >= 1, details={"score": one}) for one in scores]


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
    shown = changed.BinaryVerifier(Told()).verify(HERE, candidates(-0.5, 0.0, 0.99, 1.0, 2.0))
    assert [one.score for one in shown] == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert not any(one.details for one in shown)
    made = load_verifier("binary:oracle", Digger())
    assert (made.information, made.needs_preview) == ("oracle", True)


@pytest.mark.parametrize("level", LEVELS)
def test_a_sparse_score_is_shown_above_the_threshold_only_and_so_are_its_words(level: str) -> None:
    scores = [-0.5, 0.0, 0.25, 0.26, 0.5, 0.51, 0.75, 0.76, 1.0]
    shown = SparseVerifier(Told(), LEVELS[level]).verify(HERE, candidates(*scores))
    seen = {score: Verdict(score, f"worth {score}", passed=score >= 1) for score in scores if score > LEVELS[level]}
    assert shown == [seen.get(score, Verdict(0.0)) for score in scores]


def test_a_calibrated_verifier_says_chances_in_the_same_order_and_keeps_its_words() -> None:
    shown = changed.CalibratedVerifier(Told(), -1.5, 4.0).verify(HERE, candidates(-1e6, 0.0, 0.375, 1.0, 1e6))
    chances = [one.score for one in shown]
    assert chances[1:4] == [pytest.approx(1 / (1 + math.exp(odds))) for odds in (1.5, 0.0, -2.5)]
    assert chances == sorted(chances)
    assert (chances[0], chances[4]) == (pytest.approx(0), pytest.approx(1))
    assert (shown[3].critique, shown[3].passed, shown[3].details) == ("worth 1.0", True, {"score": 1.0})
    assert load_verifier("calibrated:-1.5:4:oracle", Digger()).information == "oracle"


@pytest.mark.parametrize("name", ["noisy:0.2:oracle", "sparse:medium:oracle", "noisy:0.2:sparse:0.6:oracle"])
def test_label_and_needs_are_those_of_the_verifier_inside(name: str) -> None:
    verifier: Any = load_verifier(name, env := Digger())
    assert (verifier.information, verifier.needs_preview, verifier.per_candidate) == ("oracle", True, False)
    decision = decide(env, strategy="bon", agent=Wanderer(errors=0), verifier=verifier)
    assert all(math.isfinite(candidate.score) for candidate in decision.candidates)


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

    lost = Verdict(-math.inf, "no answer", details={"error_kind": "timeout"})
    assert NoisyVerifier(SparseVerifier(Answering(lost), 0.5), 0.1).verify(HERE, candidates(1.0)) == [lost]
    with pytest.raises(ContractError, match="expected 1 verdicts from NoisyVerifier"):
        decide(strategy="iad", agent=Wanderer(errors=0), verifier=NoisyVerifier(Answering(), 0.1))


@pytest.mark.parametrize(
    ("name", "error"),
    [
        *((name, "noisy:<sd>:<verifier>, such as noisy:0.2:proxy") for name in ("noisy", "noisy:0.2")),
        *((f"noisy:{sd}:oracle", f"got '?{sd}") for sd in ("loud", "-1", "nan")),
        ("calibrated:1:oracle", "calibrated:<offset>:<slope>:<verifier>, such as calibrated:-1.5:4:proxy"),
        *(("calibrated:1:-2:oracle", "a slope above 0, got 1 and -2"), ("sparse:oracle", "none.*low.*medium.*high")),
        ("sparse:some:oracle", "got 'some'; such as none, low, medium or high"),
        *(("noisy:1:nobody", "known: alone, binary, calibrated, finalise, judge"), ("nosy:1:oracle", "noisy")),
    ],
)
def test_names_that_make_no_sense_are_refused_with_the_right_form(name: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        load_verifier(name, Digger())


def test_a_verifier_that_sees_each_candidate_alone_has_no_vote() -> None:
    env = gym.make("IAD/BIRD-v0")
    actions = iter(["submit[SELECT 30]", "submit[SELECT 30 AS share]", "submit[SELECT 40]"] * 2)
    scores = []
    for name in ("proxy", "alone:proxy"):
        verifier = load_verifier(name, env)
        assert verifier.information == "proxy"
        decision = decide(env, agent=lambda *_: next(actions), verifier=verifier)
        scores.append([candidate.score for candidate in decision.candidates])
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

    verifier, end = changed.TerminalOracleVerifier(Blind()), previewed(done=True)
    others = [previewed(done=False), previewed(done=True, reason=AWAITING), Candidate(0.5, key="act")]
    assert [verifier.verify(HERE, [one])[0].score for one in (end, *others)] == [0.25, 0.5, 0.5, 0.5]
    assert (verifier.information, verifier.needs_preview, verifier.identity) == ("oracle", True, "terminal-oracle told")


SHELF = State("the shelf", {"instruction": "a lamp", "facts": {"n": 1}}, history=(Turn("the door", "go[in]"),))


def candidate(action: str, *, preview: str = "", thought: str = "") -> Candidate:
    seen = State(preview, {}) if preview else None
    return Candidate(action, thought=thought, key=action, preview=seen, id=action)


class Asked(ScriptedModel):
    """A model that keeps what it was asked."""

    def __init__(self, answer: Any) -> None:
        super().__init__(self._answer, name="asked")
        self.prompts, self._given = list[str](), answer

    def _answer(self, messages: Messages) -> str:
        self.prompts.append("\n".join(message["content"] for message in messages))
        return self._given(self.prompts[-1]) if callable(self._given) else self._given  # type: ignore[no-any-return]


def longer_is_better(prompt: str) -> str:
    first, second = (len(part.split("\n")[0]) for part in prompt.split("Action: ")[1:])
    return f"Critique: length.\nBetter: {'equal' if first == second else 'first' if first > second else 'second'}"


def test_a_score_becomes_0_to_1_a_decision_is_passed_or_not_and_both_keep_their_critique() -> None:
    model = Asked("Critique: too dear.\nScore: 4")
    (verdict,) = ScoringJudge(model).verify(SHELF, [candidate("buy[a]", preview="PAGE A", thought="trust me")])
    assert (verdict.score, verdict.critique, verdict.passed) == (0.4, "too dear.", None)
    for part in ("a lamp", "the shelf", "go[in]", "Action: buy[a]", "PAGE A"):
        assert part in model.prompts[0]
    assert "trust me" not in model.prompts[0]
    (verdict,) = ScoringJudge(Asked("Score: 10"), needs_preview=False).verify(SHELF, [candidate("buy[a]")])
    assert verdict.score == 1.0
    for said, score in (("finalise", 1.0), ("Finalize.", 1.0), ("iterate", 0.0)):
        model = Asked(f"Critique: size missing.\nDecision: {said}")
        (verdict,) = FinalisingJudge(model).verify(SHELF, [candidate("buy[a]")])
        assert (verdict.score, verdict.passed, verdict.critique) == (score, score == 1.0, "size missing.")


def test_an_unreadable_judge_scores_minus_infinity_and_says_why() -> None:
    for kind in (ScoringJudge, FinalisingJudge, PairwiseJudge):
        for verdict in kind(Asked("hmm")).verify(SHELF, [candidate("a"), candidate("b")]):
            assert (verdict.score, verdict.details) == (-math.inf, {"error_kind": "malformed"})
            assert "got 'hmm'" in verdict.critique


def test_the_share_of_wins_orders_candidates_and_favouring_a_place_makes_ties() -> None:
    def scores(model: Asked, *candidates: Candidate) -> list[float]:
        return [verdict.score for verdict in PairwiseJudge(model).verify(SHELF, list(candidates))]

    model = Asked(longer_is_better)
    assert scores(model, *map(candidate, ("aaa", "a", "bb", "cc"))) == [1.0, 0.0, 0.5, 0.5]
    assert len(model.prompts) == 4 * 3
    assert scores(Asked("Better: first"), candidate("a"), candidate("b")) == [0.5, 0.5]
    assert scores(model, candidate("a"), replace(candidate("a"), id="again")) == [0.5, 0.5]
    assert len(model.prompts) == 4 * 3  # a candidate alone or among its equals is not compared


@given(st.lists(st.sampled_from(["a", "b", "cc", "dd", "eee"]), min_size=1, max_size=5), st.data())
def test_a_verdict_depends_on_the_set_and_not_on_its_order(actions: list[str], data: st.DataObject) -> None:
    union = [replace(candidate(action), id=str(place)) for place, action in enumerate(actions)]
    verifier = PairwiseJudge(Asked(longer_is_better))
    whole = {one.id: verdict for one, verdict in zip(union, verifier.verify(SHELF, union), strict=True)}
    shuffled = data.draw(st.permutations(union))
    assert list(verifier.verify(SHELF, shuffled)) == [whole[one.id] for one in shuffled]


def test_judges_are_labelled_and_named_and_look_ahead_where_they_can() -> None:
    env = LampEnv()
    for name, kind in (("judge", ScoringJudge), ("pairwise", PairwiseJudge), ("finalise", FinalisingJudge)):
        verifier = load_verifier(f"{name}:some-model", env)
        assert (type(verifier), verifier.information, verifier.needs_preview) == (kind, "self", True)
        with pytest.raises(ValueError, match="judge:gpt-4o-mini"):
            load_verifier(name, env)
    plain = gym.make("CartPole-v1", disable_env_checker=True)
    assert load_verifier("judge:some-model", plain).needs_preview is False
    assert judge(env, "m", needs_preview=False).identity != judge(env, "m").identity


def test_a_judge_guides_an_episode_and_its_tokens_are_the_verifier_s() -> None:
    def scores(prompt: str) -> str:
        proposed = prompt.rpartition("Proposed:")[2]
        return "Score: 9" if "paint[green]" in proposed and "is green" in proposed else "Score: 1"

    env = LampEnv()
    actions = iter(["paint[red]", "paint[green]", "leave[now]", "paint[red]"])
    begun = env.reset(options={"task_id": "green"})
    given: dict[str, Any] = {"verifier": judge(env, Asked(scores)), "threads": 3}
    with IADPolicyWrapper(lambda *_: next(actions), env, **given) as policy:
        assert policy.act(*begun) == "paint[green]"
        assert policy.spent["verifier"].verifications == 3
        assert policy.spent["verifier"].prompt_tokens > 0
    verifier = finalising_judge(env, Asked("Decision: finalise"))
    with IADPolicyWrapper(lambda *_: next(actions), env, verifier=verifier, stop="passed") as policy:
        policy.act(*begun)
        assert len(policy.decisions[0].candidates) == 1


@pytest.mark.parametrize("kind", ["server", "auth", "not_found"])
def test_a_model_that_fails_makes_a_failed_verdict_and_one_that_can_not_be_asked_an_error(kind: str) -> None:
    verifier = judge(LampEnv(), ScriptedModel([ModelError("no such model", kind=kind)]))
    how: dict[str, Any] = {"agent": lambda *_: "paint[red]", "verifier": verifier, "n": 1}
    if kind != "server":
        with pytest.raises(ModelError, match="no such model"):
            decide(LampEnv(), **how)
        return
    (one,) = decide(LampEnv(), **how).candidates
    assert one.verdict is not None
    assert (one.score, one.verdict.details["error_kind"]) == (-math.inf, "server")


@pytest.mark.parametrize("role", [role for role in ROLES if role != "ranker"])
def test_a_role_answers_with_the_model_s_text(role: str) -> None:
    model = Asked("  said  ")
    roles = ModelRoles(model, prompts("webshop"))
    assert (roles.answer(role, SHELF, [candidate("buy[a]"), SHELF, "a text"]), roles.source) == ("said", "asked")
    assert all(part in model.prompts[0] for part in ("Action: buy[a]", "a text"))
    roles.answer("paraphraser", SHELF, "a lamp for $5")  # which sees the text alone
    assert (model.prompts[1].endswith("\na lamp for $5"), "the shelf" in model.prompts[1]) == (True, False)


def test_the_ranker_answers_with_a_place_and_is_asked_again_if_it_does_not() -> None:
    def ranked(*said: str, n: int = 3) -> str:
        return ModelRoles(ScriptedModel(said)).answer("ranker", SHELF, [candidate(one) for one in "abc"[:n]])

    assert (ranked("Best: 3"), ranked("the last", "Best: 9", "2"), ranked(n=1)) == ("2", "1", "0")
    with pytest.raises(ModelError, match="from 1 to 3, got 'dunno'") as caught:
        ranked("dunno", "dunno", "dunno")
    assert caught.value.kind == "malformed"
