"""Old name of `iad_envs.requirements`. It works for one version."""

import warnings
from typing import Any

import iad_envs.requirements as new_module

warnings.warn(
    "iad_envs.parts is now iad_envs.requirements; the old name stops working in the next version",
    DeprecationWarning,
    stacklevel=2,
)


def __getattr__(name: str) -> Any:
    return getattr(new_module, "Requirement" if name == "Part" else name)
