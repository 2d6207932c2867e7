"""Reads shell instructions by their words: paths, kinds of files, quoted words, numbers, and what is asked for.

The proxy verifier of `IAD/InterCodeBash-v0` uses it. It knows no gold. The verbs at the beginnings of clauses decide
whether a change is asked for. The words around them tell the kind of answer.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
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
SEARCHING = frozenset(["find", "search", "locate", "look", "identify", "which", "where"])
"""Words that ask for an answer, or for what should be changed."""
ANSWERING = SEARCHING | frozenset(
    [
        *("print", "list", "show", "display", "count", "calculate", "compute", "check", "determine", "output", "get"),
        *("tell", "what", "how", "report", "sum", "extract", "convert", "view", "return", "query", "format", "echo"),
        *("test", "see", "read", "is"),
    ]
)
"""Words that ask for an answer."""
KINDS = frozenset(
    [
        *("bak", "bat", "bin", "c", "cc", "cfg", "class", "conf", "cpp", "cs", "css", "csv", "dat", "db"),
        *("deb", "doc", "docx", "gif", "go", "gz", "h", "hpp", "htm", "html", "ini", "jar", "java", "jpeg"),
        *("jpg", "js", "json", "jsx", "log", "lua", "md", "mp3", "mp4", "o", "odt", "out", "part", "pdf"),
        *("php", "pl", "png", "ppt", "py", "rb", "rs", "rst", "sh", "so", "sql", "svg", "tar", "tex", "tgz"),
        *("tmp", "toml", "ts", "tsv", "txt", "vue", "wav", "xls", "xlsx", "xml", "yaml", "yml", "zip"),
    ]
)
"""Endings that are understood without a dot, as in "csv files"."""
_PATH = re.compile(r"(?<![\w.])/[\w.+-]+(?:/[\w.+-]+)*")
_QUOTED = re.compile(r"(?<!\w)'([^']+)'(?!\w)|\"([^\"]+)\"")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


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
    answer: Literal["number", "digest", "paths", "text", "nothing"]
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
        asked: What it asks for.
    """

    text: str
    plain: str
    words: frozenset[str]
    paths: tuple[str, ...]
    quoted: tuple[str, ...]
    endings: tuple[str, ...]
    numbers: tuple[str, ...]
    asked: Asked

    @property
    def has_exception(self) -> bool:
        """Whether a kind of files is the exception, as in "all but"."""
        return bool(
            re.search(
                r"\bexcept|\bexclud|\b(?:all|everything|anything) but\b|\bother than\b|\bkeep only\b|\bother files\b",
                self.text,
            )
        )


@lru_cache(maxsize=4096)
def read_instruction(instruction: str) -> ShellInstruction:
    """Parse an instruction."""
    # Names are no words of the sentence, but a sentence without them would lose its objects.
    plain = _PATH.sub("it", _QUOTED.sub("it", instruction)).lower()
    rest = _QUOTED.sub(" ", _PATH.sub(" ", instruction))
    rest = _DATE.sub(" ", rest)
    dotted_or_word = re.findall(r"(?<![\w/])\*?\.(\w{1,5})\b|\b([a-z]\w{0,4}) files?\b", rest.lower())
    endings = (dotted or word * (word in KINDS) for dotted, word in dotted_or_word)
    return ShellInstruction(
        text=instruction.lower(),
        plain=plain,
        words=frozenset(re.findall(r"[a-z]+", rest.lower())),
        paths=tuple(dict.fromkeys(path.rstrip(".") for path in _PATH.findall(instruction))),
        quoted=tuple(dict.fromkeys(one or other for one, other in _QUOTED.findall(instruction))),
        endings=tuple(dict.fromkeys(filter(None, endings))),
        numbers=tuple(re.findall(r"(?<![\w.-])\d+(?![\w-])", rest)),
        asked=what_is_asked(plain),
    )


def what_is_asked(plain: str) -> Asked:
    """Return what an instruction asks for.

    Args:
        plain: The instruction in lower case, with `it` for every path and quoted text.
    """
    verbs = []
    for found in re.finditer(r"(?:^|[.;:,?]\s+|\b(?:and|then|or|to)\s+)(?=((?:[a-z-]+\s+){0,3}[a-z-]+))", plain):
        adverbs = r"(?:recursively|please|then|also|only|just|first|finally|long|silently|simply|now|either|afterwards)"
        clause = re.sub(rf"^(?:{adverbs}\s+)+", "", found[1])
        word = "get rid" if clause.startswith("get rid ") else clause.split()[0]
        if word == "extract" and "archive" in plain:
            word = "unpack"
        forms = (word, word.removesuffix("s"), word.removesuffix("es"), f"{word.removesuffix('ies')}y")
        verbs.append(next((form for form in forms if form in CHANGING | ANSWERING), word))
    changing = [verb for verb in verbs if verb in CHANGING]
    change = _asks_for_change(plain, changing)
    removal = change
    # After the first something is gone from its place; the others may do that, as many programs replace their input.
    removing = ("delete", "remove", "get rid", "move", "rename", "unhide", "hide", "clear")
    may_remove = (
        *("compress", "uncompress", "zip", "gzip", "unzip", "unpack", "decompress", "archive", "replace"),
        *("substitute", "change", "split", "merge"),
    )
    if change and not set(removing).intersection(changing):
        removal = None if set(may_remove).intersection(changing) else False
    # "Find all a and remove them" prints nothing.
    is_silent = change and not ANSWERING.intersection(verbs) - SEARCHING and "verbose" not in plain
    verb = next(iter(changing), "")
    return Asked(change, removal, verb, "nothing" if is_silent else _kind_of_answer(plain), _n_lines(plain))


