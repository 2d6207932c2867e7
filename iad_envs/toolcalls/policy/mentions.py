"""What a user's text says: its clauses, and the values in them, each with the words around it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from iad_envs.toolcalls.policy.documents import Catalogue
from iad_envs.toolcalls.policy.words import COMMON, STOP, plainly, stem, word_set

MentionKind = Literal["quote", "mail", "date", "time", "user", "id", "number", "name", "span"]
_YEAR = "january february march april may june july august september october november december"
_MONTHS = _YEAR.split()
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_SMALL_NUMBERS = "two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = _SMALL_NUMBERS.split()
_QUOTE = r"(?<!\w)'(?P<quote>(?:[^']|(?<=\w)'(?=\w))+)'(?!\w)|\"(?P<double>[^\"]+)\"|“(?P<curly>[^”]+)”"
_DAY, _OF_YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r",? (?P<year>\d{4})\b"
_BIG, _PLAIN = r"(?<![\w.])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?\b", r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])(?!\.\d)"
_VALUES: Sequence[tuple[MentionKind, "re.Pattern[str]"]] = (
    ("quote", re.compile(_QUOTE)),
    ("mail", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("date", re.compile(r"\b(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})\b")),
    ("date", re.compile(rf"\b{_MONTH} {_DAY}{_OF_YEAR}", re.IGNORECASE)),
    ("date", re.compile(rf"\b{_DAY}(?: of)? {_MONTH}{_OF_YEAR}", re.IGNORECASE)),
    ("time", re.compile(r"\b(?:[01]?\d|2[0-3]):[0-5]\d\b")),
    ("user", re.compile(r"\b[a-z]\w*(?:[._][a-z0-9]+)+\b")),
    ("id", re.compile(r"\b[A-Z]{1,6}[-_]?\d[\w-]*\b")),
    ("number", re.compile(rf"{_BIG}|{_PLAIN}")),
    ("number", re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b", re.IGNORECASE)),
)
_SENTENCE_END = re.compile(r"[.!?]+['\"]?(?=\s+[A-Z]|\s*$)|[.!?](?=\s)|;|:(?=\s*$)|\n")
_THEN = re.compile(
    r",? (?:and )?(?:then|after that|afterwards)\b,?"
    r"|,? and (?=(?:also )?(?P<and>[a-z]+))"
    r"|, (?=(?P<comma>[a-z]+) (?!or\b))"
    r"|,? (?=(?:but )?do not )"
)
_NEGATED = re.compile(r"\bdo not \w+:")
_TOKEN = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d+")
VERBS = word_set(
    "find look search locate see check open read show list tell give put add append make create write draft prepare"
    " send mail answer reply label tag move transplant go enter change set take get lend borrow renew reserve cancel"
    " drop book pay settle water sow plant harvest insure track convert work count keep save store delete remove"
    " copy let have turn calculate compute determine order buy sell report record remind schedule post share start"
    " stop play call tighten mark print plan replace activate log close refund identify retrieve provide display"
    " navigate rename sort compare update follow like inspect arrange use leave"
)
"""Verbs that a clause after "and" or a comma may begin with."""
NOUN, VERB = "noun", "verb"
DETERMINERS = word_set("a an the this that these those my your our his her its their one some all")
WISHES = word_set("want need would like please wish")
QUESTIONS = word_set("what which who whom whose when where how why is are does do did can could")
_NOT = re.compile(
    r"\b(?:do not|don't|not to|never|without|but do not|no need to)\b|\bnot (?=send|run|do)", re.IGNORECASE
)
_BEFORE, _AFTER = 4, 2
"""Words around a value that may say what it is."""


class Mention(NamedTuple):
    """A value in the user's text.

    Attributes:
        kind: What it looks like.
        value: The value: dates as YYYY-MM-DD.
        start: Where it begins in the text.
        end: Where it ends.
        before: Stems of the words before it, the nearest first, up to another value.
        after: Stems of the words after it, the nearest first, up to another value.
        clause: Number of its clause.
    """

    kind: MentionKind
    value: Any
    start: int
    end: int
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    clause: int = 0


class Clause(NamedTuple):
    """A part of the text that may ask for something.

    Attributes:
        place: Its number.
        text: Its text.
        words: Its words in small letters, without those of values.
        mentions: The values in it.
        is_negated: Whether it says what is not wanted.
    """

    place: int
    text: str
    words: tuple[str, ...]
    mentions: tuple[Mention, ...]
    is_negated: bool

    @property
    def stems(self) -> tuple[str, ...]:
        """The stems of its words that say something."""
        return tuple(stem(word) for word in self.words if word not in STOP)

    @property
    def roles(self) -> tuple[tuple[str, str], ...]:
        """Its stems, each once, and what they are: the verb it begins with, a noun after an article, or ""."""
        found: dict[str, str] = {}
        is_first = True
        for place, word in enumerate(self.words):
            if word in STOP or word in ("kindly",):
                continue
            is_noun = bool(set(self.words[max(0, place - 2) : place]) & DETERMINERS)
            role = NOUN if is_noun else VERB if is_first and word in VERBS else ""
            found.setdefault(stem(word), role)
            is_first = False
        return tuple(found.items())

    @property
    def verb(self) -> str:
        """The stem of the verb it begins with; "" for none."""
        return next((word for word, role in self.roles[:1] if role == VERB), "")

    @property
    def is_order(self) -> bool:
        """Whether it says what to do, in place of how things are."""
        return bool(self.verb) or self.asks or bool(set(self.words[:3]) & WISHES)

    @property
    def asks(self) -> bool:
        """Whether it asks a question."""
        return bool(set(self.words[:3]) & QUESTIONS) or self.text.endswith("?")


def clauses_of(text: str, known: Catalogue) -> tuple[Clause, ...]:
    """Return the clauses of a text.

    Args:
        text: What the user says.
        known: The offered functions: a word that tells of one of them is no value by itself.
    """
    values = sorted(_values(text), key=lambda one: one.start)
    named = list(_names(text, values))
    values = [one for one in values if not _overlaps([(name.start, name.end) for name in named], one.start, one.end)]
    values = sorted([*values, *named], key=lambda one: one.start)
    values = sorted([*values, *_spans(text, values, known)], key=lambda one: one.start)
    found: list[Clause] = []
    for start, end in _cuts(text, values):
        inside = [one for one in values if start <= one.start < end]
        place = len(found)
        mentions = tuple(_with_words(text, one, values, start, end)._replace(clause=place) for one in inside)
        spoken = _words_outside(text, start, end, [one for one in inside if one.kind != "span"])
        if spoken or mentions:
            body = text[start:end].strip(" ,")
            found.append(Clause(place, body, spoken, mentions, bool(_NOT.search(_without(text, start, end, inside)))))
    return tuple(found)


def _values(text: str) -> Iterator[Mention]:
    taken: list[tuple[int, int]] = []
    for kind, pattern in _VALUES:
        for found in pattern.finditer(text):
            if any(start < found.end() and found.start() < end for start, end in taken):
                continue
            value = _value(kind, found)
            if value is not None:
                taken.append(found.span())
                yield Mention(kind, value, *found.span())


def _value(kind: MentionKind, found: "re.Match[str]") -> Any:
    if kind == "quote":
        return next(part for part in found.groups() if part is not None)
    if kind == "number":
        word = found[0].lower()
        if word in _NUMBER_WORDS:
            return _NUMBER_WORDS.index(word) + 2
        written = word.replace(",", "")
        return float(written) if "." in written else int(written)
    if kind == "date":
        parts = found.groupdict()
        month = parts.get("number") or _MONTHS.index(parts["month"].lower()) + 1
        try:
            return date(int(parts["year"]), int(month), int(parts["day"])).isoformat()
        except ValueError:
            return None
    return found[0]


_NAME = re.compile(
    r"[A-Z][\w'&-]*(?: (?:of|the|and|&|de|van|von|la|el) (?=[A-Z])| [A-Z0-9][\w'&-]*)*(?:(?<=\w )[A-Z]\w*| [A-Z]\w*)*"
)
_PLACE = re.compile(r"\b\d+ (?:[A-Z][\w'-]+ ?){1,4}")


def _names(text: str, values: Sequence[Mention]) -> Iterator[Mention]:
    """Yield runs of capitalised words. A single one at the beginning of a sentence is none if it is a usual word."""
    taken = [(one.start, one.end) for one in values if one.kind != "number"]
    streets = [found.span() for found in _PLACE.finditer(text)]
    for start, end in streets:
        if not _overlaps(taken, start, end):
            body = text[start:end].rstrip()
            taken.append((start, start + len(body)))
            yield Mention("name", body, start, start + len(body))
    for found in _NAME.finditer(text):
        start, end = found.span()
        begins = not text[:start].strip() or text[:start].rstrip()[-1] in ".!?:;"
        first, _, rest = found[0].partition(" ")
        if rest == "I":
            continue
        if begins and rest and (first.lower() in STOP | COMMON | VERBS):
            start += len(first) + 1
            if not text[start].isupper():
                continue
        elif not rest and (first.lower() in STOP or (begins and (first.lower() in COMMON | VERBS))):
            continue
        if _overlaps(taken, start, end):
            continue
        body = text[start:end].removesuffix("'s")
        yield Mention("name", body, start, start + len(body))


def _spans(text: str, values: Sequence[Mention], known: Catalogue) -> Iterator[Mention]:
    """Yield runs of words that are neither usual nor tell of a function: they may be values."""
    taken = [(one.start, one.end) for one in values]
    run: list[re.Match[str]] = []
    for found in (*_TOKEN.finditer(text), None):
        is_value = found is not None and _is_unusual(found[0], known) and not _overlaps(taken, *found.span())
        is_value = is_value or (bool(run) and found is not None and _may_follow(found[0], known))
        joins = bool(run) and found is not None and text[run[-1].end() : found.start()].strip(" ") == ""
        if run and not (is_value and joins):
            yield Mention("span", text[run[0].start() : run[-1].end()], run[0].start(), run[-1].end())
            run = []
        if is_value and found is not None:
            run.append(found)


def _is_unusual(word: str, known: Catalogue) -> bool:
    small = word.lower()
    return len(word) > 1 and small not in STOP and small not in COMMON and not known.has(stem(small))


def _may_follow(word: str, known: Catalogue) -> bool:
    """Whether a word may go on with a value: `house` after `south`, though a parameter's description has it."""
    small = word.lower()
    return small not in STOP | COMMON and not known.names(stem(small))


