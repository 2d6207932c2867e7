"""Tasks and an environment for the library verifiers 0.4, which evaluates and trains models on them.

The library loads a plugin as a module at the top level. Here that is `iad_verifiers`:

```sh
vf-eval iad-verifiers --env.taskset.env-id IAD/WebShop-v0 -n 5
```

An episode is a conversation (`iad_policy.bridges.chat`) in which the library asks the model. The reward is that of the
episode, and the metrics are `success progress reward steps invalid`.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, TypeVar

from iad_policy.bridges.chat import Chat
from iad_policy.errors import MissingExtra
from iad_policy.papers.settings import WEBSHOP

try:
    import verifiers.v1 as vf
    from verifiers.v1.harnesses.null import NullHarnessConfig
except ImportError:
    raise MissingExtra("verifiers", "verifiers") from None

T = TypeVar("T")
MAX_TURNS = 256
"""Answers of a model in one episode. It is more than any environment of ours takes, which ends an episode itself."""


class IADTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which tasks there are: `--env.taskset.*`."""

    env_id: str = WEBSHOP
    """Id of the environment."""
    split: str | None = None
    """The split of the tasks; None for the environment's own choice."""
    style: str | None = None
    """How the model is asked: see `Chat`."""
    n_tasks: int | None = None
    """How many tasks of the split, from its first one; None for all."""
    seed: int = 0
    """Seed of every episode's environment."""
    env_args: dict[str, Any] = {}  # noqa: RUF012 (a field of the library's configuration, which copies it)
    """Further arguments of the environment, as JSON on the command line."""


class IADTaskData(vf.TaskData):  # type: ignore[misc]
    """All that another process needs to begin the task. There is no gold in it."""

    env_id: str
    style: str | None
    seed: int
    env_args: dict[str, Any]

    def begun(self, stack: ExitStack) -> Chat:
        """Return a conversation about the task that has begun. The stack closes it, even if it can't begin."""
        chat = stack.enter_context(Chat(self.env_id, self.style, **self.env_args))
        chat.begin(task_id=self.id, seed=self.seed)
        return chat


class IADState(vf.State):  # type: ignore[misc]
    """What is known of an episode while the library runs it. It is gold."""

    outcome: dict[str, float] = {}  # noqa: RUF012
    """The outcome's metrics; empty before the first message."""


class IADTask(vf.Task[IADTaskData, IADState]):  # type: ignore[misc]
    """One task of an environment."""

    async def validate(self, runtime: Any) -> bool | None:
        """Say whether the gold solution solves the task; None for an environment without one."""

        def solved() -> bool | None:
            with ExitStack() as stack:
                chat: Chat = self.data.begun(stack)
                world: Any = chat.env.unwrapped
                solution = world.oracle(world.snapshot())["solution"] if hasattr(world, "oracle") else None
                for action in solution or ():
                    chat.commit(action)
                return None if solution is None else chat.outcome.success

        return await in_thread(solved)

    @vf.reward  # type: ignore[untyped-decorator]
    async def reward(self, trace: Any) -> float:
        """Return the sum of the episode's rewards."""
        return float(trace.state.outcome.get("reward", 0.0))

    @vf.metric  # type: ignore[untyped-decorator]
    async def outcome(self, trace: Any) -> dict[str, float]:
        """Return the outcome's metrics."""
        return dict(trace.state.outcome)


class IADTaskset(vf.Taskset[IADTask, IADTasksetConfig]):  # type: ignore[misc]
    """The tasks of an environment's split."""

    def load(self) -> Iterator[IADTask]:
        """Yield the tasks in the split's order, each with its first messages."""
        config = self.config
        env_args = {**config.env_args, **({} if config.split is None else {"split": config.split})}
        common = {"env_id": config.env_id, "style": config.style, "seed": config.seed, "env_args": env_args}
        with Chat(config.env_id, config.style, **env_args) as chat:
            for task_id in chat.task_ids[: config.n_tasks]:
                system, user = chat.begin(task_id=task_id, seed=config.seed)
                content = user["content"]
                data = IADTaskData(
                    id=task_id,
                    name=f"{config.env_id}/{task_id}",
                    system_prompt=system["content"],
                    prompt=content if isinstance(content, str) else [user],
                    **common,
                )
                yield IADTask(data, config.task)


class ConversationEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """Who answers: `--env.player.*`. By default a plain chat, which runs on this machine."""

    player: vf.AgentConfig = vf.AgentConfig(
        harness=NullHarnessConfig(id="null"), runtime=vf.SubprocessConfig(), max_turns=MAX_TURNS
    )


class ConversationEnv(vf.Env[ConversationEnvConfig]):  # type: ignore[misc]
    """Plays an episode with the model as a conversation."""

    async def run(self, task: Any, agents: Any) -> None:
        """Play one episode. The environment works in threads, and is closed however the episode ends."""
        stack = ExitStack()
        try:
            chat = await in_thread(task.data.begun, stack)
            async with agents.player.interaction(task) as talk:
                state = talk.trace.state
                state.outcome = chat.outcome.metrics
                answer = await talk.turn()
                while not answer.terminated:
                    ended = [call.finish_reason for call in talk.trace.calls if call.error is None] or [""]
                    reason = str(ended[-1] or "stop")  # why the model's last answer ended
                    text = await in_thread(chat.say, answer.last_reply, finish_reason=reason)
                    state.outcome = chat.outcome.metrics
                    if chat.done:
                        talk.trace.stop(chat.outcome.stop_reason)
                        break
                    answer = await talk.turn(text)
        finally:
            await in_thread(stack.close)


async def in_thread(function: Callable[..., T], *args: Any, **options: Any) -> T:
    """Call a function in a thread.

    A cancelled caller still waits for the call's end: an environment is used in one thread at a time.
    """
    call = asyncio.ensure_future(asyncio.to_thread(function, *args, **options))
    cancelled: asyncio.CancelledError | None = None
    while not call.done():
        try:
            await asyncio.wait([call])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return call.result()
