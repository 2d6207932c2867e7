"""Reads a command for a shell from what an answer gives as its action."""

import re
import shlex
from typing import Any

from iad_policy.models.parsing.grammar import NOTHING_READ, FoundAction, Grammar, Problem
from iad_policy.models.parsing.prose import CLAUSE, REMARK, is_prose, without_remark
from iad_policy.models.parsing.shell_syntax import ends_of_commands, is_complete
from iad_policy.models.parsing.wrapping import unwrapped
from iad_policy.types.answers.headings import NEXT_PART

LANGUAGES = frozenset(
    {"", "bash", "sh", "shell", "zsh", "ksh", "console", "terminal", "shell-session", "shellsession", "bash-session"}
    | {"text", "txt", "plaintext", "plain", "command", "cmd", "action", "linux", "unix", "code"}
)
"""Languages of fences that may hold a command."""
TOOLS = frozenset({"bash", "sh", "shell", "terminal", "command", "execute", "exec", "run", "cmd", "action", "console"})
"""Words in the name of a tool that runs a command."""
SUBMIT = "submit"
"""The word that no shell knows, so that it is an action of its own wherever a script ends with it."""
_PROMPT = re.compile(
    r"""[ \t]*+(?:(?:\([\w.-]+\)[ \t]*)?[\w.-]+@[\w.-]+[^\n$#%]{0,80}[$#%]|(?:ba|z|k)?sh(?:-[\d.]+)?[$#]|\$|❯|➜)[ \t]+
    |!(?=\w)""",
    re.VERBOSE,
)
_ANGLE_PROMPT = re.compile(r">[ \t]+(?=[a-z][\w-]*(?:[ \t]|$))", re.MULTILINE)
_NEGATION = re.compile(r"\b(?:not|never|no|avoid|instead|without)\b|n['’]t\b", re.IGNORECASE)
_LIST_MARK = re.compile(r"(?:\d{1,2}[.)]|[-•])[ \t]+(?=\S)")
_CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_EMPTY_CALL = re.compile(r"[ \t]*(?:\([^()\n]*\)|\[[^\[\]\n]*\])[.;]?[ \t]*$")
_TOOL_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_BRACKETED = re.compile(r"\[[^\s\[\]][^\n\[\]]*\]")
"""Matches a command in brackets, which is no test: that has blanks inside its brackets."""
_BROKEN_WRAPPER = re.compile(r"\{\s*[\"']|\[\s*\{|\{\s*\w+\s*:|</?[\w:-]+>|<\||```|~~~")
"""Matches the beginning of an object, a tag or a fence. Where it could not be read, it is still no command."""
_LANGUAGE_LINE = re.compile(r"(?:bash|sh|shell|zsh|console)[ \t]*\n+(?=\S)")
"""Matches the name of a fence's language that stands there without the fence."""
_COMMENTS = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_PLACEHOLDER = re.compile(
    r"<[^<>\n]+>|\.\.\.|…|\[\w[\w ]*\]|(?:your|the|a) (?:next )?(?:action|command)(?: line)?(?:,? or submit)?"
    r"|none|null|n/a|nothing|no action|command",
    re.IGNORECASE,
)


def read_command(body: str, grammar: Grammar, *, quoted: bool = True) -> FoundAction | Problem:
    """Read the command that a text begins with.

    It ends with the first line at which it is complete, so what follows may be a remark, an invented output or another
    action. A sentence is no command.

    Args:
        body: The text.
        grammar: The actions of the state.
        quoted: Whether a sentence with one command in backticks, such as "Run `ls`", gives that command.
    """
    body = _without_mark(body.lstrip())
    line, newline, _ = body.partition("\n")
    listed = _listed(line, grammar)
    if listed:
        return FoundAction(listed, is_closed=bool(newline))
    span = _CODE_SPAN.match(line)
    if span and (REMARK.match(line, span.end()) or CLAUSE.match(line, span.end())):
        return read_script(span[1], grammar)
    if is_prose(_first_line(body)):
        spans = _CODE_SPAN.findall(line)
        is_quoted = len(spans) == 1 and quoted and not _NEGATION.search(line)
        return read_script(spans[0], grammar) if is_quoted else NOTHING_READ
    prompt = _PROMPT.match(body)
    command, is_closed = _first_command(body[prompt.end() :] if prompt else body)
    inner = unwrapped(command, is_shell=True)
    if inner != command.strip():
        return read_script(inner, grammar)
    return _found(without_remark(command), grammar, is_closed=is_closed)


