"""Writes the bundled BIRD data: the same bytes of JSON and CSV every time, the same content of each database.

`python data/bird/make_databases.py` writes beside itself, `--output DIR` elsewhere, `--check` compares and exits with 1
where a file differs. Databases are compared by their dump: the bytes of a file depend on the version of SQLite.
"""

import argparse
import json
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "webshop"))  # where the drawing is that both scripts use

from bundle import BUNDLE, databases  # noqa: E402
from checking import complaints  # noqa: E402
from records import make_records  # noqa: E402
from schema import Schema, load_schema, tables_entry  # noqa: E402

SEED = 20260901


def write_database(schema: Schema, maker: ModuleType, path: Path) -> None:
    """Write one database, in place of what is there."""
    path.unlink(missing_ok=True)
    rows = maker.make_rows(schema, SEED)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA foreign_keys = ON")
    with connection:
        for table in schema.tables:
            connection.execute(table.create())
            marks = ", ".join("?" * len(table.columns))
            connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows[table.name])
    connection.execute("VACUUM")
    connection.close()


def dump(path: Path) -> list[str]:
    """A database's schema and rows, as SQL."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    lines = list(connection.iterdump())
    connection.close()
    return lines


def database_path(folder: Path, split: str, db_id: str) -> Path:
    """Where BIRD's layout has a database."""
    return folder / f"{split}_databases" / db_id / f"{db_id}.sqlite"


def complaints_of(records: Sequence[dict[str, Any]], folder: Path, split: str) -> list[str]:
    """What is wrong with the gold queries of a split, one line each."""
    found = []
    for db_id in databases(split):
        connection = sqlite3.connect(f"file:{database_path(folder, split, db_id)}?mode=ro", uri=True)
        for record in records:
            if record["db_id"] == db_id:
                found += [
                    f"{split} {record['question_id']} {record['SQL']}: {c}"
                    for c in complaints(connection, record["SQL"])
                ]
        connection.close()
    return found


def write_split(folder: Path, split: str) -> list[str]:
    """Write every file of a split; returns what is wrong with its gold queries."""
    schemas = [load_schema(db_id) for db_id in databases(split)]
    records = make_records(split, databases(split), SEED)
    for schema, maker in zip(schemas, BUNDLE[split], strict=True):
        path = database_path(folder, split, schema.db_id)
        described = path.parent / "database_description"
        described.mkdir(parents=True, exist_ok=True)
        write_database(schema, maker, path)
        for table in schema.tables:
            (described / f"{table.name}.csv").write_bytes(table.description_csv().encode())
    entries = [tables_entry(schema) for schema in schemas]
    for name, value in ((f"{split}.json", records), (f"{split}_tables.json", entries)):
        (folder / name).write_bytes((json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode())
    return complaints_of(records, folder, split)


def write_all(folder: Path) -> list[str]:
    """Write every file; returns what is wrong with the gold queries."""
    return [complaint for split in BUNDLE for complaint in write_split(folder, split)]


def differing(folder: Path, fresh: Path) -> list[str]:
    """The files of `fresh` that `folder` has not or has otherwise."""
    names = [path.relative_to(fresh) for path in sorted(fresh.rglob("*")) if path.is_file()]
    return [
        str(name) for name in names if not (folder / name).exists() or content(folder / name) != content(fresh / name)
    ]


def content(path: Path) -> Any:
    """What of a file must be the same."""
    return dump(path) if path.suffix == ".sqlite" else path.read_bytes()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare the files; the exit status is 1 if a gold query is wrong or a compared file differs."""
    parser = argparse.ArgumentParser(description="Write the bundled BIRD data.")
    parser.add_argument("--output", type=Path, default=HERE, help="folder to write to or compare with")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)
    if not options.check:
        wrong = write_all(options.output)
        print("\n".join(wrong), end="\n" if wrong else "")
        return 1 if wrong else 0
    with TemporaryDirectory() as fresh:
        write_all(Path(fresh))
        names = differing(options.output, Path(fresh))
    if names:
        print(f"differs from what the script makes: {', '.join(names)}; run it without --check")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
