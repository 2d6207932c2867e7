"""The bundled databases and questions: made by their script, varied, right, and no split has what another one has."""

import json
import re
import sqlite3
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from rapidfuzz.fuzz import token_sort_ratio
from rapidfuzz.process import extractOne

import iad_envs  # noqa: F401 (registers)
from tests.iad_envs.data_scripts import DATA, loaded, ran

FOLDER = DATA / "bird"
Record = dict[str, Any]


DATABASES = {
    "bike_share": ("dev", 5, "member.town"), "library_network": ("dev", 6, "reader.street"),
    "clinic_lab": ("dev", 5, "patient.insurer"), "music_label": ("dev", 5, "album.genre"),
    "ferry_line": ("train", 5, "ticket.sold_at"), "observatory": ("train", 6, "observer.institute"),
    "playhouse": ("train", 6, "player.voice"), "seed_bank": ("train", 5, "accession.locality"),
    "pottery_workshop": ("validation", 6, "pot.clay"), "vineyard_coop": ("validation", 5, "grower.village"),
}  # fmt: skip
"""Database -> its split, its number of tables, and a column with text as someone typed it."""
SPLITS = {"dev": 216, "train": 200, "validation": 60}


def opened(db_id: str) -> sqlite3.Connection:
    path = FOLDER / f"{DATABASES[db_id][0]}_databases" / db_id / f"{db_id}.sqlite"
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def records_of(split: str) -> list[Record]:
    records: list[Record] = json.loads((FOLDER / f"{split}.json").read_text(encoding="utf-8"))
    return records


def names_of(split: str) -> list[str]:
    return [name for name, (own, *_) in DATABASES.items() if own == split]


