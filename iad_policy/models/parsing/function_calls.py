"""Reads an answer of function calls, or of words to the user, for environments whose actions are lists of calls.

The calls are taken out as they are written; nothing is run. Calls in the tags of chat templates, and JSON, become
`[{"name": ..., "arguments": ...}]`. An answer without any call is what the model says to the user: `reply[text]`.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from iad_policy.models.parsing.fences import fences
from iad_policy.models.parsing.grammar import Reading
from iad_policy.models.parsing.literals import read_literal
from iad_policy.types.answers.headings import ACTION, EARLIER_PART, NEXT_PART, closing_marks, without_stop_tokens
from iad_policy.types.answers.reasoning import split_reasoning
from iad_policy.types.python_text import parsed_python

CUT = "half an answer, which was cut off at max_tokens"
MAX_CHARACTERS = 100_000
MAX_PLACES = 20
"""Number of tags, fences and brackets that are tried, so that reading takes linear time."""
_VERB = re.compile(r"\s*[*`]{0,2}(reply|draft)[*`]{0,2}\s*\[", re.IGNORECASE)
_TAG = re.compile(
    r"<(?:[\w-]+:)?(?P<name>tool_calls?|function_calls?|tool_use)>(?P<body>.*?)(?:</(?:[\w-]+:)?(?P=name)>|\Z)",
    re.DOTALL,
)
_OPENED = re.compile(r"<\|tool_calls?\|>|\[TOOL_CALLS\]|<\|python_(?:tag|start)\|>|functools(?=\[)")
_TAGGED = re.compile(r"<function=(?P<name>[\w.-]+)>(?P<body>.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=(?P<name>[\w.-]+)>(?P<value>.*?)</parameter>", re.DOTALL)
_LIST = re.compile(r"\[\s*[A-Za-z_][\w.]*\s*\(")
_LINE = re.compile(r"^[ \t]*(?:\d{1,2}[.)][ \t]+|[-*•][ \t]+)?`?(?P<name>[A-Za-z_][\w.]*)(?=\()", re.MULTILINE)
_OBJECT = re.compile(r"\[?\s*\{{1,2}\s*[\"'](?:name|function|type|arguments|parameters|id)[\"']")
_DOUBLED = re.compile(r"\s*\{(?=\{)")
_SEPARATORS = re.compile(r"[\s,;}]*")
_EMPTY = re.compile(r"\s*\[\s*\]\s*\Z")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


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
    reasoned = split_reasoning(text[:MAX_CHARACTERS])
    if reasoned.is_open:
        return Reading(None, text, "reasoning without an end")
    body = without_stop_tokens(reasoned.rest)
    if not body.strip():
        return Reading(None, reasoned.reasoning, CUT if is_cut else "an empty answer")
    thought, stated, marks = _stated(body)
    thoughts = [part for part in (reasoned.reasoning, thought) if part]
    found = _calls(stated, names or {})
    if found is None and thought and (found := _calls(thought, names or {})):  # a remark behind the heading
        stated, thoughts = thought, [reasoned.reasoning] if reasoned.reasoning else []
    if found is None:
        return _said(stated, thoughts, is_cut=is_cut, has_heading=marks is not None)
    if found.problem:
        return Reading(None, text, CUT if is_cut else found.problem)
    before = stated[: found.start].strip()
    return Reading(found.action, "\n".join([*thoughts, *([before] if before else [])]))


def _stated(body: str) -> tuple[str, str, "re.Match[str] | None"]:
    """Return the thought before the heading `Action:`, what is behind it, and the heading, or else all as stated."""
    heading = next(islice(ACTION.finditer(body), 1), None)
    if heading is None:
        return "", body, None
    behind = body[heading.end() :]
    marks = closing_marks(heading) if heading["before"] or heading["inside"] or heading["after"] else ""
    first, newline, rest = behind.partition("\n")
    behind = f"{first.rstrip().removesuffix(marks)}{newline}{rest}" if marks else behind
    thought = body[: heading.start()].strip()
    return re.sub(r"\A(?:Thought|Reasoning)[:：]\s*", "", thought), behind, heading


def _said(text: str, thoughts: list[str], *, is_cut: bool, has_heading: bool) -> Reading:
    """Return what an answer without calls is: words to the user, or nothing that can be read."""
    thought = "\n".join(thoughts)
    if is_cut:
        return Reading(None, text, CUT)
    if not has_heading and EARLIER_PART.match(text):
        return Reading(None, text, "a thought without an action")
    following = NEXT_PART.search(text) if has_heading else None
    words = (text[: following.start()] if following else text).strip().strip("`").strip()
    if not words:
        return Reading(None, thought, "a heading without an action")
    return Reading(f"reply[{words}]", thought)


def _calls(text: str, names: Mapping[str, str]) -> _Found | None:
    """Return the calls in a text, None if there are none."""
    readers: tuple[Callable[[str, Mapping[str, str]], _Found | None], ...] = (_tagged, _fenced, _plain)
    return next((found for read in readers if (found := read(text, names)) is not None), None)


def _plain(text: str, names: Mapping[str, str]) -> _Found | None:
    """Return calls that stand in a text without tags or fences around them."""
    if _EMPTY.match(text.strip().strip("`")):
        return _Found("[]", 0)
    return _verb(text, names) or _objects(text, names) or _python(text, names) or _quoted(text, names)


def _tagged(text: str, names: Mapping[str, str]) -> _Found | None:
    """Return the calls in the tags of chat templates."""
    calls: list[dict[str, Any]] = []
    start, problem = -1, ""
    for tag in islice(_bodies(text), MAX_PLACES):
        start = tag[0] if start < 0 else start
        found = _described(tag[1], names)
        if found:
            calls += found
        else:
            problem = problem or f"a tool call that can't be read: {tag[1].strip()[:120]!r}"
    if start < 0:
        return None
    if problem:
        python = _plain(text[start:].replace("<tool_call>", "").replace("</tool_call>", "").strip(), names)
        return python._replace(start=start) if python is not None and not calls else _Found("", start, problem)
    return _Found(json.dumps(calls, ensure_ascii=False), start)


def _bodies(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each tagged call begins, and what is in its tags."""
    places = [(tag.start(), tag["body"]) for tag in _TAG.finditer(text)]
    places = places or [(tag.start(), tag[0]) for tag in _TAGGED.finditer(text)]
    if not places and (opened := _OPENED.search(text)):
        places = [(opened.start(), text[opened.end() :])]
    yield from places


