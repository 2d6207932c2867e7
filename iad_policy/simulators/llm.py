"""A language model as simulator: it predicts the outcome of an action as text."""

import re
from typing import Any, NamedTuple, NoReturn

import gymnasium as gym

from iad_policy.errors import ModelError, SimulationError
from iad_policy.models import LanguageModel, identity_of
from iad_policy.models.component import ModelComponent
from iad_policy.models.parsing.fences import fence_at
from iad_policy.prompts import Prompts, prompts_of
from iad_policy.simulators.visible_state import VisibleState
from iad_policy.types import Outcome, State
from iad_policy.types.answers import read_field
from iad_policy.types.texts import shown
from iad_policy.world import World, is_text


class LanguageSimulator(ModelComponent):
    """Asks a language model for the next observation, and never asks the environment.

    It predicts the observation, whether the action is valid and whether the episode is over. It does not predict the
    environment's structured info: `page` and `facts` are empty, and reading from them raises an error that says so. No
    actions are listed. So it suits agents and verifiers that read observations (`litellm:`, `judge:`), but not
    rule-based ones.

    Args:
        env: The environment, for its prompts. Its observations must be text.
        model: A litellm name or an object with `complete`.
        temperature: Sampling temperature of the model. At 0 all draws of an action are equal.
        max_tokens: Maximum length of an answer.

    Raises:
        SimulationError: The environment's observations are not text.
    """

    is_perfect = False
    uses_world = False
    predicts_info = False

    def __init__(
        self,
        env: gym.Env[Any, Any],
        model: str | LanguageModel = "",
        *,
        temperature: float | None = 0.0,
        max_tokens: int | None = 2048,
    ) -> None:
        space = env.observation_space
        if not is_text(space):
            raise SimulationError(
                f"expected text observations for a language model to predict, got {space!s:.100}; use another "
                "simulator: perfect, noisy:F or retrieval"
            )
        super().__init__(model, temperature=temperature, max_tokens=max_tokens)
        self._prompts: Prompts = prompts_of(env)

    @property
    def identity(self) -> str:
        """Everything its outcomes depend on."""
        return f"llm {identity_of(self.model)} prompts={self._prompts.digest(['simulator'])} {self.sampling}"

    def begin(self, world: World, state: State) -> VisibleState:
        """Return the visible part of a state as a token."""
        return VisibleState.of(state)

    def simulate(self, world: World, token: VisibleState, action: Any, draw: int) -> Outcome:
        """Return the model's prediction.

        Raises:
            ModelError: The model could not answer, or its answer did not have the requested form (`malformed`).
        """
        if token.done:
            return token.end()
        state, words = token.as_state(), self._prompts.rendering
        values = words.values(state) | {"notes": "", "observation": words.raw(state)}
        prompt = self._prompts.render("simulator", subject=shown(action), **values)
        text = ""
        for _ in range(2):
            text = self.complete(prompt.messages()).text
            predicted = read_prediction(text)
            if predicted is not None:
                info = {"invalid_action": not predicted.is_valid, "available_actions": ()}
                info |= {name: Unpredicted() for name in ("facts", "page") if name in token.info}
                seen, is_valid = predicted.observation, predicted.is_valid
                failure = "" if is_valid else seen
                return token.after(
                    action, seen, info, done=predicted.is_over, key=seen, failure=failure, changed=is_valid
                )
        raise ModelError(
            f"expected {self.model.name} as simulator to answer with Valid, Over and Observation, got {text[:200]!r} "
            f"(2 tries); use another model",
            kind="malformed",
        )


class PredictedOutcome(NamedTuple):
    """The content of a model's answer."""

    observation: str
    is_valid: bool
    is_over: bool


def read_prediction(text: str) -> PredictedOutcome | None:
    """Read an answer, or return None if it has no observation. Unless it says otherwise, it is valid and not over."""
    marker = re.search(r"^[\W_]*observation[\W_]*?:[ \t*_]*\n?", text, re.IGNORECASE | re.MULTILINE)
    if marker is None:
        return None
    head, seen = text[: marker.start()], text[marker.end() :].strip()
    fence = fence_at(seen)
    is_valid, is_over = not _field_is(head, "valid", "no"), _field_is(head, "over", "yes")
    return PredictedOutcome(fence.text if fence and fence.end == len(seen) else seen, is_valid, is_over)


def _field_is(head: str, field: str, word: str) -> bool:
    return (read_field(head, field) or "").casefold().startswith(word)


class Unpredicted(dict[str, Any]):
    """Structured info that a language model did not predict. It is empty, and raises an error when it is read."""

    def __missing__(self, key: str) -> NoReturn:
        raise SimulationError(
            f"expected an agent and a verifier that read observations, got one that reads {key!r} of the structured "
            "info, which a language model does not predict; use litellm:<model> and judge:<model>, or the simulator "
            "perfect, noisy:F or retrieval"
        )

    def get(self, key: str, default: Any = None) -> Any:
        """Raise as a lookup does. A default would hide that the value was not predicted."""
        return self[key]
