"""Reads shell instructions by their words: paths, kinds of files, quoted words, numbers and verbs.

The rule-based agent and the proxy verifier of `IAD/InterCodeBash-v0` share this code. It uses no gold.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

_PATH = re.compile(r"(?<![\w.])/[\w.+-]+(?:/[\w.+-]+)*")
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_ENDING = re.compile(r"(?<![\w/])\*?\.(\w{1,5})\b|\b([a-z]\w{0,4}) files?\b")
_NUMBER = re.compile(r"(?<![\w.-])\d+(?![\w-])")
_WORD = re.compile(r"[a-z]+")
_NO_ENDING = frozenset(
    [
        *("the", "a", "an", "of", "all", "any", "no", "each", "every", "file", "files", "empty", "these", "those"),
        *("other", "large", "old", "new", "many", "more", "most"),
    ]
)

CHANGING = frozenset(
    [
        *("create", "make", "copy", "copies", "move", "delete", "remove", "replace", "change", "substitute", "write"),
        *("save", "give", "let", "put", "take", "rid", "keep", "rename"),
    ]
)
"""Verbs that ask for a change of files."""
REMOVING = frozenset(["delete", "remove", "rid", "keep", "move", "take", "rename", "out"])
"""Verbs that ask to remove something from its place."""
COUNTING = frozenset(["many", "number", "count", "total", "sum"])
"""Words that ask for a number."""


@dataclass(frozen=True, slots=True)
class ShellInstruction:
    """A parsed instruction.

    Attributes:
        words: Its words in lower case, without paths and quoted texts.
        paths: Absolute paths, in order.
        quoted: Quoted texts, in order.
        endings: File name endings, without the dot.
        numbers: Whole numbers as written, in order.
        date: The first date as written, or "" if there is none.
    """

    words: frozenset[str]
    paths: tuple[str, ...]
    quoted: tuple[str, ...]
    endings: tuple[str, ...]
    numbers: tuple[str, ...]
    date: str

    @property
    def asks_for_change(self) -> bool:
        """Whether files should be changed, and not only read."""
        return bool(self.words & CHANGING) and not self.asks_for_number

    @property
    def asks_for_removal(self) -> bool:
        """Whether something should be removed from its place."""
        return bool(self.words & REMOVING)

    @property
    def asks_for_number(self) -> bool:
        """Whether the answer is a single number."""
        return bool(self.words & COUNTING) and not self.words & {"size", "sizes", "frequent", "common", "often"}


@lru_cache(maxsize=4096)
def read_instruction(instruction: str) -> ShellInstruction:
    """Parse an instruction."""
    paths = tuple(dict.fromkeys(path.rstrip(".") for path in _PATH.findall(instruction)))
    quoted = tuple(dict.fromkeys(one or other for one, other in _QUOTED.findall(instruction)))
    rest = _QUOTED.sub(" ", _PATH.sub(" ", instruction))
    date = _DATE.search(rest)
    rest = _DATE.sub(" ", rest)
    found = [one or other for one, other in _ENDING.findall(rest)]
    endings = tuple(dict.fromkeys(ending for ending in found if ending not in _NO_ENDING))
    return ShellInstruction(
        words=frozenset(_WORD.findall(rest.lower())),
        paths=paths,
        quoted=quoted,
        endings=endings,
        numbers=tuple(_NUMBER.findall(rest)),
        date=date[0] if date else "",
    )
