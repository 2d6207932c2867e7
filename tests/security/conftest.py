"""A browser, and a server that counts who asks."""

import os
import shutil
from collections.abc import Iterator

import pytest

from iad_envs.browser.devtools import CHROMIUM_VARIABLE, NAMES, Browser, find_chromium
from tests.security.html_witness import Witness


@pytest.fixture(scope="session")
def chromium() -> str:
    if not (os.environ.get(CHROMIUM_VARIABLE) or any(map(shutil.which, NAMES))):
        pytest.skip("needs Chromium: apt-get install chromium fonts-liberation")
    return find_chromium()


@pytest.fixture(scope="module")
def witness() -> Iterator[Witness]:
    made = Witness()
    yield made
    made.close()


@pytest.fixture(scope="module")
def unprotected(chromium: str) -> Iterator[Browser]:
    browser = Browser(chromium, flags=())
    yield browser
    browser.close()
