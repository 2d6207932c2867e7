"""The documents of functions as data: what a parameter takes, what a function returns, and which words tell of it.

Documents are as in `info["page"]["tools"]`: a name, a description, parameters in the form of JSON Schema, and, in some,
a response. Types are named as there, or as the official files name them (`dict`, `float`).
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from iad_envs.toolcalls.policy.words import near, stem_set, stems, words

Kind = Literal["text", "whole", "number", "truth", "list", "object", "any"]
_KINDS: Mapping[str, Kind] = {
    "string": "text", "integer": "whole", "int": "whole", "float": "number", "number": "number", "double": "number",
    "boolean": "truth", "bool": "truth", "array": "list", "list": "list", "tuple": "list", "dict": "object",
    "object": "object",
}  # fmt: skip
_QUOTED = re.compile(r"(?<![A-Za-z])['\"]([^'\"]{1,40})['\"]")
_EACH = re.compile(r"\b(?:each|every one|all) with (.*)", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z]\w*")
_DATE = re.compile(r"YYYY|\bdate\b|\bday\b", re.IGNORECASE)
_DAYS = re.compile(r"YYYY|\bdates?\b|\bthe (?:\w+ )?day\b", re.IGNORECASE)
_HOURS = re.compile(r"\bHH:MM\b|\btime of (?:the )?day\b")
_USER = re.compile(r"user_?name|login|account_name", re.IGNORECASE)
_MAIL = re.compile(r"\be-?mail\b.*\baddress|\bmail address|\be-?mail\b", re.IGNORECASE)
_PERSON = re.compile(r"first (?:and )?last name|full name|\bperson\b|\bcustomer\b|\bwho\b", re.IGNORECASE)
IN_NAME, IN_DESCRIPTION, IN_PARAMETER, IN_RETURNS, IN_ABOUT, IN_SHARED = 1.0, 0.75, 0.6, 0.4, 0.35, 0.15
"""How much a word tells where it stands: in the function's name, description, a parameter's name, what it returns, a
parameter's description, and a sentence that several functions have."""
ASKED = 0.8
"""How much a word of what a function returns tells in a question."""
_SHARED = 3
"""Functions that have a sentence which says little of each of them."""
_WITHOUT = re.compile(r"\b(?:without|not|no|never)\b[^.;,]*", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
NEAR = 0.75
"""Of a word that may stand for the one in the document."""


class Parameter(NamedTuple):
    """A parameter of a function.

    Attributes:
        name: Its name.
        kind: What values it takes.
        items: What the items of a list are.
        choices: Values to choose from; none if any will do.
        is_required: Whether a call must have it.
        default: Its default; None if it has none.
        about: Its description.
        owner: Name of its function.
    """

    name: str
    kind: Kind
    items: Kind
    choices: tuple[Any, ...]
    is_required: bool
    default: Any
    about: str
    owner: str = ""

    @property
    def name_stems(self) -> tuple[str, ...]:
        """The stems of its name, without `id`."""
        return _without_id(self.name)

    @property
    def about_stems(self) -> tuple[str, ...]:
        """The stems of its description."""
        return stems(self.about)

    @property
    def is_id(self) -> bool:
        """Whether it takes an id."""
        return _is_id(self.name, self.about)

    @property
    def is_date(self) -> bool:
        """Whether it takes a date as a text."""
        is_told = bool(_DAYS.search(self.about)) or bool(_DATE.search(self.name))
        return self.kind == "text" and is_told and not self.is_time

    @property
    def is_mail(self) -> bool:
        """Whether it takes a mail address."""
        return self.kind == "text" and bool(_MAIL.search(self.about))

    @property
    def is_time(self) -> bool:
        """Whether it takes a time of the day as a text."""
        return self.kind == "text" and bool(_HOURS.search(self.about)) and "YYYY" not in self.about

    @property
    def is_user(self) -> bool:
        """Whether it takes the name of an account."""
        return self.kind == "text" and bool(_USER.search(self.name))

    @property
    def is_person(self) -> bool:
        """Whether it takes the name of a person."""
        return self.kind == "text" and bool(_PERSON.search(self.about))

    @property
    def examples(self) -> tuple[str, ...]:
        """Values that its description gives."""
        return tuple(_QUOTED.findall(self.about))


class Returned(NamedTuple):
    """A part of what a function returns: its key, and what the document says of it."""

    key: str
    about: str


class Tool(NamedTuple):
    """A function that is offered.

    Attributes:
        name: Its name.
        about: Its description.
        parameters: Its parameters, in order.
        returns: What it returns, also inside lists.
        weights: Stem -> how much it tells of the function.
        answers: Stems of what it returns.
        does: The first stem of what is said of it alone.
    """

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    returns: tuple[Returned, ...]
    weights: Mapping[str, float]
    answers: frozenset[str]
    does: str

    def match(self, word: str, *, asks: bool = False) -> float:
        """Return how much a stem tells of the function, 0 to 1.

        Args:
            word: The stem.
            asks: Whether it is a question's, so that what the function returns tells more.
        """
        return max(self._told(word, asks), NEAR * max(self._told(one, asks) for one in near(word)))

    def _told(self, word: str, asks: bool) -> float:
        found = self.weights.get(word, 0.0)
        return max(found, ASKED) if asks and word in self.answers else found

    @property
    def verb(self) -> str:
        """The stem of its name's last part's first word: `find` of `library.find_books`."""
        return next(iter(stems(self.name.rpartition(".")[2])), "")

    @property
    def objects(self) -> frozenset[str]:
        """The stems of its name without the verb: `book` of `find_books`."""
        return frozenset(stems(self.name.rpartition(".")[2])[1:])

    @property
    def only_looks(self) -> bool:
        """Whether its name says that it tells something and changes nothing."""
        return self.verb in LOOKING or self.does in LOOKING

    @property
    def required(self) -> tuple[Parameter, ...]:
        """The parameters that a call must have."""
        return tuple(one for one in self.parameters if one.is_required)

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of that name."""
        return next((one for one in self.parameters if one.name == name), None)


class Catalogue:
    """The functions that are offered at a moment.

    Args:
        documents: Their documents.
    """

    def __init__(self, documents: Iterable[Mapping[str, Any]]) -> None:
        documents = list(documents)
        sentences = Counter(sentence for one in documents for sentence in set(_sentences(one)))
        self._common = frozenset(sentence for sentence, n in sentences.items() if n >= _SHARED)
        self.tools: dict[str, Tool] = {one["name"]: _tool(one, self._common) for one in documents}

    @cached_property
    def _shares(self) -> Mapping[str, float]:
        found: Counter[str] = Counter()
        for tool in self.tools.values():
            found.update(word for word, weight in tool.weights.items() if weight > IN_SHARED)
        return {word: n / len(self.tools) for word, n in found.items()}

    def weight(self, word: str) -> float:
        """Return the weight of a stem: more, the fewer functions it tells of."""
        share = max((self._shares.get(one, 0.0) for one in near(word)), default=0.0)
        return math.log(1.0 + 1.0 / max(share, 1.0 / (1 + len(self.tools))))

    def knows(self, word: str) -> bool:
        """Whether any document has a stem, or one that may stand for it."""
        return any(one in self._shares for one in near(word))

    @cached_property
    def objects(self) -> frozenset[str]:
        """The stems of what the functions are about, by their names."""
        return frozenset(word for tool in self.tools.values() for word in tool.objects)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(
            word for tool in self.tools.values() for word, weight in tool.weights.items() if weight >= IN_PARAMETER
        )

    def names(self, word: str) -> bool:
        """Whether a stem stands in a name or a description of a function, not only in what is said of a parameter."""
        return word in self._names

    def has(self, word: str) -> bool:
        """Whether a document has just this stem."""
        return word in self._shares

    @cached_property
    def links(self) -> dict[tuple[str, str], Any]:
        """What is worked out once of two functions: see `planning`."""
        return {}

    @cached_property
    def _choosers(self) -> Mapping[str, Mapping[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for tool in self.tools.values():
            for one in tool.parameters:
                for choice in (
                    one.choices if any(other.kind in ("whole", "number") for other in tool.parameters) else ()
                ):
                    for word in stems(str(choice)):
                        found.setdefault(word, {})[tool.name] = one.name
        return found

    def choosers(self, word: str) -> Mapping[str, str]:
        """Return the functions with numbers that have a choice with a stem, such as a unit, and the parameters."""
        return self._choosers.get(word, {})

    @cached_property
    def id_shapes(self) -> Mapping[str, str]:
        """Beginning of an id in the documents' examples -> name of the parameter that takes such ids."""
        return {
            shape: one.name
            for tool in self.tools.values()
            for one in tool.parameters
            for example in one.examples
            if (shape := shape_of(example))
        }


@lru_cache(maxsize=4096)
def _without_id(name: str) -> tuple[str, ...]:
    return tuple(one for one in stems(name) if one != "id")


@lru_cache(maxsize=4096)
def _is_id(name: str, about: str) -> bool:
    return words(name)[-1:] == ["id"] or (name.lower().endswith("id") and about.startswith("Id "))


@lru_cache(maxsize=4096)
def shape_of(text: str) -> str:
    """Return the letters an id such as `BK-101` begins with; "" for another text."""
    found = re.fullmatch(r"([A-Za-z]{1,6})[-_]?\d[\w-]*", text)
    return found[1].upper() if found else ""


def catalogue(documents: Sequence[Mapping[str, Any]]) -> Catalogue:
    """Return the functions of documents, read once."""
    return _catalogue(json.dumps(documents, default=str))


@lru_cache(maxsize=64)
def _catalogue(written: str) -> Catalogue:
    return Catalogue(json.loads(written))


LOOKING = stem_set(
    "find search look list show get read view check describe inspect count track quote display query fetch retrieve"
    " lookup tell calculate compute estimate convert"
)
"""Verbs of functions that tell something, and change nothing."""


def _sentences(document: Mapping[str, Any]) -> list[str]:
    return _SENTENCE.split(str(document.get("description", "")))


def _tool(document: Mapping[str, Any], common: frozenset[str]) -> Tool:
    schema = document.get("parameters") or {}
    required = set(schema.get("required") or ())
    properties = schema.get("properties") or {}
    parameters = tuple(
        _parameter(name, one, is_required=name in required)._replace(owner=document["name"])
        for name, one in properties.items()
    )
    about = str(document.get("description", ""))
    returns = tuple(_returned(document.get("response") or {}))
    weights: dict[str, float] = {}
    for text, weight in (
        (document["name"], IN_NAME),
        *((_WITHOUT.sub("", one), IN_SHARED if one in common else IN_DESCRIPTION) for one in _sentences(document)),
        *((one.name, IN_PARAMETER) for one in parameters),
        *((str(choice), IN_PARAMETER) for one in parameters for choice in one.choices),
        *((one.key, IN_RETURNS) for one in returns),
        *((one.about, IN_RETURNS) for one in returns),
        *((one.about, IN_ABOUT) for one in parameters),
    ):
        for one in stems(text):
            weights[one] = max(weight, weights.get(one, 0.0))
    answers = frozenset(word for one in returns for text in one for word in stems(text))
    own = " ".join(one.rpartition("description: ")[2] for one in _sentences(document) if one not in common)
    does = next(iter(stems(own)), "")
    return Tool(document["name"], about, parameters, returns, weights, answers, does)


def _parameter(name: str, schema: Mapping[str, Any], *, is_required: bool) -> Parameter:
    items = schema.get("items") or {}
    inner = items.get("type", "") if isinstance(items, Mapping) else ""
    return Parameter(
        name,
        _KINDS.get(str(schema.get("type", "")), "any"),
        _KINDS.get(str(inner), "any"),
        tuple(schema.get("enum") or (items.get("enum") if isinstance(items, Mapping) else None) or ()),
        is_required and "default" not in schema,
        schema.get("default"),
        str(schema.get("description", "")),
    )


def _returned(schema: Mapping[str, Any]) -> Iterable[Returned]:
    for key, one in (schema.get("properties") or {}).items():
        about = str(one.get("description", ""))
        yield Returned(str(key), about)
        items = one.get("items")
        yield from _returned(one)
        if isinstance(items, Mapping):
            yield from _returned(items)
        if found := _EACH.search(about):
            yield from (
                Returned(word, "") for word in _IDENTIFIER.findall(found[1]) if word not in ("and", "or", "its")
            )
