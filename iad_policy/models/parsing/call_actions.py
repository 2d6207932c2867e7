"""Reads `name[argument]` from what an answer gives as its action, in the ways that models write it."""

import re
from typing import Any

from iad_policy.models.parsing.calls import BracketCall, call_at_start, calls
from iad_policy.models.parsing.fences import fence_at
from iad_policy.models.parsing.grammar import NOTHING_READ, FoundAction, Grammar, Problem, ended
from iad_policy.models.parsing.prose import is_prose
from iad_policy.models.parsing.sql import begins_sql, end_of_statement, has_gap
from iad_policy.models.parsing.tool_calls import function_call
from iad_policy.models.parsing.wrapping import unwrapped

SQL_LANGUAGES = frozenset({"sql", "sqlite", "sqlite3", "postgresql", "postgres", "mysql", "pgsql", "tsql", "plsql"})
SQL_TOOLS = frozenset({"sql", "query", "answer", "statement", "final", "command"})
"""Words in names that say no more than that the argument is a query."""
_NOT_AN_ARGUMENT = frozenset(
    {
        "...",
        "…",
        "sql",
        "sql query",
        "query",
        "your query",
        "words",
        "keywords",
        "your keywords",
        "search terms",
        "name",
        "button",
    }
    | {"argument", "value", "your search query", "search query", "button name", "text", "none", "sql statement"}
)
_ANGLED = re.compile(r"<[^<>\n]{1,60}>")
_LIST_MARK = re.compile(r"(?:\d{1,2}[.)]|[-•*])[ \t]+(?=\S)")
_LOOSE = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(?P<sign>[ \t]*[:=(<{][ \t]*|[ \t]+)(?:(?:for|on|the)[ \t]+){0,2}(?P<argument>.+)",
    re.DOTALL | re.IGNORECASE,
)
_CLOSINGS = {"(": ")", "<": ">", "{": "}"}
_AFTER_LABEL = re.compile(r"""[ \t]+(?:button|link|option|tab)$""", re.IGNORECASE)


def read_call(body: str, grammar: Grammar, *, is_alone: bool = True) -> FoundAction | Problem:
    """Read the `name[argument]` that a text begins with.

    Args:
        body: The text.
        grammar: The actions of the state.
        is_alone: Whether the text is given as the action. Then it may also name a listed action by its argument, or
            have another form than brackets.
    """
    body = body.strip()
    body = _LIST_MARK.sub("", body, count=1) if _LIST_MARK.match(body) else body
    inner = unwrapped(body.partition("\n")[0])
    line = inner if inner != body.partition("\n")[0] else body
    for text in dict.fromkeys((body, line)):
        listed = _listed_at_start(text, grammar)
        if listed:
            return FoundAction(listed)
        call = call_at_start(text, grammar.names, is_sql=grammar.syntax == "sql")
        if call is not None:
            return _of_brackets(call, text, grammar)
    function = function_call(body, grammar.names) if grammar.names else None
    if function is not None:
        return action_of_call(function.name, function.argument, grammar)
    return _loose(body, grammar) if is_alone else NOTHING_READ


def call_in_prose(text: str, grammar: Grammar) -> FoundAction | Problem:
    """Read the one call of a known name in a text.

    If there are several different ones, the first that has a line of its own counts: it is a plan. Otherwise none does.
    """
    found = list(calls(text, grammar.names, is_sql=grammar.syntax == "sql"))
    read = [(call, _of_brackets(call, text, grammar)) for call in found]
    usable = [(call, one) for call, one in read if isinstance(one, FoundAction)]
    if not usable:
        return next((one for _, one in read), NOTHING_READ)
    if len({one.action for _, one in usable}) == 1:
        return usable[0][1]
    alone = [one for call, one in usable if _has_own_line(text, call)]
    return alone[0] if alone else Problem(f"{len({one.action for _, one in usable})} actions in one sentence")


def action_of_call(name: str, argument: Any, grammar: Grammar) -> FoundAction | Problem:
    """Return the action that a name and an argument make, from brackets, an object or a tag."""
    text = "" if argument is None else str(argument)
    fence = fence_at(text)
    text = fence.text if fence and fence.is_closed else text
    written = _name_of(name, grammar)
    if written is None and begins_sql(text) and _words(name) <= SQL_TOOLS:
        return query_action(text, grammar, is_code=True)
    if written is None:
        written = name if re.fullmatch(r"[a-z]+", name) else None
    if written is None:
        return Problem(f"a call of {name}, which is no action here") if name else NOTHING_READ
    listed = grammar.listed_call(written, text)
    if listed:
        return FoundAction(listed)
    if not text.strip():
        return Problem(f"{written}[] without an argument")
    is_gap = grammar.syntax == "sql" and has_gap(text)
    if is_gap or text.strip().casefold() in _NOT_AN_ARGUMENT or _ANGLED.fullmatch(text.strip()):
        return Problem(f"the pattern {written}[{text.strip()}], which stands for actions and is none")
    return FoundAction(f"{written}[{text}]")


def query_action(text: str, grammar: Grammar, *, is_code: bool) -> FoundAction | Problem:
    """Return the action of a query without `name[...]` around it: that of the only pattern, if there is just one."""
    if not begins_sql(text) or (not is_code and is_prose(text.partition("\n")[0])):
        return NOTHING_READ
    if len(grammar.patterns) != 1:
        return Problem(f"a query without {grammar.forms()} around it")
    end = len(text) if is_code else end_of_statement(text)
    statement = text[:end].strip()
    if has_gap(statement):
        return Problem(f"a query with dots in place of a part: {statement}")
    return FoundAction(
        f"{grammar.patterns[0]}[{statement}]", is_closed=is_code or end < len(text) or statement.endswith(";")
    )


def _name_of(name: str, grammar: Grammar) -> str | None:
    """Return a known name as the environment writes it. A tool's name may have more words, as `browser.search` has."""
    known = grammar.names.get(name.strip().casefold())
    among = [grammar.names[word] for word in _words(name) if word in grammar.names]
    return known or (among[0] if len(among) == 1 else None)


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]+", name.lower()))


