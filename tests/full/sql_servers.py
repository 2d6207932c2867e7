"""An SQL server for as long as the tests take: its own folder, a unix socket there, no network."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from iad_envs.bird.mysql import address, probe

Dialect = Literal["postgresql", "mysql"]
DRIVERS = {"postgresql": ("psycopg", "postgres"), "mysql": ("pymysql", "mysql")}
"""Dialect -> the driver's module, and the extra and target that install it."""
START_LIMIT_S = 30.0


def programs(dialect: Dialect) -> Sequence[str]:
    """Return the program that makes a server's folder, and the server; nothing where they are not installed."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
    if dialect == "mysql":
        found = [shutil.which(name, path=path) for name in ("mariadb-install-db", "mariadbd", "my_print_defaults")]
        return [name for name in found if name] if all(found) else ()
    folders = [program.parent for program in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    folders += [Path(one).resolve().parent for one in [shutil.which("initdb")] if one]
    newest = max(folders, key=lambda one: int(one.parent.name) if one.parent.name.isdigit() else 0, default=None)
    return () if newest is None else [str(newest / "initdb"), str(newest / "postgres")]


def missing(dialect: Dialect) -> str:
    """Return why there is no server, "" if there can be one."""
    module, extra = DRIVERS[dialect]
    if find_spec(module) is None:
        return f"needs {module}: make {extra}"
    return "" if programs(dialect) else f"no {dialect} server is installed: make test-{extra}"


@contextmanager
def serving(dialect: Dialect) -> Iterator[str]:
    """Start a server; yields the address of its superuser."""
    install, program, *_ = programs(dialect)
    folder = Path(tempfile.mkdtemp(prefix="iad-sql-"))
    as_user: dict[str, Any] = {}
    user = pwd.getpwuid(os.geteuid())
    if os.geteuid() == 0:  # servers refuse to run as root
        known = {one.pw_name: one for one in pwd.getpwall()}
        user = known.get("mysql" if dialect == "mysql" else "postgres", known["nobody"])
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        os.chown(folder, user.pw_uid, user.pw_gid)
    data, socket = folder / "data", folder / "socket"
    if dialect == "postgresql":
        making = f"-D {data} -U postgres -A trust -E UTF8 --no-sync"
        running = f"-D {data} -k {folder} -c listen_addresses= -c fsync=off -c synchronous_commit=off"
        running += " -c full_page_writes=off -c shared_buffers=32MB"
        dsn = f"host={folder} user=postgres dbname=postgres"
    else:
        making = f"--no-defaults --datadir={data} --user={user.pw_name} --auth-root-authentication-method=normal"
        making += " --skip-test-db --skip-name-resolve"
        running = f"--no-defaults --datadir={data} --socket={socket} --skip-networking --pid-file=pid"
        running += " --innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0"
        running += " --innodb-buffer-pool-size=32M"
        dsn = f"mysql://root@localhost/?unix_socket={socket}"
    environment = {"PATH": f"{Path(install).parent}:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    environment |= {"HOME": str(folder), "TMPDIR": str(folder)}
    common: dict[str, Any] = {"cwd": folder, "env": environment, "stdin": subprocess.DEVNULL, **as_user}
    server: subprocess.Popen[bytes] | None = None
    try:
        subprocess.run([install, *making.split()], check=True, capture_output=True, **common)
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen([program, *running.split()], stdout=log, stderr=log, **common)
        until = time.monotonic() + START_LIMIT_S
        while not _answers(dialect, dsn):
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server does not start: {(folder / 'log').read_text()}")
            time.sleep(0.05)
        yield dsn
    finally:
        if server is not None:
            server.send_signal(signal.SIGQUIT if dialect == "postgresql" else signal.SIGKILL)  # its data is thrown away
            with suppress(subprocess.TimeoutExpired):
                server.wait(10)
            server.kill()
            server.wait()
        shutil.rmtree(folder)


def _answers(dialect: Dialect, dsn: str) -> bool:
    driver: Any = import_module(DRIVERS[dialect][0])
    given: dict[str, Any] = {"conninfo": dsn} if dialect == "postgresql" else address(dsn)
    try:
        probe(given)
        driver.connect(**given).close()
    except (OSError, driver.OperationalError):
        return False
    return True
