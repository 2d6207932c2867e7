"""When two values are equal under `sound`."""

import re
from collections.abc import Mapping
from typing import Any


def same_value(given: Any, gold: Any) -> bool:
    """Whether two values are equal: texts but for case, blanks and punctuation outside of numbers, numbers by value.

    A boolean is no number, and a text is no number.
    """
    if isinstance(gold, str):
        return isinstance(given, str) and sound_text(given) == sound_text(gold)
    if isinstance(gold, bool) or gold is None:
        return given is gold
    if isinstance(gold, int | float):
        return isinstance(given, int | float) and not isinstance(given, bool) and given == gold
    if isinstance(gold, Mapping):
        return (
            isinstance(given, Mapping)
            and given.keys() == gold.keys()
            and all(same_value(given[key], wanted) for key, wanted in gold.items())
        )
    if isinstance(gold, list | tuple):
        return isinstance(given, list | tuple) and len(given) == len(gold) and all(map(same_value, given, gold))
    return bool(given == gold)


def sound_text(text: str) -> str:
    """Return a text as it is compared under `sound`: as officially, but what parts or signs numbers stays."""
    return re.sub(r"[\s,./\-_*^]+", _kept, text).casefold().replace("'", '"') or text


def _kept(run: re.Match[str]) -> str:
    """Return what stays of a run of blanks and punctuation: "1, 2" is not "12", and "-5" is not "5"."""
    before, after = run.string[max(run.start() - 1, 0) : run.start()], run.string[run.end() : run.end() + 1]
    if not after.isdigit():
        return ""
    if before.isdigit():
        return "".join(run[0].split()) or " "
    is_sign = run[0][-1] in "-." and (len(run[0]) > 1 or not before.isalnum())
    return run[0][-1] if is_sign else ""
