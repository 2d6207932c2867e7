"""Starts Chromium and controls it with the DevTools protocol over two pipes.

Pipes need no package, and no port that other processes could reach. If this process dies for any reason, the browser
reads the end of its pipe and ends too.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from pathlib import Path
from typing import Any

from iad_envs.browser.errors import BrowserGone, BrowserNotFound, PageTimeout, ProtocolError

CHROMIUM_VARIABLE = "IAD_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chrome-headless-shell")
APPLICATIONS = Path("/Applications")
"""Where macOS keeps programs that are not on the path."""
FLAGS = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-default-browser-check",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-extensions",
    "--disable-sync", "--disable-breakpad", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
    "--force-color-profile=srgb", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows", "--js-flags=--max-old-space-size=512", "--remote-debugging-pipe",
)  # fmt: skip

Listener = Callable[[str, dict[str, Any]], None]


def has_process_groups() -> bool:
    """Return whether a browser can be ended here together with all its processes."""
    return hasattr(os, "killpg")


def sandbox_flags() -> tuple[str, ...]:
    """Return the flags without which a browser does not start: only root can't use the browser's sandbox."""
    return ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()


def new_profile(prefix: str) -> str:
    """Return a new folder for a browser's profile. Chromium creates a socket there, whose path must be short."""
    folder = tempfile.gettempdir()
    return tempfile.mkdtemp(prefix=prefix, dir=folder if len(folder) <= 40 else "/tmp")


def installed_chromium(applications: Path = APPLICATIONS) -> str | None:
    """Return the path of a Chromium with one of the usual names, or None.

    Args:
        applications: Folder of programs that are not on the path.
    """
    programs = [applications / f"{name}.app/Contents/MacOS/{name}" for name in ("Chromium", "Google Chrome")]
    return next(filter(None, map(shutil.which, [*NAMES, *map(str, programs)])), None)


def find_chromium(chromium: str | None = None) -> str:
    """Return the path of the Chromium executable.

    Args:
        chromium: Path or name of the browser. Default: `$IAD_CHROMIUM`, else the usual names on the path, else those
            in the folder `/Applications` of macOS.

    Raises:
        BrowserNotFound: There is no Chromium, or the system can't run one. The error text says what to do.
    """
    if not has_process_groups():
        raise BrowserNotFound(
            f"expected a system with process groups, such as Linux or macOS, to run a browser in, got {sys.platform}; "
            "on Windows use WSL"
        )
    named = chromium or os.environ.get(CHROMIUM_VARIABLE)
    found = shutil.which(named) if named else installed_chromium()
    if found:
        return found
    where = f"at {named!r}" if named else f"on the path ({', '.join(NAMES)}) or in {APPLICATIONS}"
    raise BrowserNotFound(
        f"expected a Chromium {where}, found none; install one (Debian and Ubuntu: apt-get install chromium "
        f"fonts-liberation) or name it with chromium= or {CHROMIUM_VARIABLE}"
    )


