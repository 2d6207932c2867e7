"""Every test gets a server of its own, and no variable that names a proxy, a hub or a token."""

from collections.abc import Iterator

import pytest

from tests.iad_envs.official.file_server import FileServer, serving_files

PROXIES = ("http_proxy", "https_proxy", "no_proxy")
VARIABLES = ("HF_ENDPOINT", "HF_TOKEN", *PROXIES, *map(str.upper, PROXIES))


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, "ALL_PROXY", "all_proxy", "IAD_DATA", "IAD_OFFICIAL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving_files() as files:
        yield files
