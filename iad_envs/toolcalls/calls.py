"""Reads what an agent wrote as a list of function calls. Calls are data: a name, and arguments that are literals.

A text is parsed with `ast.parse`, which builds a tree and runs nothing, or with `json`. `bfcl.decoding` has the more
lenient reading of the official BFCL scripts.
"""

import ast
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, NoReturn

from iad_envs.python_text import parsed_python

MAX_CHARACTERS = 100_000
MAX_DEPTH = 32
"""Of lists, tuples and dicts in one another in an argument."""
MAX_CALLS = 64
"""In one text."""
MAX_BITS = 14_280
"""Of an integer. Python refuses to write much longer ones down."""

CallStyle = Literal["any", "python", "json"]
PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `ast.parse` and `json.loads` raise on a text that they can't read."""


class FunctionCall(NamedTuple):
    """A call of a function. It is a value: its arguments are never changed.

    Attributes:
        name: Name of the function. It may contain dots.
        arguments: Literals by name: None, bool, int, float, text, and lists, tuples and dicts of them.
    """

    name: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"


class UnreadableCalls(ValueError):
    """The text is not a list of calls. The message says what was expected and what was given."""


def read_calls(text: str, style: CallStyle = "any", *, dots: bool = False) -> list[FunctionCall]:
    """Return the calls in a text, in order. `[]` has none.

    Args:
        text: `[f(a=1), g()]`, the same without brackets, `[{"name": "f", "arguments": {"a": 1}}]`, one such object, or
            such objects in `<tool_call>` tags, beside which other text is ignored. A fence around all of it is removed.
        style: Accept only one notation: `python`, or `json` with its tags.
        dots: Accept names with dots, such as `math.gcd(a=1, b=2)`.

    Raises:
        UnreadableCalls: The text is something else, has an argument without a name or one that is not a literal, or is
            beyond a limit of this module.
    """
    if len(text) > MAX_CHARACTERS:
        raise UnreadableCalls(f"expected at most {MAX_CHARACTERS:,} characters, got {len(text):,}")
    body = unfenced(text)
    if not body:
        raise UnreadableCalls("expected calls such as [f(a=1), g()], got an empty text")
    if style != "python":
        if tagged := _tagged(body):
            return _checked([call for part in tagged for call in _json_calls(part)], dots)
        if style == "json" or body[:1] == "{" or re.match(r"\[\s*\{", body):
            return _checked(_json_calls(body), dots)
    return _checked(_python_calls(body), dots)


def key_of(calls: Iterable[FunctionCall]) -> str:
    """Return the canonical form of calls: JSON of names and sorted arguments, in order. `read_calls` reads it."""
    rows = [
        {"name": call.name, "arguments": {name: _canonical(value) for name, value in call.arguments.items()}}
        for call in calls
    ]
    return json.dumps(rows, sort_keys=True, separators=(",", ":"))


def unfenced(text: str) -> str:
    """Return a text without blanks, and a fence of backticks, around it."""
    body = text.strip()
    if body[:1] == "`":
        opening, inner = re.match(r"`{3,}+[ \t]*+[\w+-]*+[ \t]*+\n", body), body.rstrip("`")
        is_fenced = opening is not None and len(inner) <= len(body) - len("```")
        return (inner[opening.end() :] if opening and is_fenced else body.strip("`")).strip()
    return body


def parsed_expression(source: str) -> ast.expr:
    """Return the tree of a Python expression. Nothing is run, and no warning is shown.

    Raises:
        UnreadableCalls: It is not an expression.
    """
    try:
        return parsed_python(source)
    except PARSE_ERRORS as error:
        reason = str(error) or type(error).__name__
        raise UnreadableCalls(f"expected calls such as [f(a=1), g()], got {shortened(source)} ({reason})") from None


