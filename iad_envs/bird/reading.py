"""Analyses a query's text: its tables and columns, its comparisons and its joins."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from iad_envs.bird.schema import Column, Schema, Table
from iad_envs.bird.sql import SqlToken, tokens


class Reference(NamedTuple):
    """A column named in the text."""

    table: Table
    column: Column


class Compared(NamedTuple):
    """A column compared with a literal. `operator` is in upper case, `literal` is a string or number token."""

    reference: Reference
    operator: str
    literal: SqlToken


class QueryText:
    """A query's text, resolved with a schema. Aliases are assumed to be valid in the whole query."""

    def __init__(self, sql: str, schema: Schema) -> None:
        self.parts = tokens(sql)
        self.schema = schema
        self._tables = {table.name.lower(): table for table in schema.tables}
        self._columns = {
            table.name: {column.name.lower(): column for column in table.columns} for table in schema.tables
        }
        self.aliases = dict(self._aliases())
        self.used_tables = tuple(dict.fromkeys(self.aliases.values()))

    def _aliases(self) -> Iterator[tuple[str, Table]]:
        parts = self.parts
        no_alias = (
            *("ON", "WHERE", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "OUTER", "GROUP", "ORDER"),
            *("LIMIT", "UNION", "EXCEPT", "INTERSECT", "HAVING", "USING", "WINDOW", "AS", "SELECT", "SET"),
        )
        for place, part in enumerate(parts[:-1]):
            if part.value not in ("FROM", "JOIN", ","):
                continue
            table = self._tables.get(parts[place + 1].value.lower())
            if table is None or parts[place + 1].kind == "string":
                continue
            yield table.name.lower(), table
            after = place + 2
            if after < len(parts) and parts[after].value == "AS":
                after += 1
            if after < len(parts) and parts[after].kind in ("word", "name") and parts[after].value not in no_alias:
                yield parts[after].value.lower(), table

    def reference(self, place: int) -> Reference | None:
        """Return the column named by the token at a position, or None if there is no such column or more than one."""
        parts = self.parts
        part = parts[place]
        if part.kind not in ("word", "name") or (place + 1 < len(parts) and parts[place + 1].text in ("(", ".")):
            return None
        if place >= 2 and parts[place - 1].text == ".":
            table = self.aliases.get(parts[place - 2].value.lower())
            return None if table is None else self._column(table, part.value)
        found = [named for table in self.used_tables if (named := self._column(table, part.value)) is not None]
        return found[0] if len(found) == 1 else None

    def comparisons(self) -> Iterator[Compared]:
        """Yield comparisons with a literal: `column = 'x'`, `column IN ('x', 'y')`, `column LIKE 'x%'`."""
        operators = ("=", "==", "<>", "!=", "<", ">", "<=", ">=", "LIKE", "IN", "GLOB", "BETWEEN")
        for place, part in enumerate(self.parts):
            if part.value not in operators or part.kind not in ("sign", "word") or place == 0:
                continue
            before = place - 2 if self.parts[place - 1].value == "NOT" else place - 1
            reference = self.reference(before) if before >= 0 else None
            if reference is not None:
                for literal in self._literals(place + 1, part.value):
                    yield Compared(reference, part.value, literal)

    def _literals(self, place: int, operator: str) -> Iterator[SqlToken]:
        parts = self.parts
        if operator == "IN":
            for part in parts[place + 1 :]:
                if part.kind in ("string", "number"):
                    yield part
                elif part.text != ",":
                    return
        elif place < len(parts) and parts[place].kind in ("string", "number"):
            after = parts[place + 1].text if place + 1 < len(parts) else ""
            if after not in ("||", "+", "-", "*", "/"):  # otherwise it is only the start of an expression
                yield parts[place]

    def joins(self) -> Iterator[tuple[Reference, Reference]]:
        """Yield pairs of columns of two tables that are compared for equality."""
        for place, part in enumerate(self.parts):
            if part.text not in ("=", "==") or not 0 < place < len(self.parts) - 1:
                continue
            left = self.reference(place - 1)
            end = place + 3 if place + 3 < len(self.parts) and self.parts[place + 2].text == "." else place + 1
            right = self.reference(end)
            if left is not None and right is not None and left.table.name != right.table.name:
                yield left, right

    def quoted_unknown(self) -> Iterator[str]:
        """Yield double-quoted texts that are no known name. SQLite treats them as literals."""
        known = set(self.aliases) | {column.name.lower() for table in self.schema.tables for column in table.columns}
        known |= set(self._tables)
        known |= {after.value.lower() for part, after in pairwise(self.parts) if part[::2] == ("word", "AS")}
        for part in self.parts:
            if part.kind == "name" and part.text[0] == '"' and part.value.lower() not in known:
                yield part.value

    def _column(self, table: Table, name: str) -> Reference | None:
        found = self._columns[table.name].get(name.lower())
        return None if found is None else Reference(table, found)


def is_declared(schema: Schema, left: Reference, right: Reference) -> bool:
    """Whether two columns are a foreign key and its target, or refer to the same target."""
    ends = [(each.table.name.lower(), each.column.name.lower()) for each in (left, right)]
    targets: Sequence[set[tuple[str, str]]] = (set(), set())
    for key in schema.foreign_keys:
        start = (key.table.lower(), key.column.lower())
        target = (key.to_table.lower(), key.to_column.lower())
        for end, found in zip(ends, targets, strict=True):
            if start == end:
                found.add(target)
    return ends[1] in targets[0] or ends[0] in targets[1] or bool(targets[0] & targets[1])
