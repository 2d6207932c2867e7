"""A language model as the base agent: it renders a state as a prompt and reads an action from the answer."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal, TypeVar, cast, get_args

import gymnasium as gym

from iad_policy.errors import ModelError, UnknownName
from iad_policy.models import Completion, LanguageModel, identity_of
from iad_policy.models.component import ModelComponent
from iad_policy.models.parsing import UNREADABLE, Grammar, Reading, read_action, read_integer
from iad_policy.models.scripted import ScriptedModel
from iad_policy.prompts import Prompt, Prompts, prompts_of
from iad_policy.registry import load_object
from iad_policy.registry.domain import LANGUAGE_AGENT, domain_of, env_id
from iad_policy.types import Candidate, Feedback, Part, State
from iad_policy.types.names import CUT_OFF, Syntax
from iad_policy.types.texts import shortened, well_formed
from iad_policy.world import is_text

Style = Literal["direct", "cot", "few-shot"]
STYLES: tuple[str, ...] = get_args(Style)
TOOL: Any = "tool"
"""The style of bridges: the model calls the tool `act` with its answer. No agent of ours has this tool."""
SAID_ONCE = ("environment", "task", "notes", "history")
"""Blocks of a prompt that the earlier messages of a chat have."""
OPTIONS = ("temperature", "max_tokens", "top_p", "logprobs", "thinking", "reask")
"""Options of every agent that asks a model. They can't be part of its name."""


