"""A simulator by retrieval: it returns the outcome recorded on another task for the most similar state and action."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from iad_policy.errors import SimulationError
from iad_policy.simulators.recorded import Recorded, read, record_elsewhere
from iad_policy.simulators.visible_state import outcome_after, outcome_at_end, visible
from iad_policy.types import Outcome, State
from iad_policy.types.hashing import digest, encode
from iad_policy.types.texts import shown
from iad_policy.world import World

Vectors = NDArray[np.float32]
SIZES = (3, 4, 5)
"""Lengths of n-grams, in bytes of UTF-8."""
ACTION_WEIGHT = 0.7
"""Weight of the action's similarity. The rest is the weight of the observation's."""


class TextEmbedder(Protocol):
    """Encodes texts so that the dot product of two vectors is their cosine similarity."""

    name: str
    """Name in reports."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 per text, shape (n, d)."""
        ...


class HashedNgrams:
    """Character n-gram counts, hashed into a vector. They need no model and no download, and are the same everywhere.

    Args:
        dimensions: Length of a vector, a power of two.
    """

    def __init__(self, dimensions: int = 2**14) -> None:
        if dimensions < 2 or dimensions & (dimensions - 1):
            raise ValueError(f"expected dimensions to be a power of two, got {dimensions}; use one such as 4096")
        self._dimensions = dimensions
        self.name = f"hashed {min(SIZES)}-{max(SIZES)}-grams, {dimensions} dimensions"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 per text. An empty text is similar only to another empty one."""
        rows = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row += np.sqrt(self._counts(text))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) if len(texts) else rows

    def _counts(self, text: str) -> NDArray[np.int64]:
        """Return how often each n-gram is there, by its FNV-1a hash folded to the number of dimensions."""
        # Start and end marks, so that the shortest text has an n-gram and both ends of a text count.
        codes = np.frombuffer(f"\2\2{text}\3\3".encode(errors="surrogatepass"), dtype=np.uint8).astype(np.uint64)
        hashed = []
        for size in SIZES:
            n = max(0, len(codes) - size + 1)
            value = np.full(n, 0xCBF29CE484222325, dtype=np.uint64)
            for place in range(size):
                value = (value ^ codes[place : place + n]) * np.uint64(0x100000001B3)
            hashed.append((value ^ (value >> np.uint64(32))) & np.uint64(self._dimensions - 1))
        return np.bincount(np.concatenate(hashed).astype(np.int64), minlength=self._dimensions)


class RetrievalSimulator:
    """Shows the recorded outcome nearest to an observation and an action, and never asks the environment.

    If the outcome contains its task's instruction, the current one replaces it. The recorded info comes with it, so
    agents and verifiers that read `page` and `facts` work, although these belong to the other task.

    Args:
        records: The recorded outcomes.

    Raises:
        ValueError: There are no records.
    """

    is_perfect = False
    uses_world = False

    def __init__(self, records: Sequence[Recorded]) -> None:
        if not records:
            raise ValueError("expected recorded outcomes to retrieve from, got none; record some tasks first")
        self._records = list(records)
        encoder = HashedNgrams(dimensions=2**12)
        self._actions = _Index(encoder, [_action_text(one.action) for one in records])
        self._observations = _Index(encoder, [_observation_text(one.observation, one.instruction) for one in records])
        self._tasks = {one.task_id for one in records}
        self.identity = f"retrieval {digest(self._records)} {encoder.name} {ACTION_WEIGHT:g}"

    def begin(self, world: World, state: State) -> State:
        """Return the visible part of a state as a token.

        Raises:
            SimulationError: This very task was recorded, so its outcomes would be looked up, not predicted.
        """
        if str(state.info.get("task_id")) in self._tasks:
            raise SimulationError(
                f"expected a task that was not recorded, got {state.info['task_id']}; record outcomes on other tasks "
                "than those of the run, such as the train split's"
            )
        return visible(state)

    def simulate(self, world: World, token: State, action: Any, draw: int) -> Outcome:
        """Return the nearest recorded outcome. A later `draw` returns the next nearest."""
        if token.done:
            return outcome_at_end(token)
        instruction = str(token.info.get("instruction", ""))
        nearness = ACTION_WEIGHT * self._actions.nearness(_action_text(action))
        nearness += (1.0 - ACTION_WEIGHT) * self._observations.nearness(
            _observation_text(token.observation, instruction)
        )
        place = int(np.argsort(-nearness, kind="stable")[min(draw, len(nearness) - 1)])
        found = self._records[place]
        if found.instruction:
            found = Recorded(*(_replaced(one, found.instruction, instruction) for one in found))
        return outcome_after(
            token,
            action,
            found.seen,
            found.info,
            done=found.done,
            key=found.key,
            failure=found.failure,
            changed=found.changed,
        )


class _Index:
    """Texts as vectors, with equal texts stored once."""

    def __init__(self, encoder: HashedNgrams, texts: Sequence[str]) -> None:
        different = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        self._encoder = encoder
        self._columns = np.ascontiguousarray(encoder.encode(list(different)).T)
        self._places = np.array([different[text] for text in texts])

    def nearness(self, text: str) -> NDArray[np.float32]:
        """Return the similarity of each text to this one."""
        query = self._encoder.encode([text])[0]
        there = np.flatnonzero(query)  # a text has few of all n-grams: most products would be 0
        found: NDArray[np.float32] = (query[there] @ self._columns[there])[self._places]
        return found


def retrieval_simulator(env: gym.Env[Any, Any], path: str = "") -> RetrievalSimulator:
    """A simulator that retrieves outcomes of other tasks, from a file or recorded on the train split.

    Raises:
        SimulationError: No file is named, and the environment has no split to record on.
    """
    if path:
        return RetrievalSimulator(list(read(path)))
    name = str(env.spec)
    with _simulators_lock:
        if name not in _simulators:
            _simulators[name] = RetrievalSimulator(record_elsewhere(env))
        return _simulators[name]


_simulators: dict[str, RetrievalSimulator] = {}
"""One recording per process and kind of environment, shared by all workers of a run. Each has its own environment."""
_simulators_lock = Lock()


def _action_text(action: Any) -> str:
    return action if isinstance(action, str) else str(encode(action))


def _observation_text(observation: Any, instruction: str) -> str:
    text = shown(observation)
    return text.replace(instruction, "") if instruction else text


def _replaced(value: Any, old: str, new: str) -> Any:
    """Return a value in which a text is replaced, at any depth."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, Mapping):
        return {key: _replaced(part, old, new) for key, part in value.items()}
    return type(value)(_replaced(part, old, new) for part in value) if isinstance(value, list | tuple) else value
