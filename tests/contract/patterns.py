"""Finds the regular expressions of a file, and makes texts from one that a slow one takes long to read."""

import ast
import re
import re._compiler as compiler  # type: ignore[import-not-found]
import re._constants as code  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

ROOTS = ("webshop_server", "iad_envs", "iad_policy")
METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")
FLAGS_AT = {"compile": 1, "split": 3, "sub": 4, "subn": 4}
"""Place of the flags among the arguments of a function of `re`; 2 for the others."""
SIGNS = " a0_-.\n'\"`A<>()[]{},:;/*#$=|&\\x\té"
"""Characters that texts are made of, besides those that a pattern names."""
PIECES = (
    "a", " ", "\n", "\t\n", "*", "`", "```\n", "```bash\nls\n", "~~~\n", "'", '"', "\\", "\\\n", "(", ")", "[",
    "]", "[]", "{", '{"', "<", "a[", "click[", "search[a]", "click [a ", "submit[SELECT [", "submit[```\n",
    "SELECT '", "-- ]\n", "/*", "Action:", "Action:\n", "**Action** ", "Action: search\nAction Input: ",
    "Action: `", "Answer: ", ". Action: ", "1. ", "- ", "> ", "$ ", "<think>", "<think>\n", "</think>",
    "</think>\n", "<think></think>\n", "<action>", "<action>\n", "<tool_call>",
    "<arg_key>a</arg_key>\n<arg_value>", "<parameter=a>", "<|channel|>", "[TOOL_CALLS]", '{"a": ', '{"a": "b"}\n',
    "[[", "f(", "a=(", "$(", "`$(", '"$(', "${", "<<E\n", "<<E ", "if ", "for a in b; do\n", "case a in\n", "{ ",
    "#", "# '\n", "it's\n", "<html>", "<!-- ", "<p>\n\n", "<html>\n```\n", "1", "1 ", "-1,", "ask[", "\r\n", "：",
    "思考：", "é", "Thought: ", "submit", "submit;", "(a b) ", " (a", "...", "<!DOCTYPE html> ...",
    "TYPE [q] [", "TYPE [q] [a] ", "TYPE [", "CLICK [a]\n", "CLICK [", "ASK USER HELP [a ", "type(", "type q ",
    "click ", "TYPE 'a' into [", "] into ", "go to ", "Action: TYPE\nAction Input: {", "Action Input: [q] [",
    "-", "``` ", "<function=a>", "<tool_call>{", '[{"name": ', "f(a=", "<", "&", "&#", "<a ", "</", "a@", ".", "_",
    "a.", "SELECT (", "1,", "\t", ",", "=", "|", "[f(a=1), ", "{'a': ", "'a", "x\ny\n", "\u3000", "0.0", "x=",
)  # fmt: skip
REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT)


class Pattern(NamedTuple):
    """A pattern in a file: the line, the call of `re`, the pattern, or None if only a call knows it, and the methods
    that are called with it."""

    line: int
    source: str
    compiled: "re.Pattern[Any] | None"
    methods: Sequence[str]


def patterns(path: Path, names: Mapping[str, Any]) -> Iterator[Pattern]:
    """Yield the patterns of a file. In one that is put together, a part that only a call knows becomes a word."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    text = ast.unparse(tree)
    for scope, node, method in _calls(tree):
        source, known = ast.unparse(node), {**_assigned(scope, names), **names}
        place = FLAGS_AT.get(method, 2)
        flags = [one.value for one in node.keywords if one.arg == "flags"] or node.args[place : place + 1]
        try:
            compiled = re.compile(_value(node.args[0], known), *(_value(one, known) for one in flags))
        except Exception:
            compiled = None
        yield Pattern(node.lineno, source, compiled, [method] if method != "compile" else _methods(source, text))


def attacks(pattern: "re.Pattern[Any]", *, with_signs: bool) -> list[tuple[str, str]]:
    """Return beginnings, and pieces to repeat behind them: what the pattern repeats, and signs if asked for."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode()
    made: set[tuple[str, str]] = set()
    signs = set(SIGNS)
    _collect(parser.parse(source, pattern.flags), "", made, signs)
    befores = sorted({before for before, _ in made})
    if with_signs:
        made |= {("", made_of) for sign in signs for made_of in (sign, f"\n{sign}", f"{sign} ")}
        made |= {(before, sign) for before in befores[:6] for sign in signs}
    return sorted((before, piece) for before, piece in made if piece)


