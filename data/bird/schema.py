"""A database's schema, read from schemas/<db>.toml, in the forms that BIRD's layout asks for."""

import csv
import io
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
KIND_OF_TYPE = {"INTEGER": "integer", "REAL": "real", "TEXT": "text", "DATE": "date", "DATETIME": "datetime"}


class Column(NamedTuple):
    """One column: its name and type in SQL, its name in words, what it holds, and what its values mean."""

    name: str
    type: str
    words: str
    description: str
    values: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table; a foreign key is (column, table, column)."""

    name: str
    label: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[tuple[str, str, str], ...]

    def create(self) -> str:
        """The statement that makes it."""
        lines = [f"{column.name} {column.type}" for column in self.columns]
        lines.append(f"PRIMARY KEY ({', '.join(self.primary_key)})")
        lines += [
            f"FOREIGN KEY ({column}) REFERENCES {table} ({target})" for column, table, target in self.foreign_keys
        ]
        return f"CREATE TABLE {self.name} (\n  " + ",\n  ".join(lines) + "\n)"

    def description_csv(self) -> str:
        """The file in database_description/."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(
            ("original_column_name", "column_name", "column_description", "data_format", "value_description")
        )
        for column in self.columns:
            writer.writerow((column.name, column.words, column.description, KIND_OF_TYPE[column.type], column.values))
        return text.getvalue()


@dataclass(frozen=True, slots=True)
class Schema:
    """One database, and the words its rows are made of."""

    db_id: str
    tables: tuple[Table, ...]
    words: Mapping[str, Any]


def load_schema(db_id: str) -> Schema:
    """Read schemas/<db_id>.toml."""
    file = tomllib.loads((HERE / "schemas" / f"{db_id}.toml").read_text(encoding="utf-8"))
    tables = tuple(
        Table(
            entry["name"],
            entry["label"],
            tuple(Column(*column) for column in entry["columns"]),
            tuple(entry["primary_key"]),
            tuple((column, table, target) for column, table, target in entry.get("foreign_keys", [])),
        )
        for entry in file["tables"]
    )
    return Schema(db_id, tables, file["words"])


def tables_entry(schema: Schema) -> dict[str, Any]:
    """One entry of dev_tables.json; columns are numbered through the whole database, 0 being `*`."""
    numbers: dict[tuple[str, str], int] = {}
    for table in schema.tables:
        for column in table.columns:
            numbers[table.name, column.name] = len(numbers) + 1
    placed = [(place, column) for place, table in enumerate(schema.tables) for column in table.columns]
    keys = [[numbers[table.name, name] for name in table.primary_key] for table in schema.tables]
    return {
        "db_id": schema.db_id,
        "table_names_original": [table.name for table in schema.tables],
        "table_names": [table.label for table in schema.tables],
        "column_names_original": [[-1, "*"], *([place, column.name] for place, column in placed)],
        "column_names": [[-1, "*"], *([place, column.words] for place, column in placed)],
        "column_types": ["text", *(KIND_OF_TYPE[column.type] for _, column in placed)],
        "primary_keys": [key[0] if len(key) == 1 else key for key in keys],
        "foreign_keys": [
            [numbers[table.name, column], numbers[target, name]]
            for table in schema.tables
            for column, target, name in table.foreign_keys
        ],
    }
