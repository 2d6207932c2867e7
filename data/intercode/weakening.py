"""Weaker forms of a gold command: without a stage, a test, an option or a condition, or nothing but a look."""

import re
from collections.abc import Iterator

_WORD = re.compile(r"(?:'[^']*'|\\.|[^\s'|;&<>()])+|<\(|\|\||&&|[|;<>()]+")
_FIND_VALUE = frozenset(
    ["-type", "-name", "-iname", "-path", "-size", "-perm", "-newer", "-newermt", "-mindepth", "-maxdepth"]
)
_ENDS_A_COMMAND = frozenset(["|", "&&", ";"])
_PATH = re.compile(r"/[\w./~*-]+")


def weaker(gold: str) -> Iterator[tuple[str, str]]:
    """Yield commands that lack something, each with a name for what it lacks. None of them may do as well."""
    words = [(word.group(), word.span()) for word in _WORD.finditer(gold)]
    yield from _without_stages(gold, words)
    for place, (word, (start, end)) in enumerate(words):
        if word == "!" or word in _FIND_VALUE:
            count = 3 if word == "!" else 2
            after = words[min(place + count, len(words)) - 1][1][1]
            yield gold[start:after], _cut(gold, start, after)
        elif re.fullmatch(r"-[A-Za-z]+", word) and not _is_needed(words, place):
            for letter in word[1:]:
                rest = word.replace(letter, "", 1)
                yield (
                    f"{letter} of {_command(words, place)} {word}",
                    gold[:start] + (rest if rest != "-" else "") + gold[end:],
                )
        elif word.startswith("'"):
            for name, rest in _within(word):
                yield name, gold[:start] + rest + gold[end:]
    for path in sorted(set(_PATH.findall(gold))):
        yield f"all but a look at {path}", f"cat {path} 2>/dev/null || ls {path}"


def _without_stages(gold: str, words: list[tuple[str, tuple[int, int]]]) -> Iterator[tuple[str, str]]:
    """Drop what follows each `|` or `&&`, and what stands before each `&&`."""
    marks = [(word, span) for word, span in words if word in _ENDS_A_COMMAND]
    is_loop = "; do " in gold
    for place, (word, (start, end)) in enumerate(marks):
        if word == ";" or is_loop:
            continue
        stop = marks[place + 1][1][0] if place + 1 < len(marks) else len(gold)
        yield f"the stage{gold[end:stop].rstrip()}", _cut(gold, start, stop)
        if word == "&&":
            yield "what comes first", gold[end:].strip()


def _command(words: list[tuple[str, tuple[int, int]]], place: int) -> str:
    """The command that an option is of."""
    starts = [0, *(k + 1 for k, (word, _) in enumerate(words[:place]) if word in _ENDS_A_COMMAND or word == "<(")]
    return words[starts[-1]][0]


def _is_needed(words: list[tuple[str, tuple[int, int]]], place: int) -> bool:
    """Whether an option is no condition: it names an action or says what its value is."""
    word, before = words[place][0], [word for word, _ in words[:place]]
    return word in {"-exec", "-delete", "-e", "-F", "-t", "-empty"} or before[-1:] in (["head"], ["tail"])


def _within(word: str) -> Iterator[tuple[str, str]]:
    """Weaken a quoted program or expression."""
    if re.search(r" && ", word):
        head, tail = word.split(" && ", 1)
        yield head[1:], f"'{tail}"
        body = re.search(r" \{.*|'$", tail)
        assert body is not None
        yield tail[: body.start()], head + body.group()
    if re.match(r"'\$\d+ (~|>) [^&]*? \{", word):
        yield "the condition", "'" + word[word.index("{") :]
    if word.endswith("/g'"):
        yield "the g", word[:-2] + "'"
    if re.match(r"'(s/)?\^", word):
        yield "the ^", word.replace("^", "", 1)
    if re.match(r"'/[^/]+/s/", word):
        yield "the address", "'" + word[word.index("/s/") + 1 :]
    if re.match(r"'[^*]*\$'$", word) and "{" not in word and not word.endswith("^$'"):
        yield "the $", word.replace("$", "")
    if re.fullmatch(r"'/.*/,/.*/p'", word):
        start, end = word[1:-2].split(",")
        yield "the end", f"'{start}p'"
        yield "the start", f"'{end}p'"


def _cut(gold: str, start: int, end: int) -> str:
    return re.sub(r"  +", " ", gold[:start] + gold[end:]).strip()
