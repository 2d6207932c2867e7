"""The right action in a state, from the oracle's reference."""

from collections.abc import Mapping
from typing import Any

from iad_policy.types import State


def submission(state: State, reference: Mapping[str, Any]) -> str:
    """Submit the gold query."""
    return f"submit[{reference['sql']}]"
