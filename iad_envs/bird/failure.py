"""Explains why a query has no result: which name is unknown, what it may have meant, and where that is."""

import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from rapidfuzz import fuzz, process

from iad_envs.bird.database import QueryResult
from iad_envs.bird.reading import QueryText
from iad_envs.bird.schema import Schema, Table
from iad_envs.bird.sql import first_word, refusal

UNKNOWN = (
    ("unknown_column", re.compile(r"no such column: (?:(\w+)\.)?(.+)")),
    ("unknown_column", re.compile(r'column (?:(\w+)\.)?"?(.+?)"? does not exist')),
    ("unknown_column", re.compile(r"Unknown column '(?:(?:\w+\.)?(\w+)\.)?(.+?)' in")),
    ("unknown_table", re.compile(r"no such table: (?:(\w+)\.)?(.+)")),
    ("unknown_table", re.compile(r'relation "(?:(\w+)\.)?(.+?)" does not exist')),
    ("unknown_table", re.compile(r"Table '(?:(\w+)\.)?(.+?)' doesn't exist")),
    ("unknown_function", re.compile(r"no such function: ()(.+)")),
    ("unknown_function", re.compile(r"function ()(.+?)\(.*\) does not exist")),
    ("unknown_function", re.compile(r"FUNCTION ()(?:\w+\.)?(.+?) does not exist")),
    ("ambiguous_column", re.compile(r"ambiguous column name: ()(.+)")),
    ("ambiguous_column", re.compile(r'column reference ()"(.+?)" is ambiguous')),
    ("ambiguous_column", re.compile(r"Column ()'(?:\w+\.)?(.+?)' in .+ is ambiguous")),
)
"""Finding codes and patterns for the messages of SQLite, PostgreSQL and MySQL: the name, and what stands before it."""
MAX_MESSAGE = 1000
"""Characters of a message that are read: a query's names stand in it, as long as an agent makes them."""


class QueryFinding(NamedTuple):
    """A finding about a query.

    Attributes:
        code: Kind of finding.
        severity: `error` (there is no result), `warning` (often a sign of a wrong query) or `note`.
        message: Explanation for the agent.
    """

    code: str
    severity: Literal["error", "warning", "note"]
    message: str


def failure(sql: str, result: QueryResult, schema: Schema, *, is_read: bool) -> QueryFinding:
    """Return the finding about a query without a result.

    Args:
        sql: The query.
        result: Its failed execution.
        schema: The database's schema.
        is_read: Whether the text is short enough to be analysed.
    """
    refused = refusal(sql)
    if refused or result.status == "rejected":
        return QueryFinding("rejected", "error", refused or f"{result.message}; only one reading query is")
    if result.status == "timeout":
        return QueryFinding("timeout", "error", "timed out")
    if result.status == "limit":
        return QueryFinding("limit", "error", f"over a limit: {result.message}")
    for code, pattern in UNKNOWN:
        if match := pattern.search(result.message[:MAX_MESSAGE]):
            more = _explained(code, match[1] or "", match[2], QueryText(sql, schema)) if is_read else ""
            return QueryFinding(code, "error", result.message + more)
    messages = ("syntax error", "error in your SQL syntax", "incomplete input", "unrecognized token", "unterminated")
    is_syntax = any(text in result.message for text in messages) or not first_word(sql)
    return QueryFinding("syntax" if is_syntax else "error", "error", result.message)


def _explained(code: str, before: str, name: str, reading: QueryText) -> str:
    """Return what follows an error message about a name: its table's columns, near names, and how to join them."""
    schema = reading.schema
    if code == "unknown_table":
        return near_names(name, {table.name: table.name for table in schema.tables})
    if code == "ambiguous_column":
        owners = [table.name for table in reading.used_tables if _has(table, name)]
        return f"; it is in {' and '.join(owners)}" if owners else ""
    if code != "unknown_column":
        return ""
    known = {f"{table.name}.{column.name}": column.name for table in schema.tables for column in table.columns}
    told, table = "", reading.aliases.get(before.lower())
    if table is not None:
        names = [column.name for column in table.columns]
        told = f"; {before} is {table.name} with {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"
    told += near_names(name, known)
    # The only table that has a column of this name, if a declared key leads there.
    owners = [table.name for table in schema.tables if _has(table, name)]
    used = {table.name for table in reading.used_tables}
    if len(owners) == 1 and owners[0] not in used:
        for key in schema.foreign_keys:
            if (key.table == owners[0] and key.to_table in used) or (key.to_table == owners[0] and key.table in used):
                return f"{told}; {owners[0]} joins ON {key.table}.{key.column} = {key.to_table}.{key.to_column}"
    return told


def near_names(name: str, known: Mapping[str, str]) -> str:
    """Return the keys of the texts that are most like a name, in words, "" if none is."""
    near = process.extract(name, known, scorer=fuzz.WRatio, limit=3, score_cutoff=65.0)
    return f"; near: {', '.join(key for _, _, key in near)}" if near else ""


def near_values(literal: str, known: Iterable[str]) -> str:
    """Return the values that are most like a literal, in words, "" if none is."""
    near = process.extract(literal, sorted(known), scorer=fuzz.WRatio, limit=3, score_cutoff=65.0)
    return f"; near: {', '.join(repr(value) for value, _, _ in near)}" if near else ""


def _has(table: Table, name: str) -> bool:
    return any(column.name.lower() == name.lower() for column in table.columns)
