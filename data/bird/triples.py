"""The question-evidence-SQL triples, read from questions/<db>.toml and dealt to the splits.

An entry there is one question; with `fill` it is one question per set of values for the names in braces. All questions
of an entry are in the same split, so that no split holds another's question with other values.
"""

import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from drawing import Draw

HERE = Path(__file__).resolve().parent
DIFFICULTIES = ("simple", "moderate", "challenging")
SPLIT_SIZES = {"test": 100, "dev": 40}
SPLITS = (*SPLIT_SIZES, "train")
"""In their order in dev.json; train is the rest."""


class Triple(NamedTuple):
    """One record of dev.json but for its number and split."""

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


def deal(entries: Sequence[Entry], seed: int) -> list[str]:
    """Return each entry's split: sizes as in `SPLIT_SIZES`, databases and difficulties spread evenly."""
    n_triples = sum(map(len, entries))
    share = {split: size / n_triples for split, size in SPLIT_SIZES.items()}
    share["train"] = 1.0 - sum(share.values())
    left = {**SPLIT_SIZES, "train": n_triples - sum(SPLIT_SIZES.values())}
    dealt: Counter[tuple[str, str, str]] = Counter()
    seen: Counter[tuple[str, str]] = Counter()
    splits: dict[Entry, str] = {}
    order = Draw(seed, "splits").some(list(entries), len(entries))
    for entry in sorted(order, key=len, reverse=True):  # the single ones last, to fill up exactly
        kind = (entry[0].db_id, entry[0].difficulty)
        seen[kind] += len(entry)
        fits = [split for split in share if left[split] >= len(entry)]
        split = max(fits, key=lambda split: share[split] * seen[kind] - dealt[*kind, split])
        splits[entry] = split
        dealt[*kind, split] += len(entry)
        left[split] -= len(entry)
    return [splits[entry] for entry in entries]