def _collect(parts: Any, before: str, made: set[tuple[str, str]], signs: set[str]) -> None:
    for part in parts:
        kind, given = part
        if kind is code.LITERAL:
            signs.add(chr(given))
        elif kind is code.IN:
            signs |= {chr(value) for one, value in given if one is code.LITERAL}
        elif kind in REPEATS and given[1] is code.MAXREPEAT:
            pieces = {_sample(given[2], choice) for choice in range(3)}
            made |= {(start, piece) for piece in pieces for start in ("", before)}
            made |= {(start, before + piece) for piece in (*pieces, "") for start in ("", before)}
        for inner in _inside(kind, given):
            _collect(inner, before, made, signs)
        before += _sample([part])
    made.add(("", before))


def _inside(kind: Any, given: Any) -> Sequence[Any]:
    if kind is code.BRANCH:
        return list(given[1])
    if kind is code.SUBPATTERN or kind in REPEATS:
        return [given[-1]]
    if kind in (code.ASSERT, code.ASSERT_NOT):
        return [given[1]]
    return [given] if kind is code.ATOMIC_GROUP else []


def _sample(parts: Any, choice: int = 0) -> str:
    """Return a text that parts of a pattern match, as far as that is simple."""
    said = ""
    for kind, given in parts:
        if kind is code.LITERAL:
            said += chr(given)
        elif kind in (code.NOT_LITERAL, code.ANY, code.IN):
            one = compiler.compile(parser.SubPattern(parser.State(), [(kind, given)]))
            said += next(filter(one.match, [*SIGNS, *map(chr, range(33, 127))]), "?")
        elif kind is code.BRANCH:
            said += _sample(given[1][choice % len(given[1])], choice)
        elif kind in REPEATS:
            said += _sample(given[2], choice) * given[0]
        elif kind in (code.SUBPATTERN, code.ATOMIC_GROUP):
            said += _sample(given[-1] if kind is code.SUBPATTERN else given, choice)
    return said


def _calls(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.Call, str]]:
    """Yield the calls of `re`, each with the function that it is in, or the module, and its name."""
    inner = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    seen = set[ast.AST]()
    for scope in (*reversed(inner), tree):
        for node in ast.walk(scope):
            match node:
                case ast.Call(func=ast.Attribute(ast.Name("re"), name)) if node not in seen:
                    seen.add(node)
                    if name in (*METHODS, "compile"):
                        yield scope, node, name


def _assigned(scope: ast.AST, names: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in ast.walk(scope):
        match node:
            case ast.Assign([ast.Name(name)], value):
                with suppress(Exception):
                    found[name] = _value(value, {**names, **found})
    return found


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """Return the value of an expression, or raise what goes wrong. A part of a text that is unknown becomes a word."""
    if isinstance(node, ast.JoinedStr):
        said = ""
        for part in node.values:
            try:
                said += str(eval(compile(ast.Expression(part), "", "eval"), dict(known)))
            except Exception:
                said += "word"
        return said
    return eval(compile(ast.Expression(node), "", "eval"), dict(known))


def _methods(source: str, text: str) -> Sequence[str]:
    """Return the methods that are called of a compiled pattern: of itself, or by its name in its file, or for one in
    capitals in any file."""
    called = re.findall(rf"{re.escape(source)}\.(\w+)", text)
    for name in re.findall(rf"(\w+)(?:: [^\n]*)? = {re.escape(source)}", text):
        called += re.findall(rf"\b{name}\.(\w+)", text)
        called += _called_elsewhere()[name]
    return sorted({*called} & {*METHODS}) or ["search", "match"]


@lru_cache(maxsize=1)
def _called_elsewhere() -> Mapping[str, set[str]]:
    """Return the methods that any file calls of a name in capitals."""
    found = defaultdict[str, set[str]](set)
    for root in ROOTS:
        for path in (Path(__file__).parents[2] / root).rglob("*.py"):
            for name, method in re.findall(r"\b([A-Z][A-Z_]+)\.([a-z]+)", path.read_text(encoding="utf-8")):
                found[name].add(method)
    return found
