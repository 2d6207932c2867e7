"""Lucene's English analyser: turns text into search terms.

Words are found by UAX 29 with the additions of Lucene's StandardTokenizer: each Han or Hiragana character is a
token, runs of South East Asian letters stay together, pictographs are tokens, and tokens have at most 255
characters. Then the possessive 's is removed, letters are lower-cased, 33 English stop words are dropped, and
the remaining words are stemmed.
"""

import re
from functools import lru_cache

import regex

from webshop_server.search.porter import stem

ANALYZER_VERSION = 1
"""Version of the analyser. It is increased when the terms of a text change; older indexes are then ignored."""
MAX_TOKEN_LENGTH = 255
STOP_WORDS = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no",
        "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this",
        "to", "was", "will", "with",
    }
)  # fmt: skip


def _token_pattern() -> str:
    # Characters that may follow any other without breaking the word. Since Unicode 11 skin tones are among the
    # extending characters. Lucene keeps the word breaks of Unicode 9, where they are pictographs.
    extending = r"[[\p{WB=Format}\p{WB=Extend}\p{WB=ZWJ}]--\p{Emoji_Modifier}]"
    joined = rf"{extending}*+"
    letters = {
        "letter": r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]",
        "hebrew": r"\p{WB=Hebrew_Letter}",
        "digit": r"[\p{WB=Numeric}\uFF10-\uFF19]",
        "katakana": r"\p{WB=Katakana}",
        "in_word": r"[\p{WB=MidLetter}\p{WB=MidNumLet}']",
        "in_number": r"[\p{WB=MidNum}\p{WB=MidNumLet}']",
        "link": r"\p{WB=ExtendNumLet}",
    }
    part = {name: f"(?:{chars}{joined})" for name, chars in letters.items()}
    quoted = rf"{part['hebrew']}(?:(?:\"{joined}){part['hebrew']}|'{joined})"
    letter = rf"(?!{quoted}){part['letter']}"
    run = (
        rf"(?:{quoted}"
        rf"|{part['digit']}(?:{part['in_number']}?{part['digit']})*+"
        rf"|{letter}(?:{part['in_word']}?{letter})*+)++"
    )
    stretch = rf"(?:{part['katakana']}++|{run})"
    word = rf"{part['link']}*+{stretch}(?:{part['link']}++{stretch})*+{part['link']}*+"

    # Extended_Pictographic of Unicode 14, as in Lucene 9. Flags, key caps and skin tones are handled separately.
    # Later versions of Unicode removed many symbols, such as ★, so the property of an installed library is no help.
    pictograph = (
        r"[\xA9\xAE\u203C\u2049\u2122\u2139\u2194-\u2199\u21A9\u21AA\u231A\u231B\u2328\u2388\u23CF\u23E9-\u23F3"
        r"\u23F8-\u23FA\u24C2\u25AA\u25AB\u25B6\u25C0\u25FB-\u25FE\u2600-\u2605\u2607-\u2612\u2614-\u2685"
        r"\u2690-\u2705\u2708-\u2712\u2714\u2716\u271D\u2721\u2728\u2733\u2734\u2744\u2747\u274C\u274E"
        r"\u2753-\u2755\u2757\u2763-\u2767\u2795-\u2797\u27A1\u27B0\u27BF\u2934\u2935\u2B05-\u2B07\u2B1B\u2B1C"
        r"\u2B50\u2B55\u3030\u303D\u3297\u3299\U0001F000-\U0001F0FF\U0001F10D-\U0001F10F\U0001F12F"
        r"\U0001F16C-\U0001F171\U0001F17E\U0001F17F\U0001F18E\U0001F191-\U0001F19A\U0001F1AD-\U0001F1E5"
        r"\U0001F201-\U0001F20F\U0001F21A\U0001F22F\U0001F232-\U0001F23A\U0001F23C-\U0001F23F"
        r"\U0001F249-\U0001F3FA\U0001F400-\U0001F53D\U0001F546-\U0001F64F\U0001F680-\U0001F6FF"
        r"\U0001F774-\U0001F77F\U0001F7D5-\U0001F7FF\U0001F80C-\U0001F80F\U0001F848-\U0001F84F"
        r"\U0001F85A-\U0001F85F\U0001F888-\U0001F88F\U0001F8AE-\U0001F8FF\U0001F90C-\U0001F93A"
        r"\U0001F93C-\U0001F945\U0001F947-\U0001FAFF\U0001FC00-\U0001FFFD]"
    )
    # After a pictograph, the joiner to the next pictograph and presentation selectors are excluded too.
    trailing = rf"(?:(?!\u200D+(?:{pictograph}|\p{{Emoji_Modifier}})|[\uFE0E\uFE0F]){extending})*+"
    modifier = rf"\p{{Emoji_Modifier}}{trailing}"
    one = rf"(?:(?:\u200D*\p{{Emoji_Modifier_Base}}{trailing})?{modifier}|\u200D*{pictograph}{trailing}\uFE0F?)"
    # The key of a key cap is itself an extending character, so the part before it must backtrack.
    key_cap = rf"[0-9#*]{extending}*?\u20E3{trailing}"
    flag = rf"\p{{RI}}{joined}\p{{RI}}{joined}"
    single = rf"(?:\p{{LB=SA}}{joined})+|[\p{{Script=Han}}\p{{Script=Hiragana}}]{joined}"
    return rf"{word}|{one}(?:\u200D{one})*|{key_cap}|{flag}|{single}"


