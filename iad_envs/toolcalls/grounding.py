"""Says whether an argument of a call is known: from the user's words, from earlier results, or from the document."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.schemas import properties_of


class Known(NamedTuple):
    """Words and numbers that have been said or returned so far, newest part last. A value: adding returns a new one."""

    words: tuple[frozenset[str], ...] = ()
    numbers: tuple[frozenset[float], ...] = ()

    def with_text(self, text: str) -> "Known":
        """Return it with what a text says."""
        words, numbers = _read(text)
        return Known((*self.words, words), (*self.numbers, numbers))

    def with_texts(self, texts: Iterable[str]) -> "Known":
        """Return it with what texts say."""
        known = self
        for text in texts:
            known = known.with_text(text)
        return known

    def has_word(self, word: str) -> bool:
        """Whether a word was said, in any case, with or without the s of a plural."""
        return any(word in part or word.removesuffix("s") in part for part in self.words)

    def has_number(self, number: float) -> bool:
        """Whether a number was said, in digits or as a word."""
        return any(number in part for part in self.numbers)


def ungrounded(call: FunctionCall, document: Mapping[str, Any], known: Known) -> list[str]:
    """Return the names of the arguments that nobody has said and nothing has returned.

    Truth values and choices from a list in the document count as known, and so does what the document gives as default.
    """
    properties = properties_of(document)
    found = []
    for name, value in call.arguments.items():
        schema = properties.get(name, {})
        if "default" in schema and schema["default"] == value:
            continue
        if not schema.get("enum") and not is_known(value, known):
            found.append(name)
    return found


def is_known(value: Any, known: Known) -> bool:
    """Whether all of a value was said or returned: each number, and each word of each text."""
    if value is None or isinstance(value, bool | FunctionCall):
        return True
    if isinstance(value, int | float):
        try:
            return any(known.has_number(float(form)) for form in (value, -value, value * 100, value / 100))
        except OverflowError:  # an integer that no float holds
            return False
    if isinstance(value, str):
        words, numbers = _read(value)
        return all(map(known.has_word, words)) and all(_is_said(number, known) for number in numbers)
    if isinstance(value, Mapping):
        return all(is_known(item, known) for item in value.values())
    if isinstance(value, Sequence):
        return all(is_known(item, known) for item in value)
    return True


def _is_said(number: float, known: Known) -> bool:
    """Whether a number in a text was said; a month may have been said by its name."""
    if known.has_number(number):
        return True
    year = "january february march april may june july august september october november december"
    names = year.split()
    return any(month == number and known.has_word(name) for month, name in enumerate(names, 1))


@lru_cache(maxsize=1024)
def _read(text: str) -> tuple[frozenset[str], frozenset[float]]:
    """Return the words of a text without the s of a plural, and its numbers."""
    words, numbers = set[str](), set[float]()
    small = (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen twenty"
    )
    number_words = small.split()
    for token in re.findall(r"\d+(?:[.,]\d+)*|[^\W\d_]+", text.lower()):
        if token[0].isdigit():
            numbers.update(_numbers(token))
        else:
            words.add(token.removesuffix("s") or token)
            words.add(token)
            if token in number_words:
                numbers.add(float(number_words.index(token)))
            elif token in ("a", "an", "once"):
                numbers.add(1.0)
            elif token == "half":
                numbers.add(0.5)
    return frozenset(words), frozenset(numbers)


def _numbers(token: str) -> set[float]:
    """Return what digits with points and commas may mean: `1,200` is 1200, `1,2` also 1 and 2."""
    found = {float(part) for part in re.split("[.,]", token)}
    for form in (token, token.replace(",", "")):
        try:
            found.add(float(form))
        except ValueError:
            continue
    return found
