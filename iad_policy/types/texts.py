"""Text from outside, such as what models, agents, verifiers and data say: made safe to send, to write and to show.

A *lone surrogate* is half of a character, for example of an emoji in which an answer was cut off. Python and JSON can
hold one, but UTF-8 can't, so no request, file or terminal takes it. A *bidi mark* changes the direction of the text
after it, also of text that is somebody else's.
"""

import re
from typing import Any, TypeVar

T = TypeVar("T")
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
