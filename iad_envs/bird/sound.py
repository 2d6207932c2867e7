"""Old name of `iad_envs.bird.strict_match`. It works for one version."""

import warnings
from typing import Any

import iad_envs.bird.strict_match as new_module

warnings.warn(
    "iad_envs.bird.sound is now iad_envs.bird.strict_match; the old name stops working in the next version",
    DeprecationWarning,
    stacklevel=2,
)


def __getattr__(name: str) -> Any:
    return getattr(new_module, name)
