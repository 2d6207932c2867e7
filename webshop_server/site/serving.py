"""Serves the shop's site."""

from webshop_server.site.app import Site, create_app
from webshop_server.site.server import LOOPBACK, Server, announcement
from webshop_server.storefront import Storefront


def host_shop(front: Storefront, *, split: str | None = None, host: str = LOOPBACK, port: int = 3000) -> Server:
    """Start a server of a shop's site.

    Args:
        front: The shop.
        split: The split whose tasks shoppers get. None means all splits.
        host: The address to bind to.
        port: The first port to try.
    """
    tasks = [task for task in front.tasks if split in (None, task.split)]
    return Server(create_app(Site(front.shop, tasks)), host=host, port=port)


def open_site(front: Storefront, *, split: str | None, host: str, port: int) -> tuple[Server, str]:
    """Start a server of a shop's site, and return it with a message for the terminal. Arguments as for `host_shop`."""
    server = host_shop(front, split=split, host=host, port=port)
    return server, announcement("The shop is open", server, port)
