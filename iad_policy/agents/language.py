"""A language model as the base agent: puts a state into a prompt, and reads an action from the answer."""

from collections.abc import Mapping
from random import Random
from typing import Any, Literal, cast, get_args

import gymnasium as gym

from iad_policy.agents import load_object
from iad_policy.defaults import defaults_of
from iad_policy.errors import UnknownName
from iad_policy.models import LanguageModel, identity_of, load_model
from iad_policy.models.answers import read_action, read_integer, split_thought
from iad_policy.prompts import Prompts, prompts_of
from iad_policy.prompts.rendering import N_OLD_TURNS, OLD_OBSERVATION_CHARS, shown, state_values
from iad_policy.types import Candidate, Feedback, State

Style = Literal["direct", "cot", "react", "few-shot"]
STYLES: tuple[str, ...] = get_args(Style)
SHOWN_CHARS = 200
"""Of an answer that can't be read, in the error that says so."""
TEXT = "An action is a text, in the form of the available actions where some are listed."
WHOLE_NUMBER = "An action is a whole number"
"""What an action is, as the prompt says it."""


class LanguageAgent:
    """Proposes what a language model answers.

    An answer that can't be read is a candidate with `error` that says what was expected, its text in `thought`. A model
    that can't answer at all raises `ModelError`.

    Args:
        model: A litellm name or an object with `complete`.
        prompts: An environment's prompt files.
        style: `direct` asks for the action alone, `cot` for reasoning before it, `few-shot` for the action alone after
            worked examples, `react` for a thought and an action in a dialogue whose earlier turns are the history.
        space: The action space, if actions are not texts: `Discrete` asks for a whole number.
        temperature: Where the strategy gives none; independent samples need some.
        max_tokens: Of an answer.

    Attributes:
        heading: What stands before the action in an answer of the form that the prompt asks for.
    """

    heading = "Action: "

    def __init__(
        self,
        model: str | LanguageModel,
        prompts: Prompts | None = None,
        style: Style = "direct",
        *,
        space: "gym.Space[Any] | None" = None,
        temperature: float | None = 0.7,
        max_tokens: int | None = 1024,
    ) -> None:
        if style not in STYLES:
            raise UnknownName("style", style, STYLES)
        self.model = load_model(model)
        self._prompts = prompts or Prompts()
        self._style = style
        self._discrete = _discrete(space)
        self._temperature = temperature
        self._max_tokens = max_tokens

    @property
    def identity(self) -> str:
        """Names all that its answers depend on: model, style, prompt texts and sampling."""
        texts = self._prompts.digest([f"actor_{self._style}", "refine"])
        sampling = f"temperature={self._temperature} max_tokens={self._max_tokens}"
        return f"{identity_of(self.model)} {self._style} prompts={texts} {sampling}"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Ask the model for one action.

        Raises:
            ModelError: The model could not answer.
        """
        answer = self.model.complete(
            self.messages(state, feedback),
            temperature=self._temperature if temperature is None else temperature,
            max_tokens=self._max_tokens,
        )
        action, error = self._read(answer.text, state)
        if error:
            return Candidate(None, thought=answer.text, error=error, logprobs=answer.logprobs)
        thought, body = split_thought(answer.text)
        return Candidate(action, thought="" if body is None else thought, logprobs=answer.logprobs)

    @staticmethod
    def in_words(state: State) -> State:
        """Return what of a state the prompt's words describe; what else there is, is shown beside them."""
        return state

    def messages(self, state: State, feedback: Feedback | None = None) -> tuple[Mapping[str, Any], ...]:
        """Return what the model is asked in a state."""
        refine = "" if feedback is None else self._prompts.render("refine", feedback=feedback.text).user
        asked = self.in_words(state)
        return actor_messages(self._prompts, self._style, asked, answer_format=self._format(), refine=refine)

    def _format(self) -> str:
        if self._discrete is None:
            return TEXT
        first, last = _range(self._discrete)
        return f"{WHOLE_NUMBER} from {first} to {last}."

    def _read(self, text: str, state: State) -> tuple[Any, str]:
        """Return the action and "", or None and what was expected."""
        got = f"got {text[:SHOWN_CHARS]!r}" if text.strip() else "got an empty answer"
        if self._discrete is not None:
            first, last = _range(self._discrete)
            number = read_integer(text)
            if number is not None and first <= number <= last:
                return number, ""
            return None, f'expected a line "Action: n" with a whole number from {first} to {last}, {got}'
        available = state.info.get("available_actions", ())
        action = read_action(text, available, bare=self._style == "direct")
        if action is not None:
            return action, ""
        examples = ", ".join(str(action) for action in list(available)[-3:])
        like = f", such as {examples}" if examples else ""
        return None, f'expected a line "Action: ..." with an action{like}, {got}'


def actor_messages(
    prompts: Prompts, style: str, state: State, *, answer_format: str, refine: str = ""
) -> tuple[Mapping[str, Any], ...]:
    """Return what a model is asked in a state, in words only.

    Args:
        prompts: An environment's prompt files.
        style: See `LanguageAgent`.
        state: Where it shall act.
        answer_format: What an action is.
        refine: The block with feedback; "" for none.
    """
    is_dialogue = style == "react"
    values = state_values(state, with_history=not is_dialogue)
    asked = prompts.render(f"actor_{style}", refine=refine, answer_format=answer_format, **values).messages()
    return (*asked[:-1], *_dialogue(state), asked[-1]) if is_dialogue else asked


def language_agent(
    env: gym.Env[Any, Any], model: str | LanguageModel = "", style: Style = "direct", **options: Any
) -> LanguageAgent:
    """Return the agent for an environment: its prompts, its action space.

    Args:
        env: The environment it will act in.
        model: A litellm name or an object with `complete`. A name may carry the style: `gpt-4o-mini#cot`.
        style: See `LanguageAgent`, as for the options.
        options: As `LanguageAgent` takes them.

    Raises:
        ValueError: No model's name.
        TypeError: The actions are neither texts nor `Discrete`.
        UnknownName: No such style.
    """
    if isinstance(model, str) and "#" in model:
        model, _, named = model.rpartition("#")
        style = cast(Style, named)
    kind: type[LanguageAgent] = load_object(defaults_of(env).language)
    return kind(load_model(model), prompts_of(env), style, space=env.action_space, **options)


def _discrete(space: "gym.Space[Any] | None") -> gym.spaces.Discrete | None:
    if space is None or (space.dtype is not None and space.dtype.kind == "U"):
        return None
    if isinstance(space, gym.spaces.Discrete):
        return space
    raise TypeError(
        f"expected an action space of texts or Discrete, got {space}; a language agent can't write other actions. "
        "Write an agent of your own: an object with propose(), or a function f(observation, info)"
    )


def _range(space: gym.spaces.Discrete) -> tuple[int, int]:
    return int(space.start), int(space.start + space.n - 1)


def _dialogue(state: State) -> list[Mapping[str, Any]]:
    """Return the history as turns of a conversation."""
    turns: list[Mapping[str, Any]] = []
    for turn in state.history[-N_OLD_TURNS:]:
        seen = shown(turn.observation, OLD_OBSERVATION_CHARS)
        turns.append({"role": "user", "content": f"Observation: {seen}"})
        turns.append({"role": "assistant", "content": f"Action: {turn.action}"})
    return turns
