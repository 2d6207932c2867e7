"""Tasks whose gold nobody can produce, so that both figures can be reported."""

from collections.abc import Mapping
from types import MappingProxyType

UNREACHABLE: Mapping[str, str] = MappingProxyType(
    {
        "agent_multi_step_0": "gold has a new reminder as number 3, and the class gives numbers from 4",
        "agent_multi_step_1": "gold has a new reminder as number 3, and the class gives numbers from 4",
    }
)
"""Agent tasks whose gold state no calls lead to, with the reason."""

WRONG_MILESTONES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("agent_multi_step_12", "agent_multi_step_13"), "an order without the log-in that it needs"),
        **dict.fromkeys(
            ("agent_multi_step_14", "agent_multi_step_15", "agent_multi_step_17"),
            "the earliest message is deleted, and gold lacks the latest",
        ),
        **dict.fromkeys(("agent_multi_step_16", "agent_multi_turn_6"), "the device is not logged in"),
    }
)
"""Agent tasks whose milestones, carried out, do not lead to the gold state, with the reason."""
