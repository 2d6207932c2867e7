"""The actions to choose from where any text is one: what the environment's rule-based agent proposes."""

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from iad_policy.trained.heads import Array
from iad_policy.types import Agent, Candidate, State
from iad_policy.types.hashing import digest, seed_of

N_PROPOSALS = 16


class ProposedActions:
    """The different ones of 16 proposals of an agent in a state, the greedy one first.

    They are drawn with a seed that follows from the state, so that a policy sees the same actions whenever it is asked.
    Environments derive from it: `described` gives the features of an action besides how often it was proposed.

    Args:
        agent: The agent. It must be one that answers at once.
        described: Names of the further features.
        identity: A text that changes whenever a feature's meaning does.
    """

    def __init__(self, agent: Agent, described: Sequence[str], identity: str) -> None:
        self._agent = agent
        self._proposed: OrderedDict[str, Mapping[str, int]] = OrderedDict()
        self.names: Sequence[str] = ["share", "greedy", *described]
        self._places = {name: place for place, name in enumerate(self.names)}
        self.identity = f"{identity} {len(self.names)} {getattr(agent, 'identity', '')} x {N_PROPOSALS}"

    def actions(self, state: State) -> list[Any]:
        """Return the actions to choose from in a state."""
        return list(self._counts(state))

    def rows(self, state: State, actions: Sequence[Any]) -> Array:
        """Return the features of actions in a state, a row for each: shape (actions, features)."""
        counts = self._counts(state)
        first = next(iter(counts))
        rows = np.zeros((len(actions), len(self.names)))
        for row, action in zip(rows, actions, strict=True):
            text = str(action)
            row[0], row[1] = counts.get(text, 0) / N_PROPOSALS, text == first
            for name, value in self.described(state, text).items():
                row[self._places[name]] = value
        return rows

    def described(self, state: State, action: str) -> Mapping[str, float]:
        """Return the further features of an action by name. Those that are not named are 0."""
        raise NotImplementedError

    def _counts(self, state: State) -> Mapping[str, int]:
        """Return how often each action is proposed in a state."""
        name = digest(state.info["instruction"], state.info["task_id"], [str(turn.action) for turn in state.history])
        if name not in self._proposed:
            found: Counter[str] = Counter()
            for place in range(N_PROPOSALS):
                rng, temperature = Random(seed_of("proposed", name, place)), 1.0 if place else 0.0
                made = self._agent.propose(state, feedback=None, temperature=temperature, rng=rng)
                assert isinstance(made, Candidate)
                if not made.error:
                    found[str(made.action)] += 1
            self._proposed[name] = found
            while len(self._proposed) > 512:  # states
                self._proposed.popitem(last=False)
        self._proposed.move_to_end(name)
        return self._proposed[name]
