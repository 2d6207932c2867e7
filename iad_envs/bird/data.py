"""Reads BIRD's files: questions, table descriptions, databases and predictions."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from iad_envs.data import DataVersion, data_version
from iad_envs.errors import DataNotFound, UnknownTask
from iad_envs.official.hashes import is_official

SEPARATOR = "\t----- bird -----\t"
"""What stands between a query and its database in a prediction that is submitted."""


class Layout(NamedTuple):
    """Possible paths of a split's files, relative to the data folder. The first existing path is used."""

    questions: tuple[str, ...]
    tables: tuple[str, ...]
    databases: tuple[str, ...]


def _mini_dev(name: str) -> Layout:
    return Layout(
        (f"{name}.json", f"{name}.jsonl"),
        ("mini_dev_tables.json", "dev_tables.json"),
        ("mini_dev_databases", "dev_databases"),
    )


LAYOUTS: Mapping[str, Layout] = {
    "dev": Layout(("dev.json",), ("dev_tables.json",), ("dev_databases",)),
    "dev_20251106": Layout(("dev_20251106.json",), ("dev_tables.json",), ("dev_databases",)),
    "mini_dev": _mini_dev("mini_dev_sqlite")._replace(
        questions=("mini_dev_sqlite.json", "mini_dev.json", "mini_dev_sqlite.jsonl")
    ),
    "mini_dev_postgresql": _mini_dev("mini_dev_postgresql"),
    "mini_dev_mysql": _mini_dev("mini_dev_mysql"),
    "train": Layout(("train.json",), ("train_tables.json",), ("train_databases",)),
    "train_filtered": Layout(("train_filtered.jsonl",), ("train_tables.json",), ("train_databases",)),
    "validation": Layout(("validation.json",), ("validation_tables.json",), ("validation_databases",)),
}


class Question(NamedTuple):
    """A question for the agent, without gold.

    Attributes:
        task_id: The question id. A repeated id gets the suffix `#2` (mini_dev V1 has two).
        db_id: Id of the database.
        question: The question in natural language.
        evidence: External knowledge for the question. May be empty.
        difficulty: `simple`, `moderate`, `challenging`, or "".
    """

    task_id: str
    db_id: str
    question: str
    evidence: str
    difficulty: str

    @property
    def instruction(self) -> str:
        """The question, with its evidence if there is any."""
        return f"{self.question}\nEvidence: {self.evidence}" if self.evidence else self.question


class BirdData(NamedTuple):
    """A split of the data.

    Attributes:
        folder: The data folder.
        split: Name of the split, as in `LAYOUTS`.
        questions: Questions by task id, in the order of the file.
        golds: Gold SQL by task id. Some questions have none.
        tables: Records of the tables file, by database id.
    """

    folder: Path
    split: str
    questions: Mapping[str, Question]
    golds: Mapping[str, str]
    tables: Mapping[str, Mapping[str, Any]]

    def database(self, db_id: str) -> Path:
        """Return a database's file.

        Raises:
            DataNotFound: There is no such file.
        """
        tried = [self.folder / databases / db_id / f"{db_id}.sqlite" for databases in LAYOUTS[self.split].databases]
        for path in tried:
            if path.is_file():
                return path
        whose = "your" if self.split == "validation" else "BIRD's"  # which has no such split
        raise DataNotFound(
            f"expected the database {db_id} in {' or '.join(map(str, tried))}, found none; unpack {whose} "
            f"{LAYOUTS[self.split].databases[0]} there"
        )

    def database_versions(self) -> dict[str, str]:
        """Return for each existing database whether it is the `official` file or an `other` one."""
        found = {}
        for db_id in sorted({question.db_id for question in self.questions.values()}):
            try:
                found[db_id] = "official" if is_official(self.database(db_id)) else "other"
            except DataNotFound:
                found[db_id] = "missing"
        return found

    @property
    def version(self) -> DataVersion:
        """Version of the split's files, by content.

        Other splits' files do not count: task ids are unique only within a split, and whoever learned from one split
        is not to be refused on another.
        """
        layout = LAYOUTS[self.split]
        databases = (f"{name}/*/*.sqlite" for name in layout.databases)
        return data_version(self.folder, (*layout.questions, *layout.tables, *databases))


@lru_cache(maxsize=8)
def load_data(folder: Path, split: str) -> BirdData:
    """Load a split once per process.

    Raises:
        UnknownTask: There is no such split.
        DataNotFound: The folder has no questions of this split.
        ValueError: A file is not in BIRD's format.
    """
    if split not in LAYOUTS:
        raise UnknownTask("split", split, LAYOUTS)
    layout = LAYOUTS[split]
    path = next((folder / name for name in layout.questions if (folder / name).is_file()), None)
    if path is None:
        remedy = "set IAD_DATA or data_dir to a folder in BIRD's layout"
        if split == "validation":
            remedy = (
                f"BIRD has no split {split!r}, only the bundled data have: unset IAD_DATA and data_dir for those, or "
                "put questions of your own there, on databases that no other split has"
            )
        raise DataNotFound(f"expected {' or '.join(layout.questions)} in {folder}, found none; {remedy}")
    questions: dict[str, Question] = {}
    golds: dict[str, str] = {}
    for place, record in enumerate(_records(path)):
        try:
            name, n = str(record.get("question_id", place)), 2
            task_id = name
            while task_id in questions:
                task_id, n = f"{name}#{n}", n + 1
            questions[task_id] = Question(
                task_id,
                record["db_id"],
                record["question"],
                record.get("evidence") or "",
                record.get("difficulty") or "",
            )
            gold = (record.get("SQL") or record.get("query") or "").strip()
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"expected records with db_id, question, evidence and SQL in {path}, got {record!r:.200} at {place} "
                f"({error!r}); use BIRD's own file"
            ) from error
        if gold:
            golds[task_id] = gold
    tables = next((folder / name for name in layout.tables if (folder / name).is_file()), None)
    described = {record["db_id"]: record for record in (_records(tables) if tables else ())}
    return BirdData(folder, split, questions, golds, described)


def read_text(path: Path) -> str:
    """Read a text file of BIRD: UTF-8 with or without a byte-order mark, else cp1252 (used by 4 files)."""
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _records(path: Path) -> Sequence[Mapping[str, Any]]:
    """Read a JSON array or JSON Lines."""
    text = read_text(path)
    try:
        if path.suffix == ".jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        records = json.loads(text)
    except ValueError as error:
        raise ValueError(f"expected JSON in {path}, got something else ({error}); download the file again") from error
    if not isinstance(records, list):
        raise ValueError(f"expected a JSON array in {path}, got {type(records).__name__}; use BIRD's own file")
    return records


class ColumnDescription(NamedTuple):
    """A column's entry in a description file: its full name, its meaning and its values."""

    name: str
    description: str
    values: str


def read_descriptions(folder: Path) -> dict[tuple[str, str], ColumnDescription]:
    """Read a database's `database_description/*.csv`.

    Returns:
        Descriptions by table and column name. Both names are stripped and in lower case, because the files are
        inconsistent.
    """
    found: dict[tuple[str, str], ColumnDescription] = {}
    for path in sorted(folder.glob("*.csv")):
        for row in csv.DictReader(io.StringIO(read_text(path), newline="")):
            cells = {(key or "").strip(): (value or "") for key, value in row.items() if isinstance(value, str)}
            column = cells.get("original_column_name", "").strip().lower()
            if column:
                keys = ("column_name", "column_description", "value_description")
                described = ColumnDescription(*(" ".join(cells.get(key, "").split()) for key in keys))
                found[(path.stem.strip().lower(), column)] = described
    return found
