"""What the policy side knows of an environment: one record, a `Domain`, that the environment's class names.

    class LampEnv(gym.Env):
        domain = "lamp.policy:DOMAIN"

The name is loaded when somebody asks, so an environment imports nothing of this package. A domain names its parts as
"module:object" for the same reason: an agent is imported when it is asked to act.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

import gymnasium as gym

from iad_policy.errors import DomainError, NoAgent, NoProxyVerifier
from iad_policy.registry import load_object
from iad_policy.registry.environments import class_of, others, registered
from iad_policy.types import Verifier
from iad_policy.types.names import Syntax

Kind = Literal["agents", "verifiers", "critics"]
ANY_RENDERING = "iad_policy.prompts.rendering:Rendering"
LANGUAGE_AGENT = "iad_policy.agents.language:LanguageAgent"
SMALL_MODEL = "local:qwen2.5-coder-0.5b"
"""A language model that any machine can run."""
A_MODEL = (
    f"{SMALL_MODEL}, which is fetched once (491 MB) and runs on this machine, or litellm:<model>, with any name that "
    "litellm knows"
)
A_SEEING_MODEL = (
    f"litellm:<model>, with a model that sees pictures, which {SMALL_MODEL} (491 MB) and other local ones don't"
)
"""What to name as the agent of an environment that only a language model can play."""


@dataclass(frozen=True, slots=True)
class Mode:
    """What differs in a mode of an environment.

    Attributes:
        prompts: Folders of prompts that go before the domain's.
        rendering: The words for its states as "module:Class"; "" for the domain's.
    """

    prompts: tuple[Path, ...] = ()
    rendering: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """What belongs to an environment on the policy side. All of it has a default, which any environment gets.

    Attributes:
        name: A short name, for files and tasks of other frameworks; "" for the environment's id.
        group: What AgentBoard averages it with, such as `web`.
        agent: The default agent, as `--agent` takes it: one of `agents`, or any other. "" for none, so that whoever
            runs the environment has to name one.
        advised: Which language models to name where there is no default, for the error text.
        model_s: About how many seconds an episode of `SMALL_MODEL` takes on two cores, with one proposal per decision;
            0 if that is not known, or it can't play.
        agents: Agents that the domain adds to those of `--agent`: name -> "module:factory".
        verifier: The proxy verifier as "module:factory"; "" for none.
        verifiers: Verifiers that the domain adds to those of `--verifier`: name -> "module:factory".
        critics: Components that the domain adds for the role critic: name -> "module:factory". A factory is called with
            the environment and a model: a name, the agent's own, or None.
        rendering: The words for its states, as "module:Class" (`iad_policy.prompts.rendering.Rendering`).
        prompts: Folders of prompts; a file is taken from the first that has it, else from `iad_policy/prompts/any`.
        reading: Language of the actions that a model writes.
        language: The class that `litellm:<model>` makes, as "module:Class".
        features: The features of its actions as "module:Class", for policies without a language model; "" for none.
        solution: The right action in a state as "module:function", called with the state and the oracle's reference;
            "" for the next action of the oracle's `solution`. Agents that use it are labelled `oracle`.
        mistakes: A wrong action in a state as "module:function", called with the state, the right action and a
            `random.Random`; "" for other available actions of the right one's kind.
        failing: Actions that should fail as "module:function", called with a state and an action that an agent
            proposed there; "" for none. What they lead to is recorded for simulators, besides typos and `stand_ins`.
        modes: What differs in modes of the environment, by the mode.
        mode_argument: The environment's argument, and attribute, that is its mode.
        stand_ins: Actions that have outcomes of different types in any state. Noisy simulators and their report use
            them.
        development: The split that chooses an epoch or a round.
        tested: The split that is measured, whose gold nothing reads but the result.
        predictions: The prediction files of its field as "module:Class"; "" for none. `iad score` also takes recorded
            actions.

    Raises:
        TypeError: A part is of another type.
    """

    name: str = ""
    group: str = "other"
    agent: str = "random"
    advised: str = A_MODEL
    model_s: float = 0.0
    agents: Mapping[str, str] = field(default_factory=dict)
    verifier: str = ""
    verifiers: Mapping[str, str] = field(default_factory=dict)
    critics: Mapping[str, str] = field(default_factory=dict)
    rendering: str = ANY_RENDERING
    prompts: tuple[Path, ...] = ()
    reading: Syntax = "text"
    language: str = LANGUAGE_AGENT
    features: str = ""
    solution: str = ""
    mistakes: str = ""
    failing: str = ""
    modes: Mapping[str, Mode] = field(default_factory=dict)
    mode_argument: str = "mode"
    stand_ins: tuple[str, ...] = ()
    development: str = "dev"
    tested: str = "test"
    predictions: str = ""

    def __post_init__(self) -> None:
        for part in fields(self):
            expected, is_right = WANTED.get(part.name, PATH)
            given = getattr(self, part.name)
            if not is_right(given):
                raise TypeError(f"expected Domain.{part.name} to be {expected}, got {given!r:.200}")

    def mode_of(self, env_args: Mapping[str, Any]) -> str:
        """Return the mode among an environment's arguments; "" for the default."""
        return str(env_args.get(self.mode_argument, ""))


def _is_path(text: Any) -> bool:
    module, _, name = text.partition(":") if isinstance(text, str) else ("", "", "")
    return name.isidentifier() and all(part.isidentifier() for part in module.split("."))


def _is_named(table: Any) -> bool:
    return isinstance(table, Mapping) and all(isinstance(name, str) and _is_path(path) for name, path in table.items())


def _is_tuple(parts: Any, kind: type) -> bool:
    return isinstance(parts, tuple) and all(isinstance(part, kind) for part in parts)