def dotted_name(node: ast.expr) -> str:
    """Return the name that is called: `f` or `a.b.f`. "" for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def literal(node: ast.expr, depth: int = 0) -> Any:
    """Return the value of a literal.

    Raises:
        UnreadableCalls: It is no literal, not finite, of another type, or too deep.
    """
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise UnreadableCalls(f"expected an integer of at most {MAX_BITS:,} bits, got {value.bit_length():,}")
        if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = literal(node.operand)
        if type(value) in (int, float):
            return -value
    elif depth >= MAX_DEPTH:
        raise UnreadableCalls(f"expected an argument with at most {MAX_DEPTH} levels, got more")
    elif isinstance(node, ast.List):
        return [literal(item, depth + 1) for item in node.elts]
    elif isinstance(node, ast.Tuple):
        return tuple(literal(item, depth + 1) for item in node.elts)
    elif isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        keys = [literal(key) for key in node.keys if key is not None]
        return {key: literal(item, depth + 1) for key, item in zip(keys, node.values, strict=True)}
    raise UnreadableCalls(
        f"expected a literal (text in quotes, number, True, False, None, list, dict), got {shortened(_source(node))}"
    )


def shortened(text: str, limit: int = 80) -> str:
    """Return a text as it is quoted in an error, cut in the middle."""
    shown = text if len(text) <= limit else f"{text[: limit - 20]} ... {text[-15:]}"
    return repr(shown)


def bound(
    node: ast.Call, value_of: Callable[[ast.expr], Any] = literal, *, parameters: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the arguments of a call by name. Of a repeated name the last one counts.

    Args:
        node: The call.
        value_of: What an argument's tree stands for.
        parameters: Names of the function's parameters, which arguments without a name get in order. By default such an
            argument is refused.

    Raises:
        UnreadableCalls: An argument has no name, or can't be read.
    """
    if len(node.args) > len(parameters):
        raise UnreadableCalls(
            f"expected every argument with its name, as in f(a=1), got {shortened(_source(node))}; name all of them"
        )
    arguments = {name: value_of(value) for name, value in zip(parameters, node.args, strict=False)}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise UnreadableCalls(f"expected every argument with its name, got {shortened(_source(node))}")
        arguments[keyword.arg] = value_of(keyword.value)
    return arguments


def _tagged(body: str) -> list[str]:
    """Return what is in each pair of `<tool_call>` tags."""
    parts = (part.partition("<tool_call>") for part in body.split("</tool_call>")[:-1])
    return [inside for _, opened, inside in parts if opened]


def _python_calls(body: str) -> list[FunctionCall]:
    tree = parsed_expression(body if body[:1] == "[" else f"[{body}]")
    if not isinstance(tree, ast.List):
        raise UnreadableCalls(f"expected one list of calls such as [f(a=1), g()], got {shortened(body)}")
    calls = []
    for node in tree.elts:
        name = dotted_name(node.func) if isinstance(node, ast.Call) else ""
        if not name or not isinstance(node, ast.Call):
            raise UnreadableCalls(f"expected calls such as f(a=1), got {shortened(_source(node))}")
        calls.append(FunctionCall(name, bound(node)))
    return calls


def _json_calls(body: str) -> list[FunctionCall]:
    found = _from_json(body)
    calls = []
    for item in found if isinstance(found, list) else [found]:
        name = arguments = None
        if isinstance(item, dict) and item.keys() == {"name", "arguments"}:
            name, arguments = item["name"], item["arguments"]
            if isinstance(arguments, str):  # as in the messages of language models' interfaces
                arguments = _from_json(arguments)
        if not (isinstance(name, str) and name and isinstance(arguments, dict)):
            shown = json.dumps(item) if isinstance(item, dict) else repr(item)
            raise UnreadableCalls(f'expected {{"name": "f", "arguments": {{"a": 1}}}}, got {shortened(shown)}')
        for value in arguments.values():
            _require_plain(value)
        calls.append(FunctionCall(name, arguments))
    return calls


def _require_plain(value: Any, depth: int = 0) -> None:
    """Refuse what JSON holds beyond the limits of arguments."""
    if isinstance(value, list | dict):
        if depth >= MAX_DEPTH:
            raise UnreadableCalls(f"expected an argument with at most {MAX_DEPTH} levels, got more")
        for item in value.values() if isinstance(value, dict) else value:
            _require_plain(item, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise UnreadableCalls("expected a number that a float can hold, got a larger one")


def _from_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except PARSE_ERRORS as error:
        raise UnreadableCalls(
            f'expected JSON such as [{{"name": "f", "arguments": {{"a": 1}}}}], got {shortened(text)} ({error})'
        ) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _checked(calls: list[FunctionCall], dots: bool) -> list[FunctionCall]:
    if len(calls) > MAX_CALLS:
        raise UnreadableCalls(f"expected at most {MAX_CALLS} calls at a time, got {len(calls)}")
    if not dots:
        for call in calls:
            if "." in call.name:
                raise UnreadableCalls(f"expected a function's name without dots, got {shortened(call.name)}")
    return calls


def _canonical(value: Any) -> Any:
    """Return a value in which unequal arguments are unequal JSON: tuples are no lists, and keys keep their type."""
    if isinstance(value, tuple):
        return {"tuple": [_canonical(item) for item in value]}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _canonical(item) for key, item in value.items()}
        pairs = [[_canonical(key), _canonical(item)] for key, item in value.items()]
        return {"dict": sorted(pairs, key=json.dumps)}
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def _source(node: ast.AST) -> str:
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):  # an integer that is too long to write
        return type(node).__name__
