"""Reads an answer of function calls, or of words to the user, for environments whose actions are lists of calls.

The calls are taken out as they are written; nothing is run. Calls in the tags of chat templates, and JSON, become
`[{"name": ..., "arguments": ...}]`. An answer without any call is what the model says to the user: `reply[text]`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from iad_policy.models.parsing.calls import MAX_PLACES, ToolCall, balanced, described, is_calls, tagged
from iad_policy.models.parsing.fences import fences
from iad_policy.models.parsing.grammar import CUT, Reading
from iad_policy.types.answers import ACTION, EARLIER_PART, NEXT_PART, closing_marks, split_reasoning, within_turn


class _Found(NamedTuple):
    """Calls in an answer: the action, and where it begins. Without an action, what was wrong."""

    action: str
    start: int
    problem: str = ""


def read_function_calls(text: str, *, is_cut: bool = False, names: Mapping[str, str] | None = None) -> Reading:
    """Read the action of an answer. No text makes it raise.

    Args:
        text: The model's answer.
        is_cut: Whether the answer ended at the limit of its length. Then only calls that are complete count.
        names: Names of functions as the model had to write them -> as they are.
    """
    reasoned = split_reasoning(text[:100_000])
    if reasoned.is_open:
        return Reading(None, text, "reasoning without an end")
    stated, thought = within_turn(reasoned.rest), ""
    if not stated.strip():
        return Reading(None, reasoned.reasoning, CUT if is_cut else "an empty answer")
    heading = ACTION.search(stated)
    if heading:
        thought = re.sub(r"\A(?:Thought|Reasoning):\s*", "", stated[: heading.start()].strip())
        first, newline, rest = stated[heading.end() :].partition("\n")
        stated = f"{first.rstrip().removesuffix(closing_marks(heading) or 'none')}{newline}{rest}"
    found = _calls(stated, names or {})
    if found is None and thought and (found := _calls(thought, names or {})):  # a remark behind the heading
        stated, thought = thought, ""
    thoughts = [part for part in (reasoned.reasoning, thought) if part]
    if found is None:
        return _said(stated, "\n".join(thoughts), is_cut=is_cut, has_heading=heading is not None)
    if found.problem:
        return Reading(None, text, CUT if is_cut else found.problem)
    before = stated[: found.start].strip()
    return Reading(found.action, "\n".join([*thoughts, *([before] if before else [])]))


def _said(text: str, thought: str, *, is_cut: bool, has_heading: bool) -> Reading:
    """Return what an answer without calls is: words to the user, or nothing that can be read."""
    if is_cut:
        return Reading(None, text, CUT)
    if not has_heading and EARLIER_PART.match(text):
        return Reading(None, text, "a thought without an action")
    following = NEXT_PART.search(text) if has_heading else None
    words = (text[: following.start()] if following else text).strip().strip("`").strip()
    return Reading(f"reply[{words}]", thought) if words else Reading(None, thought, "a heading without an action")


def _calls(text: str, names: Mapping[str, str]) -> _Found | None:
    """Return the calls in a text, None if there are none: in tags, in a fence, or alone."""
    if places := tagged(text)[:MAX_PLACES]:
        start, calls = places[0][0], [described(body) for _, body in places]
        if all(calls):
            return _Found(_as_json([one for some in calls for one in some], names), start)
        alone = None if any(calls) else _alone("\n".join(body.strip() for _, body in places), names)
        unread = next(body for (_, body), some in zip(places, calls, strict=True) if not some)
        problem = f"a tool call that can't be read: {unread.strip()[:120]!r}"
        return _Found("", start, problem) if alone is None else alone._replace(start=start)
    for fence in fences(text)[:MAX_PLACES]:
        if (found := _alone(fence.text, names)) is not None:
            return found._replace(start=fence.start)
    return _alone(text, names)


def _alone(text: str, names: Mapping[str, str]) -> _Found | None:
    """Return calls that stand in a text without tags or fences around them."""
    if re.fullmatch(r"\s*`*\[\s*\]`*\s*", text):
        return _Found("[]", 0)
    if verb := re.search(r"^[ \t]*[*`]{0,2}(reply|draft)[*`]{0,2}\s*\[", text, re.IGNORECASE | re.MULTILINE):
        inner = balanced(text, verb.end() - 1)[1:-1]
        if verb[1].lower() == "reply":
            rest = text[verb.end() :]  # the brackets of words need not match
            words = inner or rest.rpartition("]")[0] or rest.removesuffix("]")
            return _Found(f"reply[{words.strip()}]", verb.start())
        body = text[verb.end() :].rpartition("]")[0]
        found = _python(inner if inner.lstrip().startswith("[") else f"[{inner}]", names) or _objects(body, names)
        if found:
            action = found.action if found.action.startswith("[") else f"[{found.action}]"
            return _Found(f"draft{action}", verb.start(), found.problem)
    if found := _objects(text, names) or _python(text, names):
        return found
    body = text.strip()
    return _Found("", 0, f"a list that can't be read: {body[:120]!r}") if body[:1] in ("[", "{") else None


def _objects(text: str, names: Mapping[str, str]) -> _Found | None:
    """Return calls as JSON objects."""
    opening = re.search(r"(?:\[\s*)?\{{1,2}\s*[\"'](?:name|function|type|arguments|parameters|id)[\"']", text)
    calls = described(text[opening.start() :]) if opening else []
    return _Found(_as_json(calls, names), opening.start()) if opening and calls else None


def _python(text: str, names: Mapping[str, str]) -> _Found | None:
    """Return calls in the notation of Python: the first list of them, or all that have lines of their own."""
    problem = ""
    for opening in islice(re.finditer(r"\[\s*[A-Za-z_][\w.]*\s*\(", text), MAX_PLACES):
        source = balanced(text, opening.start())
        if is_calls(source):
            return _Found(_renamed(source, names), opening.start())
        problem = problem or f"a list of calls that can't be read: {text[opening.start() :][:120]!r}"
    lines: list[str] = []
    start, end = -1, -1
    call_line = r"(?m)^[ \t]*(?:\d{1,2}[.)][ \t]+|[-*•][ \t]+)?`?(?P<name>[A-Za-z_][\w.]*)(?=\()"
    for line in islice(re.finditer(call_line, text), MAX_PLACES):
        if line.end() < end:
            continue
        source = balanced(text, line.end())
        behind = text[line.end() + len(source) :].partition("\n")[0].strip(" `,;.")
        if source and not behind and is_calls(f"[{line['name']}{source}]"):
            start = line.start() if start < 0 else start
            end = line.end() + len(source)
            lines.append(f"{line['name']}{source}")
    if lines:
        return _Found(_renamed(f"[{', '.join(lines)}]", names), start)
    return _Found("", 0, problem) if problem else None


def _as_json(calls: Sequence[ToolCall], names: Mapping[str, str]) -> str:
    described = [{"name": names.get(one.name, one.name), "arguments": dict(one.arguments)} for one in calls]
    return json.dumps(described, ensure_ascii=False)


def _renamed(source: str, names: Mapping[str, str]) -> str:
    """Return calls with the functions' own names. A prefix `functions.` is no part of one."""
    source = re.sub(r"(?<=[\[, \n])functions\.(?=[A-Za-z_][\w.]*\()", "", source)
    for written, name in names.items():
        if written != name:
            source = re.sub(rf"(?<=[\[, \n]){re.escape(written)}(?=\()", name, source)  # names have no backslashes
    return source