TEXT = ("a text", lambda given: isinstance(given, str))
PATH = ('a text "module:object", or ""', lambda given: given == "" or _is_path(given))
NAMED = ('a mapping of names to "module:factory"', _is_named)
WANTED: Mapping[str, tuple[str, Any]] = {
    **dict.fromkeys(("name", "group", "agent", "advised", "mode_argument", "development", "tested"), TEXT),
    **dict.fromkeys(("rendering", "language"), ('a text "module:Class"', _is_path)),
    "agents": NAMED,
    "verifiers": NAMED,
    "critics": NAMED,
    "prompts": ("a tuple of pathlib.Path", lambda given: _is_tuple(given, Path)),
    "model_s": ("a number, 0 or more", lambda given: isinstance(given, int | float) and given >= 0),
    "stand_ins": ("a tuple of texts", lambda given: _is_tuple(given, str)),
    "reading": (f"one of {', '.join(get_args(Syntax))}", lambda given: given in get_args(Syntax)),
    "modes": (
        "a mapping of modes to Mode",
        lambda given: isinstance(given, Mapping) and all(isinstance(one, Mode) for one in given.values()),
    ),
}
"""Part -> what it has to be, in words, and whether something is. The others name an object or nothing."""

ANY = Domain()
"""Of an environment that names no domain."""


def domain_of(env: gym.Env[Any, Any]) -> Domain:
    """Return an environment's domain.

    Raises:
        DomainError: The environment names one that can't be loaded.
    """
    return _loaded(env_id(env), env.unwrapped)


def domain_by_id(env: str) -> Domain:
    """Return the domain of a registered environment, by its id, with or without its module.

    Nothing is made. An id that is not registered, or whose module can't be imported, has the default.

    Raises:
        DomainError: The environment names one that can't be loaded.
    """
    name = env.rpartition(":")[2]
    spec = registered(name)
    if spec is None:
        return ANY
    try:
        made_of = class_of(spec)
    except ImportError:  # making it says what is missing
        return ANY
    return _loaded(name, made_of)


def domains() -> Iterator[tuple[str, Domain]]:
    """Return the registered environments that name a domain, with it. One that can't be loaded is left out."""
    for name, found in _named():
        if isinstance(found, Domain):
            yield name, found


def broken() -> dict[str, Exception]:
    """Return the registered environments that can't be imported, or whose domain can't be loaded, with the error."""
    return {name: found for name, found in _named() if isinstance(found, Exception)}


def _named() -> Iterator[tuple[str, Domain | Exception]]:
    for spec in others():
        try:
            made_of = class_of(spec)
            if getattr(made_of, "domain", ""):
                yield spec.id, _loaded(spec.id, made_of)
        except Exception as error:  # somebody else's module may raise anything
            yield spec.id, error


def find_named(kind: Kind, name: str, env: gym.Env[Any, Any] | None = None) -> str:
    """Return the path of an agent or a verifier that a domain adds; "" if none has the name.

    Args:
        kind: `agents` or `verifiers`.
        name: Its name.
        env: The environment whose domain is asked first.
    """
    if env is not None and name in (own := getattr(domain_of(env), kind)):
        return str(own[name])
    return next((str(getattr(one, kind)[name]) for _, one in domains() if name in getattr(one, kind)), "")


def all_named(kind: Kind) -> dict[str, str]:
    """Return the agents, verifiers or critics that domains add: name -> "module:factory"."""
    return {name: path for _, one in domains() for name, path in getattr(one, kind).items()}


def env_id(env: gym.Env[Any, Any]) -> str:
    """Return an environment's id without its module, or its class name if it has no id."""
    return type(env.unwrapped).__name__ if env.spec is None else env.spec.id.rpartition(":")[2]


def default_agent(env: gym.Env[Any, Any] | str, *, n_proposals: int = 0) -> str:
    """Return the name of the agent that an environment, or one of an id, has by default.

    Args:
        env: The environment or its id.
        n_proposals: How many proposals per decision all runs make together that are about to begin, for the error text.

    Raises:
        NoAgent: It has none.
    """
    own = domain_by_id(env) if isinstance(env, str) else domain_of(env)
    if not own.agent:
        name = env if isinstance(env, str) else env_id(env)
        raise NoAgent(name, own.advised, time_with_small_model(own, n_proposals))
    return own.agent


def time_with_small_model(own: Domain, n_proposals: int) -> str:
    """Return in words how long so many proposals per decision take in a domain; "" if that is not known."""
    minutes = own.model_s * n_proposals / 60
    return f"with {SMALL_MODEL} it takes about {minutes:.2g} minutes a task and seed on two cores" if minutes else ""


def proxy_verifier(env: gym.Env[Any, Any]) -> Verifier:
    """Return the environment's proxy verifier, which scores the outcome of an action by rules, without gold.

    Raises:
        NoProxyVerifier: The environment has none.
    """
    path = domain_of(env).verifier
    if not path:
        raise NoProxyVerifier(env_id(env))
    made: Verifier = load_object(path)(env)
    return made


def _loaded(env: str, owner: Any) -> Domain:
    """Return the domain that an environment, or its class, names."""
    path = getattr(owner, "domain", "")
    if isinstance(path, Domain):
        return path
    if path == "":
        return ANY
    if not _is_path(path):
        raise DomainError(env, path, 'a text "module:DOMAIN" was expected')
    try:
        found = load_object(path)
    except Exception as error:  # it may raise anything
        raise DomainError(env, path, f"{type(error).__name__}: {error}") from error
    if not isinstance(found, Domain):
        raise DomainError(env, path, f"it is a {type(found).__name__}, not an iad_policy.registry.domain.Domain")
    return found
