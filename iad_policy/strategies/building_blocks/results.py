"""What a simulated action led to, in words: what an agent is told about a candidate that it tried. No gold.

It is read from what every environment gives: the observation, of which only the new parts are told, and the public
`facts` and `page` of the info.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from iad_policy.strategies.building_blocks.failures import failure_of
from iad_policy.types import State

CHARS_PER_TOKEN = 4
N_NAMES = 8
"""Names of files that are listed one by one."""
_BREAK = re.compile(r"\n| \[SEP\] ")
"""What separates the parts of an observation: lines, or the marks of a shop's page."""
_FILES = {"created": "Created", "changed": "Changed", "deleted": "Deleted"}


def truncated(text: str, n_tokens: int) -> str:
    """Return the start of a text, in tokens of four characters. No tokenizer is needed. A tag is not cut in two."""
    limit = n_tokens * CHARS_PER_TOKEN
    if len(text) <= limit:
        return text
    head = text[:limit]
    opened = head.rfind("<")
    if opened > max(head.rfind(">"), 0) and re.match(r"</?[a-zA-Z!]", text[opened:]):
        head = head[:opened]
    return f"{head}..."


def tail(text: str, n_tokens: int) -> str:
    """Return the end of a text, in tokens of four characters, from the beginning of a line if there is one."""
    limit = n_tokens * CHARS_PER_TOKEN
    if len(text) <= limit:
        return text
    end = text[-limit:]
    return f"...{end[end.find(chr(10)) :] if chr(10) in end else end}"


def result_text(here: State, after: State, *, shown_tokens: int) -> str:
    """Return what an action led to: the error, or the parts of the observation that are new, and what changed.

    Args:
        here: The state before the action.
        after: The simulated state after it.
        shown_tokens: How much of an observation is shown.
    """
    failure = failure_of(after)
    if failure:
        return f"it failed: {tail(failure, shown_tokens)}"
    told = [*_changes(here, after), *_observed(here, after, shown_tokens)]
    if after.is_awaiting:
        told.append("it waits for an answer that can't be simulated")
    return "\n".join(told) or ("it ends the task" if after.done else "nothing that can be seen changed")


def _observed(here: State, after: State, shown_tokens: int) -> Iterator[str]:
    before, text = _text(here.observation), _text(after.observation)
    if text is None:
        return
    is_command = "exit_code" in (after.info.get("facts") or {})
    # A command's output is new even if the last one printed the same. Other observations repeat what is on the page.
    known = set() if is_command else set(_BREAK.split(before or ""))
    parts = [part for part in _BREAK.split(text) if part.strip() and part not in known]
    mark = " | " if " [SEP] " in text else "\n"
    if parts:
        # A command's last lines say how it ended; a page or a table begins with what matters.
        shorten = tail if is_command else truncated
        yield shorten(mark.join(parts), shown_tokens)


def _changes(here: State, after: State) -> Iterator[str]:
    """Yield what changed besides the observation: files, chosen options, a rendered page's boxes."""
    facts: Mapping[str, Any] = after.info.get("facts") or {}
    page: Mapping[str, Any] = after.info.get("page") or {}
    for kind, label in _FILES.items():
        names = facts.get(kind) or ()
        if names:
            more = facts.get(f"n_{kind}", len(names)) - N_NAMES
            shown = ", ".join(map(str, names[:N_NAMES]))
            yield f"{label}: {shown}{f' and {more} more' if more > 0 else ''}"
    selected = page.get("selected")
    if selected and selected != (here.info.get("page") or {}).get("selected"):
        yield "Selected: " + ", ".join(f"{name} = {value}" for name, value in selected.items())
    boxes = page.get("boxes")
    if isinstance(boxes, Mapping):
        counts = ", ".join(_counted(kind, len(found)) for kind, found in boxes.items() if found)
        yield f"A page of {page.get('width')} x {page.get('height')} pixels with {counts or 'nothing on it'}."


def _counted(kind: str, n: int) -> str:
    return f"{n} {kind.replace('_', ' ')}{'s' if n > 1 else ''}"


def _text(observation: Any) -> str | None:
    """Return an observation that is a text. A rendered page is told by its boxes instead."""
    return observation if isinstance(observation, str) else None
