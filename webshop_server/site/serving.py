"""Serves the shop's site, and the API for environments on other machines."""

import os
import secrets
from collections.abc import Mapping

from webshop_server.remote.api import create_api
from webshop_server.remote.hosted import TOKEN_VARIABLE
from webshop_server.site.app import Site, create_app
from webshop_server.site.server import LOOPBACK, Server, announcement
from webshop_server.storefront import LocalStorefront


def host_shop(
    front: LocalStorefront,
    *,
    split: str | None = None,
    host: str = LOOPBACK,
    port: int = 3000,
    token: str | None = None,
    data: Mapping[str, str] | None = None,
) -> Server:
    """Start a server of a shop's site.

    Args:
        front: The shop.
        split: The split whose tasks shoppers get. None means all splits.
        host: The address to bind to.
        port: The first port to try.
        token: Token of the JSON API. None disables the API.
        data: Identifies the shop's data for clients of the API.
    """
    tasks = [task for task in front.tasks if split in (None, task.split)]
    api = None if token is None else create_api(front, token=token, data=data or {})
    return Server(create_app(Site(front.shop, tasks), api=api), host=host, port=port)


def new_token() -> str:
    """Return a random token for the API."""
    return secrets.token_urlsafe(24)


def open_site(
    front: LocalStorefront, *, split: str | None, host: str, port: int, api: bool, data: Mapping[str, str]
) -> tuple[Server, str]:
    """Start a server of a shop's site, and return it with a message for the terminal.

    The arguments are those of `host_shop`, but for `api`: whether the JSON API is enabled. Its token is
    `IAD_SHOP_TOKEN` if set, else a new one.
    """
    known = os.environ.get(TOKEN_VARIABLE)
    token = (known or new_token()) if api else None
    server = host_shop(front, split=split, host=host, port=port, token=token, data=data)
    secret = [f"Environments get in with {TOKEN_VARIABLE}={token}"] if token and not known else []
    return server, announcement("The shop is open", server, port, *secret)
