"""What happened in the episodes of a run folder, read from its log: every candidate, verdict, text and commit.

The reports, the viewer and the exports are drawn from these values and from nothing else.
"""

import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from iad_policy.budget import SIMULATOR, count
from iad_policy.errors import IADError
from iad_policy.ledger.answer_log import ANSWERS, BLOBS, THUMBNAILS, blob_place, blob_value, is_picture_place
from iad_policy.ledger.codec import candidate_of, place_of, usage_of, verdict_of
from iad_policy.ledger.episode_index import EpisodeIndex
from iad_policy.ledger.episode_record import EPISODES, EpisodeRecord
from iad_policy.ledger.gc_pause import without_collector
from iad_policy.ledger.index import LogIndex
from iad_policy.ledger.run_folder import RESET, read_config
from iad_policy.ledger.trees import RecordedTree
from iad_policy.types import FALLBACK, NOTHING, Candidate, Decision, RoleAnswer, State, Usage
from iad_policy.types.hashing import decode
from iad_policy.types.regular_file import no_links, open_regular, read_regular

N_BLOBS = 128
"""Long values that are kept in memory."""
N_ITEMS = 4096
"""Names of items whose order is kept: episodes have the same names."""
Made = TypeVar("Made")
_Lines: TypeAlias = defaultdict[str, list[Mapping[str, Any]]]
"""A decision's lines by kind."""

AXIS_OF = {
    "candidate": "proposals",
    "verdict": "verifications",
    "outcome": "simulations",
    "text": "asks",
    "commit": "env_steps",
}
"""Kind of a line -> axis on which it is counted."""
UNFINISHED = Candidate(None, error="the decision was not finished: nothing was committed")
"""Stands for the committed candidate of a decision that the log breaks off in."""
UNKNOWN = State(None, {})
"""Stands for a state whose line is damaged."""


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """One decision and what it led to.

    The decision is made of the log, which holds less than a policy in memory. What is recorded is equal; this differs:

    - A state has its observation, info, id, `done` and thumbnail, without history and notes. The info of a committed
      state has the gold keys, too.
    - A candidate's feedback has its text only. Whether it is terminal or irreversible is not recorded. A candidate that
      is no action has no verdict, as it is not verified. A preview is attached to every candidate whose action was
      simulated.
    - `committed` is the candidate with the committed action. Where that stood in for an answer that is no action, the
      candidate keeps its error. Where the strategy made the candidate itself, it has the action alone, and its id is
      that of no proposal: "" if it was not verified, either.
    - `committed` is `UNFINISHED` where nothing was committed, and `state` is `UNKNOWN` where its line is damaged.
    - Candidates are those that this decision proposed. One of an earlier decision is not listed again when it is
      verified again; where it is committed, it is `committed` nevertheless.
    - Of the notes only that of a fallback is there.

    Attributes:
        index: From 0.
        decision: The state, the candidates with their verdicts, what was committed, and what it cost.
        action: The committed action, as the episode's record has it; None where nothing was committed.
        after: What the real environment answered; None where the episode ended before.
        reward: Of the step.
        trees: The search trees that the strategy kept.
    """

    index: int
    decision: Decision
    action: Any = None
    after: State | None = None
    reward: float = 0.0
    trees: tuple[RecordedTree, ...] = ()

    @property
    def before(self) -> State | None:
        """The state that the decision was made in; None where the log lost it."""
        state = self.decision.state
        return None if state.observation is None and not state.id else state

    @property
    def is_finished(self) -> bool:
        """Whether the decision ended with a commit."""
        return self.decision.committed.error != UNFINISHED.error

    @property
    def proposed(self) -> Candidate | None:
        """The committed candidate as this decision proposed it; None where it did not."""
        name = self.decision.committed.id
        return next((one for one in self.decision.candidates if one.id == name), None)


@dataclass(frozen=True, slots=True)
class Trace:
    """An episode, step by step."""

    record: EpisodeRecord
    steps: tuple[RecordedStep, ...]


class DamagedEpisode(IADError, ValueError):
    """A line or a blob of an episode can't be read. All other episodes of the run can."""