class Browser:
    """A running Chromium. Commands may be sent from any thread.

    Args:
        executable: Path of the browser.
        flags: Command line flags in addition to `FLAGS`. By default no host name is resolved.
        start_s: Time limit in seconds for the start.

    Attributes:
        version: Version reported by the browser.
    """

    def __init__(
        self,
        executable: str,
        *,
        flags: tuple[str, ...] = ("--host-resolver-rules=MAP * ~NOTFOUND",),
        start_s: float = 30.0,
    ) -> None:
        self._profile = new_profile("iad-chromium-")
        self._pending: dict[int, tuple[str, Future[dict[str, Any]]]] = {}
        self._listeners: dict[str, Listener] = {}
        self._lock = threading.Lock()
        self._next_id = 0
        self._gone = ""
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        command = [executable, *FLAGS, *sandbox_flags(), *flags, f"--user-data-dir={self._profile}"]
        # The browser expects its pipes as descriptors 3 and 4. The shell that sets them up removes the profile's folder
        # when the browser ends, even if the parent is already dead.
        launcher = 'exec 3<&0 4>&1 </dev/null >/dev/null; "$@"; rm -rf "$IAD_PROFILE"'
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close)
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", launcher, "iad", *command],
            stdin=to_read,
            stdout=to_write,
            stderr=self._stderr,
            env={**os.environ, "IAD_PROFILE": self._profile, "TMPDIR": self._profile},
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        self._reader = threading.Thread(target=self._read, name="iad-chromium", daemon=True)
        self._reader.start()
        try:
            self.version: str = self.send("Browser.getVersion", timeout_s=start_s)["product"]
            self.send("Browser.setDownloadBehavior", {"behavior": "deny"})
        except (PageTimeout, BrowserGone) as error:
            self._stderr.seek(0)
            stderr = self._stderr.read()[-500:].decode(errors="replace").strip()
            self.close()
            raise BrowserGone(
                f"expected {executable} to start, it did not ({error}): {stderr}; check that it runs in a terminal"
            ) from error

    @property
    def alive(self) -> bool:
        """Whether the browser still answers."""
        return not self._gone

    @property
    def process_group(self) -> int:
        """Id of the process group of the browser."""
        return self._process.pid

    def send(
        self, method: str, params: Mapping[str, Any] | None = None, *, session: str = "", timeout_s: float = 10.0
    ) -> dict[str, Any]:
        """Call a method and return its result.

        Raises:
            PageTimeout: There was no answer in time.
            ProtocolError: The browser refused the command.
            BrowserGone: The browser or the session's page has ended.
        """
        return self.answer_to(method, self.post(method, params, session=session), timeout_s=timeout_s)

    @staticmethod
    def answer_to(method: str, posted: "Future[dict[str, Any]]", *, timeout_s: float = 10.0) -> dict[str, Any]:
        """Wait for the result of a posted call. Raises the errors of `send`."""
        try:
            return posted.result(timeout_s)
        except FutureTimeout:
            raise PageTimeout(f"expected an answer to {method} within {timeout_s:g} s, got none") from None

    def post(
        self, method: str, params: Mapping[str, Any] | None = None, *, session: str = ""
    ) -> "Future[dict[str, Any]]":
        """Call a method without waiting for the result."""
        answer: Future[dict[str, Any]] = Future()
        message: dict[str, Any] = {"method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        with self._lock:
            if self._gone:
                answer.set_exception(BrowserGone(self._gone))
                return answer
            self._next_id += 1
            message["id"] = self._next_id
            self._pending[self._next_id] = (session, answer)
            data = memoryview(json.dumps(message).encode() + b"\0")
            try:
                while data:
                    data = data[os.write(self._to, data) :]
            except OSError as error:
                answer.set_exception(BrowserGone(f"the browser is gone: {error}"))
        return answer

    def listen(self, session: str, listener: Listener | None) -> None:
        """Call `listener` with each event of a session, on the reading thread. It must not wait. None removes it."""
        if listener is None:
            self._listeners.pop(session, None)
        else:
            self._listeners[session] = listener

    def abandon(self, session: str, reason: str) -> None:
        """Fail all pending calls of a dead page."""
        with self._lock:
            lost = [number for number, (owner, _) in self._pending.items() if owner == session]
            answers = [self._pending.pop(number)[1] for number in lost]
        for answer in answers:
            if not answer.done():
                answer.set_exception(BrowserGone(reason))

    def close(self) -> None:
        """End all processes of the browser and remove its profile. Closing twice is harmless."""
        self._fail("the browser was closed")
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._reader is not threading.current_thread():
            self._reader.join()
        with self._lock:
            for end in (self._to, self._from):
                if end >= 0:
                    os.close(end)
            self._to = self._from = -1
            self._stderr.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _read(self) -> None:
        """Hand each message to the listener or the call that waits for it, until the browser ends."""
        buffer = bytearray()
        while data := os.read(self._from, 1 << 16):
            buffer += data
            *messages, rest = bytes(buffer).split(b"\0") if b"\0" in data else [b""]
            buffer = bytearray(rest) if messages else buffer
            for message in map(json.loads, messages):
                if "id" not in message:
                    if listener := self._listeners.get(message.get("sessionId", "")):
                        listener(message["method"], message["params"])
                    continue
                with self._lock:
                    _, answer = self._pending.pop(message["id"], ("", None))
                if answer is None or answer.done():
                    continue
                if "error" in message:
                    reason = f"the browser refused: {message['error'].get('message', '')}"
                    answer.set_exception(ProtocolError(reason))
                else:
                    answer.set_result(message["result"])
        self._fail("the browser ended by itself")

    def _fail(self, reason: str) -> None:
        with self._lock:
            self._gone = self._gone or reason
            answers = [answer for _, answer in self._pending.values()]
            self._pending.clear()
        for answer in answers:
            if not answer.done():
                answer.set_exception(BrowserGone(reason))
