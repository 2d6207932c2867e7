"""The bundled questions for training and validation: enough, varied, right, and nothing of what is measured."""

import json
import re
import sqlite3
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from rapidfuzz.fuzz import token_sort_ratio
from rapidfuzz.process import extractOne

import iad_envs  # noqa: F401 (registers)

FOLDER = Path(__file__).resolve().parents[3] / "data" / "bird"
SPLITS = ("dev", "train", "validation")
NEW = {
    "train": ("ferry_line", "observatory", "playhouse", "seed_bank"),
    "validation": ("pottery_workshop", "vineyard_coop"),
}
TYPED = {
    "ferry_line": "ticket.sold_at",
    "observatory": "observer.institute",
    "playhouse": "player.voice",
    "pottery_workshop": "pot.clay",
    "seed_bank": "accession.locality",
    "vineyard_coop": "grower.village",
}
N_TABLES = dict(zip(TYPED, (5, 6, 6, 6, 5, 5), strict=True))
TOO_SIMILAR = 75.0
WORD_OR_MARK = re.compile(r"\{\w+\}|'[^']*'|\d[\d,.-]*|\w+")
Record = dict[str, Any]
Tables = dict[str, list[tuple[str, ...]]]
"""Table -> its columns, as (name, type, ...)."""


def records_of(split: str) -> list[Record]:
    records: list[Record] = json.loads((FOLDER / f"{split}.json").read_text(encoding="utf-8"))
    return records


def opened(split: str, db_id: str) -> sqlite3.Connection:
    path = FOLDER / f"{split}_databases" / db_id / f"{db_id}.sqlite"
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def tables_of(connection: sqlite3.Connection) -> Tables:
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: [row[1:3] for row in connection.execute(f"PRAGMA table_info({name})")] for name in names}


def without_values(text: str) -> str:
    """A sentence or query in lower case; literals, numbers and the names of a pattern are a mark."""
    return " ".join(word if word[0].isalpha() or word[0] == "_" else "?" for word in WORD_OR_MARK.findall(text.lower()))


def database_names(split: str) -> Iterator[str]:
    yield from (path.name for path in (FOLDER / f"{split}_databases").iterdir())


def table_definitions(split: str) -> Iterator[str]:
    for db_id in database_names(split):
        with closing(opened(split, db_id)) as connection:
            for name, columns in tables_of(connection).items():
                yield f"{name}({', '.join(sorted(column for column, _ in columns))})"


def questions(split: str) -> Iterator[str]:
    yield from (without_values(record["question"]) for record in records_of(split))


def patterns(split: str) -> Iterator[str]:
    """The questions as their authors wrote them, before values are put in."""
    for db_id in database_names(split):
        file = tomllib.loads((FOLDER / "questions" / f"{db_id}.toml").read_text(encoding="utf-8"))
        yield from (without_values(entry["question"]) for entries in file.values() for entry in entries)


def golds(split: str) -> Iterator[str]:
    yield from (without_values(record["SQL"]) for record in records_of(split))


@pytest.fixture(scope="module", params=NEW)
def split(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module", params=[(split, db_id) for split, db_ids in NEW.items() for db_id in db_ids])
def database(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, sqlite3.Connection]]:
    split, db_id = request.param
    with closing(opened(split, db_id)) as connection:
        yield split, db_id, connection


def test_a_question_without_its_values_is_the_same_whatever_they_are() -> None:
    first = without_values("How many of 'Fen Rangers' were in 2023-06-01, and 1,500.5?")
    assert first == without_values("how many of 'The Tinker' were in 2021, and 3?")
    assert first == without_values("How many of {name} were in {year}, and {n}?")
    assert first != without_values("How many of 'Fen Rangers' were in 2023-06-01, or 1,500.5?")
    assert without_values("SELECT T1.a FROM b AS T1 WHERE T1.c = 'x'") == "select t1 a from b as t1 where t1 c ?"


@pytest.mark.parametrize("listed", [database_names, table_definitions, questions, patterns, golds])
def test_no_two_splits_share_a_database_a_table_a_question_or_a_query(
    listed: Callable[[str], Iterable[str]],
) -> None:
    found = {split: set(listed(split)) for split in SPLITS}
    assert all(found.values())
    for one, other in combinations(SPLITS, 2):
        assert found[one] & found[other] == set(), (one, other)


