"""Parses texts that look like Python, such as calls that a model wrote. Nothing is run."""

import ast
import re
import warnings
from contextlib import nullcontext, suppress
from threading import RLock

_LOCK: RLock = vars(ast).setdefault("_iad_lock", RLock())
"""Held while Python parses. Up to CPython 3.11.7 a counter of the parser serves all threads (gh-106905): if another
thread parses in the midst of it, one fails with `SystemError: AST constructor recursion depth mismatch`. Python has
one parser, so there is one lock, and it lies where the parser is, for `iad_policy/types/python_text.py` too: neither
package imports the other."""
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
    with _LOCK, warnings.catch_warnings() if _MAY_WARN.search(text) else nullcontext():
        if _MAY_WARN.search(text):  # a warning would look for the text's file, to quote from it
            warnings.simplefilter("ignore")
        for _ in range(19):  # threads of a library take no turns: formatting a traceback parses, too
            with suppress(SystemError):
                return ast.parse(text, mode="eval").body
        return ast.parse(text, mode="eval").body
