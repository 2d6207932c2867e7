"""An episode as a conversation: what a chat model is told, and what its answers do.

The bridges to other frameworks are built on it. In your own loop:

```python
from iad_policy.bridges.chat import Chat

with Chat("IAD/WebShop-v0", style="direct", split="train") as chat:
    messages = chat.begin(seed=0)
    while not chat.done:
        answer = my_model(messages)
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": chat.say(answer)}]
    print(chat.outcome)
```
"""

from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import gymnasium as gym

from iad_policy.agents.language import LanguageAgent, Style, language_agent
from iad_policy.errors import ContractError
from iad_policy.models.scripted import ScriptedModel
from iad_policy.prompts import prompts_of
from iad_policy.run.resolve import parameters_of
from iad_policy.runtime.episode import LiveEpisode, state_after
from iad_policy.types import Candidate, PublicInfo, State
from iad_policy.world import NativeWorld, adapt
from iad_policy.world.simulator import PerfectSimulator

OVER = "The task is over. Nothing that you say now counts."
"""What is said to an answer after the end: some frameworks go on asking."""


class ChatOutcome(NamedTuple):
    """How an episode ended. It is gold: for rewards and metrics, never for a text that a model reads.

    Attributes:
        task_id: Id of the task.
        success: Whether the task is solved.
        progress: 0-1, as the environment defines it.
        reward: The sum of the episode's rewards.
        stop_reason: `done`, `max_steps`, or the environment's own word; "" while the episode goes on.
        steps: Number of answers that counted, those that were no action included.
        invalid: Number of answers that were no action, or an action that was not valid.
        tried: Number of actions that were simulated, in previews and trials.
        oracle: Whether rewards of simulated actions were told.
    """

    task_id: str
    success: bool
    progress: float
    reward: float
    stop_reason: str
    steps: int
    invalid: int
    tried: int = 0
    oracle: bool = False

    @property
    def metrics(self) -> dict[str, float]:
        """What frameworks average, as numbers: `success progress reward steps invalid`."""
        named = ("success", "progress", "reward", "steps", "invalid")
        return {name: float(getattr(self, name)) for name in named}


class Moment(NamedTuple):
    """A moment of an episode that can be simulated from.

    Attributes:
        state: The state.
        token: The simulator's token of it.
        tried: The simulated actions that led there from the episode's state, each with the state after it.
    """

    state: State
    token: Any
    tried: tuple[tuple[Candidate, State], ...] = ()


