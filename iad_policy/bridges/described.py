"""Gives the text environments of others the words that an agent, a judge and a report need.

A language model that acts in such an environment has to be told its task, the page as text, and when a new episode
begins. Contract 1 has these in `info` (docs/design.md), and others have them somewhere. `Described` puts them there:

```python
env = Described(
    gym.make("browsergym/openended", task_kwargs={"start_url": "https://example.org", "goal": "Find the address."}),
    text=lambda observation, info: flatten_axtree_to_str(observation["axtree_object"]),
    instruction=lambda observation, info: observation["goal"],
)
policy = IADPolicyWrapper("litellm:gpt-4o-mini", env, strategy="iad", verifier="judge:gpt-4o-mini")
```
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import gymnasium as gym
import numpy as np

from iad_policy.errors import SimulationError
from iad_policy.world import is_text, step_limit
from iad_policy.world.wrappers import WITHOUT_SIMULATION

T = TypeVar("T")
Seen: TypeAlias = Callable[[Any, Mapping[str, Any]], T]
"""A function of an observation and the info that came with it."""

REFUSED = (
    f"expected an environment that may be simulated, got one described with simulates=False; use {WITHOUT_SIMULATION}"
)


class AnyText(gym.Space[str]):
    """All texts. Gymnasium's own space of texts has an alphabet and a length."""

    def __init__(self) -> None:
        super().__init__(shape=(), dtype=np.str_)

    def contains(self, x: Any) -> bool:
        """Return whether it is a text."""
        return isinstance(x, str)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return the empty text. No other one is more likely to be an action."""
        return ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText)

    def __hash__(self) -> int:
        return hash(AnyText)

    def __repr__(self) -> str:
        return "AnyText()"


class Described(gym.Env[str, Any]):
    """An environment around another one, with its observations as texts and the public keys of contract 1's `info`.

    It is no `gym.Wrapper`, as a policy simulates what is inside of all wrappers, and simulations are to be described,
    too. The inner environment is `env`. None of its info is passed on, as some of it may be gold.

    Args:
        env: The environment.
        text: What a model is shown of an observation. By default the observation as a text.
        instruction: The task, read from the first observation of an episode; or a text, if it is always the same.
        actions: The available actions. Patterns such as `click[...]` come last. By default there is no list.
        task_id: Id of the task, read from the first observation. By default the episode's seed, or "" without one.
        complaint: Why the last action was invalid; "" if it was not.
        max_steps: Actions after which an episode is truncated. By default the inner environment's limit.
        success_at: The sum of rewards from which on an episode is a success. Without it no success is reported.
        simulates: Whether a policy may simulate it, in copies or replays. False for a browser, which has neither, and
            for games whose copies know what a player can't.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        text: Seen[str] | None = None,
        instruction: Seen[str] | str = "",
        actions: Seen[Sequence[Any]] | None = None,
        task_id: Seen[str] | None = None,
        complaint: Seen[str] | None = None,
        max_steps: int | None = None,
        success_at: float | None = None,
        simulates: bool = True,
    ) -> None:
        if max_steps is not None and max_steps < 1:
            raise ValueError(f"expected max_steps of 1 or more, got {max_steps}")
        self.env = env
        self.observation_space = AnyText()
        self.action_space = AnyText() if is_text(env.action_space) else env.action_space
        self.metadata = env.metadata
        self.render_mode = env.render_mode
        own = step_limit(env)
        self.max_steps: float = own if max_steps is None else min(max_steps, own)
        self.success_rule = "" if success_at is None else f"reward >= {success_at:g}"
        self._text = text
        self._instruction_of = instruction
        self._actions = actions
        self._task_id_of = task_id
        self._complaint = complaint
        self._success_at = success_at
        self._simulates = simulates
        self._instruction = self._task_id = ""
        self._step = 0
        self._reward = 0.0
        self.spec = None
        if env.spec is not None:
            inner = env.spec

            def made(**options: Any) -> Described:
                if not simulates:  # only a replay makes it again
                    raise SimulationError(REFUSED)
                again = copy.copy(self)
                again.env = gym.make(inner)
                return again

            # The inner environment's, for one that is described, too.
            self.spec = replace(inner, entry_point=made, kwargs={}, additional_wrappers=(), max_episode_steps=None)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode. Seed and options go to the inner environment."""
        observation, info = self.env.reset(seed=seed, options=options)
        said = self._instruction_of
        self._instruction = said if isinstance(said, str) else str(said(observation, info))
        self._task_id = "" if seed is None else str(seed)
        if self._task_id_of is not None:
            self._task_id = str(self._task_id_of(observation, info))
        self._step, self._reward = 0, 0.0
        return self._told(observation, info, "")

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Commit an action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._step += 1
        self._reward += float(reward)
        truncated = bool(truncated) or (self._step >= self.max_steps and not terminated)
        reason = "done" if terminated else "max_steps" if truncated else ""
        text, public = self._told(observation, info, reason)
        return text, float(reward), bool(terminated), truncated, public

    def render(self) -> Any:
        """Render the inner environment."""
        return self.env.render()

    def close(self) -> None:
        """Close the inner environment."""
        self.env.close()

    @property
    def np_random(self) -> np.random.Generator:
        """The inner environment's random numbers, which a simulation replaces."""
        return self.env.unwrapped.np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self.env.unwrapped.np_random = value

    @property
    def np_random_seed(self) -> int:
        """The inner environment's seed."""
        return self.env.unwrapped.np_random_seed

    @property
    def _np_random_seed(self) -> int | None:  # type: ignore[override]
        return self.env.unwrapped._np_random_seed

    def __deepcopy__(self, memo: dict[int, Any]) -> "Described":
        if not self._simulates:
            raise SimulationError(REFUSED)
        made = copy.copy(self)
        memo[id(self)] = made
        made.env = copy.deepcopy(self.env, memo)
        return made

    def _told(self, observation: Any, info: Mapping[str, Any], stop_reason: str) -> tuple[str, dict[str, Any]]:
        complaint = "" if self._complaint is None else str(self._complaint(observation, info))
        public = {
            "task_id": self._task_id,
            "instruction": self._instruction,
            "available_actions": [] if self._actions is None else list(self._actions(observation, info)),
            "invalid_action": complaint != "",
            "step": self._step,
            "stop_reason": stop_reason,
            "facts": {"complaint": complaint},
            "page": {},
        }
        if self._success_at is not None:
            public["success"] = self._reward >= self._success_at
        return str(observation) if self._text is None else self._text(observation, info), public
