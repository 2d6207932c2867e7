"""Where each token of an answer begins in its text."""

from codecs import getincrementaldecoder
from collections.abc import Sequence
from itertools import accumulate


def starts_of(spelled: Sequence[bytes], text: str) -> tuple[int, ...] | None:
    """Return the position of each token in the text, in characters; None if the tokens don't spell it.

    A token after the text, such as an end mark, begins at its end. A token may hold only a part of a character.

    Args:
        spelled: The bytes of each token; "?" for a lone surrogate.
        text: The answer's text.
    """
    if not spelled or not b"".join(spelled).startswith(text.encode(errors="replace")):
        return None
    decoder = getincrementaldecoder("utf-8")("replace")
    starts = accumulate((len(decoder.decode(one)) for one in spelled[:-1]), initial=0)
    return tuple(min(start, len(text)) for start in starts)
