"""Puts a shell's states into words: the working directory, outputs with their last line, and the files that changed."""

from typing import Any, ClassVar

from iad_policy.prompts.rendering import Rendering, Seen, facts_of, page_of, without_middle
from iad_policy.types import State, Turn
from iad_policy.types.texts import OBSERVATION_CHARS


class ShellRendering(Rendering):
    """The words for `IAD/InterCodeBash-v0`."""

    last_action: ClassVar[str] = "submit"

    def page(self, seen: Seen) -> str:
        """Return what the last command printed, and where the shell is."""
        page = page_of(seen)
        if page.get("submitted"):
            return "Submitted."
        cwd = f"Working directory: {page['cwd']}" if page else ""
        return "\n".join(part for part in (_printed(seen, 6_000), cwd) if part)

    def result(self, before: Seen, action: Any, after: Seen) -> str:
        """Return the beginning and the end of an output, and where the shell went."""
        cwd, old_cwd = (page_of(seen).get("cwd", "") for seen in (after, before))
        went = f"Working directory: {cwd}" if cwd != old_cwd and cwd else ""
        printed = without_middle(str(after.observation), 600)
        return "\n".join(part for part in (printed, self.facts(after), went) if part)

    def actions(self, state: State) -> str:
        """Return nothing: the environment's actions are examples, not a choice."""
        return ""

    def facts(self, seen: Seen) -> str:
        """Return which files the last command touched. The output's last line has the rest."""
        return "\n".join(f"Files {kind}: {paths}" for kind, paths in _touched(seen).items())

    def changes(self, before: Turn | None, after: State) -> list[str]:
        """Return which files the command touched."""
        return [f"{kind.capitalize()}: {paths}" for kind, paths in _touched(after).items()]

    def news(self, before: Turn | None, after: State, n_tokens: int) -> str:
        """Return the beginning and the end of the output. It is new even if it is that of the last command."""
        return super().news(None, after, n_tokens)

    def beginning(self, first: Turn) -> list[str]:
        """Return nothing: before the first command the shell shows nothing."""
        return []

    def raw(self, state: State) -> str:
        """Return what the last command printed."""
        return _printed(state, OBSERVATION_CHARS)


def _printed(seen: Seen, n_chars: int) -> str:
    is_first = isinstance(seen, State) and not seen.history and "step" not in seen.info
    if seen.info.get("step") == 0 or is_first:
        return "No command was run yet."
    return without_middle(str(seen.observation), n_chars)


def _touched(seen: Seen) -> dict[str, str]:
    """Return the first paths that a command created, changed or deleted, by what it did."""
    facts, found = facts_of(seen), {}
    for kind in ("created", "changed", "deleted"):
        paths = list(facts.get(kind, ()))
        more = max(facts.get(f"n_{kind}", 0), len(paths)) - 8
        if paths:
            found[kind] = f"{', '.join(paths[:8])}{f' and {more} more' if more > 0 else ''}"
    return found
