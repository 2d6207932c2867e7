"""The official reading of an answer, as far as it can be had without running the answer. ACEBench's is nearly the same.

It is odder than `read_calls`: arguments without a name are dropped, a name stands for its own text, every sign before a
number is a minus, arithmetic is computed, and a call in an argument runs as well. The original computes with `eval`.
Here only numbers, texts and lists are computed, with a limit, and anything else does not decode.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from iad_envs.toolcalls.calls import (
    MAX_BITS,
    MAX_CALLS,
    MAX_CHARACTERS,
    MAX_DEPTH,
    FunctionCall,
    UnreadableCalls,
    parsed_expression,
    shortened,
)

_MAX_REPEATED = 4096
"""Size of a text or list that is made by multiplication. A response may have thousands of them."""
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


def decoded(text: str) -> list[FunctionCall]:
    """Return the calls that the official scripts read in an answer of a model that is prompted with text.

    A call in an argument is a dict of its name and arguments, or, if it has no arguments with names, its source.

    Raises:
        UnreadableCalls: They read none, or the answer is beyond a limit of `calls`.
    """
    if len(text) > MAX_CHARACTERS:
        raise UnreadableCalls(f"expected at most {MAX_CHARACTERS:,} characters, got {len(text):,}")
    source = text.strip("`\n ")
    source = source if source.startswith("[") else f"[{source}"
    source = source if source.endswith("]") else f"{source}]"
    tree = parsed_expression(source.strip().strip("'"))
    nodes = [tree] if isinstance(tree, ast.Call) else getattr(tree, "elts", None)
    if nodes is None or not all(isinstance(node, ast.Call) for node in nodes):
        raise UnreadableCalls(f"expected a list of calls such as [f(a=1), g()], got {shortened(text)}")
    return official_calls(nodes, OfficialReading())


class OfficialReading(NamedTuple):
    """What the two official readings differ in.

    Attributes:
        computes: Whether arithmetic has a value.
        bare: What a call without named arguments stands for in an argument.
    """

    computes: bool = True
    bare: Callable[[ast.Call], Any] = ast.unparse


def official_calls(nodes: Sequence[ast.Call], reading: OfficialReading) -> list[FunctionCall]:
    """Return the calls of trees, as the official scripts read them.

    Raises:
        UnreadableCalls: They can't read one, or it is beyond a limit of `calls`.
    """
    if len(nodes) > MAX_CALLS:
        raise UnreadableCalls(f"expected at most {MAX_CALLS} calls at a time, got {len(nodes)}")
    try:
        return [FunctionCall(*_call(node, 0, reading)) for node in nodes]
    except (ArithmeticError, TypeError, ValueError, MemoryError, RecursionError) as error:
        if isinstance(error, UnreadableCalls):
            raise
        raise UnreadableCalls(f"expected arguments that can be read ({error})") from None


def runnable(calls: Sequence[FunctionCall]) -> list[FunctionCall]:
    """Return calls as the official executor runs them after `decoded`: a dict of dicts in an argument is a call.

    Raises:
        UnreadableCalls: An argument is an empty dict, for which the original fails.
    """
    return [
        FunctionCall(call.name, {name: _runnable(value) for name, value in call.arguments.items()}) for call in calls
    ]


def _runnable(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if not value:
        raise UnreadableCalls("expected a dict with entries, got {}")
    if all(isinstance(item, dict) for item in value.values()):
        name, arguments = next(iter(value.items()))
        return FunctionCall(str(name), {str(key): _runnable(item) for key, item in arguments.items()})
    return {str(key): _runnable(item) for key, item in value.items()}


def _call(node: ast.Call, depth: int, reading: OfficialReading) -> tuple[str, dict[str, Any]]:
    parts: list[str] = []
    function = node.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.append(function.id)
    arguments = {str(keyword.arg): _value(keyword.value, depth, reading) for keyword in node.keywords}
    return ".".join(reversed(parts)), arguments


def _value(node: ast.expr | None, depth: int, reading: OfficialReading) -> Any:
    if depth > MAX_DEPTH:
        raise UnreadableCalls(f"expected an argument with at most {MAX_DEPTH} levels, got more")
    match node:
        case ast.Constant(value=value):
            return "..." if value is Ellipsis else _short(value)
        case ast.UnaryOp(operand=ast.Constant(value=bool() | int() | float() | complex() as value)):
            return -_short(value)
        case ast.List(elts=items):
            return [_value(item, depth + 1, reading) for item in items]
        case ast.Tuple(elts=items):
            return tuple([_value(item, depth + 1, reading) for item in items])
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {_value(key, depth + 1, reading): _value(value, depth + 1, reading) for key, value in pairs}
        case ast.Name(id=name):
            return name
        case ast.Subscript():
            return ast.unparse(node)
        case ast.Call(keywords=[]):
            return reading.bare(node)
        case ast.Call():
            return dict([_call(node, depth + 1, reading)])
        case ast.BinOp() if reading.computes:
            return _computed(node, depth)
    raise UnreadableCalls(f"expected a literal, a name or a call, got {type(node).__name__}")


def _short(value: Any) -> Any:
    """Return a value that can be written down."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise UnreadableCalls(f"expected an integer of at most {MAX_BITS:,} bits, got {value.bit_length():,}")
    return value


def _computed(node: ast.expr, depth: int) -> Any:
    """Return the value of arithmetic on numbers, texts and lists."""
    if depth > MAX_DEPTH:
        raise UnreadableCalls(f"expected at most {MAX_DEPTH} levels of arithmetic, got more")
    match node:
        case ast.Constant(value=bool() | int() | float() | complex() | str() as value):
            return _short(value)
        case ast.List(elts=items):
            return [_computed(item, depth + 1) for item in items]
        case ast.Tuple(elts=items):
            return tuple([_computed(item, depth + 1) for item in items])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_computed(operand, depth + 1)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return +_computed(operand, depth + 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            first, second = _computed(left, depth + 1), _computed(right, depth + 1)
            if _is_heavy(op, first, second):
                raise UnreadableCalls(f"expected arithmetic on smaller values, got {type(op).__name__} of large ones")
            return _short(_OPERATORS[type(op)](first, second))
    raise UnreadableCalls(f"expected arithmetic on numbers, texts and lists, got {type(node).__name__}")


def _is_heavy(op: ast.operator, first: Any, second: Any) -> bool:
    """Whether a result may be too large, or is the formatting of a text."""
    if isinstance(first, int) and isinstance(second, int):
        if isinstance(op, ast.Pow):
            return second > 0 and first.bit_length() * second > MAX_BITS
        if isinstance(op, ast.LShift):
            return second > MAX_BITS
        return isinstance(op, ast.Mult) and first.bit_length() + second.bit_length() > MAX_BITS
    if isinstance(op, ast.Mult):
        times = [value for value in (first, second) if isinstance(value, int)]
        repeated = [value for value in (first, second) if isinstance(value, str | list | tuple)]
        return bool(times and repeated) and _size(repeated[0]) * times[0] > _MAX_REPEATED
    return isinstance(op, ast.Mod) and isinstance(first, str)


def _size(value: Any) -> int:
    if isinstance(value, list | tuple):
        return 1 + sum(map(_size, value))
    return len(value) if isinstance(value, str) else 1
