"""Reads shell instructions by their words: paths, kinds of files, quoted words, numbers, and what is asked for.

The rule-based agent and the proxy verifier of `IAD/InterCodeBash-v0` share this code. It uses no gold.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from iad_envs.bash.policy.asked import Asked, what_is_asked

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

EXCEPTION = re.compile(
    r"\bexcept|\bexclud|\b(?:all|everything|anything) but\b|\bother than\b|\bkeep only\b|\bother files\b"
)
"""Words after which a kind of files is the exception."""


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
        asked=what_is_asked(plain),
    )
