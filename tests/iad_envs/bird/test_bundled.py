"""The bundled databases and triples: made by their script, varied, and every gold query is a good one."""

import importlib.util
import json
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)

FOLDER = Path(__file__).resolve().parents[3] / "data" / "bird"
DATABASES = ("bike_share", "clinic_lab", "library_network", "music_label")
DIFFICULTIES = {"simple", "moderate", "challenging"}
SMALL = "CREATE TABLE boat (name TEXT, length INTEGER, port TEXT)"
BOATS = [("Ada", 9, "Brill"), ("Bo", 12, "Brill"), ("Cy", 12, "Brill"), ("Di", 15, "Brill"), ("Ed", None, "Ulm")]


def run_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", str(FOLDER / "make_databases.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def opened(db_id: str) -> sqlite3.Connection:
    path = FOLDER / "dev_databases" / db_id / f"{db_id}.sqlite"
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def content(path: Path) -> Any:
    if path.suffix != ".sqlite":
        return path.read_bytes()
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


def complaints(sql: str) -> list[str]:
    spec = importlib.util.spec_from_file_location("checking", FOLDER / "checking.py")
    assert spec is not None
    assert spec.loader is not None
    checking = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checking)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(SMALL)
        connection.executemany("INSERT INTO boat VALUES (?, ?, ?)", BOATS)
        found: list[str] = checking.complaints(connection, sql)
        return found


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    triples: list[dict[str, Any]] = json.loads((FOLDER / "dev.json").read_text(encoding="utf-8"))
    return triples


@pytest.fixture(scope="module")
def connections() -> Iterator[dict[str, sqlite3.Connection]]:
    made = {db_id: opened(db_id) for db_id in DATABASES}
    yield made
    for connection in made.values():
        connection.close()


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("bird")
    done = run_script("--output", str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def tables_of(connection: sqlite3.Connection) -> dict[str, int]:
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: connection.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in names}


def test_the_script_makes_every_file_again_and_finds_no_fault_with_a_gold_query(fresh: Path) -> None:
    made = sorted(path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file())
    of_split = Counter(str(name).partition("_")[0].removesuffix(".json") for name in made)
    assert of_split == {"dev": 2 + 4 + 21, "train": 2 + 4 + 22, "validation": 2 + 2 + 11}
    for name in made:
        assert content(FOLDER / name) == content(fresh / name), name


def test_check_names_what_differs(fresh: Path, tmp_path: Path) -> None:
    changed = shutil.copytree(fresh, tmp_path / "bird")
    assert run_script("--check", "--output", str(changed)).returncode == 0
    (changed / "dev_tables.json").write_text("[]\n", encoding="utf-8")
    with (
        closing(sqlite3.connect(changed / "dev_databases" / "clinic_lab" / "clinic_lab.sqlite")) as connection,
        connection,
    ):
        connection.execute("UPDATE assay SET price = 1.0 WHERE assay_code = 'GLU'")
    done = run_script("--check", "--output", str(changed))
    assert done.returncode == 1
    assert "dev_tables.json" in done.stdout
    assert "clinic_lab.sqlite" in done.stdout
    assert "dev.json" not in done.stdout


def test_all_of_it_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 4_000_000


def test_databases_have_many_tables_keys_that_hold_and_a_large_table(
    connections: dict[str, sqlite3.Connection],
) -> None:
    sizes = {db_id: tables_of(connection) for db_id, connection in connections.items()}
    assert sum(map(len, sizes.values())) >= 12
    assert max(n for tables in sizes.values() for n in tables.values()) >= 10_000
    for connection in connections.values():
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_each_database_has_null_days_and_text_as_someone_typed_it(connections: dict[str, sqlite3.Connection]) -> None:
    typed = {"bike_share": "member.town", "library_network": "reader.street", "clinic_lab": "patient.insurer"}
    for db_id, place in (typed | {"music_label": "album.genre"}).items():
        table, column = place.split(".")
        values = {value for (value,) in connections[db_id].execute(f"SELECT {column} FROM {table}")}
        cleaned = {value.strip().lower() for value in values}
        assert len(values) > len(cleaned), place
        columns = [
            (table, *column[1:3])
            for table in tables_of(connections[db_id])
            for column in connections[db_id].execute(f"PRAGMA table_info({table})")
        ]
        assert any(kind.startswith("DATE") for _, _, kind in columns)
        assert any(
            connections[db_id].execute(f"SELECT COUNT(*) FROM {table} WHERE {name} IS NULL").fetchone()[0]
            for table, name, _ in columns
        )