class RunTraces:
    """The episodes of a run folder, for reading; also while the run goes on.

    A damaged line is skipped, with a warning.

    Args:
        folder: The run folder. It may come from somebody else: nothing outside of it is read.

    Attributes:
        config: The content of `config.json`.
        episodes: The index of the finished episodes.
        damaged: Why an episode was found damaged, by key. It is looked for when an episode is read with `reading`.

    Raises:
        RunFolderError: It holds no run.
        OSError: A file of it can't be read, or is no regular file.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.config = read_config(self.folder)
        no_links(self.folder, BLOBS, THUMBNAILS)
        self.damaged: dict[str, str] = {}
        self._begin()
        self.refresh()

    @cached_property
    def _blob(self) -> Callable[[str], Any]:
        return lru_cache(N_BLOBS)(self._read_blob)  # a page is seen before and after, and by several strategies

    def __getstate__(self) -> dict[str, Any]:
        self._indexed()  # so that not every process does it
        return {name: value for name, value in vars(self).items() if name != "_blob"}

    def _begin(self) -> None:
        self.episodes = EpisodeIndex(self.folder / EPISODES)
        self._index = LogIndex(self.folder / ANSWERS)
        self._is_indexed = False
        self._files: dict[str, int] = {}

    @without_collector()
    def refresh(self) -> bool:
        """Take in what was written since the last look; returns whether an episode was added."""
        read = {EPISODES: self.episodes.read_to, ANSWERS: self._index.read_to}
        found = {name: _file_and_size(self.folder / name) for name in read}
        if os.path.lexists(self.folder / ANSWERS):
            open_regular(self.folder / ANSWERS).close()  # what can't be read is said now
        if any(
            found[name][1] < n_bytes or (n_bytes and found[name][0] != self._files[name])
            for name, n_bytes in read.items()
        ):
            self._begin()  # the run was begun anew, or damaged lines were removed
        self._files = {name: file for name, (file, _) in found.items()}
        self._is_indexed = False
        return self.episodes.refresh()

    @property
    def records(self) -> dict[str, EpisodeRecord]:
        """The records of all finished episodes, by key. `episodes` reads those of a few."""
        return self.episodes.all()

    @property
    def size(self) -> int:
        """Bytes of finished episodes read so far: it grows with every one, also one that is run again."""
        return self.episodes.read_to

    def trace(self, key: str) -> Trace:
        """Return one episode.

        Raises:
            KeyError: The run has no such episode, yet.
        """
        record = self._record(key)
        return self._trace(record, self._lines(key))

    def _record(self, key: str) -> EpisodeRecord:
        for record in self.episodes.records([key]):
            return record
        raise KeyError(f"expected the key of an episode of {self.folder}, got {key!r}")

    def candidates(self, key: str) -> dict[str, Candidate]:
        """Return the candidates of one episode as they were proposed, by the digest of the question they answer.

        Raises:
            KeyError: The run has no such episode, yet.
        """
        lines = self._lines(key).values()
        return {line["question"]: candidate_of(line, value=self.value) for line in lines if line["kind"] == "candidate"}

    def _lines(self, key: str) -> Mapping[str, Mapping[str, Any]]:
        return self._indexed().answers(key)

    def _indexed(self) -> LogIndex:
        """Return the index of the log as it was at the last look. Lists of episodes need nothing of that large file."""
        if not self._is_indexed:
            self._index.refresh()
            self._is_indexed = True
        return self._index

    def _trace(self, record: EpisodeRecord, lines: Mapping[str, Mapping[str, Any]]) -> Trace:
        return Trace(record, tuple(_steps(lines, record, self.value)))

    @contextmanager
    def reading(self, key: str) -> Iterator[Trace]:
        """Give one episode to a block that reads it. Values are read when they are asked for, so any may be damaged.

        Raises:
            KeyError: The run has no such episode, yet.
            DamagedEpisode: The episode or a value that the block asked for can't be read.
        """
        self.damaged.pop(key, None)
        record = self._record(key)
        try:
            n_skipped = self._indexed().n_skipped
            lines = self._lines(key)
            trace = self._trace(record, lines)
            if self._index.n_skipped > n_skipped or (trace.record.is_scored and _lacks_lines(lines, trace.record)):
                self.damaged[key] = f"{ANSWERS} lacks lines of the episode"
            yield trace
        except IADError:
            raise
        except Exception as error:  # a line of others may have anything anywhere
            self.damaged[key] = f"{type(error).__name__}: {error!s:.300}"
            raise DamagedEpisode(
                f"expected an episode of {self.folder} that can be read, got {key} with {self.damaged[key]}; repeat "
                "the run's command to run it again"
            ) from error

    def readable(self, keys: Iterable[str], make: Callable[[Trace], Made]) -> Iterator[tuple[str, Made]]:
        """Yield what a function makes of each episode, by key. A damaged one is left out, with a warning."""
        for key in keys:
            try:
                with self.reading(key) as trace:
                    made = make(trace)
            except DamagedEpisode as damaged:
                warnings.warn(f"{damaged}. It is left out", stacklevel=2)
            else:
                yield key, made

    def value(self, recorded: Any) -> Any:
        """Return a logged value; a long one is read from its blob.

        Raises:
            OSError: Its blob is missing, or is no regular file.
            ValueError: It or its blob is damaged.
        """
        if isinstance(recorded, str):
            return recorded
        if isinstance(recorded, dict) and "__parts__" in recorded:
            return {key: self.value(part) for key, part in recorded["__parts__"].items()}
        if isinstance(recorded, dict) and "__blob__" in recorded:
            return self._blob(recorded["__blob__"])
        return decode(recorded)

    def picture(self, path: str) -> bytes:
        """Return the PNG of a state's thumbnail; b"" where there is none.

        Raises:
            OSError: It can't be read, or is no regular file.
            ValueError: The path is not one of a thumbnail.
        """
        if not path:
            return b""
        if not is_picture_place(path):
            raise ValueError(f"expected a thumbnail, got {path!r:.100}")
        return read_regular(self.folder / path) if os.path.lexists(self.folder / path) else b""

    def _read_blob(self, name: str) -> Any:
        place = blob_place(name)
        return blob_value(place, read_regular(self.folder / place))


def _file_and_size(path: Path) -> tuple[int, int]:
    """Return the number of a file in its file system, and its size; zeros where there is none."""
    if not os.path.lexists(path):
        return 0, 0
    found = path.lstat()
    return found.st_ino, found.st_size


def _lacks_lines(lines: Mapping[str, Mapping[str, Any]], record: EpisodeRecord) -> bool:
    """Say whether lines are missing, so that they don't add up to what the episode's record says."""
    # A revised verdict is not counted again.
    n_lines = Counter([line["kind"] for line in lines.values() if "revised" not in line])
    return any(name not in lines for name in (RESET, *(f"{index}.step" for index in range(record.n_steps)))) or any(
        n_lines[kind] < sum(spent.get(axis, 0) for spent in record.usage.values()) for kind, axis in AXIS_OF.items()
    )


def _steps(
    lines: Mapping[str, Mapping[str, Any]], record: EpisodeRecord, value: Callable[[Any], Any]
) -> Iterator[RecordedStep]:
    decisions: defaultdict[str, _Lines] = defaultdict(lambda: defaultdict(list))
    for item, line in lines.items():
        decisions[item.partition(".")[0]][line["kind"]].append(line)
    before = _state(decisions.pop("reset")["step"][0], value) if "reset" in decisions else UNKNOWN
    simulating = SIMULATOR if SIMULATOR in record.usage else "agent"
    known: dict[str, Candidate] = {}
    for index in sorted(map(int, decisions)):
        own = decisions[str(index)]
        candidates = _candidates(own, known, value)
        for one in candidates:
            known[one.id] = one
        commit, step = own.get("commit", [None])[0], own.get("step", [None])[0]
        committed = _committed(commit, known, record.actions[index : index + 1])
        decision = Decision(
            before,
            tuple(candidates),
            committed,
            _Budget(own, simulating),
            cut="" if commit is None else commit.get("cut", ""),
            notes=(FALLBACK,) if committed.error and committed is not UNFINISHED else (),
            role_answers=_role_answers(own["text"]) if "text" in own else (),
        )
        after = None if step is None else _state(step, value)
        reward = 0.0 if step is None else step.get("reward") or 0.0
        yield RecordedStep(index, decision, committed.action, after, reward, _trees(own, known, value))
        before = UNKNOWN if after is None else after


def _trees(own: _Lines, known: Mapping[str, Candidate], value: Callable[[Any], Any]) -> tuple[RecordedTree, ...]:
    if "tree" not in own:
        return ()
    outcomes = {line["state"]: line for line in own["outcome"]}
    candidates = dict(known)

    def state(name: str) -> State:
        return _state(outcomes[name], value)

    return tuple(RecordedTree(line, state, candidates) for line in sorted(own["tree"], key=_order))


def _role_answers(lines: Sequence[Mapping[str, Any]]) -> tuple[RoleAnswer, ...]:
    return tuple(
        RoleAnswer(line["role"], line["text"], line["source"], line.get("about", ""))
        for line in sorted(lines, key=_order)
    )


def _committed(commit: Mapping[str, Any] | None, known: Mapping[str, Candidate], recorded: Sequence[Any]) -> Candidate:
    """Return what was committed.

    Args:
        commit: The line that says so, if there is one.
        known: The candidates that were proposed so far, by id.
        recorded: The action, as the episode's record has it; empty where the record ends before.
    """
    if commit is None and not recorded:
        return UNFINISHED
    name = "" if commit is None else commit["candidate"]
    chosen = known.get(name)
    if chosen is None:
        return Candidate(decode(recorded[0]) if recorded else None, id=name)
    return replace(chosen, action=decode(recorded[0])) if chosen.error and recorded else chosen


def _candidates(own: _Lines, known: Mapping[str, Candidate], value: Callable[[Any], Any]) -> list[Candidate]:
    """Return a decision's candidates with its verdicts and previews of them; equal actions share a preview."""
    lines = own.get("candidate", [])
    if len(lines) > 1:
        lines.sort(key=_order)
    verdicts = {line.get("about", ""): line for line in own["verdict"]} if "verdict" in own else {}
    previews: dict[tuple[str, str], State] = {}
    if "outcome" in own:
        places = {line["item"]: place_of(line) for line in lines}
        for line in own["outcome"]:
            about = line.get("about", "")
            if about in places:
                previews[places[about]] = _state(line, value)
            elif about in known:
                previews[known[about].at, known[about].key] = _state(line, value)
            # Else the strategy made the candidate itself, and no line describes it.
    candidates = []
    for line in lines:
        judged = verdicts.get(line["item"])
        preview = previews.get(place_of(line)) if previews else None
        judgement = None if judged is None else verdict_of(judged)
        candidates.append(candidate_of(line, judgement, preview, value=value))
    return candidates


