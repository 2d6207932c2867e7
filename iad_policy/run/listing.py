"""Lists what can be named on the command line, with one line of description each."""

import inspect
import re
from collections.abc import Mapping
from typing import Any, Literal

from iad_policy.errors import UnknownName
from iad_policy.papers import experiments
from iad_policy.registry import installed, load_object
from iad_policy.registry.domain import all_named
from iad_policy.run.engines import ENGINES
from iad_policy.run.trackers import TRACKERS
from iad_policy.runtime.components import TABLES
from iad_policy.strategies.building_blocks.feedback_forms import FORMS
from iad_policy.types import INSTRUCTIONS

WRITTEN: Mapping[str, str] = {
    "iad_policy.verifiers.changed:noisy": "noisy:<sd>:<verifier>",
    "iad_policy.verifiers.changed:calibrated": "calibrated:<offset>:<slope>:<verifier>",
    "iad_policy.verifiers.changed:alone": "alone:<verifier>",
    "iad_policy.verifiers.changed:terminal_oracle": "terminal-oracle:<verifier>",
    "iad_policy.verifiers.changed:sparse": "sparse:<level>:<verifier>",
    "iad_policy.agents.plan_following:PlanFollowingAgent": "plan-following[:<agent>]",
    "iad_policy.simulators.noisy:NoisySimulator": "noisy:<fidelity>",
    "iad_policy.simulators.retrieval:retrieval_simulator": "retrieval[:<file>]",
}
"""Path -> its form on the command line, if that is more than a name and a model. What an environment adds says it in
the first line of its docstring, such as `reference:<part>`."""


def names(environments: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return, for each kind, the names that the command line accepts and their descriptions.

    Args:
        environments: Environment id -> entry point ("module:Class").
    """
    return {
        "environments": dict(_described(name, path) for name, path in environments.items()),
        "agents": dict(_described(name, path) for name, path in _all(TABLES["agents"], "agents")),
        "strategies": dict(_described(name, path) for name, path in _all(TABLES["strategies"], "strategies")),
        "verifiers": dict(_described(name, path) for name, path in _all(TABLES["verifiers"], "verifiers")),
        "simulators": dict(_described(name, path) for name, path in TABLES["simulators"].items()),
        "feedback": {name: _summary(form) for name, form in FORMS.items()},
        "instructions": dict(INSTRUCTIONS),
        "presets": {name: f"{preset.source}, in {preset.env}" for name, preset in experiments().items()},
        "engines": dict(_described(name, path) for name, path in ENGINES.items()),
        "trackers": dict(_described(name, path) for name, path in TRACKERS.items()),
    }


def _described(name: str, path: str) -> tuple[str, str]:
    """Return a name in its form on the command line, and the first line of its docstring."""
    try:
        thing = load_object(path)
    except (ImportError, UnknownName) as error:
        return name, f"not available here: {error}"
    except Exception as error:  # an installed package may raise anything
        return name, f"not available here, {type(error).__name__}: {error}"
    if "model" in inspect.signature(thing).parameters:
        name = f"{name}:<model>"
    said = re.search(rf"`({re.escape(name)}:<[^`]*)`", _summary(thing))
    return WRITTEN.get(path) or (said[1] if said else name), _summary(thing)


def _all(general: Mapping[str, str], kind: Literal["agents", "verifiers", "strategies"]) -> list[tuple[str, str]]:
    """Return what any environment can have, then what the registered environments and installed packages add."""
    of_domains = {} if kind == "strategies" else all_named(kind)
    return [*general.items(), *of_domains.items(), *installed(kind).items()]


def _summary(thing: Any) -> str:
    # What a class inherits describes its base.
    doc = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    return inspect.cleandoc(doc or "").partition("\n")[0].rstrip(".")
