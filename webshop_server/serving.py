"""Old name of `webshop_server.site.serving`. It works for one version."""

import warnings
from typing import Any

import webshop_server.site.serving as new_module

warnings.warn(
    "webshop_server.serving is now webshop_server.site.serving; the old name stops working in the next version",
    DeprecationWarning,
    stacklevel=2,
)


def __getattr__(name: str) -> Any:
    return getattr(new_module, name)
