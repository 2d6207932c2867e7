"""A language model as simulator: it predicts the outcome of an action as text.

One that was trained for it (`iad train simulator --backend hf:<model>`) is asked in fewer words, with all that is
known: what the episode began with, every action and what it led to (ARTIS, eq. 7).
"""

import re
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import gymnasium as gym

from iad_policy.errors import ModelError, SimulationError
from iad_policy.models import LanguageModel, identity_of
from iad_policy.models.component import ModelComponent
from iad_policy.models.parsing.fences import fence_at
from iad_policy.prompts import Prompt, Prompts, prompts_of
from iad_policy.prompts.rendering import Seen
from iad_policy.registry.domain import env_id
from iad_policy.simulators.visible_state import outcome_after, outcome_at_end, require_other_task, visible
from iad_policy.trained.models import MODEL, SIMULATOR, load_model
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
        model: A litellm name or an object with `complete`. It is greedy, so all draws of an action are equal.

    Raises:
        SimulationError: The environment's observations are not text.
    """

    is_perfect = False
    uses_world = False
    predicts_info = False
    prompt = "simulator"
    """Name of the prompt that it is asked with."""

    def __init__(self, env: gym.Env[Any, Any], model: str | LanguageModel = "") -> None:
        space = env.observation_space
        if not is_text(space):
            raise SimulationError(
                f"expected text observations for a language model to predict, got {space!s:.100}; use another "
                "simulator: perfect, noisy:F or retrieval"
            )
        super().__init__(model, temperature=0.0, max_tokens=2048)
        self._prompts: Prompts = prompts_of(env)

    @property
    def identity(self) -> str:
        """Everything its outcomes depend on."""
        return f"llm {identity_of(self.model)} prompts={self._prompts.digest([self.prompt])} {self.sampling}"

    def begin(self, world: World, state: State) -> State:
        """Return the visible part of a state as a token."""
        return visible(state)

    def simulate(self, world: World, token: State, action: Any, draw: int) -> Outcome:
        """Return the model's prediction.

        Raises:
            ModelError: The model could not answer, or its answer did not have the requested form (`malformed`).
        """
        if token.done:
            return outcome_at_end(token)
        asked, before = self._question(token, action)
        text = ""
        for _ in range(2):
            text = self.complete(asked.messages()).text
            predicted = read_prediction(text, before)
            if predicted is not None:
                info = {"invalid_action": not predicted.is_valid, "available_actions": ()}
                info |= {name: Unpredicted() for name in ("facts", "page") if name in token.info}
                seen, has_failed = predicted.observation, predicted.has_failed or not predicted.is_valid
                failure = seen if has_failed else ""
                return outcome_after(
                    token, action, seen, info, done=predicted.is_over, key=seen, failure=failure, changed=not has_failed
                )
        raise ModelError(
            f"expected {self.model.name} as simulator to answer with Valid, Failed, Over and Observation, got "
            f"{text[:200]!r} (2 tries); use another model",
            kind="malformed",
        )

    def _question(self, token: State, action: Any) -> tuple[Prompt, str]:
        """Return what the model is asked, and what was seen before, if the answer may count paragraphs of it."""
        words = self._prompts.rendering
        values = words.values(token) | {"notes": "", "observation": words.raw(token)}
        return self._prompts.render(self.prompt, subject=shown(action), **values), ""


class TrainedLanguageSimulator(LanguageSimulator):
    """Asks a language model that was trained on recorded outcomes: `llm:<folder>`. See `LanguageSimulator`.

    Args:
        env: The environment.
        folder: Folder of the model.

    Attributes:
        trained_on: What it was trained on.

    Raises:
        ModelFolderError: The folder has no simulator for this environment.
        SimulationError: It is no language model.
    """

    prompt = "simulator_trained"

    def __init__(self, env: gym.Env[Any, Any], folder: str) -> None:
        model = load_model(folder, env=env_id(env), recipe=SIMULATOR)
        if not model.facts["backend"].startswith("hf:"):
            raise SimulationError(
                f"expected a simulator that is a language model, got one of the backend {model.facts['backend']} in "
                f"{folder}; pass --simulator learned:{folder}"
            )
        super().__init__(env, model.backend.client())  # type: ignore[attr-defined]
        self.trained_on: Mapping[str, Any] = model.trained_on

    def begin(self, world: World, state: State) -> State:
        """Return the visible part of a state as a token.

        Raises:
            SimulationError: It was trained on this very task.
        """
        require_other_task(state, self.trained_on["tasks"])
        return visible(state)

    def _question(self, token: State, action: Any) -> tuple[Prompt, str]:
        return question(self._prompts, token, action), str(token.observation)


def language_simulator(env: gym.Env[Any, Any], model: str | LanguageModel = "") -> LanguageSimulator:
    """Return a language model as simulator: a folder of one that was trained for it, or a model's name."""
    if isinstance(model, str) and (Path(model) / MODEL).is_file():
        return TrainedLanguageSimulator(env, model)
    return LanguageSimulator(env, model)


def question(prompts: Prompts, state: State, action: Any) -> Prompt:
    """Return what a trained simulator is asked: all that was seen since the episode began, and the next action."""
    words = prompts.rendering
    seen: list[Seen] = [*state.history, state]
    told = [words.page(seen[0])]
    for turn, after in zip(state.history, seen[1:], strict=True):
        told.append(f"Action: {words.shown_action(turn.action)}\n{words.page(after)}")
    values = words.values(state) | {
        "environment": words.environment_of(state, action),
        "history": "\n\n".join(told),
        "notes": "",
    }
    return prompts.render("simulator_trained", subject=shown(action), **values)


class PredictedOutcome(NamedTuple):
    """The content of a model's answer."""

    observation: str
    is_valid: bool
    is_over: bool
    has_failed: bool = False

    def text(self, before: str = "") -> str:
        """Return the answer that says it. Paragraphs at its end that were seen before are counted, not repeated."""
        valid, failed, over = ("yes" if one else "no" for one in (self.is_valid, self.has_failed, self.is_over))
        parts, old = self.observation.split("\n\n"), before.split("\n\n") if before else []
        pairs = zip(reversed(parts), reversed(old), strict=False)
        n_same = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
        seen = parts[: len(parts) - n_same] + ([f"(the last {n_same} paragraphs as before)"] if n_same else [])
        return f"Valid: {valid}\nFailed: {failed}\nOver: {over}\nObservation:\n" + "\n\n".join(seen)


def read_prediction(text: str, before: str = "") -> PredictedOutcome | None:
    """Read an answer, or return None if it has no observation. Unless it says otherwise, it is valid and goes on.

    Args:
        text: The answer.
        before: What was seen before, of which it may count paragraphs: see `PredictedOutcome.text`.
    """
    marker = re.search(r"^(?:[^\w\n]|_)*+observation[\W_]*?:[ \t*_]*\n?", text, re.IGNORECASE | re.MULTILINE)
    if marker is None:
        return None
    head, seen = text[: marker.start()], text[marker.end() :].strip()
    fence = fence_at(seen)
    is_valid, is_over = not _field_is(head, "valid", "no"), _field_is(head, "over", "yes")
    text = fence.text if fence and fence.end == len(seen) else seen
    if before and (same := re.search(r"\(the last (\d{1,4}) paragraphs as before\)$", text)):
        text = text[: same.start()] + "\n\n".join(before.split("\n\n")[-int(same[1]) :])
    return PredictedOutcome(text, is_valid, is_over, _field_is(head, "failed", "yes"))


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
