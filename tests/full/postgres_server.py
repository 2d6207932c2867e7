"""A PostgreSQL server for as long as the tests take: its own folder, a unix socket there, no network."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

START_LIMIT_S = 30.0
UNSAFE_BUT_QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB")


def binaries() -> Path | None:
    """Return the folder of the newest server's programs, None if there is none."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    on_path = shutil.which("initdb")
    found += [Path(on_path).resolve().parent] if on_path else []
    return max(found, key=lambda path: int(path.parent.name) if path.parent.name.isdigit() else 0, default=None)


@contextmanager
def serving(programs: Path) -> Iterator[str]:
    """Start a server; yields the connection string of its superuser."""
    as_user: dict[str, Any] = {}
    folder = Path(tempfile.mkdtemp(prefix="iad-pg-"))
    if os.geteuid() == 0:  # the server refuses to run as root
        name = next(name for name in ("postgres", "nobody") if _exists(name))
        user = pwd.getpwnam(name)
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        os.chown(folder, user.pw_uid, user.pw_gid)
    data = folder / "data"
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(folder)}
    common: dict[str, Any] = {"cwd": folder, "env": environment, "stdin": subprocess.DEVNULL, **as_user}
    server: subprocess.Popen[bytes] | None = None
    try:
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"],
            check=True,
            capture_output=True,
            **common,
        )
        settings = [word for setting in UNSAFE_BUT_QUICK for word in ("-c", setting)]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", *settings],
                stdout=log,
                stderr=log,
                **common,
            )
        dsn = f"host={folder} user=postgres dbname=postgres"
        _await(dsn, server, folder / "log")
        yield dsn
    finally:
        if server is not None:
            server.send_signal(signal.SIGQUIT)  # its data is thrown away
            with suppress(subprocess.TimeoutExpired):
                server.wait(10)
            if server.poll() is None:
                server.kill()
                server.wait()
        shutil.rmtree(folder)


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _await(dsn: str, server: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    until = time.monotonic() + START_LIMIT_S
    while True:
        try:
            psycopg.connect(dsn).close()
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server does not start: {log.read_text()}") from None
            time.sleep(0.05)
        else:
            return
