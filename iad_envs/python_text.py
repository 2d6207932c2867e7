"""Parses texts that look like Python, such as calls that a model wrote. Nothing is run."""

import ast
import re
import warnings
from threading import RLock

PARSER_LOCK = RLock()
"""Held while Python parses. In CPython 3.11 a counter of the parser serves all threads: if another thread parses in the
midst of it, one fails with `SystemError: AST constructor recursion depth mismatch`."""
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
    with PARSER_LOCK:
        if not _MAY_WARN.search(text):
            return ast.parse(text, mode="eval").body
        with warnings.catch_warnings():  # which would look for the text's file, to quote from it
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
