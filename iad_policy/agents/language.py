"""A language model as the base agent: it renders a state as a prompt and reads an action from the answer."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal, TypeVar, cast, get_args

import gymnasium as gym

from iad_policy.env_defaults import Defaults, defaults_of, env_id
from iad_policy.errors import UnknownName
from iad_policy.models import LanguageModel, identity_of
from iad_policy.models.component import ModelComponent
from iad_policy.models.parsing import read_action, read_integer, split_thought
from iad_policy.prompts import Prompt, Prompts, prompts_of
from iad_policy.registry import load_object
from iad_policy.types import Candidate, Feedback, State

Style = Literal["direct", "cot", "few-shot"]
STYLES: tuple[str, ...] = get_args(Style)
OPTIONS = ("temperature", "max_tokens", "top_p", "logprobs")
"""Options of every agent that asks a model. They can't be part of its name."""
SHOWN_CHARS = 200
"""Characters of an unreadable answer that its error message quotes."""


class LanguageAgent(ModelComponent):
    """Asks a language model for each action.

    An answer that can't be read becomes a candidate whose `error` says what was expected, with the text as `thought`.
    If the model can't answer at all, `ModelError` is raised.

    Args:
        model: A litellm name or an object with `complete`.
        prompts: An environment's prompt files.
        style: `cot` asks for a thought and the action, `direct` for the action alone, `few-shot` for the action alone
            after several examples. None takes the class's own: `cot` except in Sketch2Code.
        space: The action space if actions are not texts. `Discrete` asks for a whole number.
        temperature: The default if the strategy gives none. Independent samples need more than 0.
        max_tokens: Maximum length of an answer.
        top_p: Nucleus sampling of a model given by name. None keeps the provider's default.
        logprobs: Whether to ask a model given by name for the log-probabilities of its tokens.
    """

    default_style: Style = "cot"
    heading = "Action"
    """The word before the colon on the line with the action."""

    def __init__(
        self,
        model: str | LanguageModel,
        prompts: Prompts | None = None,
        style: Style | None = None,
        *,
        space: "gym.Space[Any] | None" = None,
        temperature: float | None = 0.7,
        max_tokens: int | None = 1024,
        top_p: float | None = None,
        logprobs: bool = False,
    ) -> None:
        style = style or self.default_style
        if style not in STYLES:
            raise UnknownName("style", style, STYLES)
        sampling = {"top_p": top_p, "logprobs": logprobs or None}
        given = {name: value for name, value in sampling.items() if value is not None}
        super().__init__(model, temperature=temperature, max_tokens=max_tokens, **given)
        self._prompts = prompts or Prompts()
        self._style = style
        self._discrete = _discrete(space)

    @property
    def identity(self) -> str:
        """Everything its answers depend on: model, style, prompt texts and sampling."""
        texts = self._prompts.digest([*self.roles, "refine"])
        return f"{identity_of(self.model)} {self.kind} prompts={texts} {self.sampling}"

    @property
    def kind(self) -> str:
        """The style, or the name of the agent's kind."""
        return self._style

    @property
    def roles(self) -> Sequence[str]:
        """The prompts it uses in addition to `refine`."""
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

    def messages(self, state: State, feedback: Feedback | None = None) -> tuple[Mapping[str, Any], ...]:
        """Return the messages that ask for an action in a state."""
        return self.prompt(self.roles[0], state, feedback).messages()

    def prompt(self, role: str, state: State, feedback: Feedback | None, **values: str) -> Prompt:
        """Return a prompt about a state. Values given here override those that describe the state."""
        refine = "" if feedback is None else self._prompts.refinement(feedback.text)
        described = {**self._prompts.rendering.values(state), "refine": refine, "answer_format": self._format()}
        return self._prompts.render(role, **{**described, **values})

    def _format(self) -> str:
        if self._discrete is None:
            return ""
        first, last = _range(self._discrete)
        return f"Here an action is a whole number from {first} to {last}."

    def _read(self, text: str, state: State) -> tuple[Any, str]:
        """Return the action and "", or None and the error message."""
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
    env: gym.Env[Any, Any], model: str | LanguageModel = "", style: Style | None = None, **options: Any
) -> LanguageAgent:
    """Ask a language model for each action, with the environment's prompts; `litellm:<model>#cot` names a style.

    Args:
        env: The environment it will act in.
        model: A litellm name or an object with `complete`. A name may include the style: `gpt-4o-mini#cot`.
        style: How the model is asked. See `LanguageAgent`.
        options: Further options of `LanguageAgent`.

    Raises:
        ValueError: The model's name is empty.
        TypeError: The actions are neither texts nor `Discrete`.
        UnknownName: There is no such style, or no such option.
    """
    if isinstance(model, str) and "#" in model:
        model, _, named = model.rpartition("#")
        style = cast(Style, named)
    kind: type[LanguageAgent] = load_object(defaults_of(env).language)
    return made_for(env, kind, model, style, **options)


def local_agent(env: gym.Env[Any, Any], model: str = "", **options: Any) -> LanguageAgent:
    """Ask a model on this machine: `local:<model>` or `local:<model>#cot`. See `language_agent`."""
    return language_agent(env, f"local:{model}", **options)


def paper_agent(env: gym.Env[Any, Any], kind: type[AgentT], model: str | LanguageModel, **options: Any) -> AgentT:
    """Return a paper's agent for an environment. See `language_agent`.

    Raises:
        TypeError: The environment has its own way of reading answers.
    """
    if defaults_of(env).language != Defaults().language:
        raise TypeError(
            f"expected litellm:<model> in {env_id(env)}, which has its own way of reading answers, got "
            f"{kind.kind}:<model>; use litellm:<model>"
        )
    return made_for(env, kind, model, **options)


def made_for(
    env: gym.Env[Any, Any], kind: type[AgentT], model: str | LanguageModel, style: Style | None = None, **options: Any
) -> AgentT:
    """Return an agent of the given class with an environment's prompts and action space."""
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
        "Write your own agent: an object with propose(), or a function f(observation, info)"
    )


def _range(space: gym.spaces.Discrete) -> tuple[int, int]:
    return int(space.start), int(space.start + space.n - 1)
