"""A browser without protection, a server that counts who asks, and sandboxes of root and of an ordinary user."""

from collections.abc import Iterator

import pytest

from iad_envs.bash.sandbox import Sandbox
from iad_envs.browser.devtools import Browser, find_chromium
from tests.browser import without_chromium
from tests.security.bash_sandboxes import SMALL, USERS, sandbox_of
from tests.security.html_witness import Witness


@pytest.fixture(scope="module")
def witness() -> Iterator[Witness]:
    made = Witness()
    yield made
    made.close()


@pytest.fixture(scope="module")
def unprotected() -> Iterator[Browser]:
    if without_chromium():
        pytest.skip(without_chromium())
    browser = Browser(find_chromium(), flags=())
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


@pytest.fixture(scope="session")
def opened_small(user: str) -> Iterator[Sandbox]:
    with sandbox_of(user, limits=SMALL) as sandbox:
        yield sandbox


@pytest.fixture
def small(opened_small: Sandbox) -> Sandbox:
    """The same, with little room."""
    opened_small.reset()
    return opened_small
