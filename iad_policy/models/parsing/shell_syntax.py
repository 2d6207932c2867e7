"""Finds where shell commands end: in quotes, substitutions, blocks, here-documents and continued lines they go on.

It knows as much of Bash's grammar as that takes. It does not check whether a command is valid.
"""

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<escape>\\(?:.|\Z))
    |(?P<newline>\n)
    |(?P<space>[ \t\r\f\v]+)
    |(?P<ansi>\$'(?:[^'\\]++|\\.)*+(?:'|\Z))
    |(?P<single>')
    |(?P<open>["`]|\$\{|[$<>]?\()
    |(?P<close>\))
    |(?P<here><<<)
    |(?P<document><<-?[ \t]*(?:\\?(?P<plain>[^\W\d][\w.-]*)|'(?P<quoted>[^'\n]+)'|"(?P<double_quoted>[^"\n]+)"))
    |(?P<operator>&&|\|\||\|&|;;&?|;&|[|;]|(?<![<>])&(?!>))
    |(?P<word>[^\s\\'"`$()|;&<>]+)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_BLOCKS = {
    "if": "fi",
    "case": "esac",
    "for": "do",
    "while": "done",
    "until": "done",
    "select": "do",
    "{": "}",
    "[[": "]]",
}
"""Word that opens a block -> the word that closes it, or `do`, where the block has a header of its own."""
_BODIES = {"do": "done", "{": "}"}
"""Word after such a header -> the word that closes the block."""
_BEFORE_COMMANDS = frozenset({"then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "coproc"})
"""Words after which another command begins."""
_OWN_WORDS = _BEFORE_COMMANDS.union(_BLOCKS, _BLOCKS.values())
"""Words of Bash's own. They also follow a block, a test or a subshell directly: `{ (ls) }`."""
_COMMANDS, _NAMED, _OTHER = "(", "f(", "$("
"""Kinds of open parentheses: of a subshell, after the name of a function, and others, such as an array's."""
_PARENTHESES = (_COMMANDS, _NAMED, _OTHER)
_NO_BODY = "()"
"""What is taken for the last token where the body of a function comes next."""


def ends_of_commands(text: str) -> Iterator[int]:
    """Yield the end of each line, without its line break, at which every command so far is complete.

    The end of the text is among them if the last command is complete there. Takes linear time.
    """
    return _Scanner(text).ends()


def is_complete(text: str) -> bool:
    """Whether the last command of a text is complete."""
    end = len(text.rstrip("\n"))
    return any(place >= end for place in ends_of_commands(text))


def is_inside_document(text: str) -> bool:
    """Whether a text ends inside a here-document."""
    scanner = _Scanner(text)
    for _ in scanner.ends():
        pass
    return scanner.is_inside_document


class _Scanner:
    """Reads a text once. What is open is on a stack: quotes, parentheses, and the closing words of blocks."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[str] = []
        self._n_backticks = 0
        self._documents: list[tuple[str, bool]] = []
        self._last = ""
        self._has_command = False
        self._begins = True
        self._follows_block = False
        self._names = ""

    def ends(self) -> Iterator[int]:
        place, text = 0, self._text
        while place < len(text):
            if self._open and self._open[-1] == '"':
                place = self._in_double(place)
                continue
            match = _TOKEN.match(text, place)
            assert match is not None
            if match.lastgroup == "newline":
                end = self._after_documents(match.start())
                if self._is_complete():
                    yield end
                place, self._begins = end + 1, True
            elif match.lastgroup == "single":
                place = self._after_single(match.start())
            elif match.lastgroup == "word" and self._is_comment(match):
                place = _line_end(text, match.end())
            else:
                self._take(match.lastgroup or "", match)
                place = match.end()
        if place == len(text) and not text.endswith("\n") and self._is_complete():
            yield place

    @property
    def is_inside_document(self) -> bool:
        return bool(self._documents)

    def _is_complete(self) -> bool:
        return (
            self._has_command
            and not self._open
            and not self._documents
            and self._last not in ("&&", "||", "|", "|&", _NO_BODY)
        )

    def _is_comment(self, match: "re.Match[str]") -> bool:
        start = match.start()
        return match.group().startswith("#") and (start == 0 or self._text[start - 1] in " \t\n;&|(")

    def _in_double(self, place: int) -> int:
        in_double = re.compile(r"""\\(?:.|\Z)|"|`|\$\(|\$\{|[^\\"`$]++|\$""", re.DOTALL)
        match = in_double.match(self._text, place)
        assert match is not None
        token = match.group()
        if token == '"':
            self._open.pop()
        elif token in ("$(", "${", "`"):
            self._opened(token)
        return match.end()

    def _after_single(self, place: int) -> int:
        """Return the place after a text in single quotes, or the end of everything if it is not closed."""
        text, self._last, self._has_command = self._text, "'", True
        self._begins = self._follows_block = False
        close = text.find("'", place + 1)
        # An apostrophe of this line and one of a later line (it's ... doesn't) are no pair.
        if _is_apostrophe(text, place) and _is_apostrophe(text, close) and "\n" in text[place:close]:
            close = -1
        if close < 0:
            self._open.append("'")
            return len(text)
        return close + 1

    def _take(self, kind: str, match: "re.Match[str]") -> None:
        token = match.group()
        if kind == "space" or token == "\\\n":
            return
        self._has_command = True
        follows_block, self._follows_block = self._follows_block, False
        names, self._names = self._names, ""
        if kind == "open":
            self._opened(token)
            self._last = token
        elif kind == "close":
            # One that is not open ends a pattern, before the commands of a case.
            kind = self._open.pop() if self._open and self._open[-1] in _PARENTHESES else ""
            names_function = kind in (_COMMANDS, _NAMED) and self._last == "("  # an empty subshell is no command
            self._begins = not kind or names_function
            self._follows_block = kind == _COMMANDS
            self._last = _NO_BODY if names_function else token
        elif kind == "operator":
            self._last, self._begins = token, True
        elif kind == "word":
            self._word(token, names, follows_block=follows_block)
        else:
            is_in_arithmetic = len(self._open) > 1 and all(one in _PARENTHESES for one in self._open[-2:])
            if kind == "document" and not is_in_arithmetic:  # in ((...)), `<<` shifts bits
                delimiter = match["plain"] or match["quoted"] or match["double_quoted"]
                self._documents.append((delimiter, token.startswith("<<-")))
            self._last, self._begins = token, False

    def _opened(self, token: str) -> None:
        if token == "`" and self._n_backticks:
            while self._open.pop() != "`":
                pass
            self._n_backticks -= 1
            self._begins = False
            return
        self._n_backticks += token == "`"
        self._open.append(self._kind(token) if token.endswith("(") else token)
        self._begins = token not in ('"', "${")

    def _kind(self, token: str) -> str:
        if token == "(" and (self._begins or self._last in ("for", "in")):
            return _COMMANDS
        return _NAMED if token == "(" and not self._last.endswith("=") else _OTHER

    def _word(self, word: str, names: str, *, follows_block: bool) -> None:
        if names == "function":
            self._begins, self._last = True, _NO_BODY
            return
        if names:
            self._follows_block, self._last = True, word  # for name do
            return
        begins, self._begins = self._begins or (follows_block and word in _OWN_WORDS), False
        last, self._last = self._last, word
        if word == "time" and last in ("|", "|&"):
            begins = False  # there it is the program, not Bash's own word
        if self._open and self._open[-1] == "${":
            if "}" in word:
                self._open.pop()
        elif begins and word in _BODIES and self._open[-1:] == ["do"]:
            self._open[-1], self._begins = _BODIES[word], True
        elif self._open and word == self._open[-1] and (begins or word == "]]" or (word, last) == ("esac", "in")):
            self._open.pop()
            self._follows_block = True
        elif begins and word in _BLOCKS:
            self._open.append(_BLOCKS[word])
            self._begins = word in _BEFORE_COMMANDS
            self._names = word if _BLOCKS[word] == "do" else ""
        elif begins:
            self._begins = word in _BEFORE_COMMANDS
            self._names = word if word == "function" else ""

    def _after_documents(self, place: int) -> int:
        """Return the end of the last line of the here-documents that begin here, or of this line if there is none."""
        while self._documents and place < len(self._text):
            delimiter, is_indented = self._documents[0]
            end = _line_end(self._text, place + 1)
            line = self._text[place + 1 : end]
            if (line.lstrip("\t") if is_indented else line) == delimiter:
                self._documents.pop(0)
            place = end
        return place


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _is_apostrophe(text: str, place: int) -> bool:
    return place > 0 and text[place - 1].isalpha() and text[place + 1 : place + 2].isalpha()
