"""Sandboxes of root and of an ordinary user."""

from collections.abc import Iterator

import pytest

from iad_envs.bash.sandbox import Sandbox
from tests.security.bash_sandboxes import SMALL, USERS, sandbox_of


@pytest.fixture(scope="session", params=USERS)
def user(request: pytest.FixtureRequest) -> str:
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
