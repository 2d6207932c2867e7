"""The proxy verifier of `IAD/InterCodeBash-v0`: it compares a command's effects with the instruction. No gold.

It reads the exit code, the error text and output, the created, changed and deleted files, and the number of other
candidates with the same result. A submission is scored by the effects of the last command.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym

from iad_policy.domains.bash.reading import ShellInstruction, read_instruction
from iad_policy.information import Information
from iad_policy.types import Candidate, State, Verdict

INVALID = -1.0
SUBMIT_BONUS = 0.05
"""Bonus for submitting: to submit a good result is better than to continue."""
AGREEMENT = 0.15
"""Weight of the share of the other candidates with the same result."""
_ERROR = re.compile(r"no such file|cannot|not found|denied|invalid|usage:|try '|is a directory", re.IGNORECASE)
_ENDING = re.compile(r"\.(\w+)$")
_PATH = re.compile(r"/[\w./-]+")


class BashVerifier:
    """Scores a candidate by the effects of its command: about 0-1, or -1 for an invalid one."""

    information: Information = "proxy"
    needs_preview = True
    compares = True

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        pass

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Score each candidate's preview, and count how many agree with it."""
        instruction = read_instruction(state.info["instruction"])
        results = [_result(candidate) for candidate in candidates]
        return [_verdict(state, candidate, instruction, results) for candidate in candidates]


def _result(candidate: Candidate) -> Any:
    """Return a candidate's result: output and changes."""
    preview = candidate.preview
    if preview is None:
        raise ValueError(f"expected a preview of {candidate.action!r}, got none; a driver attaches it")
    facts, page = preview.info["facts"], preview.info["page"]
    return page["submitted"], page["output"], facts["created"], facts["changed"], facts["deleted"]


def _verdict(state: State, candidate: Candidate, instruction: ShellInstruction, results: Sequence[Any]) -> Verdict:
    preview = candidate.preview
    assert preview is not None
    if preview.info["invalid_action"]:
        return Verdict(INVALID, preview.info["facts"]["complaint"])
    if preview.info["page"]["submitted"]:
        if not state.history:
            return Verdict(0.0, "Nothing was done yet.")
        found = _scored(state.info, instruction)
        return Verdict(found.score + SUBMIT_BONUS, found.critique, passed=found.score > 0.5, details=found.details)
    found = _scored(preview.info, instruction)
    same = (results.count(_result(candidate)) - 1) / max(len(results) - 1, 1)
    return Verdict(found.score + AGREEMENT * same, found.critique, details={**found.details, "agreement": same})


def _scored(info: Mapping[str, Any], instruction: ShellInstruction) -> Verdict:
    """Score a command's outcome. It starts at 0.5, and each finding adds or subtracts its weight."""
    facts, output = info["facts"], info["page"]["output"]
    findings: dict[str, float] = {}
    complaints: list[str] = []

    def find(name: str, weight: float, complaint: str) -> None:
        if weight:
            findings[name] = weight
            if weight < 0.0:
                complaints.append(complaint)

    find("exit_code", -0.3 if facts["exit_code"] else 0.0, f"It failed with exit code {facts['exit_code']}.")
    find("timed_out", -0.3 if facts["timed_out"] else 0.0, "It was ended at the time limit.")
    find("errors", -0.2 if _ERROR.search(output) else 0.0, "Its output has an error message.")
    for name, (check, complaint) in (_CHANGE_CHECKS if instruction.asks_for_change else _ANSWER_CHECKS).items():
        find(name, check(facts, output, instruction), complaint)
    score = min(max(0.5 + sum(findings.values()), 0.0), 1.0)
    return Verdict(score, " ".join(complaints) or "Nothing speaks against it.", details=findings)


def _touched(facts: Mapping[str, Any]) -> list[str]:
    return [*facts["created"], *facts["changed"], *facts["deleted"]]


def _does_something(facts: Mapping[str, Any], output: str, instruction: ShellInstruction) -> float:
    return 0.15 if _touched(facts) else -0.4


def _stays_where_named(facts: Mapping[str, Any], output: str, instruction: ShellInstruction) -> float:
    touched = _touched(facts)
    if not touched or not instruction.paths:
        return 0.0
    n_inside = sum(any(f"{path}/".startswith(f"{named}/") for named in instruction.paths) for path in touched)
    return 0.1 if n_inside == len(touched) else -0.3


