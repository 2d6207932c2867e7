"""Reads a command for a shell from what an answer gives as its action."""

import re
import shlex
from collections.abc import Iterator

from iad_policy.models.parsing.calls import ToolCall
from iad_policy.models.parsing.fences import Fence
from iad_policy.models.parsing.grammar import NOTHING_READ, FoundAction, Grammar, Problem, ended
from iad_policy.models.parsing.shell_syntax import ends_of_commands, is_complete
from iad_policy.models.parsing.words import CLAUSE, REMARK, is_prose, unwrapped
from iad_policy.types.answers import EARLIER_PART, NEXT_PART

TOOLS = frozenset({"bash", "sh", "shell", "terminal", "command", "execute", "exec", "run", "cmd", "action"})
"""Words in the name of a tool that runs a command."""
SUBMIT = "submit"
"""The word that no shell knows, so that it is an action of its own wherever a script ends with it."""
_PROMPT = re.compile(r"[ \t]*+(?:[\w.-]++@[\w.-]+[^\n$#]{0,80}[$#]|(?:ba)?sh(?:-[\d.]+)?[$#]|\$)[ \t]+")


def plain(body: str, grammar: Grammar) -> FoundAction | Problem:
    """Read the command that a text begins with.

    It ends with the first line at which it is complete, so what follows may be a remark, an invented output or another
    action. A sentence is no command.
    """
    body = _without_mark(body.lstrip())
    line, newline, _ = body.partition("\n")
    if listed := _listed(line, grammar):
        return FoundAction(listed, is_closed=bool(newline))
    span = re.match(r"`([^`\n]+)`(?!`)", line)
    if span and (REMARK.match(line, span.end()) or CLAUSE.match(line, span.end())):
        return _script(span[1], grammar)
    if is_prose(_first_line(body)):
        return NOTHING_READ
    prompt = _PROMPT.match(body)
    command, is_closed = _first_command(body[prompt.end() :] if prompt else body)
    inner = unwrapped(command, is_shell=True)
    if inner != command.strip():
        return _script(inner, grammar)
    return _found(_without_remark(command), grammar, is_closed=is_closed)


def fenced(fence: Fence, grammar: Grammar) -> FoundAction | Problem:
    """Read a fence, whose text is a script and nothing else."""
    is_shell = fence.language in TOOLS | {"", "zsh", "console", "text", "txt", "plaintext", "plain"}
    read = _script(fence.text, grammar) if is_shell else NOTHING_READ
    return read if fence.is_closed else ended(read, is_closed=False)


def called(call: ToolCall, grammar: Grammar) -> FoundAction | Problem:
    """Return the command of a call of a tool, such as `bash` with a text, or with a list of words."""
    words = set(re.findall(r"[a-z]+", call.name.lower())) if re.fullmatch(r"[A-Za-z_][\w.-]*", call.name) else set()
    if SUBMIT in grammar.listed and SUBMIT in words:
        return FoundAction(SUBMIT)
    argument = call.argument
    if isinstance(argument, list):
        parts = [str(part) for part in argument]
        argument = parts[2] if len(parts) == 3 and parts[1].startswith("-") and "c" in parts[1] else shlex.join(parts)
    if not isinstance(argument, str) or not argument.strip():
        return NOTHING_READ if words & TOOLS or call.arguments else _script(call.name, grammar)
    if not words & TOOLS:
        return Problem(f"a call of {call.name}, which is no tool here")
    return _script(argument, grammar)


def alone(text: str, grammar: Grammar, *, bare: bool) -> Iterator[tuple[str, FoundAction | Problem]]:
    """Yield what a text without any heading states: a listed action on its first or last line, or itself."""
    first, newline, _ = text.partition("\n")
    if listed := grammar.listed_as(first):
        yield "", FoundAction(listed, is_closed=bool(newline))
    if bare or not newline:
        yield "", plain(text, grammar)
    before, _, last = text.rpartition("\n")
    if (is_prose(first) or EARLIER_PART.match(first)) and (listed := grammar.listed_as(last)):
        yield before, FoundAction(listed, is_closed=False)


def _script(text: str, grammar: Grammar) -> FoundAction | Problem:
    """Read a text that is a command and nothing else. It may have several lines."""
    text = text.strip("\n")
    first = _first_line(text)
    listed = _listed(text, grammar) or (SUBMIT if grammar.listed_as(first) == SUBMIT else None)
    if listed:
        return FoundAction(listed)
    if is_prose(first):
        return NOTHING_READ
    if prompt := _PROMPT.match(text):  # a record of a session, whose first command counts
        text = _first_command(text[prompt.end() :])[0]
    return _found(_without_mark(text) if "\n" in text else text, grammar, is_closed=True)


