"""Reads an action on a page, such as `TYPE [phone] [555-0123]`, from what an answer gives as its action.

The verbs are those of Agent Q's browser: CLICK, TYPE, CLEAR, SUBMIT, GOTO, SCROLL and ASK USER HELP.
"""

import re
from collections.abc import Iterator

from iad_policy.models.parsing.calls import ToolCall
from iad_policy.models.parsing.fences import Fence
from iad_policy.models.parsing.grammar import NOTHING_READ, FoundAction, Grammar, Problem
from iad_policy.models.parsing.words import unwrapped, without_mark
from iad_policy.types.answers import NEXT_PART

_VERB = re.compile(r"(?P<verb>click|type|clear|submit|goto|scroll|ask[ _]user[ _]help)(?=[\s\[]|$)", re.IGNORECASE)


def plain(body: str, grammar: Grammar) -> FoundAction | Problem:
    """Read the action that a text begins with. Only its first line counts.

    A text ends with the bracket that matches its first one, or where they don't match, with the last one.
    """
    following = NEXT_PART.search(body, 1)
    body = body[: following.start()].strip() if following else body.strip()
    body = without_mark(body)
    line, newline, _ = body.partition("\n")
    line = unwrapped(line)
    found = _VERB.match(line)
    if found is None:
        return NOTHING_READ
    verb, rest, is_closed = found["verb"].upper().replace("_", " "), line[found.end() :], bool(newline or following)
    name = ""
    if verb != "ASK USER HELP":
        target = re.match(r"""\s*\[\s*["'`]?(?P<id>[^\[\]\s"'`]+)["'`]?\s*\]\s*""", rest)
        if target is None:
            return NOTHING_READ if rest.strip("[] ") else Problem(f"{verb} of nothing")
        name, rest = target["id"], rest[target.end() :]
        if verb != "TYPE":
            return _made(verb, name, "")
    rest = rest.strip()
    if not rest.startswith("["):
        return NOTHING_READ if rest else Problem(f"{verb} of no text")
    depth, end = 0, -1
    for bracket in re.finditer(r"[\[\]]", rest):
        depth += 1 if bracket[0] == "[" else -1
        if depth == 0 and end < 0:
            end = bracket.start()
        if depth < 0:
            end = rest.rfind("]")
            break
    read = _made(verb, name, unwrapped(rest[1:end] if end > 0 else rest[1:]))
    return read._replace(is_closed=is_closed or end > 0) if isinstance(read, FoundAction) else read


def fenced(fence: Fence, grammar: Grammar) -> FoundAction | Problem:
    """Read the first action of a fence."""
    return _in_prose(fence.text, grammar)


def called(call: ToolCall, grammar: Grammar) -> FoundAction | Problem:
    """Return the action of a tool's call, such as `type` with `{"id": "phone", "text": "555-0123"}`."""
    found = _VERB.fullmatch(call.name.strip())
    if found is None:
        whole = plain(call.argument if isinstance(call.argument, str) else call.name, grammar)
        return whole if isinstance(whole, FoundAction) else Problem(f"a call of {call.name}, which is no action")
    verb = found["verb"].upper().replace("_", " ")
    values = {name.lower(): str(one) for name, one in call.arguments.items() if isinstance(one, str | int | float)}
    text = next((values[key] for key in ("text", "value", "question", "1") if key in values), "")
    target = next((values[key] for key in ("id", "element_id", "url", "direction", "0") if key in values), "")
    return _made(verb, target.strip("[] "), text or (target if verb == "ASK USER HELP" else ""))


def alone(text: str, grammar: Grammar, *, bare: bool) -> Iterator[tuple[str, FoundAction | Problem]]:
    """Yield what a text without any heading states."""
    if bare:
        yield "", plain(text, grammar)
    yield "", _in_prose(text, grammar)


def _in_prose(text: str, grammar: Grammar) -> FoundAction | Problem:
    """Read the first action of a text that has a line of its own, or the only one that a sentence mentions."""
    for line in text.splitlines():
        read = plain(line, grammar)
        if isinstance(read, FoundAction):
            return read._replace(is_closed=True)
    # In a sentence an action has its verb in capitals, and the rest in brackets.
    verbs = r"(?:CLICK|CLEAR|SUBMIT|GOTO|SCROLL) ?\[[^\s\[\]]+\]|(?:TYPE ?\[[^\s\[\]]+\]|ASK USER HELP) ?\[[^\n\[\]]+\]"
    mentioned = dict.fromkeys(found[0] for found in re.finditer(rf"\b(?:{verbs})", text))
    if len(mentioned) > 1:
        return Problem(f"{len(mentioned)} actions in one sentence")
    return plain(next(iter(mentioned)), grammar) if mentioned else NOTHING_READ


def _made(verb: str, target: str, text: str) -> FoundAction | Problem:
    placeholder = re.compile(
        r"(?i:id|text|url|element|question|(?:your|the) (?:text|question|value)|<[^<>]*>|\.\.\.|…)"
    )
    if verb in ("TYPE", "ASK USER HELP") and (not text.strip() or placeholder.fullmatch(text.strip())):
        return Problem(f"{verb} of no text")
    if verb == "ASK USER HELP":
        return FoundAction(f"{verb} [{text}]")
    if not target or placeholder.fullmatch(target):
        return Problem(f"the placeholder {target!r}" if target else f"{verb} of nothing")
    target = target.upper() if verb == "SCROLL" else target
    return FoundAction(f"{verb} [{target}] [{text}]" if verb == "TYPE" else f"{verb} [{target}]")
