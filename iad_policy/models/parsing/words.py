"""Tells sentences from commands, and takes off what a model puts around an action."""

import re

_STARTS = frozenset(
    {"i", "i'll", "i'm", "i've", "i'd", "a", "an", "the", "this", "that", "these", "we", "we'll", "let's", "it", "it's"}
    | {"its", "you", "your", "my", "our", "there", "here", "now", "since", "because", "please", "sure", "okay", "ok"}
    | {"first", "to", "in", "so", "as", "if", "note"}
)
"""First words of sentences that have no capital. None of them is a command with words behind it."""
REMARK = re.compile(r"[ \t]*+(?:[.!,;:]*+[ \t]*+$|[.!,;:](?=\s)|[–—]|-(?=\s)|//(?=\s)|[(#]|->|=>|→)", re.MULTILINE)
"""Matches what may stand behind a whole action: the line's end, or a remark after a full stop, a dash or a bracket."""
CLAUSE = re.compile(
    r"[ \t]+(?:to|for|because|since|as|so|and|which|this|that|it|in order|will|where|when|the|my|now|then|if|i|we|is"
    r"|would|with|using)\b",
    re.IGNORECASE,
)
"""Matches the beginning of a clause behind an action that takes no words."""


def is_prose(line: str) -> bool:
    """Whether a line is a sentence, or a number alone, and so no command.

    A sentence begins with a capitalised word, with a character beyond ASCII, or with a word that begins no command.
    """
    words = line.split()
    if not words:
        return False
    beyond_ascii = re.compile(r"[*_\"'(]*[^\x00-\x7f❯➜]")
    if beyond_ascii.match(words[0]) or (len(words) == 1 and words[0].strip("*_.,").isdecimal()):
        return True
    first = words[0].strip('*_("“,.!:;?').replace("’", "'")
    title = r"[*_(\"“]*[A-ZÀ-Þ](?:[a-zß-ÿ]+|['’][a-z]+)(?:['’-][A-Za-zß-ÿ]+)*[*_)\"”]*+(?:[,.:;!?…]++[*_]*+)?"
    if re.fullmatch(title, words[0]):
        return first not in {"Rscript", "Xvfb", "Xorg", "Xephyr"}
    if first.isalpha() and words[0].endswith((":", "!", ",")):
        return True
    plain_word = re.compile(r"[(\"“*_]*[^\W\d_]+(?:['’-][^\W\d_]+)*[)\"”*_]*[,.:;!?…]*")
    n_words = sum(plain_word.fullmatch(word) is not None for word in words)
    return first.lower() in _STARTS and n_words >= max(3, 0.6 * len(words))


def without_mark(text: str) -> str:
    """Return a text without the mark of a list before it."""
    return re.sub(r"\A(?:\d{1,2}[.)]|[-•*])[ \t]+(?=\S)", "", text)


def unwrapped(text: str, *, is_shell: bool = False) -> str:
    """Return a text without the quotes, backticks or emphasis around it.

    A pair is removed only if it begins and ends the text and its mark isn't inside the text again, except escaped. In a
    shell, quotes around a path belong to the command.
    """
    text = text.strip()
    for mark in ("``", "`", '"', "'", "**", "*"):
        if len(text) <= 2 * len(mark) or not (text.startswith(mark) and text.endswith(mark)):
            continue
        inner = text[len(mark) : -len(mark)]
        unescaped = inner.replace('\\"', "") if mark == '"' else inner
        if not inner.strip() or mark[0] in unescaped or unescaped.endswith("\\"):
            continue
        if mark[0] == "*" and inner != inner.strip():
            continue  # a bullet, or a pattern of file names
        if is_shell and mark in ('"', "'") and inner.startswith(("$", "/", ".", "~")):
            continue
        return unwrapped(inner.replace('\\"', '"') if mark == '"' else inner, is_shell=is_shell)
    return text


def bare_words(text: str) -> str:
    """Return a text as it is compared with listed actions: single blanks, no marks around it, no full stop."""
    text = unwrapped(text.strip().rstrip(".!,;")).rstrip(".!,;")
    return " ".join(text.strip("_[]()<>/ ").split())
