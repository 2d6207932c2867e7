"""Reads an action on a page, such as `TYPE [phone] [555-0123]`, from what an answer gives as its action.

The verbs are those of Agent Q's browser: CLICK, TYPE, CLEAR, SUBMIT, GOTO, SCROLL and ASK USER HELP.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from iad_policy.models.parsing.grammar import NOTHING_READ, FoundAction, Grammar, Problem
from iad_policy.models.parsing.literals import read_literal
from iad_policy.models.parsing.prose import CLAUSE, is_prose
from iad_policy.models.parsing.tool_calls import function_call
from iad_policy.models.parsing.wrapping import unwrapped

_VERBS = "click|type|fill|clear|submit|goto|go to|scroll|ask[ _]user[ _]help|ask[ _]user"
_VERB = re.compile(
    rf"[*`]{{0,2}}(?P<verb>{_VERBS})[*`]{{0,2}}(?=[\s\[(:]|$)"
    r"(?:(?:[ \t]+(?:on|in|into|the)){1,3}(?=[ \t]*\[))?[ \t]*:?[ \t]*",
    re.IGNORECASE,
)
_MENTION = re.compile(
    r"\b(?:(?:CLICK|CLEAR|SUBMIT|GOTO|SCROLL)[ \t]?\[[^\s\[\]]+\]"
    r"|(?:TYPE[ \t]?\[[^\s\[\]]+\]|ASK USER HELP)[ \t]?\[[^\n\[\]]+\])"
)
"""Matches an action in a sentence: its verb in capitals, the rest in brackets."""
_LIST_MARK = re.compile(r"(?:\d{1,2}[.)]|[-•*])[ \t]+(?=\S)")
_ID = re.compile(r"""\[\s*["'`]?(?P<id>[^\[\]\s"'`]+)["'`]?\s*\][ \t]*""")
_WORD = re.compile(r"[^\s\[\](),]+")
_TEXT_FIRST = re.compile(
    r"""(?P<text>"[^"\n]*"|'[^'\n]*'|“[^”\n]*”|\[[^\[\]\n]*\])[ \t]+(?:in|into)[ \t]+(?:the[ \t]+)?(?=\[)"""
)
_SENTENCE = re.compile(r"[ \t]+(?:into|in|on|the|field|your|an|a|or|by)\b", re.IGNORECASE)
"""Matches the beginning of a sentence behind the name of a field, as `CLAUSE` does."""
_ADDRESS = re.compile(r"home|\S*/\S*", re.IGNORECASE)
_DIRECTION = re.compile(r"up|down", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"id|text|url|element|question|(?:your|the) (?:text|question|value)|<[^<>]*>|\.\.\.|…", re.IGNORECASE
)
_MEANINGS = {"fill": "TYPE", "go to": "GOTO", "ask_user_help": "ASK USER HELP", "ask user": "ASK USER HELP"}
_TARGETS = ("id", "element_id", "bid", "ref", "target", "field", "element", "url", "direction", "0")
_TEXTS = ("text", "value", "content", "question", "input", "1")
"""Names of the arguments of a call, the surest first. A number is that of an argument without a name."""
_PREFIX = re.compile(r"(?:browser|page|functions)[._](?=\w)", re.IGNORECASE)


def read_page_action(body: str, grammar: Grammar, *, is_alone: bool = True) -> FoundAction | Problem:
    """Read the action that a text begins with.

    Args:
        body: The text. Only its first line counts.
        grammar: The actions of the state.
        is_alone: Whether the text is given as the action. Then it may be the id of something to click alone.
    """
    body = body.strip()
    body = body[mark.end() :] if (mark := _LIST_MARK.match(body)) else body
    line, newline, _ = body.partition("\n")
    line = unwrapped(line)
    found = _VERB.match(line)
    if found is None:
        alone = _clicked(line, grammar) if is_alone else ""
        return FoundAction(alone, is_closed=bool(newline)) if alone else NOTHING_READ
    call = function_call(line, ("click", "type", "fill", "clear", "submit", "goto", "scroll", "ask"))
    if call is not None:
        return page_action_of_call(call.name, call.argument, call.given, grammar)
    read = _read(_verb(found["verb"]), line[found.end() :].strip(), grammar)
    return read._replace(is_closed=read.is_closed or bool(newline)) if isinstance(read, FoundAction) else read


def page_action_in_prose(text: str, grammar: Grammar) -> FoundAction | Problem:
    """Read the first action of a text that has a line of its own, or the only one that a sentence mentions."""
    for line in text.splitlines():
        read = read_page_action(line, grammar, is_alone=False)
        if isinstance(read, FoundAction):
            return read._replace(is_closed=True)
    mentioned = dict.fromkeys(found[0] for found in _MENTION.finditer(text))
    if len(mentioned) > 1:
        return Problem(f"{len(mentioned)} actions in one sentence")
    return read_page_action(next(iter(mentioned)), grammar, is_alone=False) if mentioned else NOTHING_READ


def page_action_of_call(name: str, argument: Any, given: Mapping[str, Any], grammar: Grammar) -> FoundAction | Problem:
    """Return the action of a tool's call, such as `type` with `{"id": "phone", "text": "555-0123"}`."""
    plain = _PREFIX.sub("", name.strip(), count=1)
    found = _VERB.fullmatch(plain.replace("_", " ") if plain.lower() != "ask_user_help" else plain)
    if found is None:
        whole = read_page_action(name if argument is None else str(argument), grammar, is_alone=argument is None)
        is_read = isinstance(whole, FoundAction) or argument is None
        return whole if is_read else Problem(f"a call of {name}, which is no action")
    verb = _verb(found["verb"])
    given = {str(place): one for place, one in enumerate(argument)} if isinstance(argument, list) else given
    fields = {str(key).lower(): str(value) for key, value in given.items() if isinstance(value, str | int | float)}
    target = next((fields[key] for key in _TARGETS if key in fields), "").strip("[] ")
    text = next((fields[key] for key in _TEXTS if key in fields), "")
    if verb == "TYPE":
        return _made(verb, target, text) if target else Problem("TYPE without an id")
    only = text or fields.get("0", "") if verb == "ASK USER HELP" else target
    only = only or (str(argument) if isinstance(argument, str | int | float) else "")
    return _made(verb, only.strip("[] "), only)


def page_action_of_input(name: str, text: str, grammar: Grammar) -> FoundAction | Problem:
    """Return the action of a tool's name with its input on a line of its own: an object, or what follows the verb."""
    value = read_literal(text) if text.lstrip()[:1] == "{" else None
    if value is not None and isinstance(value.value, dict):
        return page_action_of_call(name, None, value.value, grammar)
    line = unwrapped(text.strip().partition("\n")[0])
    if _VERB.match(line):
        return read_page_action(line, grammar, is_alone=False)
    read = read_page_action(f"{name} {line}", grammar, is_alone=False)
    return page_action_of_call(name, line, {}, grammar) if read == NOTHING_READ else read


def _verb(written: str) -> str:
    return _MEANINGS.get(written.lower(), written.upper().replace("_", " "))


def _read(verb: str, rest: str, grammar: Grammar) -> FoundAction | Problem:
    """Read what stands behind a verb."""
    if rest.startswith("(") and rest.rstrip(" .;").endswith(")"):
        rest = ", ".join(_parts(rest.rstrip(" .;")[1:-1]))
        target, _, text = rest.partition(", ")
        return _made(verb, target.strip("[] "), text) if verb != "ASK USER HELP" else _made(verb, "", rest)
    if verb == "ASK USER HELP":
        return _written(verb, "", rest)
    turned = _TEXT_FIRST.match(rest) if verb == "TYPE" else None
    found = _ID.match(rest, turned.end() if turned else 0)
    if found is None:
        return _without_brackets(verb, rest, grammar)
    after = turned["text"] if turned else rest[found.end() :]
    return _written(verb, found["id"], after) if verb == "TYPE" else _made(verb, found["id"], "")


def _without_brackets(verb: str, rest: str, grammar: Grammar) -> FoundAction | Problem:
    """Read an action whose id, address or direction stands without brackets. A sentence is none."""
    word = _WORD.match(rest)
    if word is None:
        return Problem(f"{verb} of nothing") if not rest.strip("[] ") else NOTHING_READ
    target, after = word[0].strip("\"'`"), rest[word.end() :].lstrip(", \t")
    if verb == "TYPE":
        is_sentence = CLAUSE.match(f" {after}") or _SENTENCE.match(f" {after}")
        return NOTHING_READ if is_sentence or target.lower() not in _ids(grammar) else _written(verb, target, after)
    known = {"GOTO": _ADDRESS, "SCROLL": _DIRECTION}.get(verb)
    target = target if verb == "GOTO" else target.rstrip(".;")
    if not (known.fullmatch(target) if known else target.lower() in _ids(grammar)) or is_prose(after):
        return NOTHING_READ
    made = _made(verb, target, "")
    return made._replace(is_closed=bool(after)) if isinstance(made, FoundAction) else made


def _made(verb: str, target: str, text: str) -> FoundAction | Problem:
    if verb in ("TYPE", "ASK USER HELP"):
        if not text.strip() or _PLACEHOLDER.fullmatch(text.strip()):
            return Problem(f"{verb} of no text")
        if verb == "ASK USER HELP":
            return FoundAction(f"{verb} [{text}]")
    if not target or _PLACEHOLDER.fullmatch(target):
        return Problem(f"the placeholder {target!r}" if target else f"{verb} of nothing")
    if verb == "TYPE":
        return FoundAction(f"{verb} [{target}] [{text}]")
    return FoundAction(f"{verb} [{target.upper() if verb == 'SCROLL' else target}]")


def _written(verb: str, target: str, text: str) -> FoundAction | Problem:
    """Return the action with a text as it stands in the answer. It ends there if its brackets or quotes do."""
    text = text.strip()
    end = _end_of_brackets(text) if text.startswith("[") else -1
    inner = text[1:end] if end > 0 else text.removeprefix("[")
    made = _made(verb, target, unwrapped(inner))
    is_closed = end > 0 or (not text.startswith("[") and unwrapped(text) != text)
    return made._replace(is_closed=is_closed) if isinstance(made, FoundAction) else made


def _end_of_brackets(text: str) -> int:
    """Return the place of the bracket that closes the first one, or -1.

    Where brackets don't match, as in a text with an emoticon, it is the last one.
    """
    depth, end = 0, -1
    for found in re.finditer(r"[\[\]]", text):
        depth += 1 if found[0] == "[" else -1
        if depth == 0 and end < 0:
            end = found.start()
        if depth < 0:
            return text.rfind("]")
    return end


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


@lru_cache(maxsize=64)
def _ids(grammar: Grammar) -> frozenset[str]:
    """Return the ids that listed actions and patterns name."""
    return frozenset(found["id"].lower() for one in (*grammar.listed, *grammar.patterns) for found in _ID.finditer(one))
