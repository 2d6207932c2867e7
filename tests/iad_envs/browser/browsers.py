"""What a test in a real browser needs: a reason to skip, and which processes belong to one."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from iad_envs.browser.devtools import CHROMIUM_VARIABLE, NAMES
from iad_envs.browser.selenium import CHROMEDRIVER_VARIABLE


def missing() -> str:
    """What a browser environment lacks here; "" for nothing."""
    if find_spec("selenium") is None:
        return "needs Selenium: pip install -e '.[browser]'"
    if not (os.environ.get(CHROMIUM_VARIABLE) or any(map(shutil.which, NAMES))):
        return "needs Chromium: apt-get install chromium"
    if not (os.environ.get(CHROMEDRIVER_VARIABLE) or shutil.which("chromedriver")):
        return "needs chromedriver: apt-get install chromium-driver"
    return ""


def living(*, group: int = 0, mentioning: str = "") -> list[str]:
    """The command lines of processes of a group, or that mention a text; those that only wait to be reaped are dead."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, its_group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        is_meant = (group and int(its_group) == group) or (mentioning and mentioning in command)
        if is_meant and state not in "ZX":
            found.append(command)
    return found