class Chat:
    """An episode as a conversation with a chat model, in the prompts of the environment.

    Use one object in one thread at a time. Several may run side by side.

    Args:
        env: The id of an environment, which is then made and closed here, or an environment of your own.
        style: How the model is asked: `direct`, `cot`, `few-shot`, `tool` (it calls a tool `act`), or `prompting` in
            the environments with function calls. None takes the environment's own.
        env_args: Arguments of the environment made by id, such as `split="train"`.

    Raises:
        UnknownName: There is no such style.
        ValueError: The style needs a model's own interface for functions.
        TypeError: Arguments were given for an environment that is made already.
    """

    def __init__(self, env: "str | gym.Env[Any, Any]", style: str | None = None, **env_args: Any) -> None:
        refuse_functions(style)
        if not isinstance(env, str) and env_args:
            raise TypeError(
                f"expected {', '.join(env_args)} with an environment's id, got {env}; pass them to gym.make"
            )
        self._owns_env = isinstance(env, str)
        self._split: str | None = env_args.get("split")
        # Gymnasium's checker fails in every step after a first reset that raised, as one with an unknown task does.
        if isinstance(env, str):
            parameters_of(env)  # imports what registers it, also from the working folder
            env = gym.make(env, **{"disable_env_checker": True, **env_args})
        self.env: gym.Env[Any, Any] = env
        self._agent: LanguageAgent = language_agent(self.env, ScriptedModel([]), cast(Style, style))
        self._episode: LiveEpisode | None = None
        self._state: State | None = None
        self.outcome = ChatOutcome("", False, 0.0, 0.0, "", 0, 0)
        """How the episode ended, or how it stands; gold."""
        self._limit = adapt(self.env).max_steps
        self.last_reward = 0.0
        """The reward of the last answer alone; gold."""
        self.candidate: Candidate | None = None
        """The last answer as it was read, or the last action."""

    @property
    def done(self) -> bool:
        """Whether the episode is over. Then `say` changes nothing."""
        return self.state.done

    @property
    def reward(self) -> float:
        """The sum of the episode's rewards so far; gold."""
        return self.outcome.reward

    @property
    def task_ids(self) -> Sequence[str]:
        """The ids of the split's tasks, in order; empty if the environment names none."""
        ids: Sequence[str] = getattr(self.env.unwrapped, "task_ids", ())
        return ids

    @property
    def tasks(self) -> Mapping[str, Any]:
        """The public part of the tasks that `begin` takes, by id; empty if the environment lists none."""
        tasks: Mapping[str, Any] = getattr(self.env.unwrapped, "tasks", {})
        return tasks if self._split is None else {task_id: tasks[task_id] for task_id in self.task_ids}

    @property
    def state(self) -> State:
        """The state as an agent sees it, without gold."""
        if self._state is None:
            raise ContractError("expected begin() before anything else, got no episode yet; call begin()")
        return self._state

    def begin(self, *, task_id: str | None = None, seed: int | None = None) -> list[dict[str, Any]]:
        """Start an episode and return its first messages: the system's, and the user's first turn.

        Args:
            task_id: Picks the task.
            seed: Picks the task if none is named, and seeds the environment.

        Raises:
            ValueError: There is no such task, or it is not in the split that the environment was made for.
        """
        ids = self.task_ids if self._split is not None else ()
        if task_id is not None and ids and task_id not in ids:
            raise ValueError(
                f"expected a task_id of the split {self._split!r}, got {task_id!r:.100}; known: {len(ids)} from "
                f"{ids[0]!r} to {ids[-1]!r}"
            )
        options = {} if task_id is None else {"options": {"task_id": task_id}}
        observation, info = self.env.reset(seed=seed, **options)
        task = str(info.get("task_id", ""))
        self._episode = LiveEpisode(adapt(self.env), PerfectSimulator(), task=task, seed=seed or 0)
        self._state = self._episode.start(observation, info)
        self.outcome = _outcome(ChatOutcome(task, False, 0.0, 0.0, "", 0, 0), info)
        self.candidate, self.last_reward = None, 0.0
        return [dict(message) for message in self._agent.messages(self._state)]

    def say(self, answer: str, *, finish_reason: str = "stop") -> str:
        """Commit the action of a model's answer and return the user's next turn.

        An answer that is no action costs a step, or a model could go on for ever; the next turn says what was expected.
        After the end nothing is committed, and a closing line is returned.

        Args:
            answer: The model's answer.
            finish_reason: `length` says that it was cut off.
        """
        before = self.state
        self.last_reward = 0.0
        if before.done:
            return OVER
        self.candidate = candidate = self._agent.read(answer, before, finish_reason=finish_reason)
        if candidate.error:
            return self._unread(replace(candidate, action=answer))
        return self._committed(candidate, candidate.action)

    def commit(self, action: Any) -> str:
        """Commit an action that was not read from an answer, such as a policy's, and return the user's next turn.

        After the end nothing is committed, and a closing line is returned.
        """
        if self.done:
            return OVER
        self.candidate = Candidate(action)
        return self._committed(self.candidate, action)

    def preview(self, answer: str) -> str:
        """Return what would be seen after an answer's action, in a simulation. Nothing is committed.

        A preview has no gold. How it is scored that an action ends the episode is not known.

        Args:
            answer: The model's answer.

        Raises:
            SimulationError: The environment can't be simulated.
        """
        if self.state.done:
            return OVER
        at = self._moment()
        candidate = self._agent.read(answer, at.state)
        if candidate.error:
            return candidate.error
        state = self._after(at, candidate).state
        return prompts_of(self.env).rendering.candidate(replace(candidate, preview=state))

    def _moment(self) -> Moment:
        """Return the moment that a preview starts from."""
        assert self._episode is not None
        return Moment(self.state, self._episode.simulator.begin(self._episode.world, self.state))

    def _after(self, at: Moment, candidate: Candidate) -> Moment:
        """Return the moment after an action, in a simulation. Nobody else keeps it: clients may ask for any number."""
        assert self._episode is not None
        world = self._episode.world
        outcome = self._episode.simulator.simulate(world, at.token, candidate.action, 0)
        state = state_after(world, at.state, candidate, 0, outcome)
        self.outcome = self.outcome._replace(tried=self.outcome.tried + 1)
        return Moment(state, outcome.token, (*at.tried, (candidate, state)))

    def close(self) -> None:
        """Close the environment if it was made here."""
        if self._owns_env:
            self.env.close()

    def __enter__(self) -> "Chat":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _unread(self, candidate: Candidate) -> str:
        """Let an answer that is no action cost a step, and return a turn that says so."""
        if not isinstance(adapt(self.env), NativeWorld):  # it may do anything with what is no action
            steps = self.outcome.steps + 1
            state, is_last = self.state, steps >= self._limit
            self.outcome = self.outcome._replace(
                steps=steps, invalid=self.outcome.invalid + 1, stop_reason="max_steps" if is_last else ""
            )
            if is_last:
                assert self._episode is not None
                self._state = self._episode.advance(candidate, state.observation, state.info, done=True)
                return OVER
            return f"{candidate.error}\n\n{self._agent.next_turn(state)}"
        text = self._committed(candidate, None)  # which no environment of ours takes for an action
        if self.done:
            return text
        # The environment complains about what stood in for an action, of which the model knows nothing.
        state = self.state
        facts = dict(state.info.get("facts") or {})
        said, seen = str(facts.get("complaint", "")), state.observation
        is_seen = isinstance(seen, str) and said and said in seen
        info = PublicInfo({**state.info, "facts": {**facts, "complaint": ""}}, adapt(self.env).gold_keys)
        shown = replace(state, info=info, observation=seen.replace(said, candidate.error) if is_seen else seen)
        turn = self._agent.next_turn(shown)
        return turn if candidate.error in turn else f"{candidate.error}\n\n{turn}"

    def _committed(self, candidate: Candidate, action: Any) -> str:
        assert self._episode is not None
        observation, reward, terminated, truncated, info = self.env.step(action)
        done = bool(terminated or truncated)
        self.last_reward = float(reward)
        invalid = bool(candidate.error) or bool(info.get("invalid_action"))
        self.outcome = _outcome(
            self.outcome._replace(
                reward=self.outcome.reward + self.last_reward,
                steps=self.outcome.steps + 1,
                invalid=self.outcome.invalid + invalid,
            ),
            info,
        )
        if not self.outcome.stop_reason and done:
            self.outcome = self.outcome._replace(stop_reason="done" if terminated else "max_steps")
        self._state = self._episode.advance(candidate, observation, info, done=done)
        # What is seen at the end may show the score.
        return OVER if done else self._agent.next_turn(self._state)


def refuse_functions(style: str | None) -> None:
    """Raise `ValueError` for a style that needs a model's own interface for functions."""
    if style == "fc":
        raise ValueError(f"expected a style that writes texts, got {style!r}; use 'prompting' or 'tool'")


def _outcome(known: ChatOutcome, info: Mapping[str, Any]) -> ChatOutcome:
    """Return an outcome with what an environment's info says about it."""
    return known._replace(
        success=bool(info.get("success", False)),
        progress=float(info.get("progress", 0.0)),
        stop_reason=str(info.get("stop_reason", "")),
    )


def parts_of(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what messages say as one list of parts: texts, and pictures as data URLs, in OpenAI's form."""
    said = [message["content"] for message in messages]
    return [part for one in said for part in ([{"type": "text", "text": one}] if isinstance(one, str) else one)]


def png_of(part: Mapping[str, Any]) -> bytes:
    """Return the picture of a part."""
    return b64decode(part["image_url"]["url"].partition("base64,")[2])
