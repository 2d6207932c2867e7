"""Training from run folders: what is refused, what is written, and what is the same every time."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest

from iad_policy import evaluate
from iad_policy.errors import UnknownName
from iad_policy.learn.examples import NothingToLearn
from iad_policy.learn.experience import Experience
from iad_policy.learn.explore import explore
from iad_policy.learn.models import STATE
from iad_policy.learn.progress import advance, showing
from iad_policy.learn.recipes import load_recipe
from iad_policy.learn.splits import SplitError, subjects_of
from iad_policy.learn.train import train
from iad_policy.registry.domain import domain_by_id
from iad_policy.roles import TemplateRoles
from iad_policy.run.trained import TrainedHere, trained_here
from iad_policy.runtime.components import Components
from iad_policy.trained.backends.numeric import WEIGHTS
from iad_policy.trained.models import MODEL, Model, ModelFolderError, load_model
from tests.iad_policy.learn.conftest import SHOP

FEW: dict[str, Any] = {"epochs": 10}


@pytest.mark.parametrize(
    ("recipe", "backend", "learns_from"),
    [
        *(("bc", "mlp", "demos"), ("rft", "linear", "rollouts"), ("dpo", "linear", "searched")),
        *(("eto", "mlp", "rollouts"), ("qnet", "linear", "grown"), ("qnet", "mlp", "grown")),
    ],
)
def test_every_recipe_lowers_its_loss_and_is_the_same_every_time(
    recipe: str, backend: str, learns_from: str, request: pytest.FixtureRequest, demos: Experience, tmp_path: Path
) -> None:
    experience, given = request.getfixturevalue(learns_from), {"backend": backend, "epochs": 5}
    if recipe in ("dpo", "eto"):
        given["start"] = train("bc", demos, out=tmp_path / "start", **given).folder
    one = train(recipe, experience, out=tmp_path / "one", **given)
    other = train(recipe, experience, out=tmp_path / "other", **given)
    losses = [json.loads(line)["loss"] for line in (one.folder / "training.jsonl").read_text().splitlines()]
    assert losses[-1] < losses[0]
    assert (one.folder / WEIGHTS).read_bytes() == (other.folder / WEIGHTS).read_bytes()
    assert load_model(one.folder).identity == one.identity == other.identity


def test_log_probabilities_that_were_recorded_are_those_that_are_computed_again(
    rollouts: Experience, cloned: Model, tmp_path: Path
) -> None:
    # Sampled at the temperature 1, and here at .3 too: what is recorded is the policy's own.
    agent = f"learned:{cloned.folder}"
    given: dict[str, Any] = {"split": "train", "tasks": 3, "allow_trained_tasks": True, "baseline": "single"}
    evaluate(SHOP, ["single"], agent=agent, temperature=0.3, out=tmp_path, **given)
    for experience in (rollouts, Experience.of([tmp_path])):
        steps = [step for one in experience.trajectories for step in one.steps]
        recorded = np.array([step.committed.logprob for step in steps])
        backend = cloned.backend
        assert backend.outputs(backend.batch([step.row for step in steps])) == pytest.approx(recorded, abs=1e-12)


def test_the_reference_may_be_the_likelihoods_that_actions_were_proposed_with(
    searched: Experience, rollouts: Experience, cloned: Model, tmp_path: Path
) -> None:
    """They are those of the policy that searched, so training from it is the same with either reference."""
    for recipe, experience in (("dpo", searched), ("eto", rollouts)):
        found = {
            name: load_recipe(recipe, reference=name).examples(experience, cloned.backend, np.random.default_rng(0))
            for name in ("start", "behaviour")
        }
        stored = {name: one.stored["reference"] for name, one in found.items()}
        assert stored["behaviour"] == pytest.approx(stored["start"], abs=1e-9)
    silent = [
        replace(one, steps=tuple(replace(step, committed=replace(step.committed, logprobs=None)) for step in one.steps))
        for one in rollouts.trajectories
    ]
    with pytest.raises(NothingToLearn, match=r"got 0 of \d+; explore with .* or use reference=start"):
        load_recipe("eto", reference="behaviour").examples(
            rollouts.only(silent), cloned.backend, np.random.default_rng(0)
        )


def test_a_folder_is_that_of_one_training_and_one_at_a_time_writes_to_it(demos: Experience, tmp_path: Path) -> None:
    def meanwhile(said: str) -> None:
        with pytest.raises(ModelFolderError, match=f"no other process trains, got {tmp_path}"):
            train("bc", demos, out=tmp_path, **FEW)

    train("bc", demos, out=tmp_path, report=meanwhile, **FEW)
    written = (tmp_path / MODEL).stat().st_mtime_ns
    train("bc", demos, out=tmp_path, **FEW)
    assert (tmp_path / MODEL).stat().st_mtime_ns == written
    with pytest.raises(ModelFolderError, match="other runs or options"):
        train("bc", demos, out=tmp_path, epochs=11)
    (tmp_path / MODEL).unlink()  # and a killed training is not continued as another one
    state = {"asked": "another", "at": "checkpoint-3", "n_epochs": 3, "loss": 1.0, "kl": None, "stopped": ""}
    (tmp_path / STATE).write_text(json.dumps(state))
    with pytest.raises(ModelFolderError, match="other runs or options"):
        train("bc", demos, out=tmp_path, **FEW)


@pytest.mark.parametrize("name", ["training.jsonl", "weights.npz", ".lock", "checkpoint-10/weights.npz"])
def test_a_training_writes_nothing_outside_of_its_folder(name: str, demos: Experience, tmp_path: Path) -> None:
    theirs, out = tmp_path / "theirs", tmp_path / "model"
    theirs.write_text("keep this")
    (out / name).parent.mkdir(parents=True)
    (out / name).symlink_to(theirs)
    with pytest.raises(OSError, match="got a link"):
        train("bc", demos, out=out, **FEW)
    assert theirs.read_text() == "keep this"


def test_a_model_says_what_it_was_trained_on(cloned: Model, rollouts: Experience, tmp_path: Path) -> None:
    known = train("eto", rollouts, out=tmp_path, start=cloned.folder, **FEW).trained_on
    assert (known["env"], known["split"], known["reward_information"]) == (SHOP, "train", "oracle")
    # Its start was trained on ten tasks, of which these are eight.
    assert known["tasks"] == cloned.trained_on["tasks"]
    assert len(known["tasks"]) == 10
    assert known["data"] == gym.make(SHOP).unwrapped.data.digest  # type: ignore[attr-defined]


def test_what_was_trained_on_tasks_is_not_measured_on_them(cloned: Model, value: Model) -> None:
    verifier = f"qnet:{value.folder}"
    policy: dict[str, Any] = {"agent": f"learned:{cloned.folder}", "tasks": 12}
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("single", policy, "got 10 that it was"),
        ("bon", {"verifier": verifier, "tasks": 8}, "the verifier was not trained on, got 6"),
        ("mcts", {"roles": {"ranker": f"verifier:{verifier}"}, "tasks": 3, "n": 2}, "the ranker was not trained on"),
    ]
    for strategy, given, said in refused:
        with pytest.raises(TrainedHere, match=said):
            evaluate(SHOP, [strategy], split="train", baseline=strategy, **given)
    found = evaluate(SHOP, ["single"], split="train", baseline="single", **policy, allow_trained_tasks=True)
    assert "the agent was trained on 10 of these tasks" in found.table()
    clean = evaluate(SHOP, ["single"], split="test", baseline="single", **{**policy, "tasks": 2})
    assert "trained on" not in clean.table()
    found = evaluate(SHOP, ["bon"], verifier=verifier, tasks=2, baseline="bon")
    assert found.heading.information == "learned"


@pytest.mark.parametrize(
    ("data", "task", "n"),
    [("d", "a", 1), ("other", "a", 0), ("d", "b", 1), ("other", "b", 1), ("d", "c", 0), ("d", "none", 0)],
)
def test_a_task_about_the_same_thing_is_known_too_whatever_its_data(data: str, task: str, n: int) -> None:
    class Learned:
        trained_on: ClassVar[Any] = {"env": "E", "data": "d", "tasks": ["a"], "subjects": ["red"]}

    subjects = {"a": "blue", "b": "red", "c": "green", "none": ""}
    components = Components(Learned(), None, TemplateRoles())  # type: ignore[arg-type]
    found = trained_here(components, env="E", data=data, tasks=[task], subject_of=subjects.__getitem__)
    assert found == ({"agent": 1} if n else {})
    assert trained_here(components, env="F", data=data, tasks=[task], subject_of=subjects.__getitem__) == {}


@pytest.mark.parametrize(
    ("env_id", "n"),
    [
        *((SHOP, 200), ("IAD/InterCodeBash-v0", 3), ("IAD/BIRD-v0", 4), ("IAD/Booking-v0", 74)),
        *(("IAD/BFCL-v0", 24), ("IAD/ACEBench-v0", 32), ("IAD/Sketch2Code-v0", 0)),
    ],
)
def test_the_bundled_splits_share_no_product_database_or_start_state(env_id: str, n: int) -> None:
    own = domain_by_id(env_id)
    found = {}
    for split in ("train", own.development, own.tested):
        env: Any = gym.make(env_id, split=split).unwrapped
        found[split] = {env.subject_of(task) for task in env.task_ids} - {""}
        if split == "train":
            assert subjects_of(env_id, {}, env.task_ids) == sorted(found[split])
    assert len(found[own.tested]) == n
    assert sum(map(len, found.values())) == len(set().union(*found.values()))


@pytest.mark.parametrize(("split", "said"), [("dev", "dev"), (None, "test")])
def test_runs_on_tasks_that_are_for_measuring_are_refused(split: str | None, said: str, tmp_path: Path) -> None:
    evaluate(SHOP, ["single"], split=split, tasks=2, out=tmp_path / "run", baseline="single")
    with pytest.raises(SplitError, match=f"split '{said}'.*--split train"):
        train("bc", tmp_path / "run", out=tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("recipe", "options", "error", "said"),
    [
        ("dpo", {"start": "cloned"}, NothingToLearn, "such as mcts"),
        ("dpo", {"start": "cloned", "source": "decisions"}, NothingToLearn, "such as iad"),
        ("eto", {"start": "cloned"}, NothingToLearn, "more seeds per task"),
        ("qnet", {}, NothingToLearn, "q-tree"),
        ("bc", {"keep": 1.5}, NothingToLearn, r"\d+ episodes of shopper; .* another --agent .*, or lower keep"),
        ("bc", {"beta": 1}, UnknownName, "option of the recipe bc"),
        ("sft", {}, UnknownName, "recipe"),
        ("bc", {"backend": "quadratic"}, UnknownName, "backend"),
        ("bc", {"backend": "linear:2"}, UnknownName, "backend"),
        ("dpo", {}, ModelFolderError, "--from"),
        ("dpo", {"start": "value"}, ModelFolderError, "expected a policy"),
    ],
)
def test_what_can_not_be_trained_says_what_is_missing(
    recipe: str, options: Any, error: Any, said: str, demos: Experience, cloned: Model, value: Model, tmp_path: Path
) -> None:
    folders = {"cloned": cloned.folder, "value": value.folder}
    given = {name: folders.get(one, one) if name == "start" else one for name, one in options.items()}
    with pytest.raises(error, match=said):
        train(recipe, demos, out=tmp_path / "model", **given)


def test_a_model_of_another_kind_environment_or_version_or_with_other_parameters_is_refused(
    cloned: Model, value: Model, tmp_path: Path
) -> None:
    policy, values = f"learned:{cloned.folder}", f"qnet:{cloned.folder}"
    for env, given, said in (
        (SHOP, {"agent": f"learned:{value.folder}"}, "expected a policy"),
        (SHOP, {"verifier": values}, "expected a value model"),
        ("IAD/BIRD-v0", {"agent": policy}, "one of IAD/WebShop-v0"),
    ):
        with pytest.raises(ModelFolderError, match=said):
            evaluate(env, ["bon"], tasks=1, baseline="bon", **given)  # type: ignore[arg-type]
    with pytest.raises(ModelFolderError, match="train one: iad train"):
        load_model(tmp_path)
    for name in (MODEL, WEIGHTS):
        (tmp_path / name).write_bytes((cloned.folder / name).read_bytes())
    facts = json.loads((tmp_path / MODEL).read_text())
    for changed, said in (({"format": 99}, "one of format 99"), ({"identity": "another"}, "damaged")):
        (tmp_path / MODEL).write_text(json.dumps({**facts, **changed}))
        with pytest.raises(ModelFolderError, match=said):
            load_model(tmp_path)


def test_demonstrations_are_drawn_by_the_seed(demos: Experience, tmp_path: Path) -> None:
    given: dict[str, Any] = {"demos": 3, "epochs": 1}
    n_rows = [
        train("bc", demos, out=tmp_path / str(place), seed=seed, **given).trained_on["n_rows"]
        for place, seed in enumerate((0, 1, 2, 3, 1))
    ]
    assert n_rows[4] == n_rows[1]
    assert len(set(n_rows)) > 1


def test_exploring_and_training_tell_how_far_they_are(demos: Experience, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with showing(lambda *given: told.append(given)):
        explore(SHOP, out=tmp_path / "run", tasks=2, episodes=2, temperature=0.0)
        train("bc", demos, out=tmp_path / "bc", epochs=4)
    assert told == [*(("playing", done, 4) for done in range(1, 5)), *(("training", done, 4) for done in range(1, 5))]
    advance("playing", 1, 2)  # without a listener nothing happens