class LanguageAgent(ModelComponent):
    """Asks a language model for each action.

    An answer that can't be read becomes a candidate whose `error` begins with `unreadable answer` and says what was
    expected, with the text as `thought`. So does an answer that was cut off before its action ended. If the model can't
    answer at all, `ModelError` is raised.

    Before that, the model is asked again: with its answer and what was wrong with it, in the words of `reask.txt`. That
    is part of the same proposal. Both answers are among the candidate's exchanges, and both are charged.

    Args:
        model: A litellm name or an object with `complete`.
        prompts: An environment's prompt files.
        style: `cot` asks for a thought and the action, `direct` for the action alone, `few-shot` for the action alone
            after several examples. None takes the class's own: `cot` except in Sketch2Code.
        space: The action space if actions are not texts. `Discrete` asks for a whole number.
        syntax: Language of the actions: `shell`, `sql`, `page`, or `text` for any other.
        temperature: The default if the strategy gives none. Independent samples need more than 0.
        max_tokens: Maximum length of an answer.
        top_p: Nucleus sampling of a model given by name. None keeps the provider's default.
        logprobs: Whether to ask a model given by name for the log-probabilities of its tokens.
        thinking: Whether a model given by name thinks before it answers, if it can do both: on this machine, or at your
            own OpenAI-compatible endpoint. None leaves it to the model.
        reask: How many times an answer that can't be read is asked again.

    Raises:
        UnknownName: There is no such style.
        ValueError: `thinking` is no truth value, or the model's provider doesn't take it; `reask` is negative.
    """

    default_style: Style = "cot"
    styles: tuple[str, ...] = (*STYLES, TOOL)
    """Styles that the class knows."""
    heading = "Action"
    """The word before the colon on the line with the action."""

    def __init__(
        self,
        model: str | LanguageModel,
        prompts: Prompts | None = None,
        style: Style | None = None,
        *,
        space: "gym.Space[Any] | None" = None,
        syntax: Syntax = "text",
        temperature: float | None = 0.7,
        max_tokens: int | None = 1024,
        top_p: float | None = None,
        logprobs: bool = False,
        thinking: bool | None = None,
        reask: int = 1,
    ) -> None:
        if not isinstance(reask, int) or reask < 0:
            raise ValueError(f"expected reask of 0 or more, got {reask!r}; the default is 1, and 0 never asks again")
        if not isinstance(thinking, bool | None):
            raise ValueError(f"expected thinking=true or thinking=false, got {thinking!r}; pass one of them")
        style = style or self.default_style
        if style not in self.styles:
            raise UnknownName("style", style, self.styles)
        sampling = {"top_p": top_p, "logprobs": logprobs or None, "thinking": thinking}
        given = {name: value for name, value in sampling.items() if value is not None}
        super().__init__(model, temperature=temperature, max_tokens=max_tokens, **given)
        self._prompts = prompts or Prompts()
        self._style = style
        self._reask = reask
        self._discrete = _discrete(space)
        self._syntax = syntax

    @classmethod
    def options_of(cls, env: gym.Env[Any, Any]) -> Mapping[str, Any]:
        """Return what an agent of this class needs of the environment besides its prompts and its action space."""
        return {}

    @property
    def identity(self) -> str:
        """Everything its answers depend on: model, style, prompt texts and sampling."""
        again = ["reask"] * bool(self._reask)
        texts = self._prompts.digest([*self.roles, "refine", *again])
        asked = f" reask={self._reask}" if self._reask else ""
        return f"{identity_of(self.model)} {self.kind} prompts={texts} {self.sampling}{asked}"

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
        reading, answer = self._asked(self.messages(state, feedback), temperature, state)
        return self._candidate(reading, answer, state)

    def messages(self, state: State, feedback: Feedback | None = None) -> tuple[Mapping[str, Any], ...]:
        """Return the messages that ask for an action in a state."""
        return self.prompt(self.roles[0], state, feedback).messages()

    def next_turn(self, state: State) -> str:
        """Return what a chat tells the model after its last action: everything that earlier messages don't have.

        The messages of the first state begin such a chat. The agent itself asks anew in each state.
        """
        return self.prompt(self.roles[0], state, None, **dict.fromkeys(SAID_ONCE, "")).user

    def read(self, text: str, state: State, *, finish_reason: str = "stop") -> Candidate:
        """Return the candidate that an answer from elsewhere proposes in a state, or one with an error."""
        answer = Completion(well_formed(text), finish_reason=finish_reason)
        return self._candidate(self._read(answer, state), answer, state)

    def prompt(self, role: str, state: State, feedback: Feedback | None, **values: str) -> Prompt:
        """Return a prompt about a state. Values given here override those that describe the state."""
        refine = "" if feedback is None else self._prompts.refinement(feedback)
        described = {**self._prompts.rendering.values(state), "refine": refine, "answer_format": self._format()}
        return self._prompts.render(role, **{**described, **values})

    def _format(self) -> str:
        if self._discrete is None:
            return ""
        first, last = _range(self._discrete)
        return f"Here an action is a whole number from {first} to {last}."

    def _asked(
        self, messages: Sequence[Mapping[str, Any]], temperature: float | None, state: State
    ) -> tuple[Reading, Completion]:
        """Ask for an action, again where the answer can't be read, and return what was read of the last answer.

        Raises:
            ModelError: The model could not answer.
        """
        answer = self.complete(messages, temperature)
        for _ in range(self._reask):
            reading = self._read(answer, state)
            if reading.action is not None:
                return reading, answer
            got = reading.got or "none"
            complaint = self._prompts.render("reask", wanted=self._expected(state), got=got).user.strip()
            said = {"role": "assistant", "content": shortened(answer.text, 4_000) or "(nothing)"}
            messages = (*messages, said, {"role": "user", "content": complaint})
            try:
                answer = self.complete(messages, temperature)
            except ModelError as error:
                if error.kind != "context":
                    raise
                return reading, answer  # there is no room to ask again
        return self._read(answer, state), answer

    def _read(self, answer: Completion, state: State) -> Reading:
        """Read the action and the thought of an answer."""
        is_cut = answer.finish_reason == CUT_OFF
        if self._discrete is None:
            grammar = Grammar.of(state.info.get("available_actions", ()), self._syntax)
            # These styles ask for the action alone, so an answer may be the action without its heading.
            bare = self.kind in ("direct", "few-shot", TOOL)
            return read_action(answer.text, grammar, bare=bare, is_cut=is_cut)
        first, last = _range(self._discrete)
        reading = read_integer(answer.text, is_cut=is_cut)
        in_range = reading.action is not None and first <= reading.action <= last
        return reading if in_range else Reading(None, answer.text, reading.got)

    def _candidate(self, reading: Reading, answer: Completion, state: State, parts: tuple[Part, ...] = ()) -> Candidate:
        """Return the candidate that an answer proposes, or one with an error."""
        if reading.action is not None:
            return Candidate(reading.action, thought=reading.thought, logprobs=answer.logprobs, parts=parts)
        got = reading.got
        if answer.text.strip():  # with its end if it was cut off, else its beginning
            is_cut = answer.finish_reason == CUT_OFF
            shown = answer.text[-200:] if is_cut else answer.text[:200]
            got = f"{got}: {shown!r}" if got else repr(shown)
        error = f"{UNREADABLE}: expected {self._expected(state)}, got {got}"
        return Candidate(None, thought=answer.text, error=error, logprobs=answer.logprobs)

    def _expected(self, state: State) -> str:
        """Return what an answer must have, as the model may be told."""
        if self._discrete is not None:
            first, last = _range(self._discrete)
            return f'a line "{self.heading}: n" with a whole number from {first} to {last}'
        if expected := self._prompts.part("expected"):
            return expected
        examples = ", ".join(str(action) for action in list(state.info.get("available_actions", ()))[-3:])
        like = f", such as {examples}" if examples else ""
        if self.kind == TOOL:
            return f"an action{like}"
        return f'a line "{self.heading}: ..." with an action{like}'


