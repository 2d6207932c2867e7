"""Tells from the words of a shell instruction whether it asks for a change of files, and for what kind of answer.

The verbs at the beginnings of clauses decide. The words around them tell the kind of answer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

CHANGING = frozenset(
    [
        *("create", "make", "copy", "move", "delete", "remove", "replace", "change", "substitute", "write", "save"),
        *("give", "let", "put", "get rid", "rename", "compress", "zip", "gzip", "archive", "decompress", "uncompress"),
        *("unzip", "untar", "unpack", "split", "touch", "link", "set", "append", "insert", "hide", "unhide", "clear"),
        *("install", "backup", "truncate", "chmod", "chown", "add", "merge", "mount", "sync", "overwrite", "download"),
    ]
)  # fmt: skip
"""Verbs that ask for a change of files."""
ANSWERING = frozenset(
    [
        *("print", "list", "show", "display", "count", "find", "search", "calculate", "compute", "check", "determine"),
        *("output", "get", "locate", "tell", "what", "which", "how", "report", "sum", "extract", "convert", "view"),
        *("identify", "where", "return", "look", "query", "format", "echo", "test", "see", "read", "is"),
    ]
)
"""Words that ask for an answer."""
SEARCHING = frozenset(["find", "search", "locate", "look", "identify", "which", "where"])
"""Words that ask for an answer, or for what should be changed."""
REMOVING = frozenset(["delete", "remove", "get rid", "move", "rename", "unhide", "hide", "clear"])
"""Verbs after whose work something is gone from its place."""
MAY_REMOVE = frozenset(
    [
        *("compress", "uncompress", "zip", "gzip", "unzip", "decompress", "archive", "replace", "substitute", "change"),
        *("split", "merge"),
    ]
)
"""Verbs after whose work something may be gone from its place: many programs replace their input."""
EDITING = frozenset(["remove", "delete", "replace", "substitute", "insert", "add", "merge", "split"])
"""Verbs that may ask for a changed file, or for its changed text as an answer."""
_TEXT_UNIT = re.compile(
    r"\b(?:lines?|characters?|letters?|fields?|columns?|words?|spaces?|whitespaces?|newlines?|digits?|duplicates?"
    r"|everything within|parenthes[ei]s|prefix|suffix|extensions?|blanks?|strings?)\b"
)
_FILES = re.compile(r"\b(?:files|director|folder)")
_TO_THE_SCREEN = re.compile(r"\b(?:to|on) the (?:console|screen|terminal|standard output)")
_NO_CHANGE = re.compile(r"\bchange directory\b|^add up\b")
_NEW_TEXT = re.compile(r"\bcreate a (?:table|list)\b")
_NO_LINES = re.compile(r"\bcolumn|\bfield|\bcharacters?\b|more than|less than")
_ONE_LINE = re.compile(r"\b(?:first|last) line\b")
_CLAUSE = re.compile(r"(?:^|[.;:,?]\s+|\b(?:and|then|or|to)\s+)(?=((?:[a-z-]+\s+){0,3}[a-z-]+))")
_ADVERB = re.compile(
    r"^(?:(?:recursively|please|then|also|only|just|first|finally|long|silently|simply|now|either|afterwards)\s+)+"
)
_NEAR_DIGEST = re.compile(r"\b(?:md5|sha\d*|checksums?|hash(?:es)?|md5sums?|md5 ?sums?)\b")
_NUMBER_ASKED = re.compile(
    r"\bhow many\b|^counts?\b|(?:\band|[.;:,])\s+counts?\b"
    r"|\b(?:calculate|compute|print|show|display|output|get|tell|find)s?\s+(?:\w+\s+){0,2}?"
    r"(?:one |single |total |mean |average )*(?:number|count|sum|total|average|mean|percentage)\b"
    r"|\bwhat is the (?:total|sum|number|average)\b|^add up\b|^sum\b|\bsingle (?:\w+ )?(?:number|value)\b"
    r"|\b(?:file size|size) of (?:the )?file\b"
)
_SEVERAL = re.compile(
    r"\b(?:each|every|per|most|frequent|common|often|precede[sd]?|all .* with (?:the )?number|sizes"
    r"|for all (?:sub-?)?director|with (?:its|their)"
    r"|(?:number|count) before|followed by|as well)\b"
)
_PATHS_ASKED = re.compile(
    r"\bwhich (?:of the )?(?:files|folders|directories)\b"
    r"|^(?:recursively )?(?:find|list|search|locate|show|display|print|look)s? (?:for |out |where |all |only )*"
    r"(?:\w+ ){0,7}?(?:\S+ )?(?:files?|director(?:y|ies)|sub-?director(?:y|ies)|folders?|paths?)\b"
    r"|\b(?:print|list|show)s? (?:their|its|the|each|only the)? ?(?:full )?(?:paths?|(?:file)?names?)\b"
)
_CONTENT_ASKED = re.compile(
    r"\b(?:lines?|contents?|columns?|fields?|sizes?|long list\w*|permissions?|information|listing|details|entries|entry"
    r"|values?|with (?:a |the )?number|matched|timestamps?|differ|difference|disk usage|percentage|users?|variables?"
    r"|string|smallest|largest|biggest|latest|calendar)\b"
)
_LINES_ASKED = re.compile(
    r"\b(?:first|last|top|final)\s+(\d+)\s+(?:lines?|files?|rows?|entries|results?|director\w+|of them)"
    r"|\b(?:largest|biggest|smallest|newest|oldest)\s+(\d+)\b"
    r"|\b(\d+)\s+(?:largest|biggest|smallest|most|oldest|newest|lines? (?:that )?\S* ?(?:begins|ends))"
    r"|\b(?:the|print|show) (\d+) (?:lines|files)\b"
)
_WORD_NUMBERS = {
    word: str(number)
    for number, word in enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=2)
}

AnswerKind = Literal["number", "digest", "paths", "text", "nothing"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What an instruction asks for.

    Attributes:
        change: Whether files should be changed. None if the words allow both, as "remove the newlines from a.txt" does.
        removal: Whether something should be gone from its place afterwards. None if the words allow both.
        verb: The first verb that asks for a change, "" if there is none.
        answer: Kind of answer that should be printed. `text` stands for any other text.
        n_lines: Number of lines that the answer should have, or None.
    """

    change: bool | None
    removal: bool | None
    verb: str
    answer: AnswerKind
    n_lines: int | None


