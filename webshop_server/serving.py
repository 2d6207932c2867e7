"""Old name of `webshop_server.site.serving` and `webshop_server.site.server`. It works for one version."""

import warnings
from typing import Any

import webshop_server.site.server as server_module
import webshop_server.site.serving as new_module

warnings.warn(
    "webshop_server.serving is now webshop_server.site.serving, and webshop_server.site.server for any site; the old "
    "name stops working in the next version",
    DeprecationWarning,
    stacklevel=2,
)


def __getattr__(name: str) -> Any:
    return getattr(new_module if hasattr(new_module, name) else server_module, name)