class AgentPrompt:
    """Asks as `litellm:<model>` is asked in an environment, and reads the answer as its answers are read. Thread-safe.

    Args:
        env: The environment. It is not kept.
        style: The style; None for the environment's own.
    """

    def __init__(self, env: gym.Env[Any, Any], style: str | None = None) -> None:
        self._agent = language_agent(env, ScriptedModel(()), cast(Style, style))

    def messages(
        self,
        observation: Any,
        info: Mapping[str, Any],
        feedback: Feedback | None = None,
        *,
        state: State | None = None,
    ) -> list[dict[str, Any]]:
        """Return the messages that ask for an action, as OpenAI's interface takes them.

        Args:
            observation: What is seen now.
            info: The info that came with it.
            feedback: What the strategy has to say about earlier attempts; None in a plain proposal.
            state: The whole state, which a function gets as its keyword `state`. Without it the messages have neither
                the turns so far nor the steps that are left.
        """
        asked = self._agent.messages(state or State(observation, info), feedback)
        return [dict(message) for message in asked]

    def read(self, text: str, info: Mapping[str, Any], *, state: State | None = None) -> Candidate:
        """Return what an answer proposes. One that can't be read is a candidate with an error, which says why.

        Args:
            text: The answer.
            info: The info that came with the observation, which has the available actions.
            state: As in `messages`.
        """
        return self._agent.read(text, state or State(None, info))


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
    kind: type[LanguageAgent] = load_object(domain_of(env).language)
    return made_for(env, kind, model, style, **options)


def local_agent(env: gym.Env[Any, Any], model: str = "", **options: Any) -> LanguageAgent:
    """Ask a model on this machine: `local:<model>` or `local:<model>#cot`. See `language_agent`."""
    return language_agent(env, f"local:{model}", **options)


def hf_agent(env: gym.Env[Any, Any], model: str = "", **options: Any) -> LanguageAgent:
    """Ask a model in this process, which can be trained: `hf:<model>` or `hf:<model>#cot`. See `language_agent`."""
    return language_agent(env, f"hf:{model}", **options)


def paper_agent(env: gym.Env[Any, Any], kind: type[AgentT], model: str | LanguageModel, **options: Any) -> AgentT:
    """Return a paper's agent for an environment. See `language_agent`.

    Raises:
        TypeError: The environment has its own way of reading answers.
    """
    if domain_of(env).language != LANGUAGE_AGENT:
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
    own = kind.options_of(env)
    return kind(model, prompts_of(env), style, space=env.action_space, syntax=domain_of(env).reading, **own, **options)


def _discrete(space: "gym.Space[Any] | None") -> gym.spaces.Discrete | None:
    if space is None or is_text(space):
        return None
    if isinstance(space, gym.spaces.Discrete):
        return space
    raise TypeError(
        f"expected an action space of texts or Discrete, got {space}; a language agent can't write other actions. "
        "Write your own agent: an object with propose(), or a function f(observation, info)"
    )


def _range(space: gym.spaces.Discrete) -> tuple[int, int]:
    return int(space.start), int(space.start + space.n - 1)