def _cuts(text: str, values: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    """Yield where clauses begin and end. Nothing is cut inside a value."""
    closed = [(one.start, one.end) for one in values if one.kind != "span"]
    points = [0]
    for found in _SENTENCE_END.finditer(text):
        if not any(start <= found.start() < end for start, end in closed):
            points.append(found.end())
    points += [
        end for start, end in closed if text[end - 2 : end - 1] in ".!?" and text[end : end + 2].strip().isupper()
    ]
    points += [found.end() for found in _NEGATED.finditer(text)]
    for found in _THEN.finditer(text):
        if any(start < found.start() < end for start, end in closed):
            continue
        word = found["and"] or found["comma"]
        if word is None or word in VERBS:
            points.append(found.start())
    points = sorted({*points, len(text)})
    for start, end in pairwise(points):
        if text[start:end].strip(" ,.;!?\n"):
            yield start, end


def _with_words(text: str, one: Mention, values: Sequence[Mention], start: int, end: int) -> Mention:
    solid = [other for other in values if other.kind != "span"]
    first = max([start, *(other.end for other in solid if other.end <= one.start)])
    last = min([end, *(other.start for other in solid if other.start >= one.end)])
    before = [stem(word) for word in _TOKEN.findall(text[first : one.start])][::-1][:_BEFORE]
    after = [stem(word) for word in _TOKEN.findall(text[one.end : last])][:_AFTER]
    return one._replace(before=tuple(before), after=tuple(after))


def _words_outside(text: str, start: int, end: int, values: Sequence[Mention]) -> tuple[str, ...]:
    spoken = plainly(_without(text, start, end, values))
    return tuple(word.lower() for word in _TOKEN.findall(spoken) if not word.isdigit())


def _without(text: str, start: int, end: int, values: Sequence[Mention]) -> str:
    for one in sorted(values, key=lambda one: -one.start):
        if one.kind != "span":
            text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text[start:end]


def _overlaps(taken: Iterable[tuple[int, int]], start: int, end: int) -> bool:
    return any(first < end and start < last for first, last in taken)
