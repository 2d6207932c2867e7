"""Names of objects of one's own, by which configurations and tables call them."""

from typing import Any

from iad_policy.runtime.components import has_name


def named(thing: Any, own: dict[str, Any], table: str = "") -> str:
    """Return the name of a component. An object is stored in `own` under its own name.

    Args:
        thing: A name, or an object.
        own: The objects by name.
        table: The table of this project's names that a report vouches for or prints, so that no object may have one of
            them: `verifiers` or `simulators`.
    """
    if isinstance(thing, str):
        return thing
    name = str(getattr(thing, "name", "") or getattr(thing, "__name__", "") or type(thing).__name__)
    if own.setdefault(name, thing) is not thing:
        raise ValueError(f"expected objects with different names, got two named {name}; give each its own `name`")
    if table and has_name(table, name):
        kind = table.removesuffix("s")
        raise ValueError(f"expected a {kind} with a name of its own, got {name}, a name of iad's; change its `name`")
    return name
