"""Reads an SQLite database as tables to copy to a server: columns with types that hold all their values, keys, rows.

Also the statements that make such a table, and the roles that use it, as far as they are the same on all servers.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from iad_envs.bird.database import Dialect
from iad_envs.bird.schema import quoted

READER = "iad_reader"
GUARD = "iad_guard"
ALLOWED_NAMES = re.compile(r"[a-z_][a-z0-9_]*\Z")
ColumnKind = Literal["bytes", "date", "timestamp", "integer", "number", "text", "long text"]
INDEXED_CHARS = 255
"""Longest text that has a type which MySQL can index. Longer ones can't be keys there."""


class SourceColumn(NamedTuple):
    """A column to copy. `kind` is the declared type by SQLite's rules if all values fit, else a text."""

    name: str
    kind: ColumnKind
    is_filled: bool


class SourceKey(NamedTuple):
    """A foreign key. `to_columns` is empty for the other table's primary key."""

    columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]


class SourceTable(NamedTuple):
    """A table to copy."""

    name: str
    columns: tuple[SourceColumn, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[SourceKey, ...]
    rows: Sequence[tuple[Any, ...]]

    def cells(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a row's values for a server. Null characters are removed, because not all servers' texts have them."""
        return tuple(_cell(cell, column.kind) for cell, column in zip(row, self.columns, strict=True))

    def creation(self, place: str, dialect: Dialect, types: Mapping[ColumnKind, str]) -> str:
        """Return the statement that creates the table in a schema or database, without its foreign keys."""
        kinds = {column.name: types[column.kind] for column in self.columns}
        lines = [
            f"{quoted(column.name, dialect)} {kinds[column.name]}{' NOT NULL' if column.is_filled else ''}"
            for column in self.columns
        ]
        # MySQL's long types can't be keys.
        if self.primary_key and not any(kinds[key].startswith("long") for key in self.primary_key):
            lines.append(f"PRIMARY KEY ({_listed(self.primary_key, dialect)})")
        return f"CREATE TABLE {_placed(place, self.name, dialect)} ({', '.join(lines)})"

    def key_additions(self, place: str, dialect: Dialect) -> Iterator[str]:
        """Yield the statements that add the foreign keys. A server may refuse some; the tables file still has them."""
        for key in self.foreign_keys:
            ends = key.to_columns or (key.columns if dialect == "mysql" else ())
            to = _placed(place, key.to_table, dialect) + (f" ({_listed(ends, dialect)})" if ends else "")
            table, starts = _placed(place, self.name, dialect), _listed(key.columns, dialect)
            yield f"ALTER TABLE {table} ADD FOREIGN KEY ({starts}) REFERENCES {to}"


def check_names(*names: str) -> None:
    """Check the names of roles.

    Raises:
        ValueError: One is not a plain word.
    """
    for name in names:
        if not ALLOWED_NAMES.match(name):
            raise ValueError(f"expected a role's name in lower case letters, digits and _, got {name!r}; change it")


def _placed(place: str, table: str, dialect: Dialect) -> str:
    return f"{quoted(place, dialect)}.{quoted(table, dialect)}"


def _listed(names: Sequence[str], dialect: Dialect) -> str:
    return ", ".join(quoted(name, dialect) for name in names)


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an SQLite file for reading."""
    source = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True)
    try:
        yield source
    finally:
        source.close()


def table_names(source: sqlite3.Connection) -> list[str]:
    """Return the names of all tables, in their order."""
    listed = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY rowid"
    )
    return [str(table) for (table,) in source.execute(listed)]


def read_table(source: sqlite3.Connection, name: str) -> SourceTable:
    """Read a table with all its rows."""
    columns = source.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', [name]).fetchall()
    rows = source.execute(f"SELECT * FROM {quoted(name)}").fetchall()
    found = tuple(
        SourceColumn(column, _kind(declared, [row[place] for row in rows]), bool(is_filled))
        for place, (column, declared, is_filled, _) in enumerate(columns)
    )
    keys = tuple(column for column, _, _, place in sorted(columns, key=lambda column: column[3]) if place)
    return SourceTable(name, found, keys, _foreign_keys(source, name), rows)


def _foreign_keys(source: sqlite3.Connection, name: str) -> tuple[SourceKey, ...]:
    keys: dict[int, list[tuple[str, str, str | None]]] = {}
    for number, other, start, end in source.execute(
        'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq', [name]
    ):
        keys.setdefault(number, []).append((other, start, end))
    return tuple(
        SourceKey(tuple(start for _, start, _ in parts), parts[0][0], tuple(end for _, _, end in parts if end))
        for parts in keys.values()
    )


def _kind(declared: str, cells: Sequence[Any]) -> ColumnKind:
    word = declared.upper()
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(cell, bytes) for cell in given):
        return "bytes"
    if "DATE" in word or "TIMESTAMP" in word:
        kinds: Mapping[ColumnKind, Any] = {"date": date.fromisoformat, "timestamp": datetime.fromisoformat}
        fitting = (kind for kind, read in kinds.items() if all(_reads(read, cell) for cell in given))
        return next(fitting, None) or _text_kind(given)
    if "INT" in word and all(isinstance(cell, int) for cell in given):
        return "integer"
    is_number = any(part in word for part in ("INT", "REAL", "FLOA", "DOUB", "NUM", "DEC"))
    if is_number and all(isinstance(cell, int | float) for cell in given):
        return "number"
    return _text_kind(given)


def _text_kind(given: Sequence[Any]) -> ColumnKind:
    return "text" if all(len(str(cell)) <= INDEXED_CHARS for cell in given) else "long text"


def _reads(read: Any, cell: Any) -> bool:
    try:
        read(cell)
    except (TypeError, ValueError):
        return False
    return True


def _cell(cell: Any, kind: ColumnKind) -> Any:
    if cell is None or kind == "bytes":
        return cell
    if kind in ("text", "long text"):
        return (cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)).replace("\0", "")
    return cell
