"""Where a Chromium is looked for."""

from pathlib import Path

import pytest

from iad_envs.browser.devtools import APPLICATIONS, CHROMIUM_VARIABLE, NAMES, find_chromium, installed_chromium
from iad_envs.browser.errors import BrowserNotFound


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that is the path, and no variable that names a browser."""
    monkeypatch.delenv(CHROMIUM_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


@pytest.mark.parametrize("name", ["Chromium", "Google Chrome"])
def test_what_is_not_on_the_path_is_found_among_applications(tmp_path: Path, on_path: Path, name: str) -> None:
    applications = tmp_path / "Applications"
    assert installed_chromium(applications) is None
    installed = program(applications / f"{name}.app" / "Contents" / "MacOS" / name)
    assert installed_chromium(applications) == installed
    assert installed_chromium(applications) != program(on_path / NAMES[-1])
    assert installed_chromium(applications) == str(on_path / NAMES[-1])  # the path comes first


def test_where_there_is_none_the_error_says_where_it_was_looked_for(on_path: Path) -> None:
    if installed_chromium() is not None:
        pytest.skip(f"there is one in {APPLICATIONS}")
    with pytest.raises(BrowserNotFound, match=r"on the path \(chromium, .* or in /Applications, found none"):
        find_chromium()
    assert find_chromium(program(on_path / "mine")) == str(on_path / "mine")
