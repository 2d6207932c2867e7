"""The bundled databases and questions: made by their script, varied, right, and no split has what another one has."""

import importlib.util
import json
import re
import sqlite3
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import pytest
from rapidfuzz.fuzz import token_sort_ratio
from rapidfuzz.process import extractOne

import iad_envs  # noqa: F401 (registers)

FOLDER = Path(__file__).resolve().parents[3] / "data" / "bird"
Record = dict[str, Any]


class Expected(NamedTuple):
    """A database of a split: its number of tables, and a column with text as someone typed it."""

    split: str
    n_tables: int
    typed: str


DATABASES = {
    "bike_share": Expected("dev", 5, "member.town"),
    "library_network": Expected("dev", 6, "reader.street"),
    "clinic_lab": Expected("dev", 5, "patient.insurer"),
    "music_label": Expected("dev", 5, "album.genre"),
    "ferry_line": Expected("train", 5, "ticket.sold_at"),
    "observatory": Expected("train", 6, "observer.institute"),
    "playhouse": Expected("train", 6, "player.voice"),
    "seed_bank": Expected("train", 5, "accession.locality"),
    "pottery_workshop": Expected("validation", 6, "pot.clay"),
    "vineyard_coop": Expected("validation", 5, "grower.village"),
}
SPLITS = {"dev": 216, "train": 200, "validation": 60}


def run_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", str(FOLDER / "make_databases.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def opened(db_id: str) -> sqlite3.Connection:
    path = FOLDER / f"{DATABASES[db_id].split}_databases" / db_id / f"{db_id}.sqlite"
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def records_of(split: str) -> list[Record]:
    records: list[Record] = json.loads((FOLDER / f"{split}.json").read_text(encoding="utf-8"))
    return records


def names_of(split: str) -> list[str]:
    return [name for name, one in DATABASES.items() if one.split == split]


