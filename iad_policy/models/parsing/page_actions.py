"""Reads an action on a page, such as `TYPE [phone] [555-0123]`, from what an answer gives as its action.

The verbs are those of Agent Q's browser: CLICK, TYPE, CLEAR, SUBMIT, GOTO, SCROLL and ASK USER HELP.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from iad_policy.models.parsing.grammar import NOTHING_READ, FoundAction, Grammar, Problem
from iad_policy.models.parsing.prose import is_prose
from iad_policy.models.parsing.wrapping import unwrapped

_VERB = re.compile(
    r"(?P<verb>click|type|fill|clear|submit|goto|go to|scroll|ask[ _]user[ _]help|ask[ _]user)(?=[\s\[(:]|$)"
    r"(?:[ \t]+(?:on|into)(?=[ \t]*\[))?[ \t]*:?[ \t]*",
    re.IGNORECASE,
)
_LIST_MARK = re.compile(r"(?:\d{1,2}[.)]|[-•*])[ \t]+(?=\S)")
_ID = re.compile(r"\[\s*(?P<id>[^\[\]\s]+)\s*\][ \t]*")
_WORD = re.compile(r"[^\s\[\]()]+")
_PLACEHOLDER = re.compile(r"id|text|url|element|<[^<>]*>|\.\.\.|…", re.IGNORECASE)
_VERBS = {"fill": "TYPE", "go to": "GOTO", "ask_user_help": "ASK USER HELP", "ask user": "ASK USER HELP"}
_TARGETS = ("id", "element", "element_id", "bid", "target", "field", "url", "direction", "ref")
_TEXTS = ("text", "value", "content", "question", "input")


def read_page_action(body: str, grammar: Grammar, *, is_alone: bool = True) -> FoundAction | Problem:
    """Read the action that a text begins with.

    Args:
        body: The text. Only its first line counts.
        grammar: The actions of the state.
        is_alone: Whether the text is given as the action. Then it may be the id of something to click alone.
    """
    body = _LIST_MARK.sub("", body.strip(), count=1)
    line, newline, _ = body.partition("\n")
    line = unwrapped(line)
    found = _VERB.match(line)
    if found is None:
        alone = _clicked(line, grammar) if is_alone else ""
        return FoundAction(alone, is_closed=bool(newline)) if alone else NOTHING_READ
    read = _read(_verb(found["verb"]), line[found.end() :].strip(), grammar)
    return read._replace(is_closed=read.is_closed or bool(newline)) if isinstance(read, FoundAction) else read


def page_action_in_prose(text: str, grammar: Grammar) -> FoundAction | Problem:
    """Read the first action of a text that has a line of its own."""
    for line in text.splitlines():
        read = read_page_action(line, grammar, is_alone=False)
        if isinstance(read, FoundAction):
            return read._replace(is_closed=True)
    return NOTHING_READ


def page_action_of_call(name: str, argument: Any, given: Mapping[str, Any], grammar: Grammar) -> FoundAction | Problem:
    """Return the action of a tool's call, such as `type` with `{"id": "phone", "text": "555-0123"}`."""
    found = _VERB.fullmatch(name.replace("_", " ") if name.lower() != "ask_user_help" else name)
    if found is None:
        return read_page_action(name, grammar) if argument is None else Problem(f"a call of {name}, which is no action")
    verb = _verb(found["verb"])
    fields = {str(key).lower(): str(value) for key, value in given.items() if isinstance(value, str | int | float)}
    target = next((fields[key] for key in _TARGETS if key in fields), "").strip("[] ")
    text = next((fields[key] for key in _TEXTS if key in fields), "")
    if verb == "TYPE":
        return FoundAction(f"TYPE [{target}] [{text}]") if target and text else NOTHING_READ
    only = text if verb == "ASK USER HELP" else target
    only = only or (str(argument).strip("[] ") if isinstance(argument, str | int | float) else "")
    return FoundAction(f"{verb} [{only}]") if only else NOTHING_READ


def _verb(written: str) -> str:
    return _VERBS.get(written.lower(), written.upper().replace("_", " "))


def _read(verb: str, rest: str, grammar: Grammar) -> FoundAction | Problem:
    """Read what stands behind a verb."""
    if rest.startswith("(") and rest.rstrip(" .;").endswith(")"):
        rest = ", ".join(_parts(rest.rstrip(" .;")[1:-1]))
        target, _, text = rest.partition(", ")
        return _made(verb, target.strip("[] "), text) if verb != "ASK USER HELP" else _made(verb, "", rest)
    if verb == "ASK USER HELP":
        return _made(verb, "", _inner(rest))
    found = _ID.match(rest)
    if found is None:
        return _without_brackets(verb, rest, grammar)
    after = rest[found.end() :]
    if verb != "TYPE":
        return _made(verb, found["id"], "")
    return _made(verb, found["id"], _inner(after))


def _without_brackets(verb: str, rest: str, grammar: Grammar) -> FoundAction | Problem:
    """Read an action whose id, address or direction stands without brackets. A sentence is none."""
    word = _WORD.match(rest)
    if word is None:
        return Problem(f"{verb} of nothing") if not rest else NOTHING_READ
    target, after = word[0].strip("\"'`"), rest[word.end() :].strip()
    if verb == "TYPE":
        return _made(verb, target, _inner(after)) if target.lower() in _ids(grammar) else NOTHING_READ
    is_known = target.lower().rstrip(".") in _ids(grammar) or verb in ("GOTO", "SCROLL")
    if is_prose(after) or (after.strip(".;, ") and not is_known) or not is_known:
        return NOTHING_READ
    return _made(verb, target.rstrip(".") if verb != "GOTO" else target, "")


def _made(verb: str, target: str, text: str) -> FoundAction | Problem:
    if verb in ("TYPE", "ASK USER HELP"):
        if not text.strip() or _PLACEHOLDER.fullmatch(text.strip()):
            return Problem(f"{verb} of no text")
        return FoundAction(f"TYPE [{target}] [{text}]" if verb == "TYPE" else f"{verb} [{text}]", is_closed=False)
    if _PLACEHOLDER.fullmatch(target):
        return Problem(f"the placeholder {target!r}")
    return FoundAction(f"{verb} [{target}]")


def _inner(text: str) -> str:
    """Return a text without the brackets around it and what follows them, and without quotes."""
    text = text.strip()
    if text.startswith("["):
        end = text.rfind("]")
        return unwrapped(text[1:end] if end > 0 else text[1:])
    return unwrapped(text)


def _parts(arguments: str) -> Iterator[str]:
    """Yield the arguments of a call without their quotes: at most two, as the second is a text."""
    head, comma, rest = arguments.partition(",")
    yield unwrapped(head.partition("=")[2] if re.match(r"\s*\w+\s*=", head) else head)
    if comma:
        yield unwrapped(rest.partition("=")[2] if re.match(r"\s*\w+\s*=", rest) else rest)


def _clicked(line: str, grammar: Grammar) -> str:
    """Return the click on the element that a text names alone, "" for none."""
    name = line.strip(" .`*\"'").removeprefix("[").removesuffix("]").strip()
    return next((one for one in grammar.listed if one.casefold() == f"click [{name.casefold()}]"), "")


def _ids(grammar: Grammar) -> set[str]:
    """Return the ids that listed actions and patterns name."""
    return {found["id"].lower() for one in (*grammar.listed, *grammar.patterns) for found in _ID.finditer(one)}