def _asks_for_change(plain: str, changing: list[str]) -> bool | None:
    if not changing or re.search(r"\bchange directory\b|^add up\b", plain):
        return False
    if re.search(r"\b(?:to|on) the (?:console|screen|terminal|standard output)", plain):
        return None if len(changing) > 1 else False
    # These may ask for a changed file, or for its changed text as an answer.
    editing = {"remove", "delete", "replace", "substitute", "insert", "add", "merge", "split"}
    is_of_text = editing.issuperset(changing) and re.search(
        r"\b(?:lines?|characters?|letters?|fields?|columns?|words?|spaces?|whitespaces?|newlines?|digits?|duplicates?"
        r"|everything within|parenthes[ei]s|prefix|suffix|extensions?|blanks?|strings?)\b",
        plain,
    )
    is_of_files = re.search(r"\b(?:files|director|folder)", plain)
    is_new_text = re.search(r"\bcreate a (?:table|list)\b", plain)
    return None if (is_of_text and not is_of_files) or is_new_text else True


def _kind_of_answer(plain: str) -> Literal["number", "digest", "paths", "text"]:
    if re.search(r"\b(?:md5|sha\d*|checksums?|hash(?:es)?|md5sums?|md5 ?sums?)\b", plain):
        return "digest"
    asks_for_number = re.search(
        r"\bhow many\b|^counts?\b|(?:\band|[.;:,])\s+counts?\b"
        r"|\b(?:calculate|compute|print|show|display|output|get|tell|find)s?\s+(?:\w+\s+){0,2}?"
        r"(?:one |single |total |mean |average )*(?:number|count|sum|total|average|mean|percentage)\b"
        r"|\bwhat is the (?:total|sum|number|average)\b|^add up\b|^sum\b|\bsingle (?:\w+ )?(?:number|value)\b"
        r"|\b(?:file size|size) of (?:the )?file\b",
        plain,
    )
    if asks_for_number and "hex" not in plain:
        asks_for_several = re.search(
            r"\b(?:each|every|per|most|frequent|common|often|precede[sd]?|all .* with (?:the )?number|sizes"
            r"|for all (?:sub-?)?director\w*|with (?:its|their)|(?:number|count) before|followed by|as well)\b",
            plain,
        )
        return "text" if asks_for_several else "number"
    asks_for_paths = re.search(
        r"\bwhich (?:of the )?(?:files|folders|directories)\b"
        r"|^(?:recursively )?(?:find|list|search|locate|show|display|print|look)s? (?:for |out |where |all |only )*"
        r"(?:\w+ ){0,7}?(?:\S+ )?(?:files?|director(?:y|ies)|sub-?director(?:y|ies)|folders?|paths?)\b"
        r"|\b(?:print|list|show)s? (?:their|its|the|each|only the)? ?(?:full |match\w+ )?(?:paths?|(?:file)?names?)\b",
        plain,
    )
    asks_for_content = re.search(
        r"\b(?:lines?|contents?|columns?|fields?|long list\w*|permissions?|information|listing|details|entries|entry"
        r"|sizes?(?! (?:is |are |of )?(?:\d|zero|\w+er than|more than|less than|between))|values?"
        r"|with (?:a |the )?number|matched(?! file)|timestamps?|differ|difference|disk usage|percentage|users?"
        r"|variables?|string|smallest|largest|biggest|latest|calendar)\b",
        plain,
    )
    return "paths" if asks_for_paths and not asks_for_content else "text"


def _n_lines(plain: str) -> int | None:
    words = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    for number, word in enumerate(words, start=2):
        plain = re.sub(rf"\b{word}\b", str(number), plain)
    if re.search(r"\bcolumn|\bfield|\bcharacters?\b|more than|less than", plain):
        return None
    found = re.search(
        r"\b(?:first|last|top|final)\s+(\d+)\s+(?:lines?|files?|rows?|entries|results?|director\w+|of them)"
        r"|\b(?:largest|biggest|smallest|newest|oldest)\s+(\d+)\b"
        r"|\b(\d+)\s+(?:largest|biggest|smallest|most|oldest|newest|lines? (?:that )?\S* ?(?:begins|ends))"
        r"|\b(?:the|print|show) (\d+) (?:lines|files)\b",
        plain,
    )
    if found is None:
        return 1 if re.search(r"\b(?:first|last) line\b", plain) else None
    return int(next(filter(None, found.groups())))
