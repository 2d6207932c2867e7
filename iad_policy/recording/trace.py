"""What happened in the episodes of a run folder, read from its log: every candidate, verdict, text and commit.

The reports, the viewer and the exports are drawn from these values and from nothing else.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from iad_policy.hashing import decode
from iad_policy.recording.answer_log import ANSWERS, BLOBS
from iad_policy.recording.codec import parts_of, usage_of, verdict_of
from iad_policy.recording.episode_record import EPISODES, EpisodeRecord
from iad_policy.recording.gc_pause import without_collector
from iad_policy.recording.index import LogIndex
from iad_policy.recording.run_folder import CONFIG, RunFolderError
from iad_policy.types import NOTHING, Part, Usage, Verdict

N_BLOBS = 128
"""Long values that are kept in memory."""


class Seen(NamedTuple):
    """A state as it was observed.

    Attributes:
        observation: As the environment gave it.
        info: Its info; of a committed step with the gold keys, of a preview without.
        done: Whether the episode is over there.
        state: The state's id.
        thumbnail: Path of a picture in the run folder; "" for none.
    """

    observation: Any
    info: Mapping[str, Any]
    done: bool = False
    state: str = ""
    thumbnail: str = ""


class Proposed(NamedTuple):
    """A candidate with all that became known of it.

    Attributes:
        id: `decision.request.item`.
        at: The id of the state that it is for: the decision's, or a simulated one.
        action: The action.
        key: Its canonical form.
        thought: The agent's reasoning.
        error: Why it is no action; "" for a usable one.
        feedback: What the agent was told; "" for nothing.
        verdict: The last verdict on it, if it was verified.
        preview: What it leads to in a simulation, if there was one.
        usage: What proposing it cost.
        logprobs: Log-probabilities of the answer's tokens, if the model gave them.
        parts: Of an answer that is composed of several.
    """

    id: str
    at: str
    action: Any
    key: str
    thought: str = ""
    error: str = ""
    feedback: str = ""
    verdict: Verdict | None = None
    preview: Seen | None = None
    usage: Usage = NOTHING
    logprobs: tuple[float, ...] | None = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """A role's text."""

    role: str
    text: str
    source: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One decision and what it led to.

    Attributes:
        index: From 0.
        before: What was observed when it was made.
        candidates: All that were proposed, in order.
        asked: Texts of the roles, in order.
        committed: The id of the committed candidate; "" where the decision was not finished, or the strategy made the
            candidate itself.
        action: The committed action, as the episode's record has it.
        cut: The limit that cut the decision.
        after: What the real environment answered; None where the episode ended before.
        reward: Of the step.
    """

    index: int
    before: Seen | None
    candidates: tuple[Proposed, ...]
    asked: tuple[Said, ...]
    committed: str = ""
    action: Any = None
    cut: str = ""
    after: Seen | None = None
    reward: float = 0.0


@dataclass(frozen=True, slots=True)
class Trace:
    """An episode, step by step."""

    record: EpisodeRecord
    steps: tuple[Step, ...]


class RunTraces:
    """The episodes of a run folder, for reading; also while the run goes on.

    Args:
        folder: The run folder.

    Raises:
        RunFolderError: It holds no run.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not (self.folder / CONFIG).is_file():
            raise RunFolderError(f"expected a run folder, got {self.folder} without {CONFIG}; name one that iad wrote")
        self.config: dict[str, Any] = json.loads((self.folder / CONFIG).read_text(encoding="utf-8"))
        self._begin()
        self.refresh()

    @cached_property
    def _blob(self) -> Callable[[str], Any]:
        return lru_cache(N_BLOBS)(self._read_blob)  # a page is seen before and after, and by several strategies

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_blob"}

    def _begin(self) -> None:
        self.records: dict[str, EpisodeRecord] = {}
        self._index = LogIndex(self.folder / ANSWERS)
        self._read_to = 0

    @without_collector()
    def refresh(self) -> bool:
        """Take in what was written since the last look; returns whether an episode was added."""
        read = ((EPISODES, self._read_to), (ANSWERS, self._index.read_to))
        if any(_size(self.folder / name) < n_bytes for name, n_bytes in read):
            self._begin()  # the run was begun anew
        self._index.refresh()
        is_new = False
        for line in self._new_episodes():
            record = EpisodeRecord.of(json.loads(line))
            self.records[record.key] = record
            is_new = True
        return is_new

    @property
    def size(self) -> int:
        """Bytes of finished episodes read so far: it grows with every one, also one that is run again."""
        return self._read_to

    def trace(self, key: str) -> Trace:
        """Return one episode.

        Raises:
            KeyError: The run has no such episode, yet.
        """
        if key not in self.records:
            raise KeyError(f"expected the key of an episode of {self.folder}, got {key!r}")
        return Trace(self.records[key], tuple(_steps(self._index.answers(key), self.records[key], self.value)))

    def value(self, recorded: Any) -> Any:
        """Return a logged value; a long one is read from its blob."""
        if isinstance(recorded, str):
            return recorded
        if isinstance(recorded, dict) and "__parts__" in recorded:
            return {key: self.value(part) for key, part in recorded["__parts__"].items()}
        if isinstance(recorded, dict) and "__blob__" in recorded:
            return self._blob(recorded["__blob__"])
        return decode(recorded)

    def _read_blob(self, name: str) -> Any:
        return decode(json.loads((self.folder / BLOBS / f"{name}.json").read_bytes()))

    def _new_episodes(self) -> Iterator[bytes]:
        """Yield each whole line that was added."""
        path = self.folder / EPISODES
        if not path.exists():
            return
        with path.open("rb") as file:
            file.seek(self._read_to)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._read_to += len(line)
                yield line


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _steps(
    lines: Mapping[str, Mapping[str, Any]], record: EpisodeRecord, value: Callable[[Any], Any]
) -> Iterator[Step]:
    decisions: dict[str, dict[str, list[Mapping[str, Any]]]] = {}  # each one's lines by kind
    for item, line in lines.items():
        decisions.setdefault(item.partition(".")[0], {}).setdefault(line["kind"], []).append(line)
    before = _seen(decisions.pop("reset")["step"][0], value) if "reset" in decisions else None
    known: dict[str, Mapping[str, Any]] = {}
    for index in sorted(map(int, decisions)):
        own = decisions[str(index)]
        known |= {line["item"]: line for line in own.get("candidate", ())}
        commit, step = own.get("commit", [{}])[0], own.get("step", [None])[0]
        chosen = commit.get("candidate", "")
        after = None if step is None else _seen(step, value)
        yield Step(
            index,
            before,
            tuple(_candidates(own, known, value)),
            tuple(
                Said(line["role"], line["text"], line["source"], line.get("about", "")) for line in own.get("text", ())
            ),
            committed=chosen,
            action=_committed_action(record, index, known.get(chosen)),
            cut=commit.get("cut", ""),
            after=after,
            reward=0.0 if step is None else step.get("reward") or 0.0,
        )
        before = after


