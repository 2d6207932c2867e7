"""The question-evidence-SQL triples, read from questions/<db>.toml and made into the records of a split's file.

An entry there is one question; with `fill` it is one question per set of values for the names in braces. All questions
of an entry are in the same part of a file, so that no part holds another's question with other values.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from dealing import PARTS, deal
from drawing import Draw

HERE = Path(__file__).resolve().parent
DIFFICULTIES = ("simple", "moderate", "challenging")


class Triple(NamedTuple):
    """One record but for its number and its part of the file."""

    db_id: str
    question: str
    evidence: str
    sql: str
    difficulty: str


Entry = tuple[Triple, ...]


def read_entries(db_id: str) -> list[Entry]:
    """Read questions/<db_id>.toml."""
    file = tomllib.loads((HERE / "questions" / f"{db_id}.toml").read_text(encoding="utf-8"))
    return [
        tuple(
            Triple(
                db_id,
                entry["question"].format(**values),
                entry.get("evidence", "").format(**values),
                " ".join(entry["sql"].split()).format(**values),
                difficulty,
            )
            for values in entry.get("fill", [{}])
        )
        for difficulty in DIFFICULTIES
        for entry in file.get(difficulty, [])
    ]


def make_records(split: str, db_ids: Iterable[str], seed: int) -> list[dict[str, Any]]:
    """The records of `<split>.json`, mixed, so that the first n are a fair sample; those of dev part by part."""
    entries = [entry for db_id in db_ids for entry in read_entries(db_id)]
    parts = deal(entries, seed) if split == "dev" else [""] * len(entries)
    dealt = [(triple, part) for entry, part in zip(entries, parts, strict=True) for triple in entry]
    key = "order" if split == "dev" else f"order of {split}"
    mixed = Draw(seed, key).some(dealt, len(dealt))
    if split == "dev":
        mixed = sorted(mixed, key=lambda pair: PARTS.index(pair[1]))
    return [_record(number, triple, part) for number, (triple, part) in enumerate(mixed)]


def _record(number: int, triple: Triple, part: str) -> dict[str, Any]:
    record: dict[str, Any] = {
        "question_id": number,
        "db_id": triple.db_id,
        "question": triple.question,
        "evidence": triple.evidence,
        "SQL": triple.sql,
        "difficulty": triple.difficulty,
    }
    return {**record, "split": part} if part else record
