"""Starts a Chromium driven by Selenium in its own process group, and cleans up completely.

Selenium talks to chromedriver, which talks to the browser through pipes. `process_holder` owns the process group and
ends it when this process ends, for whatever reason. Nothing is downloaded: both programs must be installed.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from iad_envs.browser.devtools import FLAGS, find_chromium, new_profile, sandbox_flags
from iad_envs.browser.errors import BrowserGone, BrowserNotFound
from webshop_server.extras import extra_command

CHROMEDRIVER_VARIABLE = "IAD_CHROMEDRIVER"
START_S = 30.0


def find_chromedriver(chromedriver: str | None = None) -> str:
    """Return the path of the chromedriver executable.

    Args:
        chromedriver: Path or name of the driver. Default: `$IAD_CHROMEDRIVER`, else `chromedriver` on the path.

    Raises:
        BrowserNotFound: There is no chromedriver. The error text says what to install.
    """
    named = chromedriver or os.environ.get(CHROMEDRIVER_VARIABLE) or "chromedriver"
    found = shutil.which(named)
    if found is None:
        raise BrowserNotFound(
            f"expected a chromedriver at {named!r}, found none; install the one of your Chromium (Debian and Ubuntu: "
            f"apt-get install chromium-driver) or name it with chromedriver= or {CHROMEDRIVER_VARIABLE}"
        )
    return found


def require_selenium() -> None:
    """Check that Selenium is installed.

    Raises:
        ModuleNotFoundError: Selenium is not installed. The error text says how to install it.
    """
    try:
        import selenium  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"expected Selenium to drive a browser, found none; install it with: {extra_command('browser')}"
        ) from error


class SeleniumBrowser:
    """A running Chromium with one window.

    Args:
        chromium: Path or name of the browser. See `find_chromium`.
        chromedriver: Path or name of the driver. See `find_chromedriver`.
        size: Width and height of the page in pixels.

    Attributes:
        driver: Selenium's WebDriver.

    Raises:
        BrowserNotFound: One of the programs is not installed.
        BrowserGone: The programs did not start.
    """

    def __init__(
        self, *, chromium: str | None = None, chromedriver: str | None = None, size: tuple[int, int] = (1280, 1280)
    ) -> None:
        require_selenium()
        executable, driver = find_chromium(chromium), find_chromedriver(chromedriver)
        self._owner = os.getpid()
        self._size = size
        self.driver: Any = None
        try:
            self._connect(f"http://127.0.0.1:{self._start(driver)}", executable)
        except BaseException as error:
            self.close()
            if isinstance(error, BrowserGone) or not isinstance(error, Exception):
                raise
            raise BrowserGone(
                f"expected {executable} to start, it did not ({str(error).strip():.300}); check that it runs in a "
                "terminal, and that chromedriver is of the same version"
            ) from error

    @property
    def process_group(self) -> int:
        """Id of the process group of browser and driver, 0 before the start."""
        found = re.search(rb"^group (\d+)$", self._output(), re.MULTILINE)
        return int(found[1]) if found else 0

    def resize(self, size: tuple[int, int]) -> None:
        """Show the pages of this tab, and of tabs that `new_tab` opens, in another width and height."""
        self._size = width, height = size
        # A window has a minimum width. An emulated screen has none and gets exactly the requested size.
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", metrics)

    def new_tab(self) -> str:
        """Go to a new tab of the same size, and return its handle."""
        self.driver.switch_to.new_window("tab")
        self.resize(self._size)
        return str(self.driver.current_window_handle)

    def command(self, name: str, parameters: dict[str, Any]) -> Any:
        """Send a command of the DevTools protocol to the current tab, and return its result."""
        return self.driver.execute("executeCdpCommand", {"cmd": name, "params": parameters})["value"]

    def close(self) -> None:
        """End all processes of the browser and remove its profile. Closing twice is harmless."""
        if os.getpid() != self._owner:
            return  # a forked copy must not end its parent's browser
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self.driver is not None:
            self.driver.command_executor.close()

    def _start(self, driver: str) -> int:
        """Start chromedriver and return its port."""
        holder = Path(__file__).with_name("process_holder.py")
        for left in (2, 1, 0):
            self.profile = new_profile("iad-browser-")
            self._log = Path(self.profile) / "chromedriver.log"
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(holder), self.profile, driver, "--port=0"],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, "TMPDIR": self.profile},
                    start_new_session=True,
                )
            until = time.monotonic() + START_S
            while time.monotonic() < until:
                output = self._output()
                if started := re.search(rb"started successfully on port (\d+)", output):
                    return int(started[1])
                if b"ended with status" in output or self._process.poll() is not None:
                    break
                time.sleep(0.005)
            given = self._output()[-300:].decode(errors="replace").strip()
            # It looks for a free port and then takes it, so another program may be faster.
            if not left or "Address already in use" not in given:
                break
            self.close()
        raise BrowserGone(f"expected chromedriver to start, it did not: {given}; check that it runs in a terminal")

    def _output(self) -> bytes:
        try:
            return self._log.read_bytes()
        except FileNotFoundError:
            return b""

    def _connect(self, server: str, executable: str) -> None:
        """Let chromedriver start the browser."""
        from selenium.webdriver import Remote
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chromium.remote_connection import ChromiumRemoteConnection
        from selenium.webdriver.remote.client_config import ClientConfig

        options = Options()
        options.binary_location = executable
        for flag in (
            *FLAGS,
            *sandbox_flags(),
            f"--user-data-dir={self.profile}",
            # Only this machine's name is resolved, no proxy is used, and nothing looks different under a pointer.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--no-proxy-server",
            "--blink-settings=primaryHoverType=1,availableHoverTypes=1",
        ):
            options.add_argument(flag)
        options.set_capability("timeouts", {"pageLoad": 30_000, "script": 30_000})
        # chromedriver, not this process, waits for a browser that dies at once.
        config = ClientConfig(server, timeout=int(START_S))
        connection = ChromiumRemoteConnection(server, "goog", "chrome", ignore_proxy=True, client_config=config)
        self.driver = Remote(command_executor=connection, options=options)
        config.timeout = 60
        self.resize(self._size)
