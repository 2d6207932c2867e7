"""The evaluator of attempts: what it learns from, what it sees, what it says, and where it is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from iad_policy import IADPolicyWrapper, evaluate
from iad_policy.errors import GoldError, SimulationError, UnknownName
from iad_policy.learn.examples import NothingToLearn
from iad_policy.learn.experience import Experience
from iad_policy.learn.recipes.evaluator import AttemptEvaluation
from iad_policy.learn.train import train
from iad_policy.learn.trainable import load_trainable
from iad_policy.models.scripted import ScriptedModel
from iad_policy.roles import TemplateRoles
from iad_policy.roles.learned import LearnedEvaluator
from iad_policy.simulators.llm import LanguageSimulator
from iad_policy.strategies.building_blocks.attempts import passes
from iad_policy.trained.attempts import AttemptFeatures
from iad_policy.trained.features import load_features
from iad_policy.trained.models import Model, ModelFolderError
from iad_policy.trained.rows import Row
from iad_policy.types import State
from tests.iad_policy.learn.conftest import LEARNED, SHOP


def planted(experience: Experience) -> Experience:
    """The same episodes, of which those that never went back are said to have succeeded."""
    returned = [float("click[back to search]" in one.record.actions) for one in experience.trajectories]
    pairs = zip(experience.trajectories, returned, strict=True)
    return experience.only([replace(one, record=replace(one.record, success=1.0 - back)) for one, back in pairs])


def test_labels_are_the_success_of_episodes_failed_ones_too_and_it_sees_no_gold(mixed: Experience) -> None:
    examples = AttemptEvaluation().examples(mixed, load_trainable("linear", SHOP, "attempt"), np.random.default_rng(0))
    target = examples.stored["target"]
    assert target.tolist() == [one.record.success for one in mixed.trajectories]
    assert 0 < target.sum() < len(target) == 48
    for one, row in zip(mixed.trajectories, examples.rows, strict=True):
        assert [turn.action for turn in row.state.history] == list(one.record.actions)
        assert row.state.done
        assert one.end is not None
        for info in (one.end.info, *(turn.info for turn in one.end.history)):
            with pytest.raises(GoldError, match="success"):
                info["success"]


def test_a_simulated_attempt_is_seen_as_the_real_episode_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Every attempt passes, so the agent does the same again.
    seen: list[State] = []
    whole = TemplateRoles.answer

    def passing(self: TemplateRoles, role: str, state: State, subject: Any) -> str:
        if role != "evaluator":
            return whole(self, role, state, subject)
        seen.append(subject[0])
        return "Verdict: pass\nScore: 1"

    monkeypatch.setattr(TemplateRoles, "answer", passing)
    given: dict[str, Any] = {"agent": "plan-following:shopper", "n": 1, "split": "train", "tasks": 4}
    evaluate(SHOP, ["artis"], out=tmp_path, baseline="artis", **given)
    features = AttemptFeatures(load_features(SHOP))
    real = {one.task: one for one in Experience.of([tmp_path]).trajectories}
    assert len(seen) == 4
    for end in seen:
        episode = real[end.info["task_id"]]
        assert episode.end is not None
        assert [turn.action for turn in end.history] == list(episode.record.actions)
        assert features.rows(end, [None]) == pytest.approx(features.rows(episode.end, [None]))


@pytest.mark.parametrize("backend", ["linear", "mlp"])
def test_a_rule_that_can_be_seen_is_learned(backend: str, mixed: Experience, tmp_path: Path) -> None:
    model = train("evaluator", planted(mixed), out=tmp_path / "model", backend=backend, epochs=150).backend
    for agent in LEARNED:
        evaluate(SHOP, ["single"], agent=agent, split="dev", tasks=12, out=tmp_path / agent, baseline="single")
    others = planted(Experience.of([tmp_path / agent for agent in LEARNED])).trajectories
    odds = model.outputs(model.batch([Row(one.end, None) for one in others if one.end is not None]))
    assert np.mean((odds > 0) == [one.record.success for one in others]) > 0.9


def test_who_never_bought_anything_has_failed(evaluator: Model, mixed: Experience) -> None:
    judge = LearnedEvaluator(gym.make(SHOP), str(evaluator.folder))
    ends = [(one.end, one.record.success) for one in mixed.trajectories if one.end is not None]
    left = [end for end, _ in ends if "buy now" not in str(end.history[-1].action)]
    bought = [end for end, success in ends if success == 1.0]
    assert left
    assert all(passes(judge.answer("evaluator", end, [end])) is False for end in left)
    assert np.mean([judge.likely(end) for end in bought]) > 2 * np.mean([judge.likely(end) for end in left])


def test_it_evaluates_attempts_and_says_what_it_is(evaluator: Model) -> None:
    given: dict[str, Any] = {"roles": {"evaluator": f"learned:{evaluator.folder}"}, "baseline": "artis"}
    found = evaluate(SHOP, ["artis"], agent="plan-following", n=2, tasks=3, **given)
    (records,) = found.records.values()
    assert [one.n_evaluations for one in records] == [2] * 3
    judge = LearnedEvaluator(gym.make(SHOP), str(evaluator.folder))
    assert (judge.information, judge.source) == ("learned", f"learned:{evaluator.folder}")
    known = judge.trained_on
    assert (known["split"], known["reward_information"], len(known["tasks"])) == ("train", "oracle", 24)


def test_it_plays_one_role_and_is_trained_of_both_kinds_of_episodes(
    evaluator: Model, cloned: Model, grown: Experience, mixed: Experience, tmp_path: Path
) -> None:
    env, state = gym.make(SHOP), State(None, {})
    judge, critic = LearnedEvaluator(env, str(evaluator.folder)), {"critic": f"learned:{evaluator.folder}"}
    failed = mixed.only([one for one in mixed.trajectories if not one.record.success])
    refused: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: IADPolicyWrapper("shopper", env, strategy="artis", roles=critic), UnknownName, "got 'critic'"),
        (lambda: judge.answer("summariser", state, []), UnknownName, "role of a trained evaluator"),
        (lambda: train("evaluator", grown, out=tmp_path, start=cloned.folder), ModelFolderError, "expected an eval"),
        (lambda: train("evaluator", grown, out=tmp_path, backend="hf:smollm2"), ValueError, "linear or mlp"),
        (lambda: train("evaluator", failed, out=tmp_path), NothingToLearn, "got 0 successes in"),
    ]
    for call, error, said in refused:
        with pytest.raises(error, match=said):
            call()


def test_it_is_refused_where_pages_are_not_predicted(evaluator: Model) -> None:
    env = gym.make(SHOP)
    given: Any = {"simulator": LanguageSimulator(env, ScriptedModel([])), "verifier": "none", "verify": False}
    with pytest.raises(SimulationError, match="got LearnedEvaluator, which reads them"):
        IADPolicyWrapper("random", env, strategy="artis", roles={"evaluator": f"learned:{evaluator.folder}"}, **given)
