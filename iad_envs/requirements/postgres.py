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


def _start_or_install() -> Mapping[str, str]:
    """Return the command that starts the installed server, else the packages that install one."""
    if sys.platform == "darwin":
        return {"command": "brew services start postgresql"} if shutil.which("postgres") else SERVER
    if any(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        return {"root": "service postgresql start"}
    return {"root": "systemctl start postgresql"} if shutil.which("postgres") else SERVER


def _postgres(limit_s: float) -> str:
    from iad_envs.bird.postgres import psycopg

    try:
        pq: Any = psycopg().pq
    except ModuleNotFoundError as error:
        server: Mapping[str, str] = {}
        problem = "no psycopg"
        try:
            # What the driver would find out, `pg_isready` knows, if it is here.
            first_line(["pg_isready", "--timeout=2"], limit_s)
        except (RuntimeError, TimeoutError):
            server, problem = _start_or_install(), "no psycopg, no server"
        raise Missing({"extra": "postgres", **server}, problem) from error
    state = pq.Ping(pq.PGconn.ping(f"connect_timeout={max(2, math.floor(limit_s))}".encode()))
    if state == pq.Ping.NO_RESPONSE:
        raise Missing(_start_or_install(), "no server")
    if state != pq.Ping.OK:
        raise RuntimeError(f"the server at the usual place does not take connections ({state.name})")
    return f"libpq {pq.version()}, a server answers at the usual place"


POSTGRES = Requirement("PostgreSQL", _postgres, "BIRD's dialect='postgresql'")
