"""The server's process: started with the first question, shared, and ended when nobody uses it any more."""

import atexit
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from iad_policy.errors import ModelError
from iad_policy.models.local.files import locked
from iad_policy.types.hashing import digest

END_S = 5.0
"""Seconds that a server gets to end by itself."""


class ServerProcess:
    """A running server, and this process's lease on it.

    A server with the same options is shared with other processes of this user.

    Args:
        options: What `server.py` needs, without the key and the socket.
        folder: Folder of the sockets; by default it is one of this user's in the folder of temporary files.

    Raises:
        ModelError: The server can't be started.
    """

    def __init__(self, options: Mapping[str, Any], folder: Path | None = None) -> None:
        folder = _private(folder or Path(tempfile.gettempdir()) / f"iad-models-{os.getuid()}")
        path = folder / digest(sys.executable, options)[:16]
        self.heard_at = monotonic()
        """When the server last sent something to this process."""
        self.has_refused = False
        """Whether it refused a connection. A server that is being killed does so before its lease ends."""
        self._log = path.with_suffix(".log")
        self._process: subprocess.Popen[bytes] | None = None
        with locked(path.with_suffix(".lock")):
            lease = _connected(path)
            if lease is None:
                self._process = self._started({**options, "socket": str(path), "key": secrets.token_hex(16)})
                lease = _connected(path)
        if lease is None:
            if self._process is not None:
                self._wait(self._process)
            raise self._failed(options)
        self._lease = lease
        atexit.register(self.end)
        try:
            line = lease.makefile("rb").readline()
        except OSError:
            line = b""
        if not line:
            self.end()
            raise self._failed(options)
        told = json.loads(line)
        where = urlsplit(told["address"])
        self.host, self.port = where.hostname or "", where.port or 0
        self.key: str = told["key"]
        self.pid: int = told["pid"]

    @property
    def is_alive(self) -> bool:
        """Whether the server listens and the lease is held."""
        if self.has_refused:
            return False
        try:
            return bool(self._lease.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def end(self) -> None:
        """End the lease. The server ends with its last one. Ending twice is harmless."""
        atexit.unregister(self.end)
        is_shared = False
        with suppress(OSError):
            self._lease.settimeout(END_S)
            self._lease.shutdown(socket.SHUT_WR)
            is_shared = bool(self._lease.recv(16))
        self._lease.close()
        if self._process is None:
            return
        if is_shared:
            # It is still our child, which must be waited for when its last user ends it.
            Thread(target=self._process.wait, daemon=True).start()
        else:
            self._wait(self._process)

    def last_words(self) -> str:
        """Return the end of the server's log in one line."""
        with suppress(OSError):
            return " ".join(self._log.read_text(errors="replace").split())[-300:]
        return ""

    def _started(self, options: Mapping[str, Any]) -> "subprocess.Popen[bytes]":
        Path(options["socket"]).unlink(missing_ok=True)
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).with_name("server.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # With spinning threads, other busy programs slow the server down tenfold.
                env={"OMP_WAIT_POLICY": "passive", **os.environ},
                start_new_session=True,  # Ctrl-C is for the run, which still waits for answers
            )
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError), process.stdin, process.stdout:
            process.stdin.write(json.dumps(options).encode() + b"\n")
            process.stdin.flush()
            process.stdout.readline()
        return process

    def _wait(self, process: "subprocess.Popen[bytes]") -> None:
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _failed(self, options: Mapping[str, Any]) -> ModelError:
        return ModelError(
            f"expected llama.cpp to serve {options['path']}, got: {self.last_words() or 'no word of it'}; check the "
            "file, and that this version of llama.cpp knows such models (pip install --upgrade xllamacpp)",
            kind="not_found",
        )


def _connected(path: Path) -> socket.socket | None:
    """Return a lease, or None if no server listens there."""
    lease = socket.socket(socket.AF_UNIX)
    try:
        lease.connect(str(path))
    except OSError:
        lease.close()
        return None
    return lease


def _private(folder: Path) -> Path:
    """Return a folder after making it, if it is this user's alone.

    Raises:
        ModelError: Others can use it.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    stat = folder.stat()
    if stat.st_uid != os.getuid() or stat.st_mode & 0o077:
        raise ModelError(
            f"expected {folder} to belong to this user alone, got one that others can use; delete it, or set TMPDIR",
            kind="not_found",
        )
    return folder