def _committed_action(record: EpisodeRecord, index: int, chosen: Mapping[str, Any] | None) -> Any:
    if index < len(record.actions):
        return decode(record.actions[index])
    return None if chosen is None else decode(chosen["action"])


def _candidates(
    own: Mapping[str, Sequence[Mapping[str, Any]]],
    known: Mapping[str, Mapping[str, Any]],
    value: Callable[[Any], Any],
) -> Iterator[Proposed]:
    """Yield a decision's candidates with its verdicts and previews of them; equal actions share a preview."""
    verdicts = {line.get("about", ""): line for line in own.get("verdict", ())}
    previews: dict[tuple[str, str], Seen] = {}
    for line in own.get("outcome", ()):
        about = known.get(line.get("about", ""))
        if about is not None:  # else the strategy made the candidate itself: nobody proposed it
            previews[about.get("about", ""), about["key"]] = _seen(line, value)
    for line in own.get("candidate", ()):
        item, at, key, logprobs = line["item"], line.get("about", ""), line["key"], line.get("logprobs")
        yield Proposed(
            item,
            at,
            decode(line["action"]),
            key,
            thought=line.get("thought", ""),
            error=line.get("error", ""),
            feedback=line.get("feedback", ""),
            verdict=verdict_of(verdicts[item]) if item in verdicts else None,
            preview=previews.get((at, key)),
            usage=usage_of(line),
            logprobs=None if logprobs is None else tuple(decode(logprobs)),
            parts=parts_of(line),
        )


class _Info(Mapping[str, Any]):
    """An info as it was logged: each part is read when it is asked for, as most never are."""

    __slots__ = ("_recorded", "_value")

    def __init__(self, recorded: Mapping[str, Any], value: Callable[[Any], Any]) -> None:
        self._recorded = recorded
        self._value = value

    def __getitem__(self, name: str) -> Any:
        return self._value(self._recorded[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._recorded)

    def __len__(self) -> int:
        return len(self._recorded)


def _seen(line: Mapping[str, Any], value: Callable[[Any], Any]) -> Seen:
    info = _Info(line["info"], value)
    return Seen(value(line["observation"]), info, bool(line["done"]), line.get("state", ""), line.get("thumbnail", ""))
