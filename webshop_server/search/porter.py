"""Martin Porter's stemmer of 1980 with the author's later changes, as used by Lucene.

The changes are: words of one or two characters are kept, any double consonant except l, s and z becomes single,
"bli" (not only "abli") becomes "ble", and "logi" becomes "log". Snowball's "porter" has none of them. Vowels are a, e,
i, o, u, and y after a consonant. Digits, apostrophes and letters outside ASCII are consonants.

The nearest library is NLTK's `PorterStemmer(mode="MARTIN_EXTENSIONS")`, which gives the same stems (on 30,178 words of
product texts and 200,000 random ones). It is not used: it would be a dependency of 14 MB that takes over a second to
import, for this one class, and it needs more than twice the time per word.
"""

import re

_UP_TO_MEASURE = re.compile(r"[^aeiouy]*[aeiouy]+[^aeiouy]")
_VOWEL = re.compile(r"[aeiouy]")
_SHORT_END = re.compile(r"[^aeiouy][aeiouy][^aeiouywxY]\Z")

# Within a step the longest matching ending decides, even if its condition then fails.
_STEPS = {
    2: {
        "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble",
        "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate",
        "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al",
        "iviti": "ive", "biliti": "ble", "logi": "log",
    },
    3: {
        "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
    },
    # "ion" must follow an s or t, which is kept.
    4: {
        "al": "", "ance": "", "ence": "", "er": "", "ic": "", "able": "", "ible": "", "ant": "", "ement": "",
        "ment": "", "ent": "", "sion": "s", "tion": "t", "ou": "", "ism": "", "ate": "", "iti": "", "ous": "",
        "ive": "", "ize": "",
    },
}  # fmt: skip


def _replace(word: str, step: int, region: int, *, longest: int) -> str:
    for length in range(longest, 1, -1):
        replacement = _STEPS[step].get(word[-length:])
        if replacement is not None and length <= len(word):
            kept = len(word) - length
            if step == 4:
                kept += len(replacement)
            return word[: len(word) - length] + replacement if kept >= region else word
    return word


def stem(word: str) -> str:
    """Return the stem of a lower-case `word` ("An algorithm for suffix stripping", Program 14, 1980)."""
    if len(word) <= 2:
        return word
    if "y" in word:  # a consonant y, at the start or after a vowel, becomes Y
        marked: list[str] = []
        for letter in word:
            is_consonant = letter == "y" and (not marked or marked[-1] in "aeiouy")
            marked.append("Y" if is_consonant else letter)
        word = "".join(marked)
    # Lengths of the shortest prefixes of the word whose measure m is 1 and 2.
    first = _UP_TO_MEASURE.match(word)
    second = first and _UP_TO_MEASURE.match(word, first.end())
    one, two = (match.end() if match else len(word) + 9 for match in (first, second))
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word[-1] == "s" and word[-2] != "s":
        word = word[:-1]
    if word.endswith("eed"):
        word = word[:-1] if len(word) - 3 >= one else word
    elif word.endswith(("ed", "ing")):
        kept = word[: -2 if word.endswith("ed") else -3]
        if _VOWEL.search(kept):
            word = kept
            last = word[-1]
            if word.endswith(("at", "bl", "iz")):
                word += "e"
            elif word[-2:-1].lower() == last.lower() and last not in "aeiouy":
                word = word if last in "lsz" else word[:-1]
            elif one <= len(word) < two and _SHORT_END.search(word):
                word += "e"
    if word[-1] in "yY" and _VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, 2, one, longest=7)
    word = _replace(word, 3, one, longest=5)
    word = _replace(word, 4, two, longest=5)
    if word.endswith("e") and (len(word) > two or (len(word) > one and not _SHORT_END.search(word[:-1]))):
        word = word[:-1]
    if word.endswith("ll") and len(word) > two:
        word = word[:-1]
    return word.replace("Y", "y")
