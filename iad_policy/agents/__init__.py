"""Base agents propose actions.

To add one that any environment can have, write its file and name it in `AGENTS`. An environment adds its own by its
`Domain`. Your own is `module:object`.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from iad_policy.errors import GoneAgent, UnknownName, or_solution
from iad_policy.registry import instantiate, load_object, load_own, with_defaults
from iad_policy.registry.domain import (
    A_MODEL,
    A_SEEING_MODEL,
    all_named,
    default_agent,
    domain_of,
    domains,
    env_id,
    find_named,
)
from iad_policy.types import Agent, AsyncAgent, Candidate, Feedback, LoadedAgent, State, Usage
from iad_policy.types.call_context import current_call

if TYPE_CHECKING:
    from iad_policy.agents.language import AgentPrompt

AGENTS: Mapping[str, str] = {
    "random": "iad_policy.agents.random:RandomAgent",
    "replay": "iad_policy.ledger.replay:replay_agent",
    "plan-following": "iad_policy.agents.plan_following:PlanFollowingAgent",
    "litellm": "iad_policy.agents.language:language_agent",
    "local": "iad_policy.agents.language:local_agent",
    "hf": "iad_policy.agents.language:hf_agent",
    "choose": "iad_policy.agents.choosing:choosing_agent",
    "react": "iad_policy.agents.react:react_agent",
    "composite": "iad_policy.agents.composite:composite_agent",
    "plan-solve": "iad_policy.agents.plan_solve:plan_solve_agent",
    "learned": "iad_policy.agents.learned:learned_agent",
    "solution": "iad_policy.agents.synthetic:solution_agent",
}
"""Name -> "module:factory". A factory is called with the environment and, for `name:argument`, the argument."""
GONE: Mapping[str, str] = {
    **dict.fromkeys(("linker", "scripter"), or_solution(A_MODEL)),
    "tracer": or_solution(A_SEEING_MODEL),
    "caller": "solution:<error rate>, which plays gold with mistakes, or a language model, litellm:<model>",
    "noisy-oracle": "solution:0.5",
    "feedback-responsive": "solution:0.5:sigma=0.3:rho=0.6",
    "stubborn": "solution:0.5:tau=0:sigma=0.3:rho=0.6:stubborn=1",
    "over-reflector": "solution:0.5:sigma=0.3:rho=0.6:beta=0.5",
}
"""Name of an agent that is gone -> what replaces it."""


KEYWORDS = ("feedback", "temperature", "rng", "state")
"""What a function that is an agent may ask for, besides the observation and the info."""


class FunctionAgent:
    """A plain function `f(observation, info) -> action` as an agent. It may be a coroutine function.

    It receives the optional keywords that its signature names: `feedback`, `temperature`, `rng` and `state`, which
    also has the turns so far, a strategy's notes, and the steps that are left.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):  # a builtin without one takes no keywords
            signature = inspect.signature(lambda observation, info: None)
        parameters = signature.parameters.values()
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        names = {parameter.name for parameter in parameters}
        try:
            signature.bind(None, None, **dict.fromkeys(names.intersection(KEYWORDS)))
        except TypeError as error:
            raise TypeError(f"expected an agent f(observation, info), got {function!r:.80}: {error}") from None
        self._keywords = [name for name in KEYWORDS if takes_any or name in names]
        self.takes_feedback = "feedback" in self._keywords

    def propose(
        self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random
    ) -> Candidate | Awaitable[Candidate]:
        """Call the function. If it returns an awaitable, so does this."""
        offered = {"feedback": feedback, "temperature": temperature, "rng": rng, "state": state}
        answer = self.function(state.observation, state.info, **{name: offered[name] for name in self._keywords})
        return _awaited(answer) if inspect.isawaitable(answer) else _as_candidate(answer)


async def _awaited(answer: Awaitable[Any]) -> Candidate:
    return _as_candidate(await answer)


def _as_candidate(answer: Any) -> Candidate:
    """Return an answer as a candidate. What it has spent is not known unless somebody said so: see `report_usage`."""
    candidate = answer if isinstance(answer, Candidate) else Candidate(answer)
    call = current_call()
    if not call.is_metered and not candidate.usage:
        call.report(Usage(n_unmetered=1))
    return candidate