def test_descriptions_and_the_tables_file_name_every_column(connections: dict[str, sqlite3.Connection]) -> None:
    entries = {entry["db_id"]: entry for entry in json.loads((FOLDER / "dev_tables.json").read_text(encoding="utf-8"))}
    assert set(entries) == set(DATABASES)
    for db_id, connection in connections.items():
        entry = entries[db_id]
        names = entry["table_names_original"]
        listed = [(names[table], column) for table, column in entry["column_names_original"][1:]]
        real = [(t, row[1]) for t in tables_of(connection) for row in connection.execute(f"PRAGMA table_info({t})")]
        assert listed == real
        for table in names:
            text = (FOLDER / "dev_databases" / db_id / "database_description" / f"{table}.csv").read_text("utf-8")
            assert [line.split(",")[0] for line in text.splitlines()[1:]] == [c for t, c in real if t == table]


def test_there_are_enough_triples_of_every_difficulty_in_every_split_and_database(
    records: list[dict[str, Any]],
) -> None:
    assert len(records) >= 200
    assert Counter(record["split"] for record in records) == {"test": 100, "dev": 40, "train": len(records) - 140}
    for key in ("split", "db_id"):
        for value in {record[key] for record in records}:
            group = [record["difficulty"] for record in records if record[key] == value]
            assert set(group) == DIFFICULTIES, value
            assert 0.4 < group.count("simple") / len(group) < 0.6, value


def test_splits_follow_each_other_and_the_first_tasks_are_a_mixture(records: list[dict[str, Any]]) -> None:
    assert [record["question_id"] for record in records] == list(range(len(records)))
    splits = [record["split"] for record in records]
    assert splits == ["test"] * 100 + ["dev"] * 40 + ["train"] * (len(records) - 140)
    for key, n_values in (("db_id", 4), ("difficulty", 3)):
        assert len({record[key] for record in records[:20]}) == n_values


def test_no_id_question_or_query_is_there_twice(records: list[dict[str, Any]]) -> None:
    for key in ("question_id", "question", "SQL"):
        assert len({record[key] for record in records}) == len(records)


def test_queries_are_of_many_kinds(records: list[dict[str, Any]]) -> None:
    queries = [record["SQL"] for record in records]
    for part in ("JOIN", "GROUP BY", "HAVING", "CASE", "DISTINCT", "strftime(", "julianday(", "CAST(", "LIMIT 1"):
        assert sum(part in sql for sql in queries) >= 3, part
    for part in ("IS NULL", "BETWEEN", "NOT IN (SELECT", "= (SELECT", "LOWER(TRIM("):
        assert any(part in sql for sql in queries), part
    assert sum(record["evidence"] == "" for record in records) >= 20


def test_every_gold_query_gives_rows_and_the_same_ones_again(
    records: list[dict[str, Any]], connections: dict[str, sqlite3.Connection]
) -> None:
    for record in records:
        first, second = (connections[record["db_id"]].execute(record["SQL"]).fetchall() for _ in range(2))
        assert first == second, record
        assert 1 <= len(first) <= 60, record
        assert any(cell is not None for row in first for cell in row), record


def test_every_gold_query_solves_its_question_in_the_environment(records: list[dict[str, Any]]) -> None:
    with closing(gym.make("IAD/BIRD-v0", data_dir=FOLDER)) as env:
        for record in records:
            env.reset(options={"task_id": str(record["question_id"])})
            _, reward, terminated, _, info = env.step(f"submit[{record['SQL']}]")
            assert (reward, terminated, info["progress"]) == (1.0, True, 1.0), record


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        ("SELECT nme FROM boat", "no such column: nme"),
        ("SELECT name FROM boat WHERE length > 99", "empty"),
        ("SELECT COUNT(*) FROM boat WHERE length > 99", "a single zero"),
        ("SELECT name FROM boat WHERE length > 9 ORDER BY length LIMIT 1", "a tie at its limit"),
        ("SELECT name FROM boat WHERE length > 12 AND port = 'Brill'", "the same without port = 'Brill'"),
        ("SELECT port FROM boat GROUP BY port HAVING COUNT(*) > 0", "the same without COUNT(*) > 0"),
    ],
)
def test_a_bad_gold_query_is_complained_about(sql: str, complaint: str) -> None:
    assert complaint in complaints(sql)


def test_a_good_gold_query_is_not_complained_about() -> None:
    assert complaints("SELECT name FROM boat WHERE length BETWEEN 10 AND 14 AND port = 'Brill'") == [
        "the same without port = 'Brill'"
    ]
    assert complaints("SELECT name FROM boat WHERE length BETWEEN 10 AND 14") == []
    assert complaints("SELECT name FROM boat ORDER BY length DESC LIMIT 1") == []
