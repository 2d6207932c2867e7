"""Reads the calls in an answer. Text is only ever parsed, never run.

Each kind of task has a reader of its own, because the official code has (ACEBench at commit 56dd66c). What the official
readers would run as Python to find a value (arithmetic, lambdas) is refused by both rule sets.
"""

import ast
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from iad_envs.python_text import parsed_python
from iad_envs.toolcalls.acebench.rules import Rules

MAX_ANSWER = 100_000
"""Characters of an answer."""
MAX_DEPTH = 32
"""Levels of nesting of a value."""
MAX_CALLS = 64
"""Calls of an answer."""
MAX_INT_BITS = 14_000
"""Larger integers can't be printed, so the functions could not report them."""
FORM = "[name(argument='value'), ...]"
NOT_CALLS = f"expected calls, such as {FORM}"

_STARTS_WITH_CALLS = re.compile(r"\[.*?\]")


class AceCall(NamedTuple):
    """A call: the function's name, and its arguments by name."""

    name: str
    arguments: dict[str, Any]

    def text(self) -> str:
        """Return the call as an answer has it."""
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"


class UnreadableAnswer(ValueError):
    """The answer holds no calls that can be read. The error text says what was expected."""


def read_normal(answer: str, *, multi_turn: bool, rules: Rules = "official") -> list[AceCall]:
    """Return the calls of an answer to a normal task.

    The outermost `[...]` counts, whatever stands around it. The official code reads answers of multi-turn tasks whole,
    and takes all whitespace out first, also within texts.

    Raises:
        UnreadableAnswer: It holds no calls.
    """
    _require_short(answer)
    if multi_turn and rules == "official":
        return _calls_of_list(_parsed("".join(answer.split())), rules)
    first, last = answer.find("["), answer.rfind("]")
    if not 0 <= first < last:
        raise UnreadableAnswer(f"{NOT_CALLS}, got no brackets")
    return _calls_of_list(_parsed(answer[first : last + 1]), rules)


def is_execution(message: str) -> bool:
    """Whether an agent's message is executed: it starts with `[...]` on one line."""
    return _STARTS_WITH_CALLS.match(message) is not None


def read_agent(message: str, rules: Rules = "official") -> list[AceCall]:
    """Return the calls of an agent's message.

    The official code ignores brackets and quotes at both ends, and takes an expression that is no call for no calls.

    Raises:
        UnreadableAnswer: It holds no calls.
    """
    _require_short(message)
    if rules == "sound":
        text = message.strip()
        if not (text.startswith("[") and text.endswith("]")):
            raise UnreadableAnswer(f"{NOT_CALLS}, got {message!r:.80}")
        return _calls_of_list(_parsed(text), rules)
    body = _parsed(message.removeprefix(" ").strip("[]'"))
    if isinstance(body, ast.Call):
        return [_executable(_call(body, rules, _source))]
    if isinstance(body, ast.List | ast.Tuple):
        return [_executable(call) for call in _calls_of(body.elts, rules, _source)]
    return []


def _require_short(answer: str) -> None:
    if len(answer) > MAX_ANSWER:
        raise UnreadableAnswer(f"expected at most {MAX_ANSWER:,} characters, got {len(answer):,}; answer more briefly")


def _parsed(text: str) -> ast.expr:
    try:
        return parsed_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableAnswer(f"{NOT_CALLS}, got {text!r:.80} ({type(error).__name__})") from None


def _calls_of_list(body: ast.expr, rules: Rules) -> list[AceCall]:
    is_official = rules == "official"
    if not (isinstance(body, ast.List) or (is_official and isinstance(body, ast.Tuple | ast.Set))):
        raise UnreadableAnswer(f"{NOT_CALLS}, got something else than a list")
    return _calls_of(body.elts, rules, _as_nested)


def _calls_of(elements: list[ast.expr], rules: Rules, nested: Callable[[ast.Call, int], Any]) -> list[AceCall]:
    if len(elements) > MAX_CALLS:
        raise UnreadableAnswer(f"expected at most {MAX_CALLS} calls, got {len(elements)}; call fewer at once")
    return [_call(element, rules, nested) for element in elements]