def load_agent(
    agent: str | Agent | AsyncAgent | Callable[..., Any] | None, env: gym.Env[Any, Any], **options: Any
) -> LoadedAgent:
    """Return an agent.

    Args:
        agent: A name (`"shopper"`, `"litellm:gpt-4o-mini"`), `module:object` of your own (a class, called with the
            environment and the options, an object with `propose`, or a function), such an object, or such a function.
            None is the environment's own.
        env: The environment it will act in.
        options: Options of the agent that is created, such as `max_tokens=`.

    Raises:
        UnknownName: There is no such name, or no such option.
        NoAgent: None was named, and the environment has none of its own.
        TypeError: It is neither a name nor something that proposes, or options were given for an existing object.
    """
    agent = default_agent(env) if agent is None else agent
    if isinstance(agent, str):
        refuse_gone(agent)
        name, _, argument = agent.partition(":")
        if path := AGENTS.get(name) or domain_of(env).agents.get(name, ""):
            factory = load_object(path)
            parameters = inspect.signature(factory).parameters
            takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
            for option in options:
                if not takes_any and option not in list(parameters)[1:]:
                    raise UnknownName(f"option of the agent {name}", option, list(parameters)[1:])
            made = factory(env, *([argument] if argument else []), **options)
            return with_defaults(made, LoadedAgent)  # type: ignore[no-any-return]
        kind = "agent, litellm:<model> for a language model"
        plays = [one for one, domain in domains() if name in domain.agents]
        if plays:
            kind = f"agent of {env_id(env)} ({name} plays {', '.join(plays)})"
            raise UnknownName(kind, agent, [*domain_of(env).agents, *AGENTS])
        own = load_own(kind, agent, [*AGENTS, *all_named("agents")], "agents", fits=_may_act)
        agent = instantiate("agent", agent, own, env, **options)
    if hasattr(agent, "propose"):
        return with_defaults(agent, LoadedAgent)  # type: ignore[no-any-return]
    if callable(agent):
        return with_defaults(FunctionAgent(agent), LoadedAgent)  # type: ignore[no-any-return]
    raise TypeError(
        f"expected an agent's name, an object with propose(), or a function f(observation, info), got {agent!r:.200}; "
        "give it a method propose()"
    )


def refuse_gone(agent: str, folder: Path | None = None) -> None:
    """Raise `GoneAgent` if a name is that of an agent that is gone, whatever follows it, unless a domain has it.

    Args:
        agent: The name.
        folder: The folder of a run with it.
    """
    name = agent.partition(":")[0]
    if name in GONE and not find_named("agents", name):
        raise GoneAgent(name, GONE[name], folder)


def _may_act(own: Any) -> bool:
    """Return whether an object of a module may be an agent: it proposes, or is a function of two arguments."""
    if not inspect.isfunction(own) or inspect.isgeneratorfunction(own):  # which is a strategy
        return hasattr(own, "propose")
    try:
        inspect.signature(own).bind(None, None)
    except TypeError:
        return False
    return True


def prompt(env: gym.Env[Any, Any] | str, style: str | None = None, **env_args: Any) -> "AgentPrompt":
    """Return how this project's language agents ask in an environment, and read the answer, for your own agent.

    Args:
        env: The environment, or its id.
        style: As in `litellm:<model>#<style>`; by default the environment's own.
        env_args: Arguments of an environment that is given by its id.

    Raises:
        UnknownName: There is no such environment, or no such style.
    """
    from iad_policy.agents.language import AgentPrompt

    if not isinstance(env, str):
        return AgentPrompt(env, style)
    made = gym.make(env, **env_args)
    try:
        return AgentPrompt(made, style)
    finally:
        made.close()


def asks_a_model(agent: str) -> bool:
    """Return whether a name stands for an agent with a language model, which takes sampling options."""
    path = _path_of(agent.partition(":")[0])
    return bool(path) and "model" in inspect.signature(load_object(path)).parameters


def is_registered(agent: str) -> bool:
    """Return whether a name stands for an agent of this project or of a registered environment."""
    return bool(_path_of(agent.partition(":")[0]))


def _path_of(name: str) -> str:
    return AGENTS.get(name) or find_named("agents", name)