def _described(body: str, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the calls that objects, or tags of parameters, describe. Several objects may follow one another."""
    if tagged := _TAGGED.search(body):
        given = {one["name"]: _value(one["value"].strip("\n")) for one in _PARAMETER.finditer(tagged["body"])}
        if not given and (literal := read_literal(tagged["body"])) and isinstance(literal.value, dict):
            given = literal.value
        return [_call(tagged["name"], given, names)]
    calls: list[dict[str, Any]] = []
    place = _after_brace(body, 0)
    while (literal := read_literal(body, place)) is not None and isinstance(literal.value, dict | list):
        values = literal.value if isinstance(literal.value, list) else [literal.value]
        found = [_of_object(value, names) for value in values]
        if not found or not all(found):
            return []
        calls += [one for one in found if one is not None]
        place = _after_brace(body, _SEPARATORS.match(body, literal.end).end())  # type: ignore[union-attr]
        if len(calls) > MAX_PLACES * 4:
            break
    return calls


def _after_brace(body: str, place: int) -> int:
    """Return the place behind a brace too many: small models copy `{{` from the templates of their chats."""
    doubled = _DOUBLED.match(body, place)
    return place if doubled is None else doubled.end()


def _of_object(value: Any, names: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the call that an object describes, in the forms of OpenAI, Hermes, Llama and Anthropic."""
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        return _of_object(inner, names)
    name = value.get("name") or (inner if isinstance(inner, str) else None)
    if not isinstance(name, str) or not name:
        return None
    arguments: Any = next((value[key] for key in _ARGUMENTS if key in value), {})
    if isinstance(arguments, str) and (literal := read_literal(arguments)):
        arguments = literal.value
    return _call(name, arguments, names) if isinstance(arguments, dict) else None


def _call(name: str, arguments: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    plain = name.removeprefix("functions.")
    return {"name": names.get(plain, plain), "arguments": arguments}


def _value(text: str) -> Any:
    """Return a parameter between tags: JSON where it is some, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _fenced(text: str, names: Mapping[str, str]) -> _Found | None:
    """Return the calls in the first fence that holds any."""
    for fence in fences(text)[:MAX_PLACES]:
        found = _tagged(fence.text, names) or _plain(fence.text, names)
        if found is not None:
            return found._replace(start=fence.start)
    return None


def _verb(text: str, names: Mapping[str, str]) -> _Found | None:
    """Return `reply[...]` or `draft[...]` at the beginning of a line."""
    for line in re.finditer(r"^", text, re.MULTILINE):
        verb = _VERB.match(text, line.start())
        if verb is None:
            continue
        inner = text[verb.end() :]
        if verb[1].lower() == "reply":
            end = inner.rfind("]")
            return _Found(f"reply[{(inner if end < 0 else inner[:end]).strip()}]", line.start())
        source = _source(text, verb.end() - 1)
        calls = _python(source[1:-1] if source else inner, names) or _objects(inner, names)
        return None if calls is None else _Found(f"draft{_bracketed(calls.action)}", line.start(), calls.problem)
    return None


def _bracketed(action: str) -> str:
    return action if action.startswith("[") else f"[{action}]"


def _objects(text: str, names: Mapping[str, str]) -> _Found | None:
    """Return calls as JSON objects."""
    opening = _OBJECT.search(text)
    if opening is None:
        return None
    calls = _described(text[opening.start() :], names)
    return _Found(json.dumps(calls, ensure_ascii=False), opening.start()) if calls else None


def _python(text: str, names: Mapping[str, str]) -> _Found | None:
    """Return calls in the notation of Python: the first list of them, or all that have lines of their own."""
    problem = ""
    for opening in islice(_LIST.finditer(text), MAX_PLACES):
        source = _source(text, opening.start())
        if source and _is_calls(source):
            return _Found(_renamed(source, names), opening.start())
        problem = problem or f"a list of calls that can't be read: {text[opening.start() :][:120]!r}"
    lines = []
    start, end = -1, -1
    for line in islice(_LINE.finditer(text), MAX_PLACES):
        if line.end() < end:
            continue
        source = _source(text, line.end())
        behind = text[line.end() + len(source) :].partition("\n")[0].strip(" `,;.")
        if source and not behind and _is_calls(f"[{line['name']}{source}]"):
            start = line.start() if start < 0 else start
            end = line.end() + len(source)
            lines.append(f"{line['name']}{source}")
    if lines:
        return _Found(_renamed(f"[{', '.join(lines)}]", names), start)
    return _Found("", 0, problem) if problem else None


def _quoted(text: str, names: Mapping[str, str]) -> _Found | None:
    """Return calls in quotes within a list. What else begins like a list, or like an object, can't be read."""
    body = text.strip()
    if body[:1] not in ("[", "{"):
        return None
    literal = read_literal(body)
    if literal is not None and isinstance(literal.value, list) and all(isinstance(one, str) for one in literal.value):
        source = f"[{', '.join(literal.value)}]"
        if literal.value and _is_calls(source):
            return _Found(_renamed(source, names), 0)
    return _Found("", 0, f"a list that can't be read: {body[:120]!r}")


def _source(text: str, start: int) -> str:
    """Return the text from an opening bracket to the one that closes it, "" if none does."""
    expected: list[str] = []
    quote, place = "", start
    while place < len(text):
        char = text[place]
        if quote:
            if char == "\\":
                place += 1
            elif text.startswith(quote, place):
                place += len(quote) - 1
                quote = ""
        elif char in "'\"":
            quote = char * 3 if text.startswith(char * 3, place) else char
            place += len(quote) - 1
        elif char in _BRACKETS:
            expected.append(_BRACKETS[char])
        elif expected and char == expected[-1]:
            expected.pop()
            if not expected:
                return text[start : place + 1]
        elif char in ")]}":
            return ""
        place += 1
    return ""


def _is_calls(source: str) -> bool:
    """Whether a text is a list of calls in the notation of Python. It is only parsed."""
    try:
        tree = parsed_python(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return isinstance(tree, ast.List) and bool(tree.elts) and all(isinstance(node, ast.Call) for node in tree.elts)


def _renamed(source: str, names: Mapping[str, str]) -> str:
    """Return calls with the functions' own names. A prefix `functions.` is no part of one."""
    source = re.sub(r"(?<=[\[, \n])functions\.(?=[A-Za-z_][\w.]*\()", "", source)
    for written, name in names.items():
        if written != name:
            source = re.sub(rf"(?<=[\[, \n]){re.escape(written)}(?=\()", name, source)  # names have no backslashes
    return source
