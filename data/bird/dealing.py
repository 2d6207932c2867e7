"""Deals the questions of dev.json to its parts: to test, to develop with, and to fit verifiers."""

from collections import Counter
from collections.abc import Sequence

from drawing import Draw
from triples import Entry

SIZES = {"test": 100, "dev": 40}
PARTS = (*SIZES, "train")
"""In their order in dev.json; train is the rest."""


def deal(entries: Sequence[Entry], seed: int) -> list[str]:
    """Return each entry's part: sizes as in `SIZES`, databases and difficulties spread evenly."""
    n_triples = sum(map(len, entries))
    share = {part: size / n_triples for part, size in SIZES.items()}
    share["train"] = 1.0 - sum(share.values())
    left = {**SIZES, "train": n_triples - sum(SIZES.values())}
    dealt: Counter[tuple[str, str, str]] = Counter()
    seen: Counter[tuple[str, str]] = Counter()
    parts: dict[Entry, str] = {}
    order = Draw(seed, "splits").some(list(entries), len(entries))
    for entry in sorted(order, key=len, reverse=True):  # the single ones last, to fill up exactly
        kind = (entry[0].db_id, entry[0].difficulty)
        seen[kind] += len(entry)
        fits = [part for part in share if left[part] >= len(entry)]
        part = max(fits, key=lambda part: share[part] * seen[kind] - dealt[*kind, part])
        parts[entry] = part
        dealt[*kind, part] += len(entry)
        left[part] -= len(entry)
    return [parts[entry] for entry in entries]
