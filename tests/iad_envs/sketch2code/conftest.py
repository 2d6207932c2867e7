"""The small folder of pages, for tests whose environments share one renderer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Browsers
from tests.iad_envs.sketch2code.sketch_pages import GIF, make_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, browsers: Browsers) -> Iterator[Path]:
    with browsers.leased(assets={"rick.jpg": GIF}):
        yield make_folder(tmp_path_factory.mktemp("data") / "sketch2code")
