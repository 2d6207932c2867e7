"""Tasks for the framework inspect_ai, and this project's policies as one of its solvers.

The framework finds them by the entry point `iad`:

```sh
inspect eval iad/webshop --model openai/gpt-4o-mini -T split=dev -T n=20
inspect eval iad/webshop --model openai/gpt-4o-mini --solver iad/iad_solver -S strategy=iad -S n=3
```

A task is an environment. Its own solver plays an episode as a conversation (`iad_policy.bridges.chat`), and its scorer
returns the outcome's `success progress reward steps invalid`, which are averaged.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

from iad_policy.agents.language import language_agent
from iad_policy.bridges.chat import Chat, ChatOutcome, refuse_functions
from iad_policy.errors import IADError, MissingExtra
from iad_policy.models import Completion, Messages
from iad_policy.registry import load_object
from iad_policy.registry.domain import domains
from iad_policy.runtime.components import TABLES
from iad_policy.types import Usage, Verifier
from iad_policy.types.call_context import current_call
from iad_policy.wrapper import IADPolicyWrapper

try:
    from anyio import CancelScope, CapacityLimiter, current_effective_deadline, from_thread, to_thread
    from anyio.lowlevel import checkpoint
    from inspect_ai import Task, task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        ContentImage,
        ContentText,
        GenerateConfig,
        get_model,
    )
    from inspect_ai.scorer import Score, mean, scorer, stderr
    from inspect_ai.solver import solver
except ImportError:
    raise MissingExtra("inspect-ai", "inspect") from None

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
PACKAGE = "iad"
"""What stands before the slash in the names of tasks and solvers."""
ENVIRONMENTS: Mapping[str, str] = {
    own.name.replace("-", "_"): env_id for env_id, own in reversed([*domains()]) if own.name
}
"""Name of a task -> id of the first environment with that name. The task `environment` takes any other id."""
OUTCOME = "iad_outcome"
"""Where a sample's store has the outcome. For a policy, `iad_usage` has the tokens."""


class CallEnded(IADError):
    """The framework ended a call of its model: by a limit, an error or a cancellation. That is its cause."""


class InspectModel:
    """A model of the framework as a client of this project.

    Its `complete` is called in a thread that the framework's event loop has started and waits for.

    Args:
        model: The framework's model.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.name = str(model)

    def complete(
        self, messages: Messages, *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer, and report its usage.

        Raises:
            CallEnded: The framework ended the call.
        """
        config = GenerateConfig(temperature=temperature, max_tokens=max_tokens)
        sent = [_chat_message(message) for message in messages]

        async def asked() -> Any:
            if current_effective_deadline() == -math.inf:  # a call that begins now is not told, and never ends
                raise CallEnded("expected an answer, got a cancelled sample")
            return await self._model.generate(sent, config=config)

        try:
            output = from_thread.run(asked)
        except Exception as error:
            raise CallEnded(f"expected an answer from {self.name}, got {error!r:.500}") from error
        usage, spent = Usage(), output.usage
        if spent is not None:  # the framework counts tokens from a provider's cache apart
            cached = (spent.input_tokens_cache_read or 0) + (spent.input_tokens_cache_write or 0)
            usage = Usage(prompt_tokens=spent.input_tokens + cached, completion_tokens=spent.output_tokens)
        current_call().report(usage)
        return Completion(output.completion, usage, finish_reason=_finish_reason(output))


def _ours(function: FunctionT) -> FunctionT:
    """Let the framework register a function under the name that it has already: `iad/...`.

    It would put the module's package before it, `iad_policy`, which is neither the entry point nor the distribution.
    """
    function.__module__ = PACKAGE
    return function


@solver(f"{PACKAGE}/conversation")  # type: ignore[untyped-decorator]
@_ours
def conversation() -> Any:
    """Play the episode as a conversation with the model."""

    async def solve(state: Any, generate: Any) -> Any:
        stack = ExitStack()
        try:
            # A cancelled sample waits for the end of each call: an environment is used in one thread at a time.
            chat, messages = await to_thread.run_sync(_begun, stack, state)
            state.messages = [_chat_message(message) for message in messages]
            while not chat.done:
                state = await generate(state, tool_calls="none")
                said = partial(chat.say, state.output.completion, finish_reason=_finish_reason(state.output))
                text = await to_thread.run_sync(said)
                _record(state, chat)
                if not chat.done:
                    state.messages.append(ChatMessageUser(content=text))
        finally:
            await _closed(stack)
        return state

    return solve