def _without_mark(text: str) -> str:
    """Return a text without the mark of a list, or without a fence's language that stands there without the fence."""
    return re.sub(r"\A(?:(?:\d{1,2}[.)]|[-•])[ \t]+(?=\S)|(?:bash|sh|shell)[ \t]*\n+(?=\S))", "", text)


def _first_line(text: str) -> str:
    """Return the first line that is no comment, without the mark of a list."""
    comments = re.match(r"(?:[ \t]*(?:#[^\n]*)?\n)*+", text)
    return _without_mark(text[comments.end() if comments else 0 :].lstrip()).partition("\n")[0]


def _first_command(body: str) -> tuple[str, bool]:
    """Return the first complete command, and whether a line break ends it."""
    for end in ends_of_commands(body):
        return body[:end], end < len(body)
    # A quote is not closed. Then it is left to the shell to complain, about what stands before the next part.
    first_line = len(body.partition("\n")[0])
    ends = (re.compile(pattern).search(body, first_line) for pattern in (NEXT_PART, r"\n[ \t]*\n"))
    return body[: min((match.start() for match in ends if match), default=len(body))], False


def _found(command: str, grammar: Grammar, *, is_closed: bool) -> FoundAction | Problem:
    if SUBMIT in grammar.listed and (before := _before_submit(command)):
        command, is_closed = before, True
    command = command.rstrip() if not command.rstrip().endswith("\\") else command.rstrip("\n")
    # The beginning of an object, a tag or a fence that could not be read is still no command.
    broken_wrapper = re.compile(
        r"\{\s*[\"']|\[\s*\{|\{\s*\w+\s*:|</?[\w:-]+>|<\||\[/?[A-Z_]{3,}\]|```|~~~|!\w|functools\[|analysis(?=[A-Z])"
    )
    if not command.strip() or broken_wrapper.match(command.lstrip()):
        return NOTHING_READ
    # A form of the prompt. A command in brackets is none either: a test has blanks inside its brackets.
    placeholder = re.compile(
        r"<[^<>\n]+>|\.\.\.|…|\[\S[^\n\[\]]*\]|(?:your|the|a) (?:next )?(?:action|command)(?: line)?(?:,? or submit)?"
        r"|none|null|n/a|nothing|no action|command",
        re.IGNORECASE,
    )
    if placeholder.fullmatch(command.strip()):
        return Problem(f"the placeholder {command.strip()!r}")
    return FoundAction(command, is_closed)


def _before_submit(script: str) -> str:
    """Return what stands before a last `submit`, which is an action of its own, or "" if there is no such word."""
    script = script.rstrip("; \t\n")
    before = script.removesuffix(SUBMIT).rstrip(" \t")
    is_apart = before.endswith(("&&", ";", "\n")) and len(before) < len(script)
    return before.rstrip("&; \t\n") if is_apart and is_complete(before.rstrip("&; \t\n")) else ""


def _listed(text: str, grammar: Grammar) -> str | None:
    """Return the listed action that a text is, perhaps with a remark behind it."""
    if listed := grammar.listed_as(text):
        return listed
    line = text.partition("\n")[0]
    if line != text and not text.removeprefix(line).strip():
        return _listed(line, grammar)
    goes_on = re.compile(r"[ \t]*;[ \t]*\S|[ \t]+[.!][ \t]")  # as a command, and not as a remark
    empty_call = re.compile(r"[ \t]*(?:\([^()\n]*\)|\[[^\[\]\n]*\])[.;]?[ \t]*$")
    for action in grammar.listed:
        start = line[: len(action)]
        if start != action and not (action.isalpha() and start.casefold() == action.casefold()):
            continue
        is_remark = line == text and REMARK.match(line, len(action))
        if action != SUBMIT and goes_on.match(line, len(action)):
            continue
        after = line[len(action) : len(action) + 1]
        if is_remark or (action == SUBMIT and (after.isspace() or empty_call.match(line, len(action)))):
            return action
    return None


def _without_remark(command: str) -> str:
    """Return a command of one line without a last remark in round brackets, which no shell takes there."""
    before, bracket, remark = command.rstrip(" .").rpartition(" (")
    before = before.rstrip()
    remark_words = re.compile(r"[A-Za-z][\w'’.,-]*(?:[ ][\w'’.,/-]+)+")
    is_remark = bracket and remark.endswith(")") and remark_words.fullmatch(remark[:-1]) and "\n" not in command
    words = ("!", "time", "then", "do", "else", "elif", "if", "while", "until", "in", "function", "coproc", "exec")
    if not is_remark or not before or before[-1] in ";|&(){}!<>=" or before.split()[-1] in words:
        return command
    return before
