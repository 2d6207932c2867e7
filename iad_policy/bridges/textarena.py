"""Games of TextArena for one player as environments (`pip install textarena`).

```python
env = textarena_env("GuessTheNumber-v0")
```
"""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from iad_policy.bridges.described import AnyText, Described
from iad_policy.errors import MissingExtra

_random = threading.Lock()


class TextArenaGame(gym.Env[str, str]):
    """A game as a Gymnasium environment. An observation is what the game says after an action.

    The rules that it says first are `info["rules"]`, and `info["refused"]` says why an action was refused. The reward
    is the game's, at its end.

    Games draw from Python's one global generator. Here each game has a stream of its own: it is the same for the same
    seed whatever else is running, and a simulation does not see the draws that will come.

    Args:
        game: The game's name, such as `GuessTheNumber-v0`.
        options: Options of the game.

    Raises:
        MissingExtra: TextArena is not installed.
    """

    def __init__(self, game: str, **options: Any) -> None:
        try:
            import textarena
        except ImportError:
            raise MissingExtra("textarena") from None
        self.observation_space = AnyText()
        self.action_space = AnyText()
        self._make = partial(textarena.make, game, **options)
        self._name = game
        self._kinds = textarena.ObservationType
        self._game: Any = None
        self._stream = random.Random().getstate()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode, with a new game: a used one keeps some of what was said.

        Raises:
            ValueError: There is no such game, or it is not for one player.
        """
        super().reset(seed=seed)
        self._draw_from(self.np_random)
        with self._own_draws():
            try:
                self._game = self._make()
                self._game.reset(num_players=1)
            except (AssertionError, ValueError) as error:
                raise ValueError(
                    f"expected a game of TextArena for one player, got {self._name}: {error}; name another one"
                ) from error
            return self._seen("The game has begun.")

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Commit an action."""
        with self._own_draws():
            done, _ = self._game.step(action=action)
            observation, info = self._seen("The game is over." if done else "")
            reward = float(self._game.close()[0][0]) if done else 0.0
        return observation, reward, bool(done), False, info

    @property
    def np_random(self) -> np.random.Generator:
        """The random numbers that the game's stream is drawn from."""
        return super().np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._np_random, self._np_random_seed = value, -1
        self._draw_from(value)

    def _draw_from(self, generator: np.random.Generator) -> None:
        self._stream = random.Random(int(generator.integers(2**63))).getstate()

    @contextmanager
    def _own_draws(self) -> Iterator[None]:
        """Let the global generator go on with this game's stream, and put it back afterwards."""
        with _random:
            before = random.getstate()
            random.setstate(self._stream)
            try:
                yield
            finally:
                self._stream = random.getstate()
                random.setstate(before)

    def _seen(self, otherwise: str) -> tuple[str, dict[str, Any]]:
        """Return what the game has said since the last time, without the player's own actions."""
        said = self._game.state.get_current_player_observation()
        by_kind = {kind: "\n".join(text for _, text, its in said if its is kind) for kind in self._kinds}
        rules, refused = by_kind[self._kinds.PROMPT], by_kind[self._kinds.GAME_ADMIN]
        own = (self._kinds.PROMPT, self._kinds.PLAYER_ACTION)
        news = "\n".join(text for _, text, its in said if its not in own)
        return news or otherwise, {"rules": rules, "refused": refused}


def textarena_env(game: str, *, simulates: bool = True, **options: Any) -> Described:
    """Return a game for one player with what a policy needs: rules as instruction, and success for a reward of 1.

    Args:
        game: The game's name, such as `GuessTheNumber-v0`.
        simulates: Whether a policy may simulate it in copies, which know what a player can't.
        options: Options of the game.

    Raises:
        MissingExtra: TextArena is not installed.
    """
    inner = TextArenaGame(game, **options)
    made = partial(TextArenaGame, game, **options)
    inner.spec = EnvSpec(f"TextArena/{game}", entry_point=made, disable_env_checker=True)
    return Described(
        inner,
        instruction=lambda observation, info: info["rules"],
        complaint=lambda observation, info: info["refused"],
        success_at=1.0,
        simulates=simulates,
    )
