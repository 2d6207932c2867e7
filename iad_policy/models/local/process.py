"""The server's process: started with the first question, ended with the run, and never left behind."""

import atexit
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from iad_policy.errors import ModelError

PROGRAM = Path(__file__).with_name("server.py")
LOG_CHARS = 300
END_S = 2.0
"""Seconds that a server gets to end by itself."""


class ServerProcess:
    """A running server.

    Args:
        options: What `server.py` needs, without the key and the parent.

    Raises:
        ModelError: The server can't be started.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.key = secrets.token_hex(16)
        self.heard_at = monotonic()
        """When the server last sent something to anyone."""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # Ctrl-C is for the run, which still has answers to wait for
        )
        atexit.register(self.end)
        try:
            address = self._address({**options, "key": self.key, "parent": os.getpid()})
        except BaseException:
            self.end()
            raise
        where = urlsplit(address)
        self.host, self.port = where.hostname or "", where.port or 0

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def end(self) -> None:
        """End the process. Ending twice is harmless."""
        atexit.unregister(self.end)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def last_words(self) -> str:
        """Return the end of the server's log in one line."""
        if self._log.closed:
            return ""
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").splitlines()
        return " ".join(" ".join(lines[-3:]).split())[-LOG_CHARS:]

    def _address(self, options: Mapping[str, Any]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = b""
        with suppress(OSError):
            self._process.stdin.write(json.dumps(options).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            self._process.wait(END_S)
            raise ModelError(
                f"expected llama.cpp to serve {options['path']}, got: {self.last_words() or 'no word of it'}; "
                "check the file, and that it is for this version of llama.cpp",
                kind="not_found",
            )
        return str(json.loads(line)["address"])
