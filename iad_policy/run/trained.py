"""Finds trained components that are measured on what they were trained on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from iad_policy.errors import IADError
from iad_policy.runtime.components import Components


class TrainedHere(IADError, ValueError):
    """A component was to be measured on tasks that it was trained on."""


def trained_here(
    components: Components, *, env: str, data: str, tasks: Sequence[str], subject_of: Callable[[str], str]
) -> dict[str, int]:
    """Return how many of a run's tasks its trained components know, by component. Others are left out.

    A component knows a task that it was trained on, and every task with the subject of such a task: the same product or
    database.

    Args:
        components: The components of the run.
        env: The environment's id.
        data: Digest of the environment's data; "" for none.
        tasks: The tasks.
        subject_of: Returns the subject of a task; "" for none.
    """
    found = {}
    named = {name: getattr(components, name) for name in ("agent", "verifier", "simulator")}
    named |= components.by_role
    for name, component in named.items():
        known: Mapping[str, Any] | None = getattr(component, "trained_on", None)
        if known is not None and known["env"] == env:
            # Ids of tasks say something in their own data only, while a product or a database is what it is.
            seen, subjects = set(known["tasks"] if known["data"] == data else ()), set(known.get("subjects", ()))
            n_known = sum(task in seen or (bool(subjects) and subject_of(task) in subjects) for task in tasks)
            if n_known:
                found[name] = n_known
    return found


def refuse_trained(found: Mapping[str, int]) -> None:
    """Refuse a run in which a component meets tasks that it was trained on.

    Raises:
        TrainedHere: There are some.
    """
    for name, n in found.items():
        raise TrainedHere(
            f"expected tasks that the {name} was not trained on, got {n} that it was, or that share the product, "
            "database or start state of one that it was; choose another split, such as --split test, or pass "
            "--allow-trained-tasks, which every table of the run then says"
        )
