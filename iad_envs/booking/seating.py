"""Finds out which kinds of seating a text names."""

import re
from collections.abc import Mapping

WORDS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for name, words in {
        "indoor": "indoors?|inside",
        "outdoor": "outdoors?|outside|terrace|patio|open air",
        "bar": "at the bar|bar (?:seats?|stools?|seating)|counter",
        "window": "(?:by|at|near) (?:the|a) window|window (?:seats?|tables?|seating)",
        "booth": "booths?",
    }.items()
}
"""Kind of seating -> what names it. "Bar" alone is a part of restaurants' names."""


def named_seatings(text: str) -> frozenset[str]:
    """Return the kinds of seating that a text names."""
    return frozenset(name for name, words in WORDS.items() if words.search(text))