def tables_of(connection: sqlite3.Connection) -> dict[str, list[tuple[str, ...]]]:
    """Table -> its columns, as (name, type)."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: [row[1:3] for row in connection.execute(f"PRAGMA table_info({name})")] for name in names}


def content(path: Path) -> Any:
    if path.suffix != ".sqlite":
        return path.read_bytes()
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


@pytest.fixture(scope="module", params=SPLITS)
def split(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module", params=DATABASES)
def database(request: pytest.FixtureRequest) -> Iterator[tuple[str, sqlite3.Connection]]:
    with closing(opened(request.param)) as connection:
        yield request.param, connection


@pytest.mark.slow
def test_the_script_makes_every_file_again_finds_no_fault_with_a_gold_query_and_names_what_differs(
    tmp_path: Path,
) -> None:
    fresh = tmp_path / "bird"
    done = run_script("--output", str(fresh))
    assert done.returncode == 0, done.stdout + done.stderr
    made = sorted(path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file())
    of_split = Counter(str(name).partition("_")[0].removesuffix(".json") for name in made)
    assert of_split == {"dev": 2 + 4 + 21, "train": 2 + 4 + 22, "validation": 2 + 2 + 11}
    for name in made:
        assert content(FOLDER / name) == content(fresh / name), name
    assert run_script("--check", "--output", str(fresh)).returncode == 0
    (fresh / "dev_tables.json").write_text("[]\n", encoding="utf-8")
    path = fresh / "dev_databases" / "clinic_lab" / "clinic_lab.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE assay SET price = 1.0 WHERE assay_code = 'GLU'")
    done = run_script("--check", "--output", str(fresh))
    assert done.returncode == 1
    assert [name in done.stdout for name in ("dev_tables.json", "clinic_lab.sqlite", "dev.json")] == [True, True, False]


def test_all_of_it_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 4_000_000


def test_a_database_has_keys_that_hold_null_days_and_text_as_someone_typed_it(
    database: tuple[str, sqlite3.Connection],
) -> None:
    db_id, connection = database
    expected, tables = DATABASES[db_id], tables_of(connection)
    assert len(tables) == expected.n_tables
    sizes = [connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables]
    if expected.split == "dev":
        assert db_id != "bike_share" or max(sizes) >= 10_000
    else:
        assert 2_000 <= sum(sizes) <= 10_000
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    table, column = expected.typed.split(".")
    values = {value for (value,) in connection.execute(f"SELECT {column} FROM {table}")}
    assert len(values) > len({value.strip().lower() for value in values})
    columns = [(table, *column) for table, found in tables.items() for column in found]
    assert any(kind.startswith("DATE") for _, _, kind in columns)
    nulls = (connection.execute(f"SELECT 1 FROM {table} WHERE {name} IS NULL LIMIT 1") for table, name, _ in columns)
    assert any(found.fetchone() for found in nulls)


def test_descriptions_and_the_tables_file_name_every_column(database: tuple[str, sqlite3.Connection]) -> None:
    db_id, connection = database
    split = DATABASES[db_id].split
    entries = json.loads((FOLDER / f"{split}_tables.json").read_text(encoding="utf-8"))
    (entry,) = [entry for entry in entries if entry["db_id"] == db_id]
    names = entry["table_names_original"]
    real = [(table, name) for table, columns in tables_of(connection).items() for name, _ in columns]
    assert [(names[table], column) for table, column in entry["column_names_original"][1:]] == real
    for table in names:
        path = FOLDER / f"{split}_databases" / db_id / "database_description" / f"{table}.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        assert [line.split(",")[0] for line in lines[1:]] == [column for t, column in real if t == table]


def test_there_are_enough_questions_of_every_difficulty_and_the_first_are_a_mixture(split: str) -> None:
    records = records_of(split)
    assert len(records) == SPLITS[split]
    assert [record["question_id"] for record in records] == list(range(len(records)))
    for key in ("question", "SQL"):
        assert len({record[key] for record in records}) == len(records)
    assert {record["db_id"] for record in records[:20]} == set(names_of(split))
    assert len({record["difficulty"] for record in records[:20]}) == 3
    if split == "dev":
        assert [record["split"] for record in records] == ["test"] * 100 + ["dev"] * 40 + ["train"] * 76
    parts = [(key, value) for key in ("db_id", "split") for value in {record.get(key) for record in records} - {None}]
    for key, value in parts:
        kinds = Counter(record["difficulty"] for record in records if record[key] == value)
        n = kinds.total()
        assert set(kinds) == {"simple", "moderate", "challenging"}
        assert 0.4 < kinds["simple"] / n < 0.6, value
        assert split == "dev" or kinds["moderate"] / n == pytest.approx(1 / 3, abs=0.02)


def test_queries_are_of_many_kinds(split: str) -> None:
    queries = [record["SQL"] for record in records_of(split)]
    for part in ("JOIN", "GROUP BY", "HAVING", "CASE", "DISTINCT", "strftime(", "CAST(", "LIMIT 1"):
        assert sum(part in sql for sql in queries) >= 2, part
    for part in ("IS NULL", "BETWEEN", "NOT IN (SELECT", "= (SELECT", "LOWER(TRIM(", "julianday("):
        assert any(part in sql for sql in queries), part
    assert split == "dev" or all(any(part in sql for sql in queries) for part in ("WITH ", "OVER ("))
    assert any(record["evidence"] == "" for record in records_of(split))


def test_every_gold_query_gives_few_rows_and_solves_its_question_by_every_rule(split: str) -> None:
    with closing(gym.make("IAD/BIRD-v0", data_dir=FOLDER, split=split)) as env:
        for record in sorted(records_of(split), key=lambda record: str(record["db_id"])):  # few changes of database
            env.reset(options={"task_id": str(record["question_id"])})
            _, reward, terminated, _, info = env.step(f"submit[{record['SQL']}]")
            assert (reward, terminated, info["progress"], info["reward_parts"]["sound"]) == (1.0, True, 1.0, 1.0), (
                record
            )
            assert 1 <= info["page"]["n_rows"] <= 60, record
            assert any(cell is not None for row in info["page"]["rows"] for cell in row), record


def without_values(text: str) -> str:
    """A sentence or query in lower case; literals, numbers and the names of a pattern are a mark."""
    words = re.findall(r"\{\w+\}|'[^']*'|\d[\d,.-]*|\w+", text.lower())
    return " ".join(word if word[0].isalpha() or word[0] == "_" else "?" for word in words)


def test_a_question_without_its_values_is_the_same_whatever_they_are() -> None:
    first = without_values("How many of 'Fen Rangers' were in 2023-06-01, and 1,500.5?")
    assert first == without_values("how many of 'The Tinker' were in 2021, and 3?")
    assert first == without_values("How many of {name} were in {year}, and {n}?")
    assert first != without_values("How many of 'Fen Rangers' were in 2023-06-01, or 1,500.5?")
    assert without_values("SELECT T1.a FROM b AS T1 WHERE T1.c = 'x'") == "select t1 a from b as t1 where t1 c ?"


def table_definitions(split: str) -> Iterator[str]:
    for db_id in names_of(split):
        with closing(opened(db_id)) as connection:
            for name, columns in tables_of(connection).items():
                yield f"{name}({', '.join(sorted(column for column, _ in columns))})"


def questions(split: str) -> Iterator[str]:
    yield from (without_values(record["question"]) for record in records_of(split))


def patterns(split: str) -> Iterator[str]:
    """The questions as their authors wrote them, before values are put in."""
    for db_id in names_of(split):
        file = tomllib.loads((FOLDER / "questions" / f"{db_id}.toml").read_text(encoding="utf-8"))
        yield from (without_values(entry["question"]) for entries in file.values() for entry in entries)


def golds(split: str) -> Iterator[str]:
    yield from (without_values(record["SQL"]) for record in records_of(split))


@pytest.mark.parametrize("listed", [table_definitions, questions, patterns, golds])
def test_no_two_splits_share_a_database_a_table_a_question_or_a_query(listed: Callable[[str], Iterable[str]]) -> None:
    found = {split: set(listed(split)) for split in SPLITS}
    assert all(found.values())
    for one, other in combinations(SPLITS, 2):
        assert found[one] & found[other] == set(), (one, other)
        folders = [{path.name for path in (FOLDER / f"{split}_databases").iterdir()} for split in (one, other)]
        assert folders[0] & folders[1] == set()


def test_no_question_is_one_of_another_split_with_a_few_words_changed() -> None:
    asked = {split: [record["question"] for record in records_of(split)] for split in SPLITS}
    for one, other in combinations(SPLITS, 2):
        for question in asked[one]:
            found = extractOne(question, asked[other], scorer=token_sort_ratio, score_cutoff=75.0)
            assert found is None, (question, found)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT nme FROM boat", ["no such column: nme"]),
        ("SELECT name FROM boat WHERE length > 99", ["empty"]),
        ("SELECT COUNT(*) FROM boat WHERE length > 99", ["a single zero"]),
        ("SELECT name FROM boat WHERE length > 9 ORDER BY length LIMIT 1", ["a tie at its limit"]),
        ("SELECT name FROM boat WHERE length > 12 AND port = 'Brill'", ["the same without port = 'Brill'"]),
        ("SELECT port FROM boat GROUP BY port HAVING COUNT(*) > 0", ["the same without COUNT(*) > 0"]),
        ("SELECT name FROM boat WHERE length BETWEEN 10 AND 14", []),
        ("SELECT name FROM boat ORDER BY length DESC LIMIT 1", []),
    ],
)
def test_a_bad_gold_query_is_complained_about_when_data_are_made(sql: str, said: list[str]) -> None:
    spec = importlib.util.spec_from_file_location("checking", FOLDER / "checking.py")
    assert spec is not None
    assert spec.loader is not None
    checking = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checking)
    boats = [("Ada", 9, "Brill"), ("Bo", 12, "Brill"), ("Cy", 12, "Brill"), ("Di", 15, "Brill"), ("Ed", None, "Ulm")]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE boat (name TEXT, length INTEGER, port TEXT)")
        connection.executemany("INSERT INTO boat VALUES (?, ?, ?)", boats)
        complaints = checking.complaints(connection, sql)
    assert {*said} <= {*complaints}
    assert bool(said) == bool(complaints)
