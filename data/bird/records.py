"""The records of `<split>.json`: the triples of its databases, mixed and numbered."""

from collections.abc import Iterable
from typing import Any

from dealing import PARTS, deal
from drawing import Draw
from triples import Triple, read_entries


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