def read_script(text: str, grammar: Grammar) -> FoundAction | Problem:
    """Read a text that is a command and nothing else, such as what a fence holds. It may have several lines."""
    text = text.strip("\n")
    first = _first_line(text)
    listed = _listed(text, grammar) or (SUBMIT if grammar.listed_as(first) == SUBMIT else None)
    if listed:
        return FoundAction(listed)
    if is_prose(first):
        return NOTHING_READ
    language = _LANGUAGE_LINE.match(text)
    return _found(_without_prompts(text[language.end() :] if language else text), grammar, is_closed=True)


def command_of_call(name: str, argument: Any, grammar: Grammar) -> FoundAction | Problem:
    """Return the command of a call of a tool, such as `bash` with a text, or with a list of words."""
    listed = grammar.listed_as(name)
    words = set(re.findall(r"[a-z]+", name.lower())) if _TOOL_NAME.fullmatch(name) else set()
    if SUBMIT in grammar.listed and (listed == SUBMIT or SUBMIT in words):
        return FoundAction(SUBMIT)
    if listed and not argument:
        return FoundAction(listed)
    if isinstance(argument, list | tuple):
        parts = [str(part) for part in argument]
        argument = parts[2] if len(parts) == 3 and parts[1].startswith("-") and "c" in parts[1] else shlex.join(parts)
    if not isinstance(argument, str) or not argument.strip():
        return NOTHING_READ if words & TOOLS else read_script(name, grammar)
    if name and not words & TOOLS:
        return Problem(f"a call of {name}, which is no tool here")
    return read_script(argument, grammar)


def without_prompt(answer: str) -> str:
    """Return an answer without a `>` before it that is a prompt, as a program's name follows and no file's."""
    prompt = _ANGLE_PROMPT.match(answer)
    return answer[prompt.end() :] if prompt else answer


def _without_mark(text: str) -> str:
    """Return a text without the mark of a list, or the name of a language, before its command."""
    mark = _LIST_MARK.match(text) or _LANGUAGE_LINE.match(text)
    return text[mark.end() :] if mark else text


def _first_line(text: str) -> str:
    """Return the first line that is no comment, without the mark of a list."""
    comments = _COMMENTS.match(text)
    return _without_mark(text[comments.end() if comments else 0 :].lstrip()).partition("\n")[0]


def _first_command(body: str) -> tuple[str, bool]:
    """Return the first complete command, and whether a line break ends it."""
    for end in ends_of_commands(body):
        return body[:end], end < len(body)
    # A quote is not closed. Then it is left to the shell to complain, about what stands before the next part.
    first_line = len(body.partition("\n")[0])
    ends = (pattern.search(body, first_line) for pattern in (NEXT_PART, _BLANK_LINE))
    return body[: min((match.start() for match in ends if match), default=len(body))], False


def _found(command: str, grammar: Grammar, *, is_closed: bool) -> FoundAction | Problem:
    if SUBMIT in grammar.listed and (before := _before_submit(command)):
        command, is_closed = before, True
    command = command.rstrip() if not command.rstrip().endswith("\\") else command.rstrip("\n")
    if not command.strip() or _BROKEN_WRAPPER.match(command.lstrip()):
        return NOTHING_READ
    command = command.strip()[1:-1] if _BRACKETED.fullmatch(command.strip()) else command
    if _PLACEHOLDER.fullmatch(command.strip()):
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
    listed = grammar.listed_as(text)
    if listed:
        return listed
    line = text.partition("\n")[0]
    if line != text and not text.removeprefix(line).strip():
        return _listed(line, grammar)
    for action in grammar.listed:
        start = line[: len(action)]
        if start != action and not (action.isalpha() and start.casefold() == action.casefold()):
            continue
        is_remark = line == text and REMARK.match(line, len(action))
        after = line[len(action) : len(action) + 1]
        if is_remark or (action == SUBMIT and (after.isspace() or _EMPTY_CALL.match(line, len(action)))):
            return action
    return None


def _without_prompts(text: str) -> str:
    """Return a text without the prompts before commands. If there is output between them, the first command counts."""
    prompt = _PROMPT.match(text)
    if prompt is None:
        return text
    lines = [line for line in text.split("\n") if line.strip()]
    if all(_PROMPT.match(line) for line in lines):
        return "\n".join(_PROMPT.sub("", line, count=1) for line in lines)
    return _first_command(text[prompt.end() :])[0]
