"""A trained model as the evaluator of attempts: `learned:<folder>`."""

from typing import Any

import gymnasium as gym

from iad_policy.errors import UnknownName
from iad_policy.registry.domain import env_id
from iad_policy.roles.templates import PASSING_SCORE
from iad_policy.trained.heads import sigmoid
from iad_policy.trained.models import Model, load_model
from iad_policy.types import State
from iad_policy.types.information import Information


class LearnedEvaluator:
    """Tells whether an attempt succeeded, from the actions that were taken and what they led to.

    Its evaluation has the form of one without a model. The score is the probability of success, and an attempt passes
    from one half on.

    Args:
        env: The environment.
        folder: Folder of the model.

    Raises:
        ModelFolderError: The folder has no evaluator for this environment.
    """

    information: Information = "learned"
    model = None
    reads_info = True

    def __init__(self, env: gym.Env[Any, Any], folder: str) -> None:
        self.trained: Model = load_model(folder, head="attempt", env=env_id(env))
        self.trained_on = self.trained.trained_on
        self.source = f"learned:{folder}"
        self.identity = f"learned {self.trained.identity}"

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Return the evaluation of an attempt.

        Raises:
            UnknownName: The role is not the evaluator.
        """
        if role != "evaluator":
            raise UnknownName("role of a trained evaluator", role, ("evaluator",))
        parts = subject if isinstance(subject, list | tuple) else [subject]
        # Where no attempt is told, it is the state that is asked in.
        return evaluation(self.likely(next((part for part in parts if isinstance(part, State)), state)))

    def likely(self, end: State) -> float:
        """Return the probability that the attempt that ended in a state succeeded."""
        return float(sigmoid(self.trained.backend.values(end, [None]))[0])


def evaluation(likely: float) -> str:
    """Return the evaluation of an attempt that succeeded with this probability."""
    word, suggestion = ("pass", "Do the same.") if likely >= PASSING_SCORE else ("fail", "Do something else.")
    return (
        f"Verdict: {word}\nCause: Attempts like this one succeed with a probability of {likely:.2f}.\n"
        f"Suggestion: {suggestion}\nScore: {likely:.4g}"
    )
