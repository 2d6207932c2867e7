"""A language model as the base agent: puts a state into a prompt, and reads an action from the answer."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal, TypeVar, cast, get_args

import gymnasium as gym

from iad_policy.env_defaults import Defaults, defaults_of, env_id
from iad_policy.errors import UnknownName
from iad_policy.models import Completion, LanguageModel, Messages, identity_of, load_model
from iad_policy.models.parsing import read_action, read_integer, split_thought
from iad_policy.prompts import Prompt, Prompts, prompts_of
from iad_policy.prompts.rendering import state_values
from iad_policy.registry import load_object
from iad_policy.types import Candidate, Feedback, State

Style = Literal["direct", "cot", "few-shot"]
STYLES: tuple[str, ...] = get_args(Style)
OPTIONS = ("temperature", "max_tokens", "top_p", "logprobs")
"""Of every agent that asks a model, as its name can't carry them."""
SHOWN_CHARS = 200
"""Of an answer that can't be read, in the error that says so."""


class LanguageAgent:
    """Proposes what a language model answers.

    An answer that can't be read is a candidate with `error` that says what was expected, its text in `thought`. A model
    that can't answer at all raises `ModelError`.

    Args:
        model: A litellm name or an object with `complete`.
        prompts: An environment's prompt files.
        style: `direct` asks for the action alone, `cot` for reasoning before it, `few-shot` for the action alone after
            worked examples.
        space: The action space, if actions are not texts: `Discrete` asks for a whole number.
        temperature: Where the strategy gives none; independent samples need some.
        max_tokens: Of an answer.
        top_p: Of a model given by name; None for the provider's own.
        logprobs: Of a model given by name: whether its tokens' log-probabilities are asked for.
    """

    heading = "Action"
    """What the line with the action begins with."""

    def __init__(
        self,
        model: str | LanguageModel,
        prompts: Prompts | None = None,
        style: Style = "direct",
        *,
        space: "gym.Space[Any] | None" = None,
        temperature: float | None = 0.7,
        max_tokens: int | None = 1024,
        top_p: float | None = None,
        logprobs: bool = False,
    ) -> None:
        if style not in STYLES:
            raise UnknownName("style", style, STYLES)
        asked = {"top_p": top_p, "logprobs": logprobs or None}
        self.model = load_model(model, **{name: value for name, value in asked.items() if value is not None})
        self._prompts = prompts or Prompts()
        self._style = style
        self._discrete = _discrete(space)
        self._temperature = temperature
        self._max_tokens = max_tokens

    @property
    def identity(self) -> str:
        """Names all that its answers depend on: model, style, prompt texts and sampling."""
        texts = self._prompts.digest([*self.roles, "refine"])
        sampling = f"temperature={self._temperature} max_tokens={self._max_tokens}"
        return f"{identity_of(self.model)} {self.kind} prompts={texts} {sampling}"

    @property
    def kind(self) -> str:
        """Which agent it is."""
        return self._style

    @property
    def roles(self) -> Sequence[str]:
        """The prompts it uses, beside `refine`."""
        return [f"actor_{self.kind}"]

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Ask the model for one action.

        Raises:
            ModelError: The model could not answer.
        """
        answer = self.complete(self.messages(state, feedback), temperature)
        action, error = self._read(answer.text, state)
        if error:
            return Candidate(None, thought=answer.text, error=error, logprobs=answer.logprobs)
        thought, body = split_thought(answer.text)
        return Candidate(action, thought="" if body is None else thought, logprobs=answer.logprobs)

    def complete(self, messages: Messages, temperature: float | None) -> Completion:
        """Return the model's answer, at the agent's own temperature where none is given."""
        temperature = self._temperature if temperature is None else temperature
        return self.model.complete(messages, temperature=temperature, max_tokens=self._max_tokens)

    def messages(self, state: State, feedback: Feedback | None = None) -> tuple[Mapping[str, Any], ...]:
        """Return what the model is asked in a state."""
        return self.prompt(self.roles[0], state, feedback).messages()

    def prompt(self, role: str, state: State, feedback: Feedback | None, **values: str) -> Prompt:
        """Return a prompt about a state; values go before those that describe it."""
        refine = "" if feedback is None else self._prompts.render("refine", feedback=feedback.text).user
        described = {**state_values(state), "refine": refine, "answer_format": self._format()}
        return self._prompts.render(role, **{**described, **values})

    def _format(self) -> str:
        if self._discrete is None:
            return "An action is a text, in the form of the available actions where some are listed."
        first, last = _range(self._discrete)
        return f"An action is a whole number from {first} to {last}."

    def _read(self, text: str, state: State) -> tuple[Any, str]:
        """Return the action and "", or None and what was expected."""
        action = self._action(text, state)
        return (action, "") if action is not None else (None, self._expected(text, state))

    def _action(self, text: str, state: State) -> Any:
        if self._discrete is None:
            return read_action(text, state.info.get("available_actions", ()), bare=self.kind == "direct")
        first, last = _range(self._discrete)
        number = read_integer(text)
        return number if number is not None and first <= number <= last else None

    def _expected(self, text: str, state: State) -> str:
        got = f"got {text[:SHOWN_CHARS]!r}" if text.strip() else "got an empty answer"
        if self._discrete is not None:
            first, last = _range(self._discrete)
            return f'expected a line "{self.heading}: n" with a whole number from {first} to {last}, {got}'
        examples = ", ".join(str(action) for action in list(state.info.get("available_actions", ()))[-3:])
        like = f", such as {examples}" if examples else ""
        return f'expected a line "{self.heading}: ..." with an action{like}, {got}'


AgentT = TypeVar("AgentT", bound=LanguageAgent)


def language_agent(
    env: gym.Env[Any, Any], model: str | LanguageModel = "", style: Style = "direct", **options: Any
) -> LanguageAgent:
    """Ask a language model for each action, with the environment's prompts; `litellm:<model>#cot` names a style.

    Args:
        env: The environment it will act in.
        model: A litellm name or an object with `complete`. A name may carry the style: `gpt-4o-mini#cot`.
        style: See `LanguageAgent`, as for the options.
        options: As `LanguageAgent` takes them.

    Raises:
        ValueError: No model's name.
        TypeError: The actions are neither texts nor `Discrete`.
        UnknownName: No such style, or no such option.
    """
    if isinstance(model, str) and "#" in model:
        model, _, named = model.rpartition("#")
        style = cast(Style, named)
    kind: type[LanguageAgent] = load_object(defaults_of(env).language)
    return made_for(env, kind, model, style, **options)


def paper_agent(env: gym.Env[Any, Any], kind: type[AgentT], model: str | LanguageModel, **options: Any) -> AgentT:
    """Return an agent of a paper for an environment; see `language_agent`.

    Raises:
        TypeError: The environment's answers need reading of their own.
    """
    if defaults_of(env).language != Defaults().language:
        raise TypeError(
            f"expected litellm:<model> in {env_id(env)}, whose answers are read in a way of their own, got "
            f"{kind.kind}:<model>; take that"
        )
    return made_for(env, kind, model, **options)


def made_for(
    env: gym.Env[Any, Any], kind: type[AgentT], model: str | LanguageModel, style: Style = "direct", **options: Any
) -> AgentT:
    """Return an agent of a kind with an environment's prompts and action space."""
    for option in options:
        if option not in OPTIONS:
            raise UnknownName("option of a language model's agent", option, OPTIONS)
    return kind(model, prompts_of(env), style, space=env.action_space, **options)


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
