"""Holds `IAD/WebShopBrowser-v0` to contract 1."""

import pytest

from tests.browser import missing
from tests.contract.environments import EnvironmentContract, Subject
from tests.contract.test_environments import browse

SUBJECT = Subject("IAD/WebShopBrowser-v0", browse)
needs_a_browser = pytest.mark.skipif(bool(missing()), reason=missing() or "everything is there")


@needs_a_browser
@pytest.mark.slow
@pytest.mark.timeout(300)
class TestWebShopBrowser(EnvironmentContract):
    @pytest.fixture
    def subject(self) -> Subject:
        return SUBJECT
