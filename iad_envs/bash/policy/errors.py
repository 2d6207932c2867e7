"""Recognises error messages of shell programs in their output."""

import re

_ERROR = re.compile(
    r"no such file|cannot |not found|invalid|usage:|try '|is a directory|not a directory"
    r"|missing (?:argument|operand)|unknown (?:predicate|option)|unrecognized|illegal|unexpected|syntax error"
    r"|paths must precede|omitting directory|are the same file",
    re.IGNORECASE,
)
_MESSAGE = re.compile(
    r"[a-z]\w*: .*(?:no such file|cannot|denied|is a directory|unexpected end|not permitted)", re.IGNORECASE
)


def error_line(output: str) -> str:
    """Return the first line that has the words of an error, or "".

    Folders that may not be read are no error: a search of a whole file system meets some.
    """
    return next((line for line in output.splitlines() if _ERROR.search(line)), "")


def is_error_message(line: str) -> bool:
    """Whether a line is a program's error message, and no part of the answer."""
    return _MESSAGE.match(line) is not None
