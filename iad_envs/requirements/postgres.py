"""Checks the PostgreSQL server at libpq's default address, the alternative to SQLite."""

import math
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iad_envs.requirements import Missing, Requirement, first_line

SERVER = {
    "apt-get": "postgresql",
    "dnf": "postgresql-server",
    "pacman": "postgresql",
    "zypper": "postgresql-server",
    "brew": "postgresql",
}


def starting(platform: str = sys.platform, debian: Path = Path("/usr/lib/postgresql")) -> Mapping[str, str]:
    """Return the command that starts the installed server, or nothing if no server is installed."""
    if platform == "darwin":
        return {"command": "brew services start postgresql"} if shutil.which("postgres") else {}
    if any(debian.glob("*/bin/postgres")):
        return {"root": "service postgresql start"}
    return {"root": "systemctl start postgresql"} if shutil.which("postgres") else {}


def _without_driver(limit_s: float) -> tuple[Mapping[str, str], str]:
    """Return how to install a server and the problem with it, as reported by `pg_isready`."""
    if shutil.which("pg_isready"):
        try:
            first_line(["pg_isready", "--timeout=2"], limit_s)
        except (RuntimeError, TimeoutError):
            return starting() or SERVER, ", no server"
        return {}, ""
    return starting() or SERVER, ", no server"


def _postgres(limit_s: float) -> str:
    from iad_envs.bird.postgres import psycopg

    try:
        pq: Any = psycopg().pq
    except ModuleNotFoundError as error:
        server, problem = _without_driver(limit_s)
        raise Missing({"extra": "postgres", **server}, f"no psycopg{problem}") from error
    state = pq.Ping(pq.PGconn.ping(f"connect_timeout={max(2, math.floor(limit_s))}".encode()))
    if state == pq.Ping.NO_RESPONSE:
        raise Missing(starting() or SERVER, "no server")
    if state != pq.Ping.OK:
        raise RuntimeError(f"the server at the usual place does not take connections ({state.name})")
    return f"libpq {pq.version()}, a server answers at the usual place"


POSTGRES = Requirement("PostgreSQL", _postgres, "BIRD's dialect='postgresql'")
