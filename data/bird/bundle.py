"""Which databases are in which of the bundled splits: the files `<split>.json` and the folders `<split>_databases`."""

from collections.abc import Mapping
from types import ModuleType

import bike_share
import clinic_lab
import ferry_line
import library_network
import music_label
import observatory
import playhouse
import pottery_workshop
import seed_bank
import vineyard_coop

BUNDLE: Mapping[str, tuple[ModuleType, ...]] = {
    "dev": (bike_share, library_network, clinic_lab, music_label),
    "train": (ferry_line, seed_bank, playhouse, observatory),
    "validation": (vineyard_coop, pottery_workshop),
}
"""What makes the rows of each database, by split; a module is named as its database."""


def databases(split: str) -> tuple[str, ...]:
    """The names of a split's databases."""
    return tuple(module.__name__ for module in BUNDLE[split])
