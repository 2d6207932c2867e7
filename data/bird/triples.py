"""The question-evidence-SQL triples, read from questions/<db>.toml.

An entry there is one question; with `fill` it is one question per set of values for the names in braces. All questions
of an entry are in the same part of a file, so that no part holds another's question with other values.
"""

import tomllib
from pathlib import Path
from typing import NamedTuple

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
