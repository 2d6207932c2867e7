"""The online shop as environments: as text, and in a real browser."""

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    # The documentation of 0.1 showed `iad_envs.webshop.WebShopEnv`. It works for one version.
    if name != "WebShopEnv":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from iad_envs.webshop.env import WebShopEnv

    warnings.warn(
        "iad_envs.webshop.WebShopEnv is now iad_envs.webshop.env.WebShopEnv", DeprecationWarning, stacklevel=2
    )
    return WebShopEnv
