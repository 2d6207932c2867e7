"""Bounds the connections of a server, so that silent ones can't keep others out."""

from typing import Any

from waitress.channel import HTTPChannel

MAX_CONNECTIONS = 1000
RESERVED = 16
"""Connections below the server's own limit, at which it would stop listening. Its own sockets count there, too."""


class BoundedChannel(HTTPChannel):  # type: ignore[misc]  # waitress has no types
    """A connection. One too many takes the place of the one that has been silent for longest."""

    def __init__(self, server: Any, sock: Any, addr: Any, adj: Any, map: Any = None) -> None:
        if len(server.active_channels) >= adj.connection_limit - RESERVED:
            _make_room(server)
        super().__init__(server, sock, addr, adj, map=map)


def connection_limit() -> int:
    """Return how many connections a server keeps: 1000, but at most half of the files that this process may open."""
    try:
        import resource
    except ImportError:  # not on Windows
        return MAX_CONNECTIONS
    n_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if n_files == resource.RLIM_INFINITY else max(1, min(MAX_CONNECTIONS, n_files // 2))


def _make_room(server: Any) -> None:
    # A connection whose request is being answered stays, and rather one whose answer is being read than a silent one.
    waiting = [one for one in server.active_channels.values() if not one.requests]
    if waiting:
        min(waiting, key=lambda one: (one.total_outbufs_len > 0, one.last_activity)).handle_close()