_TOKEN = regex.compile(_token_pattern(), regex.V1)
# Same result as the pattern above on ASCII text, but several times faster. No token contains a space or a line end.
_ASCII_TOKEN = regex.compile(
    r"_*+(?:[0-9](?:[.,;']?[0-9])*+|[A-Za-z](?:[:.']?[A-Za-z])*+)++"
    r"(?:_++(?:[0-9](?:[.,;']?[0-9])*+|[A-Za-z](?:[:.']?[A-Za-z])*+)++)*+_*+"
)
_ASCII_STRETCH_OR_WORD = re.compile(r"[\x00-\x7F]+(?![^ \n])|[^ \n]+")


def tokenize(text: str) -> list[str]:
    """Split `text` into words and pictographs. Tokens are cut after 255 characters."""
    if text.isascii():
        return _tokenize_with(_ASCII_TOKEN, text)
    tokens: list[str] = []
    for stretch in _ASCII_STRETCH_OR_WORD.findall(text):
        tokens += _tokenize_with(_ASCII_TOKEN if stretch.isascii() else _TOKEN, stretch)
    return tokens


def _tokenize_with(pattern: regex.Pattern[str], text: str) -> list[str]:
    tokens: list[str] = pattern.findall(text)
    if max(map(len, tokens), default=0) <= MAX_TOKEN_LENGTH:
        return tokens
    tokens, position = [], 0
    while match := pattern.search(text, position):
        start, position = match.span()
        if position - start > MAX_TOKEN_LENGTH:
            match = pattern.match(text, start, start + MAX_TOKEN_LENGTH)
            position = match.end() if match else start + 1
        tokens.append(text[start:position])
    return tokens


@lru_cache(maxsize=1 << 15)
def _term(token: str) -> str:
    """Return the search term of a token, or "" for a stop word."""
    if token[-1] in "sS" and token[-2:-1] in ("'", "\u2019", "\uff07"):
        token = token[:-2]
    # Character by character, as in Java: no final sigma, and one letter stays one letter.
    token = token.lower() if token.isascii() else "".join(letter.lower()[0] for letter in token)
    return "" if token in STOP_WORDS else stem(token)


def analyze(text: str) -> list[str]:
    """Return the search terms of `text` in order, including repeats. Any text is accepted."""
    return [term for term in map(_term, tokenize(text)) if term]
