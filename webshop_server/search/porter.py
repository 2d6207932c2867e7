"""Martin Porter's stemmer of 1980 with the author's later changes, as used by Lucene.

The changes are: words of one or two characters are kept, any double consonant except l, s and z becomes single,
"bli" (not only "abli") becomes "ble", and "logi" becomes "log". Snowball's "porter" has none of them. Vowels are a, e,
i, o, u, and y after a consonant. Digits, apostrophes and letters outside ASCII are consonants.

The nearest library is NLTK's `PorterStemmer(mode="MARTIN_EXTENSIONS")`, which gives the same stems (on 30,178 words of
product texts and 200,000 random ones). It is not used: it would be a dependency of 14 MB that takes over a second to
import, for this one class, and it needs more than twice the time per word.
"""

import re
from typing import NamedTuple

__all__ = ["stem"]

_VOWELS = frozenset("aeiouy")
_UP_TO_MEASURE = re.compile(r"[^aeiouy]*[aeiouy]+[^aeiouy]")
_VOWEL = re.compile(r"[aeiouy]")
_SHORT_END = re.compile(r"[^aeiouy][aeiouy][^aeiouywxY]\Z")

# Within a step the longest matching ending decides, even if its condition then fails.
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate",
    "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al",
    "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
# "ion" must follow an s or t, which is kept.
_STEP_4 = {
    "al": "", "ance": "", "ence": "", "er": "", "ic": "", "able": "", "ible": "", "ant": "", "ement": "",
    "ment": "", "ent": "", "sion": "s", "tion": "t", "ou": "", "ism": "", "ate": "", "iti": "", "ous": "",
    "ive": "", "ize": "",
}  # fmt: skip


class _Regions(NamedTuple):
    """Lengths in characters of the shortest prefixes of the word whose measure m is 1 and 2."""

    one: int
    two: int


def _mark_y(word: str) -> str:
    """Replace each consonant y by Y: at the start or after a vowel."""
    marked: list[str] = []
    for letter in word:
        is_consonant = letter == "y" and (not marked or marked[-1] in _VOWELS)
        marked.append("Y" if is_consonant else letter)
    return "".join(marked)


def _regions(word: str) -> _Regions:
    never = len(word) + 9
    first = _UP_TO_MEASURE.match(word)
    if first is None:
        return _Regions(never, never)
    second = _UP_TO_MEASURE.match(word, first.end())
    return _Regions(first.end(), never if second is None else second.end())


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word if word.endswith("ss") else word[:-1]


def _past_and_progressive(word: str, regions: _Regions) -> str:
    if word.endswith("eed"):
        return word[:-1] if len(word) - 3 >= regions.one else word
    cut = -2 if word.endswith("ed") else -3
    if _VOWEL.search(word[:cut]) is None:
        return word
    word = word[:cut]
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    last = word[-1]
    if word[-2:-1].lower() == last.lower() and last not in _VOWELS:
        return word if last in "lsz" else word[:-1]
    is_measure_one = regions.one <= len(word) < regions.two
    return word + "e" if is_measure_one and _SHORT_END.search(word) else word


def _replace(word: str, endings: dict[str, str], region: int, *, longest: int) -> str:
    for length in range(longest, 1, -1):
        replacement = endings.get(word[-length:])
        if replacement is not None and length <= len(word):
            kept = len(word) - length
            if endings is _STEP_4:
                kept += len(replacement)
            return word[: len(word) - length] + replacement if kept >= region else word
    return word


def _final(word: str, regions: _Regions) -> str:
    if word.endswith("e"):
        kept = len(word) - 1
        if kept >= regions.two or (kept >= regions.one and not _SHORT_END.search(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and len(word) - 1 >= regions.two else word


def stem(word: str) -> str:
    """Return the stem of a lower-case `word` ("An algorithm for suffix stripping", Program 14, 1980)."""
    if len(word) <= 2:
        return word
    has_y = "y" in word
    if has_y:
        word = _mark_y(word)
    regions = _regions(word)
    if word[-1] == "s":
        word = _plural(word)
    if word.endswith(("ed", "ing")):
        word = _past_and_progressive(word, regions)
    if word[-1] in "yY" and _VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _STEP_2, regions.one, longest=7)
    word = _replace(word, _STEP_3, regions.one, longest=5)
    word = _replace(word, _STEP_4, regions.two, longest=5)
    word = _final(word, regions)
    return word.replace("Y", "y") if has_y else word