def _listed_at_start(text: str, grammar: Grammar) -> str | None:
    """Return the longest listed action that a text begins with, so that its brackets may be any."""
    found = [
        action
        for action in grammar.listed
        if text[: len(action)].casefold() == action.casefold() and not text[len(action) : len(action) + 1].isalnum()
    ]
    return max(found, key=len, default=None)


def _loose(body: str, grammar: Grammar) -> FoundAction | Problem:
    """Read a call without brackets: `Click "buy now"`, `search: red shoes`, `search(red shoes)`, or a label alone."""
    line, newline, _ = body.partition("\n")
    listed = grammar.listed_as(line) or grammar.labelled(line)
    if listed:
        return FoundAction(listed, is_closed=bool(newline))
    match = _LOOSE.match(body)
    if match is None or match["name"].casefold() not in grammar.names:
        return NOTHING_READ
    name, argument = match["name"], match["argument"].strip()
    opening = match["sign"].strip()
    closing = _CLOSINGS.get(opening, "")
    is_wrapped = closing != "" and argument.endswith(closing) and argument.count(closing) > argument.count(opening)
    argument = argument.removesuffix(closing).strip() if is_wrapped else argument
    if begins_sql(argument):
        end = end_of_statement(argument)
        is_closed = is_wrapped or end < len(argument) or argument.endswith(";")
        return ended(action_of_call(name, argument[:end].strip(), grammar), is_closed=is_closed)
    if grammar.syntax == "sql":
        return NOTHING_READ
    argument = unwrapped(argument.partition("\n")[0])
    for label in (
        argument,
        unwrapped(argument.rstrip(".!,; ")),
        unwrapped(_AFTER_LABEL.sub("", argument.rstrip(".!,; "))),
    ):
        listed = grammar.listed_call(name, label)
        if listed:
            return FoundAction(listed, is_closed=bool(newline))
    if name.casefold() not in map(str.casefold, grammar.patterns) or not argument:
        return NOTHING_READ
    return ended(action_of_call(name, argument, grammar), is_closed=bool(newline))


def _of_brackets(call: BracketCall, text: str, grammar: Grammar) -> FoundAction | Problem:
    read = action_of_call(call.name, call.argument, grammar)
    return ended(read, is_closed=call.is_matched or "\n" in text[call.end :])


def _has_own_line(text: str, call: BracketCall) -> bool:
    start = text.rfind("\n", 0, call.start) + 1
    end = text.find("\n", call.end)
    after = text[call.end : end if end >= 0 else len(text)]
    return not re.search(r"[^\W\d]", text[start : call.start]) and not re.search(r"\w", after)
