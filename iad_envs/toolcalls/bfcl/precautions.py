"""What keeps official functions from running for hours, changing the process, and differing between processes."""

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import localcontext
from functools import partial
from typing import Any

from iad_envs.toolcalls.executor import Precaution, ToolLimit

MAX_DIGITS = 4300
"""Of an integer that Python turns into text. Longer ones are an error in the original as well."""


@contextmanager
def same_precision() -> Iterator[None]:
    """Put mpmath's precision back, which the official logarithm sets for the whole process."""
    import mpmath

    before = mpmath.mp.prec
    try:
        yield
    finally:
        mpmath.mp.prec = before


def with_precision(arguments: dict[str, Any]) -> dict[str, Any]:
    """Refuse a precision that takes long. mpmath also reads it from a text."""
    most = 1000
    try:
        is_fine = not float(arguments.get("precision", 0)) > most
    except (TypeError, ValueError):
        is_fine = True  # the function says so itself
    if not is_fine:
        raise ToolLimit(f"precision must be at most {most}, got {arguments['precision']!r}")
    return arguments


def with_power(arguments: dict[str, Any]) -> dict[str, Any]:
    """Give the error of a power that has too many digits for a text, before it is computed."""
    base, exponent = arguments.get("base"), arguments.get("exponent")
    if isinstance(base, int) and isinstance(exponent, int) and base:
        n_digits = exponent * math.log10(abs(base))
        if n_digits > MAX_DIGITS + 10:  # a power near the limit is computed, and Python decides
            raise ToolLimit(
                f"Exceeds the limit ({MAX_DIGITS} digits) for integer string conversion; use"
                " sys.set_int_max_str_digits() to increase the limit"
            )
    return arguments


def with_decimal_places(arguments: dict[str, Any]) -> dict[str, Any]:
    """Round to no more places than any number has before its point, which gives 0 as well."""
    places = arguments.get("decimal_places")
    if isinstance(places, int) and places < -2 * MAX_DIGITS:
        return {**arguments, "decimal_places": -2 * MAX_DIGITS}
    return arguments


def with_sorted(listed: str, result: Any) -> Any:
    """Put what an error lists into one order: Python's order of a set differs by process.

    Args:
        listed: A regular expression for the list.
        result: What the function returns.
    """
    if isinstance(result, dict) and isinstance(result.get("error"), str):
        # Descending, because that is the order in recorded outputs of the original.
        error = re.sub(
            listed,
            lambda found: ", ".join(sorted(found[0].split(", "), reverse=True)),
            result["error"],
            flags=re.DOTALL,
        )
        return {**result, "error": error}
    return result


OFFICIAL: Mapping[str, Precaution] = {
    "book_flight": Precaution(result=partial(with_sorted, r"(?<=Must be one of \{).*(?=\})")),
    "edit_ticket": Precaution(result=partial(with_sorted, r"(?<=Invalid fields for update: ).*")),
    "logarithm": Precaution(within=same_precision, arguments=with_precision),
    "square_root": Precaution(within=localcontext, arguments=with_precision),
    "power": Precaution(arguments=with_power),
    "round_number": Precaution(arguments=with_decimal_places),
}
