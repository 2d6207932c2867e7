"""Tells sentences from commands, and finds the remarks that models put behind an action."""

import re

_WORD = re.compile(r"[(\"“*_]*[^\W\d_]+(?:['’-][^\W\d_]+)*[)\"”*_]*[,.:;!?…]*")
_TITLE = re.compile(r"[*_(\"“]*[A-ZÀ-Þ](?:[a-zß-ÿ]+|['’][a-z]+)(?:['’-][A-Za-zß-ÿ]+)*[*_)\"”]*[,.:;!?…]*[*_]*")
_PROGRAMS = frozenset({"Rscript", "Xvfb", "Xorg", "Xephyr"})
_STARTS = frozenset(
    {"i", "i'll", "i'm", "i've", "i'd", "a", "an", "the", "this", "that", "these", "we", "we'll", "let's", "it", "it's"}
    | {"its", "you", "your", "my", "our", "there", "here", "now", "since", "because", "please", "sure", "okay", "ok"}
    | {"first", "to", "in", "so", "as", "if", "note"}
)
"""First words of sentences that have no capital. None of them is a command with words behind it."""
_BEYOND_ASCII = re.compile(r"[*_\"'“‘«「(]*[^\x00-\x7f“”‘’«»「」❯➜]")
_MIN_WORDS = 3
_MIN_SHARE = 0.6
REMARK = re.compile(
    r"[ \t]*(?:[.!,;:。！；]*[ \t]*$|[.!,:。！](?=\s)|[–—]|-(?=\s)|//(?=\s)|[(（#]|→|=>|->)", re.MULTILINE
)
"""Matches what may stand behind a whole action: the line's end, or a remark after a full stop, a dash or a bracket."""
CLAUSE = re.compile(
    r"[ \t]+(?:to|for|because|since|as|so|and|which|this|that|it|in order|will|where|when|the|my|now|then|if|i|we|is"
    r"|would|with|using)\b",
    re.IGNORECASE,
)
"""Matches the beginning of a clause behind an action that takes no words."""
_REMARK_WORDS = re.compile(r"[A-Za-z][\w'’.,-]*(?:[ ][\w'’.,/-]+)+")
_BEFORE_SUBSHELL = frozenset(
    {"!", "time", "then", "do", "else", "elif", "if", "while", "until", "in", "function", "coproc", "exec"}
)


def is_prose(line: str) -> bool:
    """Whether a line is a sentence, or a number alone, and so no command.

    A sentence begins with a capitalised word, with a character beyond ASCII, or with a word that begins no command.
    """
    words = line.split()
    if not words:
        return False
    if _BEYOND_ASCII.match(words[0]):
        return True
    if len(words) == 1 and words[0].strip("*_.,").isdecimal():
        return True
    first = words[0].strip('*_("“,.!:;?').replace("’", "'")
    if _TITLE.fullmatch(words[0]):
        return first not in _PROGRAMS
    if first.isalpha() and words[0].endswith((":", "!", ",")):
        return True
    n_words = sum(_WORD.fullmatch(word) is not None for word in words)
    return first.lower() in _STARTS and n_words >= max(_MIN_WORDS, _MIN_SHARE * len(words))


def without_remark(command: str) -> str:
    """Return a command of one line without a last remark in round brackets, which no shell takes there."""
    before, bracket, remark = command.rstrip(" .").rpartition(" (")
    before = before.rstrip()
    is_remark = bracket and remark.endswith(")") and _REMARK_WORDS.fullmatch(remark[:-1]) and "\n" not in command
    if not is_remark or not before or before[-1] in ";|&(){}!<>=" or before.split()[-1] in _BEFORE_SUBSHELL:
        return command
    return before
