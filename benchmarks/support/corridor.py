"""A corridor: two ways at each step, of which one goes on, and a reward at the end. Which credit does a long one need?

The policy begins with probability .8 for the right way. Step preferences come from rollouts that branch off in each
state, outcome preferences from whole episodes of the same number. Both are trained by the project's own objective and
schedule.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from iad_policy.learn.backends.numeric import TrainableFeatureModel
from iad_policy.learn.objectives import Preference
from iad_policy.learn.pairs import Pair, preferences
from iad_policy.trained.backends.numeric import Linear
from iad_policy.trained.heads import Array
from iad_policy.trained.rows import Row
from iad_policy.types import State

RIGHT, WRONG = 0, 1
P_RIGHT = 0.8
N_EPISODES = 240
N_OF_EPISODES = 120
"""Most pairs of episodes."""


class Ways:
    """A feature for each way at each step."""

    def __init__(self, length: int) -> None:
        self.names = [f"{step}.{way}" for step in range(length) for way in (RIGHT, WRONG)]
        self.identity = f"corridor {length}"

    def actions(self, state: State) -> list[int]:
        """Both ways."""
        return [RIGHT, WRONG]

    def rows(self, state: State, actions: Sequence[Any]) -> Array:
        """A 1 for the way at this step."""
        rows = np.zeros((len(actions), len(self.names)))
        rows[np.arange(len(actions)), [2 * int(state.observation) + action for action in actions]] = 1.0
        return rows


def gain_of_steps(length: int, seed: int, *, theta: float = 0.2, tau: float | None = 0.2) -> float:
    """Return the success of step preferences less that of outcome preferences, from equal numbers of episodes.

    Args:
        length: Number of steps.
        seed: Seed of the episodes.
        theta: Least margin of a pair of ways.
        tau: Temperature of its soft label. None makes hard ones, as those of episodes are.
    """
    rng = Random(1000 * length + seed)
    steps = _success(_steps(length, theta, rng), length, tau, beta=0.5 if tau is None else 1.0)
    return steps - _success(_outcomes(length, rng), length, None, beta=0.5)


def _steps(length: int, theta: float, rng: Random) -> list[Pair]:
    """Compare both ways of each step by rollouts from there."""
    n = max(1, N_EPISODES // (2 * length))
    found = []
    for step in range(length):
        q = sum(_rolled(length - step - 1, rng) for _ in range(n)) / n  # the wrong way never arrives
        if q >= theta:
            found.append(Pair([_row(step, RIGHT)], [_row(step, WRONG)], q))
    return found


def _rolled(n_left: int, rng: Random) -> bool:
    return all(rng.random() < P_RIGHT for _ in range(n_left))


def _outcomes(length: int, rng: Random) -> list[Pair]:
    """Compare episodes that arrived with others that did not."""
    episodes = [[RIGHT if rng.random() < P_RIGHT else WRONG for _ in range(length)] for _ in range(N_EPISODES)]
    won = [one for one in episodes if not any(one)]
    lost = [one for one in episodes if any(one)]
    n = min(N_OF_EPISODES, len(won) * len(lost))
    drawn = [(rng.choice(won), rng.choice(lost)) for _ in range(n)]
    return [
        Pair([_row(*one) for one in enumerate(better)], [_row(*one) for one in enumerate(worse)], 1.0)
        for better, worse in drawn
    ]


def _success(pairs: Sequence[Pair], length: int, tau: float | None, *, beta: float) -> float:
    """Return the chance to arrive after training on pairs."""
    model = TrainableFeatureModel("linear", Ways(length), Linear(), "policy")
    model._parameters["weights"][RIGHT::2] = np.log(P_RIGHT)
    model._parameters["weights"][WRONG::2] = np.log(1 - P_RIGHT)
    if pairs:
        examples = preferences(pairs, model, Preference(beta), tau=tau)
        with TemporaryDirectory() as folder:
            model = model.fit(examples, model.schedule("dpo"), folder=Path(folder)).model  # type: ignore[assignment]
    rows = [_row(step, RIGHT) for step in range(length)]
    return float(np.exp(model.outputs(model.batch(rows)).sum()))


def _row(step: int, way: int) -> Row:
    return Row(State(step, {}, id=str(step)), way)
