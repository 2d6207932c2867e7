"""The two sets of rules that answers are read, executed and checked by."""

from typing import Literal

Rules = Literal["official", "sound"]
"""`official` gives the verdicts of the official scripts, faults included. `sound` closes their holes."""
RULES: tuple[Rules, ...] = ("official", "sound")
