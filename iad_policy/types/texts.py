"""Text from outside, such as what models, agents, verifiers and data say: cut, and made safe to send, write and show.

A *lone surrogate* is half of a character, for example of an emoji in which an answer was cut off. Python and JSON can
hold one, but UTF-8 can't, so no request, file or terminal takes it. A *bidi mark* changes the direction of the text
after it, also of text that is somebody else's.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
OBSERVATION_CHARS = 12_000
"""Characters of an observation that are shown if nothing else is said."""
CHARS_PER_TOKEN = 4
_SURROGATE = re.compile("[\ud800-\udfff]")
_DIRECTED = re.compile(
    "[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff"
    "\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
"""Bidi marks, and letters of scripts that are written from right to left."""
_OPENING = frozenset("\u2066\u2067\u2068")
"""Marks that open an isolate: left-to-right, right-to-left, first strong."""
_FIRST_STRONG, _CLOSING = "\u2068", "\u2069"
_CONTROL = {
    **{code: 0x2400 + code for code in range(0x20) if code != ord("\t")},
    **dict.fromkeys([*range(0x80, 0xA0), 0x2028, 0x2029], 0xFFFD),
    0x7F: 0x2421,
}
"""Characters that a terminal may obey or that end a line, and with it an isolate; and the signs that stand for them."""


def well_formed(value: T) -> T:
    """Return a text whose lone surrogates are U+FFFD. Surrogates that make up a pair become their character.

    Of a list, tuple or dict, all texts in it are changed, also its keys. Other values are returned as they are.
    """
    made: Any = value
    if isinstance(made, str):
        if made.isascii() or not _SURROGATE.search(made):
            return value
        made = made.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    elif type(made) is dict:
        made = {well_formed(name): well_formed(part) for name, part in made.items()}
    elif type(made) in (list, tuple):
        made = type(made)(map(well_formed, made))
    return made  # type: ignore[no-any-return]


def without_controls(text: str) -> str:
    """Return a text whose control characters are signs. The ends of its lines and tabs stay."""
    return text if text.isprintable() else "\n".join(line.translate(_CONTROL) for line in text.split("\n"))


def isolated(text: str) -> str:
    """Return a text for a line that says other things, too: its bidi marks change nothing outside of it.

    A text with any is put into an isolate. What could end that isolate early is removed, and isolates that it leaves
    open are closed. Control characters and ends of lines are replaced by signs.
    """
    if not text.isprintable():
        text = well_formed(text).translate(_CONTROL)
    if text.isascii() or not _DIRECTED.search(text):
        return text
    kept, n_open = [], 0
    for character in text:
        if character == _CLOSING and not n_open:
            continue
        n_open += (character in _OPENING) - (character == _CLOSING)
        kept.append(character)
    return f"{_FIRST_STRONG}{''.join(kept)}{_CLOSING * (n_open + 1)}"


def shown(observation: Any, limit: int = OBSERVATION_CHARS) -> str:
    """Return an observation as text. For an image it is the size."""
    if isinstance(observation, Mapping):
        text = "\n".join(f"{key}: {shown(part, limit)}" for key, part in observation.items())
    elif isinstance(observation, np.ndarray) and observation.ndim >= 2:
        text = f"(an image or array of shape {'x'.join(map(str, observation.shape))})"
    else:
        text = str(observation)
    return shortened(text, limit)


def shortened(text: str, limit: int) -> str:
    """Return the start of a text, cut between two lines, parts, sentences or words, and how many characters follow."""
    end = _cut(text, limit)
    return text if end == len(text) else f"{text[:end]}... ({len(text) - end} more characters)"


def clipped(text: str, limit: int) -> str:
    """Return the start of a text, cut as `shortened` cuts it."""
    end = _cut(text, limit)
    return text if end == len(text) else f"{text[:end].rstrip(',;')}..."


def _cut(text: str, limit: int) -> int:
    if len(text) <= limit:
        return len(text)
    head = text[: limit + 1]
    places = ("\n", " [SEP] ", ". ", "; ", ", ", " ")  # the best first
    cuts = (head.rfind(mark) + len(mark.rstrip()) for mark in places if mark in head)
    return next((cut for cut in cuts if 0.6 * limit <= cut <= limit), limit)


def truncated(text: str, n_tokens: int) -> str:
    """Return the start of a text, in tokens of four characters. No tokenizer is needed. A tag is not cut in two."""
    limit = n_tokens * CHARS_PER_TOKEN
    if len(text) <= limit:
        return text
    head = text[:limit]
    opened = head.rfind("<")
    if opened > max(head.rfind(">"), 0) and re.match(r"</?[a-zA-Z!]", text[opened:]):
        head = head[:opened]
    return f"{head}..."


def tail(text: str, n_tokens: int) -> str:
    """Return the end of a text, in tokens of four characters, from the beginning of a line if there is one."""
    limit = n_tokens * CHARS_PER_TOKEN
    if len(text) <= limit:
        return text
    end = text[-limit:]
    return f"...{end[end.find(chr(10)) :] if chr(10) in end else end}"
