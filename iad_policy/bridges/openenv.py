"""Serves an environment to OpenEnv clients (`iad[openenv]`): an episode per session, many sessions in one process.

In the terminal: `iad serve --openenv IAD/WebShop-v0`. In Python:

```python
import uvicorn
from iad_policy.bridges.openenv import openenv_app

uvicorn.run(openenv_app("IAD/WebShop-v0", split="train"), port=8000)
```
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from iad_policy.bridges.chat import parts_of
from iad_policy.bridges.trial import TrialChat
from iad_policy.errors import ContractError, IADError, MissingExtra
from iad_policy.types.secrets import masked

DO = ("act", "snapshot", "restore", "commit")
"""What an action's metadata may ask for with `do`."""


class ServedEpisodes:
    """What one session does, in plain values: an environment of its own, made when it is first needed.

    Use it in one thread at a time.

    Args:
        make: Makes the conversation with a new environment.
    """

    def __init__(self, make: Callable[[], TrialChat]) -> None:
        self._make = make
        self._made: TrialChat | None = None
        self._is_begun = False
        self.episode_id: str | None = None

    @property
    def chat(self) -> TrialChat:
        """The conversation."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def reset(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Start an episode and return the observation.

        Args:
            asked: Some of `seed`, `episode_id` (the client's own name for the episode), `task_id`, or `split` and
                `index`, the task's place in that split.

        Raises:
            ValueError: There is no such task, or an argument that `reset` doesn't take.
        """
        given = {name: value for name, value in asked.items() if value is not None}
        known = ("seed", "episode_id", "task_id", "split", "index")
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ValueError(f"expected reset with {', '.join(known)}, got {', '.join(unknown)}; leave it out")
        named = [name for name in ("task_id", "split", "index") if name in given]
        if named not in ([], ["task_id"], ["split", "index"]):
            asked_for = " with ".join(named)
            raise ValueError(f"expected a task_id, or a split with an index, got {asked_for}; pass one of the two")
        task_id = given.get("task_id")
        if "split" in named:
            (task,) = self.tasks(given["split"], given["index"], given["index"] + 1)
            task_id = task["task_id"]
        messages = self.chat.begin(task_id=task_id, seed=given.get("seed"))
        self._is_begun = True
        self.episode_id = given.get("episode_id")
        return _observation(messages)

    def step(self, text: str, do: str = "act") -> dict[str, Any]:
        """Commit an answer and return the observation, with its reward, and with the outcome at the end.

        Args:
            text: The answer; to go back, the snapshot.
            do: `act`; `snapshot`, after which answers are only tried; `restore`, to go back to a snapshot; or `commit`,
                to do what was tried. What is tried has no reward, unless rewards are told.

        Raises:
            ContractError: No episode was begun, or it has no such snapshot.
            ValueError: `do` is something else.
        """
        if not self._is_begun:
            raise ContractError(
                "expected reset before step, got no episode; reset and step in one WebSocket session, as OpenEnv's "
                "clients do: every plain HTTP request has an environment of its own"
            )
        if do not in DO:
            raise ValueError(f"expected do with {', '.join(DO)} in an action's metadata, got {do!r:.40}; pass one")
        chat = self.chat
        told: dict[str, Any] = {"snapshot": chat.snapshot()} if do == "snapshot" else {}
        if do == "act":
            said = chat.say(text)
        else:
            said = chat.commit_tried() if do == "commit" else chat.restore(told.get("snapshot", text))
        seen = _observation([{"content": said}])
        if not chat.is_trial:
            outcome = chat.outcome._asdict() if chat.done else {}
            return {**seen, "reward": chat.last_reward, "done": chat.done, "metadata": outcome}
        reward = chat.last_reward if do == "act" and chat.tells_rewards else None
        told |= {"trial": True, **({} if reward is None else {"information": "oracle"})}
        return {**seen, "reward": reward, "done": chat.trial_ended, "metadata": told}

    @property
    def state(self) -> dict[str, Any]:
        """Where the episode is, without gold."""
        if not self._is_begun:
            return {}
        known, chat = self.chat.outcome, self.chat
        return {
            "episode_id": self.episode_id,
            "step_count": known.steps,
            "task_id": known.task_id,
            "instruction": masked(str(chat.state.info.get("instruction", ""))),
            "done": chat.done,
        }

    @property
    def splits(self) -> list[str]:
        """The splits of the tasks that can be begun; none where the environment lists no tasks."""
        return list(dict.fromkeys(its.split for its in self.chat.tasks.values()))

    def tasks(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """Return the public part of a split's tasks from one index up to another one.

        Raises:
            ValueError: There is no such split, or no such task.
        """
        task_ids = [task_id for task_id, its in self.chat.tasks.items() if its.split == split]
        if not task_ids:
            raise ValueError(f"expected a known split, got {split!r}; known: {', '.join(self.splits) or 'none'}")
        first, last = start or 0, len(task_ids) if stop is None else stop
        if not 0 <= first <= last <= len(task_ids):
            raise ValueError(
                f"expected an index from 0 to {len(task_ids) - 1} in {split}, got {first}; pass another one"
            )
        return [
            {"task_id": task_ids[index], "index": index, **self.chat.tasks[task_ids[index]]._asdict()}
            for index in range(first, last)
        ]

    def close(self) -> None:
        """Close the environment. Closing twice is harmless."""
        made, self._made, self._is_begun = self._made, None, False
        if made is not None:
            made.close()


def openenv_app(
    env: str,
    *,
    style: str | None = "direct",
    max_sessions: int = 1024,
    snapshots: int = 0,
    oracle: bool = False,
    **env_args: Any,
) -> Any:
    """Return a FastAPI application that serves an environment to OpenEnv clients.

    An action has one field, `text`: a model's whole answer, or a bare action. An observation has `text`, the next user
    turn, and `pictures`, as data URLs. `reward` and `done` are the environment's. `metadata` has the outcome, which is
    gold, once the episode is over. `reset` takes `seed`, `task_id`, or `split` with `index`.

    Args:
        env: The id of an environment.
        style: How tasks are worded: see `Chat`.
        max_sessions: Sessions at the same time. Another one is refused.
        snapshots: How many snapshots a session may keep: see `TrialChat`. An action's metadata then takes `do`.
        oracle: Whether rewards are told of what is only tried, too.
        env_args: Arguments of the environment, such as `split="train"`. With a split, no task of another one is given.

    Raises:
        MissingExtra: The extra `openenv` is not installed.
        gymnasium.error.Error: There is no such environment.
    """
    try:
        from fastapi.responses import JSONResponse
        from openenv.core.env_server import Action, Environment, Observation, State, create_app
        from openenv.core.env_server.types import EnvironmentMetadata
        from pydantic import ConfigDict, Field, field_validator
    except ImportError:
        raise MissingExtra("openenv", "openenv") from None

    def made() -> TrialChat:
        return TrialChat(env, style, snapshots=snapshots, oracle=oracle, **env_args)

    class Answer(Action):  # type: ignore[misc]
        """A model's answer."""

        text: str = Field(description="The answer, or a bare action.")

        @field_validator("text", mode="before")
        @classmethod
        def _as_said(cls, given: Any) -> str:
            """Return the answer as it was said: some clients parse an answer that is JSON, such as a number."""
            return given if isinstance(given, str) else json.dumps(given)

    class Turn(Observation):  # type: ignore[misc]
        """What the model is told next."""

        text: str = Field(description="The next user turn; in a reset's observation, with the rules before it.")
        pictures: list[str] = Field(default_factory=list, description="Pictures to show before it, as data URLs.")

    class Place(State):  # type: ignore[misc]
        """Where an episode is, without gold."""

        model_config = ConfigDict(extra="forbid")
        task_id: str = Field(default="", description="Id of the task.")
        instruction: str = Field(default="", description="Instruction for the agent.")
        done: bool = Field(default=False, description="Whether the episode is over.")

    class ServedEnvironment(Environment):  # type: ignore[misc]
        """One session."""

        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self._episodes = ServedEpisodes(made)

        def reset(self, seed: int | None = None, episode_id: str | None = None, **asked: Any) -> Turn:
            return Turn(**self._episodes.reset({"seed": seed, "episode_id": episode_id, **asked}))

        def step(self, action: Answer, timeout_s: float | None = None, **asked: Any) -> Turn:
            return Turn(**self._episodes.step(action.text, str(action.metadata.get("do", DO[0]))))

        @property
        def state(self) -> Place:
            return Place(**self._episodes.state)

        def get_metadata(self) -> Any:
            return EnvironmentMetadata(name=env, description=f"Tasks of {env}; an action is a text.")

        def list_splits(self) -> list[str]:
            return self._episodes.splits

        def list_tasks(self, split: str) -> list[dict[str, Any]]:
            return self._episodes.tasks(split)

        def num_tasks(self, split: str) -> int:
            return len(self._episodes.tasks(split))

        def get_task(self, split: str, index: int) -> dict[str, Any]:
            return self._episodes.tasks(split, index, index + 1)[0]

        def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
            return self._episodes.tasks(split, start, stop)

        def close(self) -> None:
            self._episodes.close()

    async def refused(request: Any, error: Exception) -> Any:
        """Answer a request that the client can mend."""
        return JSONResponse({"detail": masked(str(error))}, status_code=422)

    name = env.rpartition("/")[2]  # it is a part of the path under which tasks are listed
    made().close()  # what is wrong with the environment is said before anybody connects
    app = create_app(ServedEnvironment, Answer, Turn, env_name=name, max_concurrent_envs=max_sessions, state_cls=Place)
    for kind in (ValueError, IADError):
        app.add_exception_handler(kind, refused)
    return app


def _observation(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what messages say as one text, and the pictures among them."""
    parts = parts_of(messages)
    texts = [masked(part["text"]) for part in parts if part["type"] == "text"]
    pictures = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return {"text": "\n\n".join(texts), "pictures": pictures}
