"""Training from run folders: what is refused, what is written, and what is the same every time."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest

from iad_policy import evaluate
from iad_policy.agents import load_agent
from iad_policy.errors import SimulationError, UnknownName
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
from iad_policy.roles.learned import LearnedEvaluator
from iad_policy.run.trained import TrainedHere, trained_here
from iad_policy.runtime.components import Components
from iad_policy.simulators import load_simulator
from iad_policy.trained.backends.numeric import WEIGHTS
from iad_policy.trained.models import MODEL, Model, ModelFolderError, load_model
from iad_policy.verifiers import load_verifier
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
    searched: Experience, rollouts: Experience, cloned: Model
) -> None:
    """They are those of the policy that searched, so training from it is the same with either reference."""

    def reference(recipe: str, name: str, experience: Experience) -> Any:
        made = load_recipe(recipe, reference=name).examples(experience, cloned.backend, np.random.default_rng(0))
        return made.stored["reference"]

    for recipe, experience in (("dpo", searched), ("eto", rollouts)):
        behaviour = reference(recipe, "behaviour", experience)
        assert behaviour == pytest.approx(reference(recipe, "start", experience), abs=1e-9)
    silent = [
        replace(one, steps=tuple(replace(step, committed=replace(step.committed, logprobs=None)) for step in one.steps))
        for one in rollouts.trajectories
    ]
    with pytest.raises(NothingToLearn, match=r"got 0 of \d+; explore with .* or use reference=start"):
        reference("eto", "behaviour", rollouts.only(silent))


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


@pytest.mark.parametrize(
    ("kind", "strategy", "place", "tasks", "said"),
    [
        ("cloned", "single", {"agent": "learned:{}"}, 12, "the agent was not trained on, got 10 that it was"),
        ("value", "bon", {"verifier": "qnet:{}"}, 8, "the verifier was not trained on, got 6"),
        ("value", "mcts", {"roles": {"ranker": "verifier:qnet:{}"}}, 3, "the ranker was not trained on, got 3"),
        ("evaluator", "artis", {"roles": {"evaluator": "learned:{}"}}, 3, "the evaluator was not trained on, got 3"),
        ("simulator", "artis", {"simulator": "learned:{}"}, 6, "the simulator was not trained on, got 6"),
    ],
)
def test_what_was_trained_on_tasks_is_not_measured_on_them(
    kind: str, strategy: str, place: Any, tasks: int, said: str, request: pytest.FixtureRequest
) -> None:
    model = str(request.getfixturevalue(kind).folder)
    given: Any = json.loads(json.dumps({**place, "baseline": strategy, "n": 2}).replace("{}", model))
    with pytest.raises(TrainedHere, match=said):
        evaluate(SHOP, [strategy], split="train", tasks=tasks, **given)
    if kind in ("cloned", "evaluator"):
        found = evaluate(SHOP, [strategy], split="train", tasks=tasks, allow_trained_tasks=True, **given)
        assert re.search(r"was trained on (3|10) of these tasks", found.table())
    clean = evaluate(SHOP, [strategy], tasks=1, **given)
    assert "trained on" not in clean.table()
    assert kind != "value" or strategy != "bon" or clean.heading.information == "learned"


ENV = gym.make(SHOP)
PLACES: dict[str, tuple[str, Any]] = {
    "cloned": ("policy", lambda folder: load_agent(f"learned:{folder}", ENV)),
    "value": ("value model", lambda folder: load_verifier(f"qnet:{folder}", ENV)),
    "evaluator": ("evaluator of attempts", lambda folder: LearnedEvaluator(ENV, str(folder))),
    "simulator": ("simulator", lambda folder: load_simulator(f"learned:{folder}", ENV)),
}


@pytest.mark.parametrize("kind", PLACES)
def test_a_model_of_each_kind_has_one_place(kind: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(kind).folder
    for place, (name, load) in PLACES.items():
        if place == kind:
            assert load(folder)
            continue
        wanted = "policy or a value model" if kind == "simulator" else name
        with pytest.raises(ModelFolderError, match=f"expected an? {wanted}"):
            load(folder)


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


def test_a_model_of_another_environment_or_version_or_with_other_parameters_is_refused(
    cloned: Model, simulator: Model, tmp_path: Path
) -> None:
    with pytest.raises(ModelFolderError, match="one of IAD/WebShop-v0"):
        load_agent(f"learned:{cloned.folder}", gym.make("IAD/BIRD-v0"))
    with pytest.raises(ModelFolderError, match="train one: iad train"):
        load_model(tmp_path)
    with pytest.raises(SimulationError, match="pass --simulator learned:"):
        load_simulator(f"llm:{simulator.folder}", ENV)
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
