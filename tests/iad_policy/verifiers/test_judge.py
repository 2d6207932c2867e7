"""Language models as verifiers and in the asked roles."""

import math
from dataclasses import replace
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_policy import IADPolicyWrapper
from iad_policy.errors import ModelError
from iad_policy.models import Messages
from iad_policy.models.scripted import ScriptedModel
from iad_policy.roles.language_model import ModelRoles
from iad_policy.types import Candidate, State, Turn
from iad_policy.types.names import ROLES
from iad_policy.verifiers import load_verifier
from iad_policy.verifiers.judge import FinalisingJudge, PairwiseJudge, ScoringJudge, finalising_judge, judge
from tests.folders import prompts
from tests.iad_policy.toy_lamp import LampEnv

HERE = State("the shelf", {"instruction": "a lamp", "facts": {"n": 1}}, history=(Turn("the door", "go[in]"),))


def candidate(action: str, *, preview: str = "", thought: str = "") -> Candidate:
    seen = State(preview, {}) if preview else None
    return Candidate(action, thought=thought, key=action, preview=seen, id=action)


class Asked(ScriptedModel):
    """A model that keeps what it was asked."""

    def __init__(self, answer: Any) -> None:
        super().__init__(self._answer, name="asked")
        self.prompts: list[str] = []
        self._given = answer

    def _answer(self, messages: Messages) -> str:
        self.prompts.append("\n".join(message["content"] for message in messages))
        return self._given(self.prompts[-1]) if callable(self._given) else self._given  # type: ignore[no-any-return]


def longer_is_better(prompt: str) -> str:
    """Prefer the longer action."""
    first, second = (part.split("\n")[0] for part in prompt.split("Action: ")[1:])
    better = "equal" if len(first) == len(second) else "first" if len(first) > len(second) else "second"
    return f"Critique: length.\nBetter: {better}"


def test_a_score_becomes_0_to_1_and_keeps_its_critique() -> None:
    model = Asked("Critique: too dear.\nScore: 4")
    (verdict,) = ScoringJudge(model).verify(HERE, [candidate("buy[a]", preview="PAGE A", thought="trust me")])
    assert (verdict.score, verdict.critique, verdict.passed) == (0.4, "too dear.", None)
    for part in ("a lamp", "the shelf", "go[in]", "Action: buy[a]", "PAGE A"):
        assert part in model.prompts[0]
    assert "trust me" not in model.prompts[0]
    (verdict,) = ScoringJudge(Asked("Score: 10"), needs_preview=False).verify(HERE, [candidate("buy[a]")])
    assert verdict.score == 1.0


def test_an_unreadable_judge_scores_minus_infinity_and_says_why() -> None:
    pair = [candidate("a"), candidate("b")]
    for verifier in (ScoringJudge(Asked("hmm")), FinalisingJudge(Asked("hmm")), PairwiseJudge(Asked("hmm"))):
        for verdict in verifier.verify(HERE, pair):
            assert verdict.score == -math.inf
            assert verdict.details == {"error_kind": "malformed"}
            assert "got 'hmm'" in verdict.critique


@pytest.mark.parametrize(("said", "score"), [("finalise", 1.0), ("Finalize.", 1.0), ("iterate", 0.0)])
def test_a_decision_is_passed_or_not(said: str, score: float) -> None:
    model = Asked(f"Critique: size missing.\nDecision: {said}")
    (verdict,) = FinalisingJudge(model).verify(HERE, [candidate("buy[a]")])
    assert (verdict.score, verdict.passed, verdict.critique) == (score, score == 1.0, "size missing.")


def test_the_share_of_wins_orders_candidates_and_favouring_a_place_makes_ties() -> None:
    def scores(model: Asked, *candidates: Candidate) -> list[float]:
        return [verdict.score for verdict in PairwiseJudge(model).verify(HERE, list(candidates))]

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
    whole = {one.id: verdict for one, verdict in zip(union, verifier.verify(HERE, union), strict=True)}
    shuffled = data.draw(st.permutations(union))
    assert list(verifier.verify(HERE, shuffled)) == [whole[one.id] for one in shuffled]


def test_judges_are_labelled_and_named_and_look_ahead_where_they_can() -> None:
    env = LampEnv()
    for name, kind in (("judge", ScoringJudge), ("pairwise", PairwiseJudge), ("finalise", FinalisingJudge)):
        verifier = load_verifier(f"{name}:some-model", env)
        assert isinstance(verifier, kind)
        assert (verifier.information, verifier.needs_preview) == ("self", True)
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
    env = LampEnv()
    begun = env.reset(options={"task_id": "green"})
    verifier = judge(env, ScriptedModel([ModelError("no such model", kind=kind)]))
    with IADPolicyWrapper(lambda *_: "paint[red]", env, verifier=verifier, n=1) as policy:
        if kind != "server":
            with pytest.raises(ModelError, match="no such model"):
                policy.act(*begun)
            return
        policy.act(*begun)
        verdict = policy.decisions[0].candidates[0].verdict
    assert verdict is not None
    assert (verdict.score, verdict.details["error_kind"]) == (-math.inf, "server")


@pytest.mark.parametrize("role", [role for role in ROLES if role != "ranker"])
def test_a_role_answers_with_the_model_s_text(role: str) -> None:
    model = Asked("  said  ")
    roles = ModelRoles(model, prompts("webshop"))
    assert roles.answer(role, HERE, [candidate("buy[a]"), HERE, "a text"]) == "said"
    assert roles.source == "asked"
    assert all(part in model.prompts[0] for part in ("Action: buy[a]", "a text"))
    ModelRoles(model).answer("paraphraser", HERE, "a lamp for $5")  # which sees the text alone
    assert model.prompts[1].endswith("\na lamp for $5")
    assert "the shelf" not in model.prompts[1]


def test_the_ranker_answers_with_a_place_and_is_asked_again_if_it_does_not() -> None:
    three = [candidate("a"), candidate("b"), candidate("c")]
    assert ModelRoles(ScriptedModel(["Best: 3"])).answer("ranker", HERE, three) == "2"
    assert ModelRoles(ScriptedModel(["the last", "Best: 9", "2"])).answer("ranker", HERE, three) == "1"
    assert ModelRoles(ScriptedModel([])).answer("ranker", HERE, three[:1]) == "0"
    with pytest.raises(ModelError, match="from 1 to 3, got 'dunno'") as caught:
        ModelRoles(ScriptedModel(["dunno"] * 3)).answer("ranker", HERE, three)
    assert caught.value.kind == "malformed"
