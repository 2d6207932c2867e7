"""Connects to a Ray cluster, or starts a temporary one on this machine."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

from iad_policy.errors import MissingExtra
from iad_policy.run.engines import EngineError


def load_ray() -> Any:
    """Return the package `ray`.

    Raises:
        MissingExtra: The package is not installed.
    """
    try:
        return import_module("ray")
    except ImportError:
        raise MissingExtra("ray", "ray") from None


@contextmanager
def connected() -> Iterator[int]:
    """Connect to the running cluster, or start one here, and yield its number of CPUs. Disconnect at the end."""
    ray = load_ray()
    if ray.is_initialized():
        yield _n_cpus(ray)
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    _refuse_unreachable(os.environ.get("RAY_ADDRESS", ""))
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    try:
        ray.init(address="auto", **quiet)
    except ConnectionError as error:
        if os.environ.get("RAY_ADDRESS"):
            _not_reached(error)
        # Only this machine may reach it.
        ray.init(
            address="local",
            include_dashboard=False,
            object_store_memory=2**28,  # bytes: messages are small
            _node_ip_address="127.0.0.1",
            **quiet,
        )
    try:
        yield _n_cpus(ray)
    finally:
        ray.shutdown()


def _n_cpus(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _refuse_unreachable(address: str) -> None:
    """Reject an address at which no server listens. Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "/" not in host:
        try:
            socket.create_connection((host, int(port)), timeout=10.0).close()
        except OSError as error:
            _not_reached(error)


def _not_reached(error: Exception) -> NoReturn:
    raise EngineError(
        f"expected a Ray cluster at RAY_ADDRESS={os.environ['RAY_ADDRESS']}, got: {error}; start it (ray start), or "
        "unset RAY_ADDRESS for one on this machine"
    ) from error