def what_is_asked(plain: str) -> Asked:
    """Return what an instruction asks for.

    Args:
        plain: The instruction in lower case, with `it` for every path and quoted text.
    """
    verbs = _verbs(plain)
    changing = [verb for verb in verbs if verb in CHANGING]
    change = _change(plain, changing)
    # "Find all a and remove them" prints nothing.
    is_silent = change and not ANSWERING.intersection(verbs) - SEARCHING and "verbose" not in plain
    return Asked(
        change,
        _removal(change, frozenset(changing)),
        next(iter(changing), ""),
        "nothing" if is_silent else _kind_of_answer(plain),
        _n_lines(plain),
    )


def _change(plain: str, changing: Sequence[str]) -> bool | None:
    if not changing or _NO_CHANGE.search(plain):
        return False
    if _TO_THE_SCREEN.search(plain):
        return None if len(changing) > 1 else False
    is_of_text = EDITING.issuperset(changing) and _TEXT_UNIT.search(plain) and not _FILES.search(plain)
    return None if is_of_text or _NEW_TEXT.search(plain) else True


def _removal(change: bool | None, changing: frozenset[str]) -> bool | None:
    if not change:
        return change
    if changing & REMOVING:
        return True
    return None if changing & MAY_REMOVE else False


def _verbs(plain: str) -> list[str]:
    """Return the first words of clauses, without adverbs and the third person's -s."""
    clauses = (_ADVERB.sub("", found[1]) for found in _CLAUSE.finditer(plain))
    return ["get rid" if clause.startswith("get rid ") else _infinitive(clause.split()[0]) for clause in clauses]


def _infinitive(word: str) -> str:
    known = CHANGING | ANSWERING
    forms = (word, word.removesuffix("s"), word.removesuffix("es"), f"{word.removesuffix('ies')}y")
    return next((form for form in forms if form in known), word)


def _kind_of_answer(plain: str) -> AnswerKind:
    if _NEAR_DIGEST.search(plain):
        return "digest"
    if _NUMBER_ASKED.search(plain) and "hex" not in plain:
        return "text" if _SEVERAL.search(plain) else "number"
    if _PATHS_ASKED.search(plain) and not _CONTENT_ASKED.search(plain):
        return "paths"
    return "text"


def _n_lines(plain: str) -> int | None:
    for word, number in _WORD_NUMBERS.items():
        plain = re.sub(rf"\b{word}\b", number, plain)
    if _NO_LINES.search(plain):
        return None
    found = _LINES_ASKED.search(plain)
    if found is None:
        return 1 if _ONE_LINE.search(plain) else None
    return int(next(filter(None, found.groups())))
