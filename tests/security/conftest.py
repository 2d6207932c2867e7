"""A browser, a server that counts who asks, and sandboxes of root and of an ordinary user."""

import os
import shutil
from collections.abc import Iterator

import pytest

from iad_envs.bash.sandbox import Sandbox
from iad_envs.browser.devtools import CHROMIUM_VARIABLE, NAMES, Browser, find_chromium
from tests.security.bash_sandboxes import USERS, sandbox_of
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


@pytest.fixture(scope="session", params=USERS)
def user(request: pytest.FixtureRequest) -> str:
    """Who starts the sandbox."""
    return str(request.param)


@pytest.fixture(scope="session")
def opened(user: str) -> Iterator[Sandbox]:
    with sandbox_of(user) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(opened: Sandbox) -> Sandbox:
    """A sandbox in its start state, shared by all tests that do not ask for limits of their own."""
    opened.reset()
    return opened
