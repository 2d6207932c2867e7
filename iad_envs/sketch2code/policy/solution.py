"""The right action in a state, from the oracle's reference."""

from collections.abc import Mapping
from typing import Any

from iad_policy.types import State


def page(state: State, reference: Mapping[str, Any]) -> str:
    """Answer with the reference page."""
    return str(reference["html"])
