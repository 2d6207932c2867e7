"""The one reader of function calls: JSON objects, the tags of chat templates, and the notation of Python.

Texts are only parsed; nothing is run. Line breaks inside texts, single quotes, a comma too many and backslashes before
any character are no hindrance.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from iad_policy.types.python_text import parsed_python
from iad_policy.types.texts import well_formed

MAX_PLACES = 20
"""Number of tags, fences, headings or brackets that are tried, so that reading takes linear time."""
PARSE_ERRORS = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)
_TAG = re.compile(r"<(?P<name>tool_calls?|function_calls?)>(?P<body>.*?)(?:</(?P=name)>|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=(?P<name>[\w.-]+)>(?P<body>.*?)(?:</function>|\Z)", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


class ToolCall(NamedTuple):
    """A call.

    Attributes:
        name: Name of the function, or the whole action where an object has nothing else.
        arguments: Its arguments by name. One without a name has its number, from 0.
        thought: Reasoning in the same object.
    """

    name: str
    arguments: Mapping[str, Any] = MappingProxyType({})
    thought: str = ""

    @property
    def argument(self) -> Any:
        """The argument, if there is just one."""
        return next(iter(self.arguments.values())) if len(self.arguments) == 1 else None


class ReadValue(NamedTuple):
    """A value, and the place in the text where it ends."""

    value: Any
    end: int


def read_value(text: str, start: int = 0) -> ReadValue | None:
    """Return the object or list that begins at a place of a text, or None if there is none or it has no end."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        return ReadValue(well_formed(value), end)
    except (ValueError, RecursionError):
        source = balanced(text, start)
    # A backslash that escapes nothing belongs to the text, such as that of a pattern for grep.
    escaped = re.sub(r'\\(\\|["/bfnrtu])|\\', lambda match: match[0] if match[1] else "\\\\", source)
    for read, written in ((_DECODER.decode, escaped), (lambda text: ast.literal_eval(parsed_python(text)), source)):
        try:
            return ReadValue(well_formed(read(written)), start + len(source))
        except PARSE_ERRORS:
            continue
    return None


def balanced(text: str, start: int) -> str:
    """Return the text from an opening bracket to the one that closes it, "" if none does."""
    closing = {"(": ")", "[": "]", "{": "}"}
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
        elif char in closing:
            expected.append(closing[char])
        elif expected and char == expected[-1]:
            expected.pop()
        elif char in ")]}":
            return ""
        place += 1
        if not expected:
            return text[start:place]
    return ""


def call_at(text: str) -> ToolCall | None:
    """Return the call that a text begins with, in a tag or as an object.

    A parameter between tags that is a number stays a text: as a button's name, 1.50 is not 1.5.
    """
    text = text.lstrip()
    if tag := _TAG.match(text) or _FUNCTION.match(text):
        calls = described(tag["body"] if tag.re is _TAG else tag[0], typed=False)
        return calls[0] if calls else None
    if text[:1] in ("{", "["):
        found = read_value(text)
        value = found.value if found else None
        while isinstance(value, list) and value:
            value = value[0]
        return call_of(value)
    return None


def tagged(text: str) -> list[tuple[int, str]]:
    """Return where each call in a tag begins, and what is in its tags."""
    places = [(tag.start(), tag["body"]) for tag in _TAG.finditer(text)]
    return places or [(tag.start(), tag[0]) for tag in _FUNCTION.finditer(text)]


def described(body: str, *, typed: bool = True) -> list[ToolCall]:
    """Return the calls that objects, or tags of parameters, describe. Several objects may follow one another.

    Args:
        body: The text.
        typed: Whether a parameter between tags that is a number, a truth value or null is one, and not a text.
    """
    if tag := _FUNCTION.search(body):
        parameter = re.compile(r"<parameter=(?P<name>[\w.-]+)>(?P<value>.*?)</parameter>", re.DOTALL)
        whole = "".join(tag["body"].rpartition("</parameter>")[:2])  # where each opening tag has its end
        given = {one["name"]: _parameter(one["value"].strip("\n"), typed=typed) for one in parameter.finditer(whole)}
        found = None if given else read_value(tag["body"].lstrip())
        return [ToolCall(tag["name"], found.value if found and isinstance(found.value, dict) else given)]
    calls: list[ToolCall] = []
    for value in _values(body):
        found_calls = [call_of(one) for one in (value if isinstance(value, list) else [value])]
        if not found_calls or not all(found_calls):
            return []
        calls += [one for one in found_calls if one is not None]
    return calls


def call_of(value: Any) -> ToolCall | None:
    """Return the call that an object describes, or None.

    Its name and arguments may be in an object `function` of their own. Without arguments, its other fields are those;
    without a name, its only field is both.
    """
    if not isinstance(value, dict):
        return None
    fields = {str(name).lower(): field for name, field in value.items()}
    for name in ("function", "action"):
        if isinstance(fields.get(name), dict):
            return call_of(fields[name])
    # Names of texts beside an action; those of reasoning as a group
    texts = r"(thought|think|reason|explan|rationale|analysis)|comment|reflection|^(?:plan|status|goal)$"
    beside = {name: match for name in fields if (match := re.search(texts, name))}
    thought = next((text for name, match in beside.items() if match[1] and isinstance(text := fields[name], str)), "")
    names = ("name", "function", "tool", "tool_name", "action")
    name = next((name for name in names if isinstance(fields.get(name), str)), "")
    given = next((fields[one] for one in ("arguments", "parameters", "args", "input") if one in fields), None)
    if isinstance(given, str) and given.lstrip()[:1] == "{" and (inside := read_value(given.lstrip())):
        given = inside.value
    if given is None:
        given = {one: field for one, field in fields.items() if one != name and one not in beside}
        if not name and len(given) == 1:
            ((name, only),) = given.items()
            return ToolCall(name, only if isinstance(only, dict) else {"0": only}, thought)
    if not name or not fields[name]:
        return None
    return ToolCall(
        fields[name].removeprefix("functions."), given if isinstance(given, dict) else {"0": given}, thought
    )


def is_calls(source: str) -> bool:
    """Return whether a text is a list of calls in the notation of Python."""
    try:
        tree = parsed_python(source)
    except PARSE_ERRORS:
        return False
    return isinstance(tree, ast.List) and bool(tree.elts) and all(isinstance(one, ast.Call) for one in tree.elts)


def _values(body: str) -> Iterator[Any]:
    """Yield the objects and lists that follow one another in a text."""
    place = _object_from(body, 0)
    for _ in range(MAX_PLACES * 4):
        found = read_value(body, place) if body[place : place + 1] in ("{", "[") else None
        if found is None:
            return
        yield found.value
        place = _object_from(body, found.end)


def _object_from(body: str, place: int) -> int:
    """Return where the next object may begin. Small models copy `{{` and `}}` from the templates of their chats."""
    start = re.compile(r"[\s,;}]*(?:\{\s*(?=\{))?").match(body, place)
    return start.end() if start else place


def _parameter(text: str, *, typed: bool) -> Any:
    """Return a parameter between tags: JSON where it is some, else the text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if typed or isinstance(value, str | dict | list) else text
