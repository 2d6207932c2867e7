"""Finds trained components that are measured on what they were trained on."""

from collections.abc import Mapping, Sequence
from typing import Any

from iad_policy.errors import IADError
from iad_policy.roles import ROLES, component_for
from iad_policy.runtime.components import Components


class TrainedHere(IADError, ValueError):
    """A component was to be measured on tasks that it was trained on."""


def trained_here(components: Components, *, env: str, data: str, tasks: Sequence[str]) -> dict[str, int]:
    """Return on how many of a run's tasks its trained components were trained, by component. Others are left out.

    Args:
        components: The components of the run.
        env: The environment's id.
        data: Digest of the environment's data; "" for none.
        tasks: The tasks.
    """
    found = {}
    named = {name: getattr(components, name) for name in ("agent", "verifier", "simulator")}
    named |= {role: component_for(components.roles, role) for role in ROLES}
    for name, component in named.items():
        known: Mapping[str, Any] | None = getattr(component, "trained_on", None)
        if known is not None and (known["env"], known["data"]) == (env, data):
            n_both = len(set(known["tasks"]).intersection(tasks))
            if n_both:
                found[name] = n_both
    return found


def refuse_trained(found: Mapping[str, int]) -> None:
    """Refuse a run in which a component meets tasks that it was trained on.

    Raises:
        TrainedHere: There are some.
    """
    for name, n in found.items():
        raise TrainedHere(
            f"expected tasks that the {name} was not trained on, got {n} that it was; choose another split, such as "
            "--split test, or pass --allow-trained-tasks, which every table of the run then says"
        )
