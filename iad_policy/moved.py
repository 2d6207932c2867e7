"""Old names of modules that the documentation of 0.1 showed. They work for one version, with a `DeprecationWarning`."""

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED: Mapping[str, str] = {
    "iad_policy.agents.instruments": "iad_policy.agents.synthetic",
    "iad_policy.call": "iad_policy.models.call_context",
    "iad_policy.evaluation.exports": "iad_policy.analysis.exports",
    "iad_policy.evaluation.fidelity": "iad_policy.analysis.fidelity",
    "iad_policy.evaluation.metrics": "iad_policy.analysis.metrics",
    "iad_policy.evaluation.results": "iad_policy.analysis.results",
    "iad_policy.evaluation.statistics": "iad_policy.analysis.statistics",
    "iad_policy.evaluation.trace": "iad_policy.recording.trace",
    "iad_policy.models.roles": "iad_policy.roles.language_model",
    "iad_policy.reading": "iad_policy.domains",
    "iad_policy.reading.shopping": "iad_policy.domains.webshop.reading",
    "iad_policy.simulators.recording": "iad_policy.simulators.recorded",
    "iad_policy.tree": "iad_policy.strategies.building_blocks.tree",
    "iad_policy.value_data": "iad_policy.learning.targets",
}
"""Old name -> new name. Remove an entry after the version that follows 0.1."""


class _MovedModules:
    """Finds modules by their old names and forwards every attribute to the module with the new name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name in MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name, f"Moved to `{MOVED[spec.name]}`.")

    def exec_module(self, module: ModuleType) -> None:
        new_name = MOVED[module.__name__]
        warnings.warn(
            f"{module.__name__} is now {new_name}; the old name stops working in the next version",
            DeprecationWarning,
            stacklevel=2,
        )
        new_module = import_module(new_name)
        module.__getattr__ = lambda name: getattr(new_module, name)  # type: ignore[method-assign]


def install() -> None:
    """Make the old names importable. Installing twice changes nothing."""
    if not any(isinstance(finder, _MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(_MovedModules())
