"""Trains a model from run folders by a recipe, and writes its folder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from iad_policy.errors import UnknownName
from iad_policy.learn.experience import Experience
from iad_policy.learn.models import finished_model, write_model, writing
from iad_policy.learn.online import train_online
from iad_policy.learn.recipes import Recipe, load_recipe
from iad_policy.learn.recipes.ppo import PolicyOptimisation
from iad_policy.learn.splits import require_train, trained_on
from iad_policy.learn.trainable import Trainable, load_trainable
from iad_policy.registry.domain import domain_by_id, domains
from iad_policy.registry.environments import registered
from iad_policy.trained.models import MODEL, Model, ModelFolderError, load_model
from iad_policy.types.hashing import digest, seed_of

LANGUAGE = "hf:"
"""What the names of language models to train begin with."""


def train(
    recipe: str,
    experience: Experience | Sequence[Path | str] | Path | str,
    *,
    out: Path | str,
    backend: str = "linear",
    start: Path | str | None = None,
    seed: int = 0,
    report: Callable[[str], Any] = lambda text: None,
    **options: Any,
) -> Model:
    """Train a model. The same command again goes on after a kill, and returns the finished model at once.

    Args:
        recipe: A name in `RECIPES`.
        experience: Run folders on training tasks, or what was read from them. For `ppo`, which plays while it learns,
            the environment's id.
        out: Folder of the model.
        backend: A name in `BACKENDS`.
        start: Folder of the policy that training goes on from. Recipes that pull towards a reference need one.
        seed: Seed of draws and of the order of the examples.
        report: Function that is told how it goes, a line at a time.
        options: Options of the recipe, of the schedule (`epochs batch max_kl`) and of the backend (`rate` ...).

    Raises:
        SplitError: The runs are not on training tasks.
        NothingToLearn: They have nothing that the recipe can use.
        ModelFolderError: `out` holds another model, or `start` is none.
        UnknownName: There is no such recipe, backend or option.
    """
    of_backend: dict[str, Any] = {
        name: options.pop(name)
        for name in ("rate", "entropy", "rank", "micro", "max_length", "decode", "network", "loss_at")
        if name in options
    }
    if recipe == "ppo":  # it plays while it learns
        env = [experience] if isinstance(experience, str) or not isinstance(experience, Sequence) else experience
        names = [str(one) for one in env]
        if len(names) != 1 or registered(names[0].rpartition(":")[2]) is None:
            known = [name for name, own in domains() if own.features]
            raise UnknownName("environment, as ppo plays while it learns", ", ".join(names), known)
        playing = cast("PolicyOptimisation", load_recipe(recipe, **options))
        if start is None:
            raise _needs_start()
        return train_online(playing, names[0], start=start, out=out, seed=seed, report=report, **of_backend)
    of_schedule = {name: options.pop(name) for name in ("epochs", "batch", "max_kl") if name in options}
    made = load_recipe(recipe, **options)
    if not isinstance(experience, Experience):
        experience = Experience.of([experience] if isinstance(experience, str | Path) else experience)
    require_train(experience)
    model = _start(made, backend, start, experience, seed, of_backend)
    schedule = replace(model.schedule(recipe), **of_schedule)
    facts = {
        "recipe": recipe,
        "options": asdict(made) | asdict(schedule) | of_backend,  # type: ignore[call-overload]
        "head": made.head,
        "backend": model.name,
        "env": experience.env,
        "seed": seed,
        "start": None if start is None else load_model(start).identity,
    }
    folder = Path(out)
    asked = digest(facts, experience.digest, model.identity)
    with writing(folder):
        if (folder / MODEL).exists():
            return finished_model(folder, asked)
        examples = made.examples(experience, model, np.random.default_rng(seed_of("examples", seed)))
        n_tasks = len(experience.tasks)
        report(f"{recipe}: {len(examples.rows)} rows from {len(experience.trajectories)} episodes of {n_tasks} tasks")
        fitted = model.fit(examples, schedule, folder=folder, seed=seed, asked=asked)
        report(f"{fitted.n_epochs} of {schedule.epochs} epochs{fitted.ending}")
        learned_from = trained_on(experience, examples.rows, n_left_out=fitted.n_left_out)
        if start is not None:  # and the tasks that the policy it started from was trained on
            before = load_model(start).trained_on
            learned_from |= {name: sorted({*learned_from[name], *before[name]}) for name in ("tasks", "subjects")}
            learned_from["runs"] = list(dict.fromkeys([*before["runs"], *learned_from["runs"]]))
        whole = {
            **facts,
            "asked": asked,
            "identity": fitted.model.identity,
            "n_epochs": fitted.n_epochs,
            "loss": fitted.loss,
            "kl": fitted.kl,
            "stopped": fitted.stopped,
            "trained_on": learned_from,
        }
        return write_model(folder, fitted.model, whole)


def _needs_start() -> ModelFolderError:
    return ModelFolderError(
        "expected a trained policy to start from, as this recipe pulls towards it, got none; train one with bc or rft "
        "and pass --from FOLDER"
    )


def _start(
    recipe: Recipe,
    backend: str,
    start: Path | str | None,
    experience: Experience,
    seed: int,
    options: Mapping[str, Any],
) -> Trainable:
    env = experience.env
    if start is None:
        if recipe.needs_start:
            raise _needs_start()
        mode = domain_by_id(env).mode_of(experience.origins[0].env_args)
        own = {"mode": mode} if mode and backend.startswith(LANGUAGE) else {}
        return load_trainable(backend, env, recipe.head, seed=seed, **own, **options)
    known = load_model(start, head=recipe.head, env=env)
    # Its optimiser does not go on: another objective has other slopes.
    fresh = load_trainable(known.facts["backend"], env, recipe.head, seed=seed, **{**known.backend.options, **options})
    fresh.take(known.backend)
    return fresh
