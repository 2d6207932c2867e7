"""Holds `IAD/Sketch2Code-v0` to contract 1, on a small folder of pages."""

from collections.abc import Iterator
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from tests.browser import Browsers
from tests.contract.environments import ASYNC, EnvironmentContract, Subject
from tests.iad_envs.sketch2code.sketch_pages import GIF, make_folder


def nothing(info: dict[str, Any]) -> str:
    """No page: it does not end the episode."""
    return f"let me think {info['step']}"


@pytest.fixture(autouse=True, scope="module")
def _data(tmp_path_factory: pytest.TempPathFactory, browsers: Browsers) -> Iterator[None]:
    root = tmp_path_factory.mktemp("data")
    make_folder(root / "sketch2code")
    with pytest.MonkeyPatch.context() as patch, browsers.leased(assets={"rick.jpg": GIF}):
        patch.setenv("IAD_DATA", str(root))
        yield


class TestSketch2Code(EnvironmentContract):
    @pytest.fixture
    def subject(self) -> Subject:
        return Subject("IAD/Sketch2Code-v0", nothing)

    @pytest.mark.parametrize(
        ("mode", "options"), [("sync", None), pytest.param("async", ASYNC, marks=pytest.mark.slow)]
    )
    def test_it_works_in_vectors(self, subject: Subject, mode: str, options: Any) -> None:
        super().test_it_works_in_vectors(subject, mode, options)