def _touches_every_place(facts: Mapping[str, Any], output: str, instruction: ShellInstruction) -> float:
    """Penalise a change that leaves the named new place empty."""
    names_target = instruction.words & {"create", "make", "new", "into", "write", "save", "copy"}
    targets = instruction.paths if names_target else ()
    touched = _touched(facts)
    missed = [place for place in targets[-1:] if not any(f"{path}/".startswith(f"{place}/") for path in touched)]
    return -0.15 if missed and touched and len(instruction.paths) > 1 else 0.0


def _keeps_what_was_there(facts: Mapping[str, Any], output: str, instruction: ShellInstruction) -> float:
    wants_removal = instruction.asks_for_removal
    if facts["n_deleted"] and not wants_removal:
        return -0.4
    if wants_removal and not facts["n_deleted"]:
        return -0.3
    return -0.2 if "restricts" in facts["destructive"] or "empties" in facts["destructive"] else 0.0


def _right_kind(facts: Mapping[str, Any], output: str, instruction: ShellInstruction) -> float:
    """Check that only files of the named kind are touched, or only others if the kind is the exception."""
    paths = [path for path in _touched(facts) if "." in path.rpartition("/")[2]]
    if not instruction.endings or not paths:
        return 0.0
    hits = sum(path.endswith(f".{instruction.endings[0]}") for path in paths) / len(paths)
    if instruction.words & {"except", "but", "keep", "other"}:
        hits = 1.0 - hits
    return 0.15 if hits == 1.0 else -0.3


def _nothing_changed(facts: Mapping[str, Any], output: str, instruction: ShellInstruction) -> float:
    return -0.4 if _touched(facts) else 0.0


def _prints_something(facts: Mapping[str, Any], output: str, instruction: ShellInstruction) -> float:
    return 0.1 if output.strip() else -0.4


def _right_number(facts: Mapping[str, Any], output: str, instruction: ShellInstruction) -> float:
    """Check for a number if one is asked for, and for the requested number of lines."""
    lines = output.strip().splitlines()
    is_number = len(lines) == 1 and lines[0].strip().isdigit()
    if instruction.asks_for_number:
        return (0.15 if lines[0].strip() != "0" else -0.1) if is_number else -0.3
    if instruction.numbers and instruction.words & {
        "first",
        "last",
        "top",
        "final",
        "begins",
        "ends",
        "largest",
        "biggest",
        "most",
    }:
        if "column" in instruction.words:
            return 0.1 if len(lines) == 1 else -0.2
        return 0.15 if len(lines) == int(instruction.numbers[0]) else -0.25
    return -0.2 if is_number and not instruction.words & {"add", "sum", "total"} else 0.0


def _right_names(facts: Mapping[str, Any], output: str, instruction: ShellInstruction) -> float:
    """Check that the output is paths, or paths of the requested kind."""
    lines = output.strip().splitlines()
    if instruction.endings and "path" in " ".join(instruction.words) and lines and all(map(_PATH.fullmatch, lines)):
        return 0.15 if all(line.endswith(f".{instruction.endings[0]}") for line in lines) else -0.2
    asks_for_paths = instruction.words & {"paths", "path", "which", "files"} and not instruction.asks_for_number
    if asks_for_paths and lines and not instruction.words & {"lines", "column", "size", "sizes"}:
        return 0.1 if all(map(_PATH.fullmatch, lines)) else -0.2
    return 0.0


_Check = tuple[Callable[[Mapping[str, Any], str, ShellInstruction], float], str]
_CHANGE_CHECKS: Mapping[str, _Check] = {
    "change": (_does_something, "A change is asked for, and it changed nothing."),
    "place": (_stays_where_named, "It touches what the instruction does not name."),
    "target": (_touches_every_place, "It leaves the place that is named as it was."),
    "destruction": (_keeps_what_was_there, "It takes away what it should not, or leaves what should go."),
    "kind": (_right_kind, "It touches other kinds of files than asked for."),
}
_ANSWER_CHECKS: Mapping[str, _Check] = {
    "unasked": (_nothing_changed, "It changes files though only an answer is asked for."),
    "output": (_prints_something, "It prints nothing."),
    "number": (_right_number, "It prints no single number, or not as many lines as asked for."),
    "names": (_right_names, "It prints other things than the paths asked for."),
}