def test_no_question_is_one_of_another_split_with_a_few_words_changed() -> None:
    asked = {split: [record["question"] for record in records_of(split)] for split in SPLITS}
    for one, other in combinations(SPLITS, 2):
        for question in asked[one]:
            found = extractOne(question, asked[other], scorer=token_sort_ratio, score_cutoff=TOO_SIMILAR)
            assert found is None, (question, found)


def test_there_are_200_questions_to_train_on_and_60_to_validate_with() -> None:
    counted = {split: Counter(record["db_id"] for record in records_of(split)) for split in NEW}
    assert counted["train"] == dict.fromkeys(NEW["train"], 50)
    assert counted["validation"] == dict.fromkeys(NEW["validation"], 30)


def test_difficulties_are_mixed_as_in_what_is_measured(split: str) -> None:
    for db_id in NEW[split]:
        kinds = Counter(record["difficulty"] for record in records_of(split) if record["db_id"] == db_id)
        n = kinds.total()
        assert (kinds["simple"] / n, kinds["moderate"] / n) == pytest.approx((1 / 2, 1 / 3), abs=0.02), db_id
        assert kinds["challenging"] == n - kinds["simple"] - kinds["moderate"] > 0


def test_records_are_numbered_and_the_first_are_a_mixture(split: str) -> None:
    records = records_of(split)
    assert [record["question_id"] for record in records] == list(range(len(records)))
    assert {record["db_id"] for record in records[:20]} == set(NEW[split])
    assert len({record["difficulty"] for record in records[:20]}) == 3
    for key in ("question", "SQL"):
        assert len({record[key] for record in records}) == len(records)


def test_queries_to_learn_from_are_of_many_kinds(split: str) -> None:
    queries = [record["SQL"] for record in records_of(split)]
    for part in ("JOIN", "GROUP BY", "HAVING", "CASE", "DISTINCT", "strftime(", "CAST(", "LIMIT 1", "LOWER(TRIM("):
        assert sum(part in sql for sql in queries) >= 2, part
    for part in ("IS NULL", "BETWEEN", "NOT IN (SELECT", "= (SELECT", "julianday(", "WITH ", "OVER ("):
        assert any(part in sql for sql in queries), part
    assert any(record["evidence"] == "" for record in records_of(split))


def test_every_database_is_small_and_its_keys_hold(database: tuple[str, str, sqlite3.Connection]) -> None:
    split, db_id, connection = database
    tables = tables_of(connection)
    assert len(tables) == N_TABLES[db_id]
    assert 2_000 <= sum(connection.execute(f"SELECT COUNT(*) FROM {t}").fetchone()[0] for t in tables) <= 10_000
    assert (FOLDER / f"{split}_databases" / db_id / f"{db_id}.sqlite").stat().st_size < 700_000
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_every_database_has_null_days_and_text_as_someone_typed_it(
    database: tuple[str, str, sqlite3.Connection],
) -> None:
    _, db_id, connection = database
    table, column = TYPED[db_id].split(".")
    values = {value for (value,) in connection.execute(f"SELECT {column} FROM {table}")}
    assert len(values) > len({value.strip().lower() for value in values})
    columns = [(table, *column) for table, found in tables_of(connection).items() for column in found]
    assert any(kind.startswith("DATE") for _, _, kind in columns)
    assert any(
        connection.execute(f"SELECT 1 FROM {table} WHERE {name} IS NULL LIMIT 1").fetchone()
        for table, name, _ in columns
    )


def test_every_column_is_described(database: tuple[str, str, sqlite3.Connection]) -> None:
    split, db_id, connection = database
    text = (FOLDER / f"{split}_tables.json").read_text(encoding="utf-8")
    (entry,) = [entry for entry in json.loads(text) if entry["db_id"] == db_id]
    names = entry["table_names_original"]
    real = [(t, name) for t, columns in tables_of(connection).items() for name, _ in columns]
    assert [(names[table], column) for table, column in entry["column_names_original"][1:]] == real
    for table in names:
        path = FOLDER / f"{split}_databases" / db_id / "database_description" / f"{table}.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        assert [line.split(",")[0] for line in lines[1:]] == [column for t, column in real if t == table]


def test_every_gold_query_solves_its_question(split: str) -> None:
    with closing(gym.make("IAD/BIRD-v0", data_dir=FOLDER, split=split, mode="answer")) as env:
        for record in sorted(records_of(split), key=lambda record: str(record["db_id"])):  # few changes of database
            env.reset(options={"task_id": str(record["question_id"])})
            _, reward, terminated, _, info = env.step(f"submit[{record['SQL']}]")
            assert (reward, terminated, info["progress"]) == (1.0, True, 1.0), record