def _call(node: ast.expr, rules: Rules, nested: Callable[[ast.Call, int], Any], depth: int = 0) -> AceCall:
    if not isinstance(node, ast.Call):
        raise UnreadableAnswer(f"{NOT_CALLS}, got an element that is no call")
    name, arguments = _dotted(node.func), {}
    if rules == "sound" and node.args:
        raise UnreadableAnswer(f"expected arguments by name, such as {FORM}, got {name} with one without a name")
    for keyword in node.keywords:  # the official code drops arguments without a name
        if keyword.arg is None or (rules == "sound" and keyword.arg in arguments):
            raise UnreadableAnswer(f"expected each argument once by name, got {name}({keyword.arg or '**'} ...)")
        arguments[keyword.arg] = _value(keyword.value, rules, nested, depth + 1)
    return AceCall(name, arguments)


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise UnreadableAnswer(f"{NOT_CALLS}, got a call of something without a name")
    return ".".join([node.id, *reversed(parts)])


def _value(node: ast.expr | None, rules: Rules, nested: Callable[[ast.Call, int], Any], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise UnreadableAnswer(f"expected values nested at most {MAX_DEPTH} deep; nest less")
    match node:
        case ast.Constant(value=value):
            return _constant(value, rules)
        case ast.List(elts=elements):
            return [_value(element, rules, nested, depth + 1) for element in elements]
        case ast.Tuple(elts=elements):
            values = [_value(element, rules, nested, depth + 1) for element in elements]
            return values if rules == "sound" else tuple(values)
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return _dict([[_value(part, rules, nested, depth + 1) for part in pair] for pair in pairs])
        case ast.UnaryOp(op=operator, operand=ast.Constant(value=value)):
            return _negative(value, operator, rules)
    if rules == "official":
        match node:
            case ast.Name(id=name):
                return name
            case ast.Subscript():
                return _unparsed(node)
            case ast.Call(keywords=[]):
                return nested(node, depth)
            case ast.Call():
                call = _call(node, rules, nested, depth)
                return {call.name: call.arguments}
    raise UnreadableAnswer(f"expected values such as 'text', 1.5, True, None, [..] or {{..}}, got {_kind(node)}")


def _constant(value: Any, rules: Rules) -> Any:
    if isinstance(value, int) and value.bit_length() > MAX_INT_BITS:
        raise UnreadableAnswer("expected an integer of reasonable size, got a larger one")
    if rules == "sound":
        is_finite = not isinstance(value, float) or math.isfinite(value)
        if not (value is None or isinstance(value, str | int | float)) or not is_finite:
            raise UnreadableAnswer(f"expected a text, a finite number, True, False or None, got {value!r:.40}")
    return "..." if value is Ellipsis else value


def _negative(value: Any, operator: ast.unaryop, rules: Rules) -> Any:
    """Return a number with its sign. The official code takes every sign for a minus."""
    value = _constant(value, rules)
    is_number = isinstance(value, int | float | complex)
    if rules == "sound":
        is_number = is_number and not isinstance(value, bool) and isinstance(operator, ast.USub | ast.UAdd)
    if not is_number:
        raise UnreadableAnswer("expected a number after a sign")
    return value if rules == "sound" and isinstance(operator, ast.UAdd) else -value


def _dict(pairs: list[list[Any]]) -> dict[Any, Any]:
    try:
        return dict(pairs)
    except TypeError:
        raise UnreadableAnswer("expected keys that are texts or numbers, got a list or a dictionary") from None


def _as_nested(node: ast.Call, depth: int) -> Any:
    return {_dotted(node.func): {}}


def _source(node: ast.Call, depth: int) -> str:
    return _unparsed(node)


def _unparsed(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        raise UnreadableAnswer("expected a shorter expression") from None


def _executable(call: AceCall) -> AceCall:
    """Refuse what the official code can't write as Python again: a dictionary is a call for it, `{name: arguments}`."""
    if not all(map(_is_writable, call.arguments.values())):
        raise UnreadableAnswer(f"expected no dictionary as an argument of {call.name}; put it in a list")
    return call


def _is_writable(value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    arguments = next(iter(value.values()), None)
    return isinstance(arguments, dict) and all(map(_is_writable, arguments.values()))


def _kind(node: ast.AST | None) -> str:
    return "an unpacked value" if node is None else f"a {type(node).__name__}"
