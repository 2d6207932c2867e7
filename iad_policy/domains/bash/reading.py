"""Reads shell instructions by their words: paths, kinds of files, quoted words, numbers, and what is asked for.

The rule-based agent and the proxy verifier of `IAD/InterCodeBash-v0` share this code. It uses no gold.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

_PATH = re.compile(r"(?<![\w.])/[\w.+-]+(?:/[\w.+-]+)*")
_QUOTED = re.compile(r"(?<!\w)'([^']+)'(?!\w)|\"([^\"]+)\"")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_ENDING = re.compile(r"(?<![\w/])\*?\.(\w{1,5})\b|\b([a-z]\w{0,4}) files?\b")
_NUMBER = re.compile(r"(?<![\w.-])\d+(?![\w-])")
_WORD = re.compile(r"[a-z]+")
_KINDS = frozenset(
    [
        *("bak", "bat", "bin", "c", "cc", "cfg", "class", "conf", "cpp", "cs", "css", "csv", "dat", "db"),
        *("deb", "doc", "docx", "gif", "go", "gz", "h", "hpp", "htm", "html", "ini", "jar", "java", "jpeg"),
        *("jpg", "js", "json", "jsx", "log", "lua", "md", "mp3", "mp4", "o", "odt", "out", "part", "pdf"),
        *("php", "pl", "png", "ppt", "py", "rb", "rs", "rst", "sh", "so", "sql", "svg", "tar", "tex", "tgz"),
        *("tmp", "toml", "ts", "tsv", "txt", "vue", "wav", "xls", "xlsx", "xml", "yaml", "yml", "zip"),
    ]
)
"""Endings that are understood without a dot, as in "csv files"."""

CHANGING = frozenset(
    [
        *("create", "make", "copy", "move", "delete", "remove", "replace", "change", "substitute", "write", "save"),
        *("give", "let", "put", "rid", "rename", "compress", "zip", "gzip", "archive", "decompress", "uncompress"),
        *(
            "unzip",
            "untar",
            "unpack",
            "split",
            "touch",
            "link",
            "set",
            "append",
            "insert",
            "hide",
            "unhide",
            "download",
        ),
        *("install", "backup", "truncate", "chmod", "chown", "add", "merge", "mount", "sync", "overwrite", "clear"),
    ]
)
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
REMOVING = frozenset(["delete", "remove", "rid", "move", "rename", "unhide", "hide", "clear"])
"""Verbs after whose work something is gone from its place."""
MAY_REMOVE = frozenset(
    [
        "compress",
        "uncompress",
        "zip",
        "gzip",
        "unzip",
        "decompress",
        "archive",
        "replace",
        "substitute",
        "change",
        "split",
    ]
)
"""Verbs after whose work something may be gone from its place: many programs replace their input."""
_TEXT_UNIT = re.compile(
    r"\b(?:lines?|characters?|letters?|fields?|columns?|words?|spaces?|whitespaces?|newlines?|digits?|duplicates?"
    r"|everything within|parenthes[ei]s|prefix|suffix|extensions?|blanks?|strings?)\b"
)
_CLAUSE = re.compile(r"(?:^|[.;:,?]\s+|\b(?:and|then|or|to)\s+)(?=((?:[a-z-]+\s+){0,3}[a-z-]+))")
_ADVERB = re.compile(
    r"^(?:(?:recursively|please|then|also|only|just|first|finally|get|long|silently|simply|now|either|afterwards)\s+)+"
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
        answer: Kind of answer that should be printed. `text` stands for any other text.
        n_lines: Number of lines that the answer should have, or None.
    """

    change: bool | None
    removal: bool | None
    answer: AnswerKind
    n_lines: int | None


@dataclass(frozen=True, slots=True)
class ShellInstruction:
    """A parsed instruction.

    Attributes:
        text: The instruction in lower case.
        plain: The same with `it` for every path and quoted text.
        words: Its words in lower case, without paths and quoted texts.
        paths: Absolute paths, in order.
        quoted: Quoted texts, in order.
        endings: File name endings, without the dot.
        numbers: Whole numbers as written, in order.
        date: The first date as written, or "" if there is none.
        asked: What it asks for.
    """

    text: str
    plain: str
    words: frozenset[str]
    paths: tuple[str, ...]
    quoted: tuple[str, ...]
    endings: tuple[str, ...]
    numbers: tuple[str, ...]
    date: str
    asked: Asked


@lru_cache(maxsize=4096)
def read_instruction(instruction: str) -> ShellInstruction:
    """Parse an instruction."""
    paths = tuple(dict.fromkeys(path.rstrip(".") for path in _PATH.findall(instruction)))
    quoted = tuple(dict.fromkeys(one or other for one, other in _QUOTED.findall(instruction)))
    # Names are no words of the sentence, but a sentence without them would lose its objects.
    plain = _PATH.sub("it", _QUOTED.sub("it", instruction)).lower()
    rest = _QUOTED.sub(" ", _PATH.sub(" ", instruction))
    date = _DATE.search(rest)
    rest = _DATE.sub(" ", rest)
    found = [dotted or word * (word in _KINDS) for dotted, word in _ENDING.findall(rest.lower())]
    endings = tuple(dict.fromkeys(filter(None, found)))
    return ShellInstruction(
        text=instruction.lower(),
        plain=plain,
        words=frozenset(_WORD.findall(rest.lower())),
        paths=paths,
        quoted=quoted,
        endings=endings,
        numbers=tuple(_NUMBER.findall(rest)),
        date=date[0] if date else "",
        asked=_asked(plain),
    )


def _asked(plain: str) -> Asked:
    verbs = list(_verbs(plain))
    changing = [verb for verb in verbs if verb in CHANGING]
    answering = [verb for verb in verbs if verb in ANSWERING]
    change: bool | None = bool(changing)
    if changing and (
        "change directory" in plain
        or re.search(r"\b(?:to|on) the (?:console|screen|terminal|standard output)", plain)
        or re.match(r"add up", plain)
    ):
        change = None if "append" in plain or len(changing) > 1 else False
    elif set(changing) <= {"remove", "delete", "replace", "substitute", "insert", "add", "merge", "split"}:
        is_of_text = _TEXT_UNIT.search(plain) and not re.search(r"\b(?:files|director|folder)", plain)
        change = None if changing and is_of_text else change
    elif re.search(r"\bcreate a (?:table|list)\b", plain):
        change = None
    # "Find all a and remove them" prints nothing.
    if change and not set(answering) - SEARCHING and "verbose" not in plain:
        answer: AnswerKind = "nothing"
    else:
        answer = _kind_of_answer(plain)
    removal: bool | None = change is not False and bool(REMOVING & set(changing))
    if change is None or (change and not removal and MAY_REMOVE & set(changing)):
        removal = None
    return Asked(change, removal, answer, _n_lines(plain))


def _verbs(plain: str) -> list[str]:
    """Return the first words of clauses, without adverbs and the third person's -s."""
    verbs = []
    for found in _CLAUSE.finditer(plain):
        word = _ADVERB.sub("", found[1]).split()[0]
        verbs.append(_infinitive(word))
        rest = found[1].split()
        verbs += ["rid"] if rest[:2] == ["get", "rid"] else []
    return verbs


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
    if re.search(r"\bcolumn|\bfield|\bcharacters?\b|more than|less than", plain):
        return None
    found = _LINES_ASKED.search(plain)
    if found is None:
        return 1 if re.search(r"\bfirst line\b|\blast line\b", plain) else None
    return int(next(filter(None, found.groups())))