def tables_of(connection: sqlite3.Connection) -> dict[str, list[tuple[str, ...]]]:
    """Table -> its columns, as (name, type)."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: [row[1:3] for row in connection.execute(f"PRAGMA table_info({name})")] for name in names}


def content(path: Path) -> Any:
    if path.suffix != ".sqlite":
        return path.read_bytes()
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


@pytest.fixture(params=SPLITS)
def split(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.slow
def test_the_script_makes_every_file_again(tmp_path: Path) -> None:
    fresh = tmp_path / "bird"
    code, said = ran("bird/make_databases.py", "--output", str(fresh))
    assert code == 0, said
    made = sorted(path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file())
    of_split = Counter(str(name).partition("_")[0].removesuffix(".json") for name in made)
    assert of_split == {"dev": 2 + 4 + 21, "train": 2 + 4 + 22, "validation": 2 + 2 + 11}
    for name in made:
        assert content(FOLDER / name) == content(fresh / name), name
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 4_000_000
    assert ran("bird/make_databases.py", "--check", "--output", str(fresh))[0] == 0
    (fresh / "dev_tables.json").write_text("[]\n", encoding="utf-8")
    path = fresh / "dev_databases" / "clinic_lab" / "clinic_lab.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE assay SET price = 1.0 WHERE assay_code = 'GLU'")
    code, said = ran("bird/make_databases.py", "--check", "--output", str(fresh))
    assert code == 1
    assert [name in said for name in ("dev_tables.json", "clinic_lab.sqlite", "dev.json")] == [True, True, False]


@pytest.mark.parametrize(("db_id", "expected"), DATABASES.items())
def test_a_database_is_varied_and_described(db_id: str, expected: tuple[str, int, str]) -> None:
    split, n_tables, typed = expected
    with closing(opened(db_id)) as connection:
        tables = tables_of(connection)
        sizes = [connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables]
        assert (len(tables), connection.execute("PRAGMA foreign_key_check").fetchall()) == (n_tables, [])
        assert max(sizes) >= 10_000 if db_id == "bike_share" else split == "dev" or 2_000 <= sum(sizes) <= 10_000
        table, column = typed.split(".")
        values = {value for (value,) in connection.execute(f"SELECT {column} FROM {table}")}
        assert len(values) > len({value.strip().lower() for value in values})
        real = [(table, name) for table, found in tables.items() for name, _ in found]
        assert any(kind.startswith("DATE") for found in tables.values() for _, kind in found)
        nulls = (connection.execute(f"SELECT 1 FROM {table} WHERE {name} IS NULL LIMIT 1") for table, name in real)
        assert any(found.fetchone() for found in nulls)
    entries = json.loads((FOLDER / f"{split}_tables.json").read_text(encoding="utf-8"))
    (entry,) = [entry for entry in entries if entry["db_id"] == db_id]
    names = entry["table_names_original"]
    assert [(names[table], column) for table, column in entry["column_names_original"][1:]] == real
    for table in names:
        path = FOLDER / f"{split}_databases" / db_id / "database_description" / f"{table}.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        assert [line.split(",")[0] for line in lines[1:]] == [column for t, column in real if t == table]


def test_there_are_enough_questions_of_every_difficulty_and_kind_and_the_first_are_a_mixture(split: str) -> None:
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
    for part in ("JOIN", "GROUP BY", "HAVING", "CASE", "strftime(", "IS NULL", "NOT IN (SELECT", "LOWER(TRIM("):
        assert any(part in record["SQL"] for record in records), part
    assert any(record["evidence"] == "" for record in records)


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


def contents_of(split: str) -> Iterator[tuple[str, str]]:
    """What no two splits may share, by kind: names, questions with and without values as authors wrote them, golds."""
    yield from (("folder", path.name) for path in (FOLDER / f"{split}_databases").iterdir())
    for db_id in names_of(split):
        with closing(opened(db_id)) as connection:
            for name, columns in tables_of(connection).items():
                yield "table", f"{name}({', '.join(sorted(column for column, _ in columns))})"
        file = tomllib.loads((FOLDER / "questions" / f"{db_id}.toml").read_text(encoding="utf-8"))
        yield from (("pattern", without_values(one["question"])) for entries in file.values() for one in entries)
    for record in records_of(split):
        yield "question", without_values(record["question"])
        yield "gold", without_values(record["SQL"])


def test_no_two_splits_share_a_database_a_table_a_question_or_a_query_or_a_question_with_a_few_words_changed() -> None:
    found = {split: set(contents_of(split)) for split in SPLITS}
    kinds = {"folder", "table", "pattern", "question", "gold"}
    assert all({kind for kind, _ in one} == kinds for one in found.values())
    asked = {split: [record["question"] for record in records_of(split)] for split in SPLITS}
    for one, other in combinations(SPLITS, 2):
        assert found[one] & found[other] == set(), (one, other)
        for question in asked[one]:
            near = extractOne(question, asked[other], scorer=token_sort_ratio, score_cutoff=75.0)
            assert near is None, (question, near)


def test_a_bad_gold_query_is_complained_about_when_data_are_made() -> None:
    checking = loaded("bird/checking.py")
    boats = [("Ada", 9, "Brill"), ("Bo", 12, "Brill"), ("Cy", 12, "Brill"), ("Di", 15, "Brill"), ("Ed", None, "Ulm")]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE boat (name TEXT, length INTEGER, port TEXT)")
        connection.executemany("INSERT INTO boat VALUES (?, ?, ?)", boats)
        for sql, said in (
            ("SELECT nme FROM boat", "no such column: nme"),
            ("SELECT name FROM boat WHERE length > 99", "empty"),
            ("SELECT COUNT(*) FROM boat WHERE length > 99", "a single zero"),
            ("SELECT name FROM boat WHERE length > 9 ORDER BY length LIMIT 1", "a tie at its limit"),
            ("SELECT name FROM boat WHERE length > 12 AND port = 'Brill'", "the same without port = 'Brill'"),
            ("SELECT port FROM boat GROUP BY port HAVING COUNT(*) > 0", "the same without COUNT(*) > 0"),
            ("SELECT name FROM boat WHERE length BETWEEN 10 AND 14", ""),
            ("SELECT name FROM boat ORDER BY length DESC LIMIT 1", ""),
        ):
            complaints = checking.complaints(connection, sql)
            assert said in complaints if said else not complaints, sql