def _order(line: Mapping[str, Any]) -> tuple[int, ...]:
    """Sort key: the order in which items were asked for. Threads write their answers as they arrive."""
    return _numbers(line["item"])


@lru_cache(N_ITEMS)
def _numbers(item: str) -> tuple[int, ...]:
    return tuple(int(part) for part in item.split(".") if part.isdigit())


class _Budget(Mapping[str, Usage]):
    """What a decision spent by role: added up when it is asked for, as it mostly is not."""

    __slots__ = ("_own", "_simulating", "_spent")

    def __init__(self, own: _Lines, simulating: str) -> None:
        self._own = own
        self._simulating = simulating
        self._spent: dict[str, Usage] | None = None

    def __getitem__(self, role: str) -> Usage:
        return self._by_role()[role]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_role())

    def __len__(self) -> int:
        return len(self._by_role())

    def __repr__(self) -> str:
        return repr(self._by_role())

    def _by_role(self) -> dict[str, Usage]:
        if self._spent is None:
            self._spent = {}
            for role, counted, line in self._charges():
                self._spent[role] = self._spent.get(role, NOTHING) + counted
                if "usage" in line:
                    self._spent[role] += usage_of(line)
        return self._spent

    def _charges(self) -> Iterator[tuple[str, Usage, Mapping[str, Any]]]:
        for kind, role, axis in (
            ("outcome", self._simulating, "simulations"),
            ("candidate", "agent", "proposals"),
            ("verdict", "verifier", "verifications"),
            ("text", "", "asks"),
            ("commit", "agent", "env_steps"),
        ):
            for line in self._own.get(kind, ()):
                # A revised verdict costs what was measured, but is not counted again.
                yield role or line["role"], count(axis, 0 if "revised" in line else 1), line


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


def _state(line: Mapping[str, Any], value: Callable[[Any], Any]) -> State:
    return State(
        value(line["observation"]),
        _Info(line["info"], value),
        done=bool(line["done"]),
        id=line.get("state", ""),
        thumbnail=line.get("thumbnail", ""),
        failure=line.get("failure", ""),
        changed=line.get("changed", True),
    )
