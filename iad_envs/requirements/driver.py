"""Checks Selenium and the driver, which must have the browser's version."""

import os
import re
import shutil

from iad_envs.requirements import Missing, Requirement, first_line

CHROMEDRIVER = {
    "apt-get": "chromium-driver",
    "ubuntu": "chromium-chromedriver",
    "dnf": "chromedriver",
    "pacman": "chromium",
    "zypper": "chromedriver",
    "brew --cask": "chromedriver",
}
_VERSION = re.compile(r"(\d+)(?:\.\d+)+")


def _selenium(limit_s: float) -> str:
    from iad_envs.browser.selenium import require_selenium

    try:
        require_selenium()
    except ModuleNotFoundError as error:
        raise Missing({"extra": "browser"}) from error
    import selenium

    return str(selenium.__version__)


def _driver(limit_s: float) -> str:
    from iad_envs.browser.devtools import find_chromium
    from iad_envs.browser.errors import BrowserNotFound
    from iad_envs.browser.selenium import CHROMEDRIVER_VARIABLE, find_chromedriver

    try:
        driver = find_chromedriver()
    except BrowserNotFound as error:
        named = os.environ.get(CHROMEDRIVER_VARIABLE)
        if not named:
            raise Missing(CHROMEDRIVER) from error
        rest = {} if shutil.which("chromedriver") else CHROMEDRIVER
        raise Missing(
            {"command": f"unset {CHROMEDRIVER_VARIABLE}", **rest}, f"{CHROMEDRIVER_VARIABLE}={named} is not a program"
        ) from error
    version_found = _VERSION.search(first_line([driver, "--version"], limit_s / 2))
    version = version_found[0] if version_found else "of unknown version"
    try:
        browser = _VERSION.search(first_line([find_chromium(), "--version"], limit_s / 2))
    except (BrowserNotFound, RuntimeError, TimeoutError):  # the browser is a separate requirement
        browser = None
    if version_found and browser and version_found[1] != browser[1]:
        raise Missing(CHROMEDRIVER, f"{driver} is of version {version_found[0]}, the browser of {browser[0]}")
    return f"{version}, {driver}"


SELENIUM = Requirement("Selenium", _selenium)
DRIVER = Requirement("driver", _driver)
