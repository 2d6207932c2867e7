"""Puts a shell's states into words: the working directory, outputs with their last line, and the files that changed."""

from collections.abc import Iterable
from typing import Any, ClassVar

from iad_policy.prompts.rendering import Rendering, Seen, facts_of, new_parts, page_of, without_middle
from iad_policy.types import State, Turn
from iad_policy.types.texts import OBSERVATION_CHARS, tail

OUTPUT_CHARS = 6_000
"""Characters of the last output that are shown."""
OLD_OUTPUT_CHARS = 600
"""Characters of an earlier output that the history shows."""
N_PATHS = 8
"""Paths of created, changed or deleted files that are listed."""
NOTHING_RUN = "No command was run yet."
KINDS = ("created", "changed", "deleted")


class ShellRendering(Rendering):
    """The words for `IAD/InterCodeBash-v0`."""

    last_action: ClassVar[str] = "submit"

    def page(self, seen: Seen) -> str:
        """Return what the last command printed, and where the shell is."""
        page = page_of(seen)
        if page.get("submitted"):
            return "Submitted."
        cwd = f"Working directory: {page['cwd']}" if page else ""
        printed = NOTHING_RUN if _is_start(seen) else without_middle(str(seen.observation), OUTPUT_CHARS)
        return "\n".join(part for part in (printed, cwd) if part)

    def result(self, before: Seen, action: Any, after: Seen) -> str:
        """Return the beginning and the end of an output, and where the shell went."""
        cwd, old_cwd = (page_of(seen).get("cwd", "") for seen in (after, before))
        went = f"Working directory: {cwd}" if cwd != old_cwd and cwd else ""
        printed = without_middle(str(after.observation), OLD_OUTPUT_CHARS)
        return "\n".join(part for part in (printed, self.facts(after), went) if part)

    def actions(self, state: State) -> str:
        """Return nothing: the environment's actions are examples, not a choice."""
        return ""

    def facts(self, seen: Seen) -> str:
        """Return which files the last command touched. The output's last line has the rest."""
        facts = facts_of(seen)
        touched = [_files(kind, facts.get(kind, ()), facts.get(f"n_{kind}", 0)) for kind in KINDS]
        return "\n".join(line for line in touched if line)

    def changes(self, before: Turn | None, after: State) -> list[str]:
        """Return which files the command touched."""
        facts = facts_of(after)
        touched = [(kind, facts.get(kind, ()), facts.get(f"n_{kind}", 0)) for kind in KINDS]
        return [f"{kind.capitalize()}: {_paths(paths, n_paths)}" for kind, paths, n_paths in touched if paths]

    def news(self, before: Turn | None, after: State, n_tokens: int) -> str:
        """Return the end of the output, which says how the command ended. It is new even if it is that of the last."""
        return tail("\n".join(new_parts(None, after, "\n")), n_tokens)

    def beginning(self, first: Turn) -> list[str]:
        """Return nothing: before the first command the shell shows nothing."""
        return []

    def raw(self, state: State) -> str:
        """Return what the last command printed."""
        return NOTHING_RUN if _is_start(state) else without_middle(str(state.observation), OBSERVATION_CHARS)


def _is_start(seen: Seen) -> bool:
    return seen.info.get("step") == 0 or (isinstance(seen, State) and not seen.history and "step" not in seen.info)


def _files(kind: str, paths: Iterable[str], n_paths: int) -> str:
    listed = _paths(paths, n_paths)
    return f"Files {kind}: {listed}" if listed else ""


def _paths(paths: Iterable[str], n_paths: int) -> str:
    listed = list(paths)
    more = max(n_paths, len(listed)) - N_PATHS
    return f"{', '.join(listed[:N_PATHS])}{f' and {more} more' if more > 0 else ''}"
