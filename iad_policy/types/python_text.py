"""Parses texts that look like Python, such as calls that a model wrote. Nothing is run."""

import ast
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from threading import RLock
from typing import TypeVar

T = TypeVar("T")
N_TRIES = 20
_LOCK: RLock = vars(ast).setdefault("_iad_lock", RLock())
"""Held while Python parses. Up to CPython 3.11.7 a counter of the parser serves all threads (gh-106905): if another
thread parses in the midst of it, one fails with `SystemError: AST constructor recursion depth mismatch`. Python has
one parser, so there is one lock, and it lies where the parser is: `iad_envs` and `iad_policy` both have this file, as
neither imports the other."""
_MAY_WARN = re.compile(r"\\|\d[A-Za-z]")
r"""Escapes such as `\d`, and names that follow a number."""


def parsed_python(text: str) -> ast.expr:
    """Return the tree of an expression, without a warning.

    Raises:
        SyntaxError: It is no expression.
        ValueError: It has a character that no text of Python has.
        RecursionError: It is nested too deeply.
        MemoryError: It is nested too deeply.
    """
    return undisturbed(lambda: _parsed(text))


def undisturbed(parse: Callable[[], T]) -> T:
    """Return what a function returns that uses Python's parser, which other threads disturb up to CPython 3.11.7.

    Threads of this project take turns. Those of a library don't: formatting a traceback parses, too. So it is tried
    again.
    """
    with _LOCK:
        for _ in range(N_TRIES - 1):
            with suppress(SystemError):
                return parse()
        return parse()


def _parsed(text: str) -> ast.expr:
    if not _MAY_WARN.search(text):
        return ast.parse(text, mode="eval").body
    with warnings.catch_warnings():  # which would look for the text's file, to quote from it
        warnings.simplefilter("ignore")
        return ast.parse(text, mode="eval").body
