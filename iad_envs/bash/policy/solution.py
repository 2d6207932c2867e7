"""The right action in a state, from the oracle's reference."""

from collections.abc import Mapping
from typing import Any

from iad_policy.types import State


def command(state: State, reference: Mapping[str, Any]) -> str:
    """Run the gold command, then submit."""
    is_run = bool(state.history) and state.history[-1].action == reference["gold"]
    return "submit" if is_run else str(reference["gold"])
