"""What happened in an episode, read from its log: every candidate, verdict, text and commit.

Reports, the viewer, exports and learning are made from these values and from nothing else.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from iad_policy.ledger.codec import candidate_of, place_of, usage_of, verdict_of
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.types import NOTHING, Candidate, Decision, RoleAnswer, State, Usage
from iad_policy.types.hashing import decode
from iad_policy.types.names import SIMULATOR

RESET = "reset"
"""Item of the reset, which is an answer of the environment alone."""
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
class RecordedTree:
    """A search tree as it was logged. `strategies.building_blocks.tree_record.grown` makes it a tree again.

    Attributes:
        record: Its line.
        states: Returns a simulated state by its id. It has no path and no history.
        candidates: The candidates of the decision, by id.
    """

    record: Mapping[str, Any]
    states: Callable[[str], State]
    candidates: Mapping[str, Candidate]


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


@dataclass(frozen=True)
class Episode:
    """A finished episode. Its log is read when its steps are asked for, and most values when they are looked at.

    Attributes:
        record: Its line of `episodes.jsonl`.
        lines: Its lines of the log, by item.
        value: Returns a logged value; a long one is read from its blob.
    """

    record: EpisodeRecord
    lines: Mapping[str, Mapping[str, Any]] = field(repr=False)
    value: Callable[[Any], Any] = field(repr=False, compare=False)

    @cached_property
    def steps(self) -> tuple[RecordedStep, ...]:
        """Its decisions and what they led to."""
        return tuple(_steps(self.lines, self.record, self.value))

    @property
    def proposals(self) -> dict[str, Candidate]:
        """Its candidates as they were proposed, by the digest of the question they answer."""
        proposed = (line for line in self.lines.values() if line["kind"] == "candidate")
        return {line["question"]: candidate_of(line, value=self.value) for line in proposed}

    @property
    def lacks_lines(self) -> bool:
        """Whether lines are missing, so that they don't add up to what the record says."""
        # A revised verdict is not counted again.
        n_lines = Counter([line["kind"] for line in self.lines.values() if "revised" not in line])
        steps, spent = range(self.record.n_steps), self.record.usage.values()
        return any(name not in self.lines for name in (RESET, *(f"{index}.step" for index in steps))) or any(
            n_lines[kind] < sum(one.get(axis, 0) for one in spent) for kind, axis in AXIS_OF.items()
        )


def _steps(
    lines: Mapping[str, Mapping[str, Any]], record: EpisodeRecord, value: Callable[[Any], Any]
) -> Iterator[RecordedStep]:
    decisions: defaultdict[str, _Lines] = defaultdict(lambda: defaultdict(list))
    for item, line in lines.items():
        decisions[item.partition(".")[0]][line["kind"]].append(line)
    before = _state(decisions.pop(RESET)["step"][0], value) if RESET in decisions else UNKNOWN
    simulating = SIMULATOR if SIMULATOR in record.usage else "agent"
    known: dict[str, Candidate] = {}
    for index in sorted(map(int, decisions)):
        own = decisions[str(index)]
        candidates = _candidates(own, known, value)
        for one in candidates:
            known[one.id] = one
        commit, step = own.get("commit", [None])[0], own.get("step", [None])[0]
        committed = _committed(commit, known, record.actions[index : index + 1])
        texts = sorted(own["text"], key=_order) if "text" in own else ()
        decision = Decision(
            before,
            tuple(candidates),
            committed,
            _Budget(own, simulating),
            cut="" if commit is None else commit.get("cut", ""),
            notes=() if commit is None else tuple(commit.get("notes", ())),
            role_answers=tuple(
                RoleAnswer(line["role"], line["text"], line["source"], line.get("about", "")) for line in texts
            ),
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


@lru_cache(4096)  # episodes have the same names of items
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
            spent: dict[str, Usage] = {}
            roles = {
                "outcome": self._simulating,
                "candidate": "agent",
                "verdict": "verifier",
                "text": "",
                "commit": "agent",
            }
            for kind, known in roles.items():
                for line in self._own.get(kind, ()):
                    role = known or line["role"]
                    # A revised verdict costs what was measured, but is not counted again.
                    spent[role] = spent.get(role, NOTHING) + Usage(**{AXIS_OF[kind]: 0 if "revised" in line else 1})
                    if "usage" in line:
                        spent[role] += usage_of(line)
            self._spent = spent
        return self._spent


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