@solver(f"{PACKAGE}/iad_solver")  # type: ignore[untyped-decorator]
@_ours
def iad_solver(
    strategy: str = "iad", n: int = 3, verifier: str = "proxy", style: str | None = None, **options: Any
) -> Any:
    """Let a policy of this project choose every action. All its questions go to the framework's model.

    Args:
        strategy: A name from `iad_policy.strategies.STRATEGIES`.
        n: Proposals per decision.
        verifier: A name of a verifier. `judge`, `pairwise` and `finalise` ask the model with the role `judge`.
        style: How the model is asked; None for the task's choice.
        options: Further options of `IADPolicyWrapper`, and of the strategy.
    """
    refuse_functions(style)

    async def solve(state: Any, generate: Any) -> Any:
        model, judge = InspectModel(get_model()), InspectModel(get_model(role="judge", default=get_model()))

        def play(stack: ExitStack) -> None:
            chat, _ = _begun(stack, state)
            env = chat.env
            asked: Any = style or state.metadata["style"]
            agent = language_agent(env, model, asked, temperature=None, max_tokens=None)
            checking: str | Verifier = verifier
            if verifier in ("judge", "pairwise", "finalise"):
                checking = load_object(TABLES["verifiers"][verifier])(env, judge)
            policy = IADPolicyWrapper(agent, env, strategy=strategy, n=n, verifier=checking, **options)
            stack.enter_context(policy)
            try:
                while not chat.done:
                    action = policy.act(chat.state.observation, chat.state.info)
                    state.messages.append(ChatMessageAssistant(content=str(action), source="generate"))
                    chat.commit(action)
                    _record(state, chat)
            finally:
                spent = policy.usage
                usage = {"prompt_tokens": spent.prompt_tokens, "completion_tokens": spent.completion_tokens}
                state.store.set("iad_usage", usage)

        stack = ExitStack()
        try:
            # A thread of its own: those that all share may be needed by the model that it waits for.
            await to_thread.run_sync(play, stack, limiter=CapacityLimiter(1))
        except CallEnded as error:
            await checkpoint()  # ends here if the sample was cancelled
            raise error.__cause__ or error from None
        finally:
            await _closed(stack)
        return state

    return solve


@scorer({"*": [mean(), stderr()]}, name=f"{PACKAGE}/outcome")  # type: ignore[untyped-decorator]
@_ours
def outcome() -> Any:
    """Return the outcome of the episode, or how it stood when it was ended."""

    async def score(state: Any, target: Any) -> Any:
        recorded = state.store.get(OUTCOME)
        ended = ChatOutcome(**recorded) if recorded else ChatOutcome(str(state.sample_id), False, 0, 0, "", 0, 0)
        return Score(value=ended.metrics, metadata={"task_id": ended.task_id, "stop_reason": ended.stop_reason})

    return score


def _environment(
    env_id: str,
    *,
    split: str | None = None,
    style: str | None = None,
    n: int | None = None,
    seed: int = 0,
    env_args: Mapping[str, Any] | None = None,
) -> Any:
    """The tasks of an environment.

    Args:
        env_id: Id of the environment.
        split: The split of the tasks; None for the environment's own choice.
        style: How the model is asked: see `iad_policy.bridges.chat.Chat`.
        n: How many tasks of the split, from its first one; None for all.
        seed: Seed of every episode's environment.
        env_args: Further arguments of the environment.
    """
    given = {**(env_args or {}), **({} if split is None else {"split": split})}
    episode = {"env_id": env_id, "style": style, "seed": seed, "env_args": given}
    with Chat(env_id, style, **given) as chat:
        known = getattr(chat.env.unwrapped, "tasks", {})
        samples = [
            Sample(
                id=task_id,
                input=known[task_id].instruction,
                metadata={**episode, "split": known[task_id].split, "difficulty": known[task_id].difficulty},
            )
            for task_id in chat.task_ids[:n]
        ]
    if not samples:
        raise ValueError(f"expected an environment that names its tasks, got {env_id}; give it task_ids and tasks")
    metadata = {"env_id": env_id, "iad_version": version("iad")}
    return Task(dataset=samples, solver=conversation(), scorer=outcome(), metadata=metadata)


def _task_of(name: str, env_id: str) -> Any:
    def make(
        split: str | None = None,
        style: str | None = None,
        n: int | None = None,
        seed: int = 0,
        env_args: Mapping[str, Any] | None = None,
    ) -> Any:
        return _environment(env_id, split=split, style=style, n=n, seed=seed, env_args=env_args)

    make.__name__, make.__doc__ = name, f"{_environment.__doc__}".replace("an environment", env_id, 1)
    return task(name=f"{PACKAGE}/{name}")(_ours(make))


environment: Any = task(name=f"{PACKAGE}/environment")(_ours(_environment))
globals().update({name: _task_of(name, env_id) for name, env_id in ENVIRONMENTS.items()})


def _begun(stack: ExitStack, state: Any) -> tuple[Chat, Sequence[Mapping[str, Any]]]:
    """Return a conversation about a sample, and its first messages. The stack closes it, even if it can't begin."""
    episode = state.metadata
    if "env_id" not in episode:
        raise ValueError(f"expected a sample of a task iad/..., got {state.sample_id}; evaluate iad/webshop, say")
    chat = stack.enter_context(Chat(episode["env_id"], episode["style"], **episode["env_args"]))
    messages = chat.begin(task_id=str(state.sample_id), seed=episode["seed"])
    _record(state, chat)
    return chat, messages


def _record(state: Any, chat: Chat) -> None:
    """Keep the outcome where the scorer finds it, also of an episode that the framework ends."""
    state.store.set(OUTCOME, chat.outcome._asdict())


async def _closed(stack: ExitStack) -> None:
    """Close what an episode has opened, even if it was cancelled."""
    with CancelScope(shield=True):
        await to_thread.run_sync(stack.close)


def _chat_message(message: Mapping[str, Any]) -> Any:
    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    content = message["content"]
    if not isinstance(content, str):
        content = [
            ContentImage(image=part["image_url"]["url"])
            if part["type"] == "image_url"
            else ContentText(text=part["text"])
            for part in content
        ]
    return kinds[message["role"]](content=content)


def _finish_reason(output: Any) -> str:
    return "length" if output.stop_reason in ("max_tokens", "model_length") else "stop"
