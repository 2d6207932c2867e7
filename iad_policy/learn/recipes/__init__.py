"""Recipes turn experience into examples. To add one, write its file and name it in `RECIPES`."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

import numpy as np

from iad_policy.errors import UnknownName
from iad_policy.learn.examples import Examples
from iad_policy.learn.experience import Experience
from iad_policy.registry import load_object
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Head

RECIPES: Mapping[str, str] = {
    "bc": "iad_policy.learn.recipes.bc:BehaviourCloning",
    "rft": "iad_policy.learn.recipes.rft:RejectionSampling",
    "dpo": "iad_policy.learn.recipes.dpo:StepPreference",
    "eto": "iad_policy.learn.recipes.eto:TrajectoryPreference",
    "ppo": "iad_policy.learn.recipes.ppo:PolicyOptimisation",
    "qnet": "iad_policy.learn.recipes.qnet:QNet",
    "evaluator": "iad_policy.learn.recipes.evaluator:AttemptEvaluation",
}
"""Name -> "module:class". A class is a dataclass: its fields are the recipe's options."""


class Recipe(Protocol):
    """A way to learn.

    Attributes:
        head: Kind of the model that it trains.
        needs_start: Whether it goes on from a trained policy, `--from`, and pulls towards it.
    """

    head: Head
    needs_start: bool

    def examples(self, experience: Experience, start: Backend, rng: np.random.Generator) -> Examples:
        """Return what to fit.

        Args:
            experience: Where to learn from.
            start: The model before training, for log-probabilities under it.
            rng: For draws.

        Raises:
            NothingToLearn: The experience lacks what the recipe uses. The message says what to run.
        """
        ...


def load_recipe(name: str, **options: Any) -> Recipe:
    """Return a recipe with its options.

    Raises:
        UnknownName: There is no such recipe, or it has no such option.
        ValueError: An option's value is not possible.
    """
    if name not in RECIPES:
        raise UnknownName("recipe", name, RECIPES)
    kind = load_object(RECIPES[name])
    assert is_dataclass(kind)
    known = [one.name for one in fields(kind)]
    for option in options:
        if option not in known:
            raise UnknownName(f"option of the recipe {name}", option, known)
    made: Recipe = kind(**options)  # type: ignore[assignment,operator]
    return made
