"""Findings about the files that an episode has created, changed and deleted, compared with what is asked for."""

import re
from collections.abc import Iterable, Sequence

from iad_envs.bash.policy.effects import Done
from iad_envs.bash.policy.finding import Checks, ShellFinding, listed, share
from iad_envs.bash.policy.reading import EXCEPTION

_OTHER_PLACES = frozenset(["root", "current", "home", "here"])
"""Words for places that have no path."""
_TARGET = frozenset(["to", "into", "new", "as"])
_RESULT_OF_OTHER_KIND = re.compile(r"archive|compress|zip|tar\b")
_NAME_BESIDE_A_KIND = re.compile(r"\w\.\w+\b(?=.*\*\.)")


def _nothing_changed(done: Done) -> ShellFinding | None:
    asked = done.instruction.asked
    if not asked.change or done.touched:
        return None
    return ShellFinding(1.0, f"the task asks to {asked.verb}; no file changed")


def _changed_unasked(done: Done) -> ShellFinding | None:
    if done.instruction.asked.change is not False or not done.touched:
        return None
    return ShellFinding(1.0, f"the task asks for an answer only; changed: {listed(sorted(done.touched))}")


def _elsewhere(done: Done) -> ShellFinding | None:
    named = _named_places(done)
    if not done.instruction.asked.change or not named or done.instruction.words & _OTHER_PLACES:
        return None
    outside = [
        path
        for path in sorted(done.touched)
        # A folder changes with its files, and a new folder comes with those above it.
        if not _is_in(path, named)
        and not any(place.startswith(f"{path}/") for place in named)
        and path.rpartition("/")[2].lower() not in done.instruction.text
    ]
    return share(outside, done.touched, "it changes what the task does not name: {}")


def _target_untouched(done: Done) -> ShellFinding | None:
    named = _named_places(done)
    if not done.instruction.asked.change or not done.instruction.words & _TARGET or len(named) < 2 or not done.touched:
        return None
    # "Copy /a to /b", but also "make /b with a copy of /a".
    if any(_is_in(path, (named[0], named[-1])) for path in done.created | done.changed):
        return None
    return ShellFinding(1.0, f"nothing is new in {named[-1]}")


def _not_removed(done: Done) -> ShellFinding | None:
    if not done.instruction.asked.removal or done.deleted or not done.touched:
        return None
    return ShellFinding(1.0, "the task asks to take something away, and nothing is gone")


def _removed_unasked(done: Done) -> ShellFinding | None:
    asked = done.instruction.asked
    if not asked.change or asked.removal is not False or not done.deleted:
        return None
    return ShellFinding(1.0, f"it removes what should stay: {listed(sorted(done.deleted))}")


def _wrong_kind(done: Done) -> ShellFinding | None:
    """Find changed files of another kind than named, or of the named kind if that is the exception."""
    instruction = done.instruction
    names_more = any(not text.startswith(("*", "/")) for text in instruction.quoted)
    has_other_kinds = _RESULT_OF_OTHER_KIND.search(instruction.plain) or _NAME_BESIDE_A_KIND.search(instruction.plain)
    if not instruction.asked.change or not instruction.endings or names_more or has_other_kinds:
        return None
    endings = tuple(f".{ending}" for ending in instruction.endings)
    is_exception = bool(EXCEPTION.search(instruction.text))
    paths = [path for path in sorted(done.touched) if "." in path.rpartition("/")[2]]
    wrong = [path for path in paths if path.endswith(endings) == is_exception]
    return share(wrong, paths, f"the task is about {endings[0]} files; changed: {{}}")


def _named_places(done: Done) -> Sequence[str]:
    paths = (path for path in (*done.instruction.paths, *done.instruction.quoted) if path.startswith("/"))
    return list(dict.fromkeys(path.rstrip("/") for path in paths))


def _is_in(path: str, places: Iterable[str]) -> bool:
    return any(f"{path}/".startswith(f"{place}/") for place in places)


CHECKS: Checks = {
    "nothing_changed": _nothing_changed,
    "changed_unasked": _changed_unasked,
    "elsewhere": _elsewhere,
    "target_untouched": _target_untouched,
    "not_removed": _not_removed,
    "removed_unasked": _removed_unasked,
    "wrong_kind": _wrong_kind,
}
