"""Trained evaluators of attempts and simulators, and the report of how true a simulator is."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import iad_envs  # noqa: F401 (registers)
from iad_policy import IADPolicyWrapper, evaluate
from iad_policy.errors import GoldError, ModelError, SimulationError, UnknownName
from iad_policy.learn.examples import NothingToLearn
from iad_policy.learn.experience import Experience
from iad_policy.learn.fidelity import Fidelity, fidelity
from iad_policy.learn.recipes.evaluator import AttemptEvaluation
from iad_policy.learn.simulators import rebalanced, record_outcomes, train_simulator
from iad_policy.learn.splits import SplitError
from iad_policy.learn.train import train
from iad_policy.learn.trainable import load_trainable
from iad_policy.roles import TemplateRoles
from iad_policy.roles.learned import LearnedEvaluator
from iad_policy.simulators import load_simulator
from iad_policy.simulators.noisy import NoisySimulator
from iad_policy.simulators.recorded import PROVOKED, Recorded, read, record
from iad_policy.simulators.retrieval import HashedNgrams, RetrievalSimulator
from iad_policy.strategies.building_blocks.attempts import passes
from iad_policy.trained.attempts import AttemptFeatures
from iad_policy.trained.features import load_features
from iad_policy.trained.models import Model, ModelFolderError
from iad_policy.trained.rows import Row
from iad_policy.types import Outcome, State
from iad_policy.world import World
from tests.contract.components import Wanderer
from tests.contract.toy import LANDMARKS, Digger
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


FEW: dict[str, Any] = {"epochs": 30}


def outcome(action: str, *, is_invalid: bool = False, source: str = "agent") -> Recorded:
    return Recorded(
        "train-0001", "buy", "a page", action, "another", {"invalid_action": is_invalid}, False, action, source
    )


def test_every_type_of_every_tool_has_the_same_weight() -> None:
    # Two tools. click: 6 successes and 2 failures; search: 4 successes. Three cells, so a third of the weight for each.
    records = [
        *[outcome("click[a]")] * 6, *[outcome("click[b]", is_invalid=True)] * 2, *[outcome("search[c]")] * 4,
    ]  # fmt: skip
    weights = rebalanced(records)
    assert weights.mean() == pytest.approx(1.0)
    assert [weights[:6].sum(), weights[6:8].sum(), weights[8:].sum()] == pytest.approx([4.0] * 3)
    # A weight has a cap.
    records = [*[outcome("click[a]")] * 99, outcome("click[b]", is_invalid=True)]
    assert rebalanced(records, cap=100.0)[-1] == pytest.approx(50.0)  # half of the weight of a hundred rows
    assert rebalanced(records, cap=20.0)[-1] == 20.0


def test_a_rare_failure_is_recalled_where_training_is_driven_by_failures(tmp_path: Path) -> None:
    # 95 % of the clicks work, and those of odd length mostly fail.
    rng = np.random.default_rng(0)
    tasks = gym.make(SHOP, split="train").unwrapped.task_ids  # type: ignore[attr-defined]
    records = []
    for _ in range(600):
        fails = bool(rng.random() < 0.05)
        word = "qx" * int(rng.integers(2, 5)) if fails or rng.random() < 0.1 else "ab" * int(rng.integers(2, 5))
        one = outcome(f"click[{word}]", is_invalid=fails)
        records.append(one._replace(task_id=tasks[int(rng.integers(len(tasks)))]))
    train_simulator(records, SHOP, out=tmp_path / "normal", failures=0.0, **FEW)
    train_simulator(records, SHOP, out=tmp_path / "failures", **FEW)
    recall = {}
    for name in ("normal", "failures"):
        made: Any = load_simulator(f"learned:{tmp_path / name}", gym.make(SHOP))
        token = State("a page", {"instruction": "buy"})
        failed = [one for one in records if one.info["invalid_action"]]
        recall[name] = np.mean([made.predicted(token, one.action) == "invalid" for one in failed])
    assert recall["failures"] > recall["normal"]
    assert recall["failures"] > 0.9


def test_failures_are_provoked_and_it_tells_them_on_other_tasks(outcomes: Path, simulator: Model) -> None:
    sources = Counter(one.source for one in read(outcomes))
    assert set(sources) == {"agent", PROVOKED}
    assert simulator.facts["trained_on"]["n_rows"] == sources["agent"]
    found = fidelity(gym.make(SHOP), f"learned:{simulator.folder}", tasks=2)
    assert found.failure_recall is not None
    assert found.failure_recall > 0.9
    assert found.recall["success"].recall > 0.8


def test_outcomes_of_its_own_tasks_are_not_looked_up(simulator: Model) -> None:
    given: dict[str, Any] = {"strategy": "artis", "n": 1, "simulator": f"learned:{simulator.folder}"}
    env = gym.make(SHOP, split="train")
    observation, info = env.reset(options={"task_id": simulator.trained_on["tasks"][0]})
    with (
        IADPolicyWrapper("shopper", env, **given) as policy,
        pytest.raises(SimulationError, match="was not trained on"),
    ):
        policy.act(observation, info)


CLICK, REFUSED = outcome("click[a]"), outcome("click[b]", is_invalid=True)


@pytest.mark.parametrize(
    ("records", "given", "error", "said"),
    [
        ([CLICK] * 3, {}, NothingToLearn, "two types"),
        ([CLICK._replace(task_id="test-0001")], {}, SplitError, "1 other tasks, such as test-0001"),
        ([CLICK], {"failures": 2}, ValueError, "from 0 to 1, got 2"),
        ([CLICK, REFUSED], {"backend": "linear"}, UnknownName, "got 'linear'; known: hf:<model>, outcomes"),
    ],
)
def test_what_can_not_be_learned_from_is_refused(
    records: list[Recorded], given: Any, error: type[Exception], said: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=said):
        train_simulator(records, SHOP, out=tmp_path, **given)
    with pytest.raises(SplitError, match="split 'train'"):
        record_outcomes("CartPole-v1", tmp_path / "o.jsonl")


TEXTS = st.text(max_size=60)


def measured(simulator: Any, **options: Any) -> Fidelity:
    return fidelity(Digger(max_steps=6), simulator, **{"agent": Wanderer(errors=0), "tasks": 9, **options})


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_rows_have_length_1_depend_on_their_own_text_alone_and_alike_texts_are_near(texts: list[str]) -> None:
    encoder = HashedNgrams(dimensions=256)
    rows = encoder.encode(texts)
    assert (rows.shape, rows.dtype) == ((len(texts), 256), np.float32)
    assert np.allclose((rows**2).sum(axis=1), 1.0, atol=1e-5)
    assert all((row == encoder.encode([text])[0]).all() for text, row in zip(texts, rows, strict=True))
    assert (rows @ rows.T <= 1.0 + 1e-5).all()
    one, near, far = HashedNgrams().encode(["the red shoes, size 9", "the red shoes, size 8", "a bottle of milk"])
    assert 0.7 < one @ near < 1.0
    assert one @ far < 0.2
    assert HashedNgrams().encode([]).shape == (0, 2**14)
    with pytest.raises(ValueError, match="power of two, got 1000"):
        HashedNgrams(dimensions=1000)


def test_the_perfect_simulator_is_true_in_every_respect_and_one_that_never_is_is_found_out() -> None:
    report = measured("perfect")
    assert (report.similarity, report.high_fidelity, report.failure_recall) == (1.0, 1.0, 1.0)
    assert {name: (one.recall, one.precision) for name, one in report.recall.items()} == dict.fromkeys(
        ("success", "end", "invalid"), (1.0, 1.0)
    )
    assert set(report.same_after.values()) == {1.0}
    assert report.n > 20
    report = measured("noisy:0")
    assert (report.high_fidelity, report.same_after[1], report.similarity < 0.9) == (0.0, 0.0, True)
    assert {one.recall for one in report.recall.values()} == {0.0}


class Mumbler(NoisySimulator):
    """A model that gives no answer in the asked form where it would show the end."""

    def simulate(self, world: World, token: Any, action: Any, draw: int) -> Outcome:
        outcome = super().simulate(world, token, action, draw)
        if outcome.done:
            raise ModelError("mumbled", kind=self.kind)
        return outcome

    kind = "malformed"


def test_no_answer_is_a_wrong_one_and_a_lost_connection_is_an_error() -> None:
    report = measured(Mumbler(fidelity="1"))
    assert report.recall["success"].recall == 1.0
    assert report.recall["end"].recall == 0.0
    assert 0 < report.unanswered == pytest.approx(1 - report.exact)
    lost = Mumbler(fidelity="1")
    lost.kind = "connection"
    with pytest.raises(ModelError, match="mumbled"):
        measured(lost)


def test_the_share_of_true_outcomes_is_the_one_that_was_asked_for_and_errors_add_up_over_steps() -> None:
    report = measured(NoisySimulator(fidelity="end=1,success=0.6"), seed=3)
    end, (low, high) = report.recall["end"], report.recall["success"].recall_95
    assert (end.recall, low < 0.6 < high) == (1.0, True)
    assert end.precision is not None
    assert end.precision < 1.0, "some of what was shown as the end was not"
    report = measured("noisy:0.8", tasks=list(LANDMARKS) * 3, steps=(1, 3))
    assert report.same_after[3] < report.same_after[1] < 1.0
    assert report.n_tasks == 27
    report = fidelity(gym.make("IAD/WebShop-v0"), "noisy:failure=0", tasks=2)  # by class, as garbled actions fail
    assert (report.recall["invalid"].n > 2, report.failure_recall) == (True, 0.0)
    assert (report.similarity, report.recall["success"].recall) == (1.0, 1.0)


def test_what_was_recorded_on_other_tasks_is_measured_on_these() -> None:
    simulator = RetrievalSimulator(record(Digger(max_steps=6), Wanderer(), tasks=LANDMARKS[:5]))
    report = measured(simulator, tasks=LANDMARKS[5:])
    assert 0.5 < report.similarity <= 1.0
    assert report.recall["end"].recall == 1.0
    with pytest.raises(ValueError, match="expected at least one task"):
        measured("perfect", tasks=[])
