"""Old name of `iad_envs.webshop.browser_env`. It works for one version."""

import warnings
from typing import Any

import iad_envs.webshop.browser_env as new_module

warnings.warn(
    "iad_envs.webshop_browser is now iad_envs.webshop.browser_env; the old name stops working in the next version",
    DeprecationWarning,
    stacklevel=2,
)


def __getattr__(name: str) -> Any:
    return getattr(new_module, name)
