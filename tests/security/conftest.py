"""A browser without protection, and a server that counts who asks."""

from collections.abc import Iterator

import pytest

from iad_envs.browser.devtools import Browser, find_chromium
from tests.browser import without_chromium
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
