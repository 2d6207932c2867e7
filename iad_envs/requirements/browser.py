"""Checks what shows pages: the browser, its driver with Selenium, and OpenCV, which reads their pictures."""

import os
import re
import shutil
import time
from collections.abc import Callable, Mapping

from iad_envs.browser.devtools import (
    CHROMIUM_VARIABLE,
    Browser,
    find_chromium,
    has_process_groups,
    installed_chromium,
)
from iad_envs.browser.errors import BrowserGone, BrowserNotFound, PageTimeout
from iad_envs.browser.selenium import CHROMEDRIVER_VARIABLE, find_chromedriver, require_selenium
from iad_envs.requirements import Missing, Requirement, first_line


def _found(find: Callable[[], str], variable: str, installed: str | None, install: Mapping[str, str]) -> str:
    """Return a program's path. Where a variable names none, it has to be unset; else a package is missing."""
    try:
        return find()
    except BrowserNotFound as error:
        named = os.environ.get(variable)
        if not named:
            raise Missing(install) from error
        rest = {} if installed else install
        raise Missing({"command": f"unset {variable}", **rest}, f"{variable}={named} is not a program") from error


def _browser(limit_s: float) -> str:
    if not has_process_groups():
        raise Missing({}, "needs Linux or macOS; on Windows use WSL")
    packages = {
        "apt-get": "chromium fonts-liberation",
        "ubuntu": "chromium-browser fonts-liberation",
        "dnf": "chromium liberation-fonts",
        "pacman": "chromium ttf-liberation",
        "zypper": "chromium liberation-fonts",
        "brew --cask": "chromium",
    }
    executable = _found(find_chromium, CHROMIUM_VARIABLE, installed_chromium(), packages)
    began = time.monotonic()
    try:
        browser = Browser(executable, start_s=limit_s)
    except BrowserGone as error:
        if isinstance(error.__cause__, PageTimeout):
            raise TimeoutError(f"{executable} does not answer within {limit_s:g} s") from error
        raise
    try:
        return f"{browser.version}, {executable}, starts in {time.monotonic() - began:.1f} s"
    finally:
        browser.close()


def _driver(limit_s: float) -> str:
    packages = {
        "apt-get": "chromium-driver",
        "ubuntu": "chromium-chromedriver",
        "dnf": "chromedriver",
        "pacman": "chromium",
        "zypper": "chromedriver",
        "brew --cask": "chromedriver",
    }
    driver = _found(find_chromedriver, CHROMEDRIVER_VARIABLE, shutil.which("chromedriver"), packages)
    version = re.compile(r"(\d+)(?:\.\d+)+")
    own = version.search(first_line([driver, "--version"], limit_s / 2))
    try:
        browser = version.search(first_line([find_chromium(), "--version"], limit_s / 2))
    except (BrowserNotFound, RuntimeError, TimeoutError):  # the browser is a separate requirement
        browser = None
    if own and browser and own[1] != browser[1]:
        raise Missing(packages, f"{driver} is of version {own[0]}, the browser of {browser[0]}")
    return f"{own[0] if own else 'of unknown version'}, {driver}"


def _selenium(limit_s: float) -> str:
    try:
        require_selenium()
    except ModuleNotFoundError as error:
        raise Missing({"extra": "browser"}) from error
    import selenium

    return str(selenium.__version__)


def _opencv(limit_s: float) -> str:
    from iad_envs.browser.images import opencv

    try:
        return f"{opencv().__version__}"
    except ModuleNotFoundError as error:
        raise Missing({"extra": "sketch2code"}) from error


BROWSER = Requirement("browser", _browser)
DRIVER = Requirement("driver", _driver)
SELENIUM = Requirement("Selenium", _selenium)
OPENCV = Requirement("OpenCV", _opencv)
