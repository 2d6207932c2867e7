"""Names of objects of one's own, by which configurations and tables call them."""

from typing import Any

from iad_policy.runtime.components import has_name
from iad_policy.types import Verifier
from iad_policy.world.simulator import Simulator


def named_verifier(verifier: str | Verifier, own: dict[str, Any]) -> str:
    """Return the name of a verifier. A report vouches for the names of this project's, so no object may have one."""
    name = named(verifier, own)
    if not isinstance(verifier, str) and has_name("verifiers", name):
        raise ValueError(f"expected a verifier with a name of its own, got {name}, a name of iad's; change its `name`")
    return name


def named_simulator(simulator: str | Simulator, own: dict[str, Any]) -> str:
    """Return the name of a simulator. Tables print it, so no object may have the name of one of this project's."""
    name = named(simulator, own)
    if not isinstance(simulator, str) and has_name("simulators", name):
        raise ValueError(f"expected a simulator with a name of its own, got {name}, a name of iad's; change its `name`")
    return name


def named(thing: Any, own: dict[str, Any]) -> str:
    """Return the name of a component. An object is stored in `own` under its own name."""
    if isinstance(thing, str):
        return thing
    name = str(getattr(thing, "name", "") or getattr(thing, "__name__", "") or type(thing).__name__)
    if own.setdefault(name, thing) is not thing:
        raise ValueError(f"expected objects with different names, got two named {name}; give each its own `name`")
    return name
