"""`official:NAME` as a data folder: only what was asked for, only where it is, and never unasked."""

import sys
from pathlib import Path

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.data import data_folder
from iad_envs.errors import DataNotFound, UnknownTask
from iad_envs.official.place import find_official, official_root
from iad_envs.official.sources import source_of

SHOP = "IAD/WebShop-v0"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of official data."""
    monkeypatch.setenv("IAD_OFFICIAL", str(tmp_path / "official"))
    return tmp_path / "official"


def test_official_data_that_are_here_are_taken_where_they_fit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataNotFound, match=rf"{root / 'webshop-small'}.*iad data fetch webshop-small"):
        gym.make(SHOP, data_dir="official:webshop-small")
    root.mkdir()
    bundled = data_folder("webshop")
    (root / "webshop-small").symlink_to(bundled)
    env = gym.make(SHOP, data_dir="official:webshop-small")
    assert Path(env.unwrapped.data.folder) == bundled.resolve()  # type: ignore[attr-defined]
    assert "WebShop" in env.reset(seed=0)[0]
    before = data_folder("sketch2code")
    (root / "sketch2code").mkdir()
    assert data_folder("sketch2code") == before
    monkeypatch.setenv("IAD_DATA", str(root.parent / "elsewhere"))
    assert data_folder("sketch2code") == before
    for environment, name, error, said in (
        ("bird", "webshop-small", ValueError, "expected official data of bird, got webshop-small, those of webshop"),
        ("webshop", "webshop-smal", UnknownTask, r"name of official data, got 'webshop-smal' \(near: webshop-"),
        ("webshop", "agentboard-webshop", ValueError, "got .*, which no environment reads as they are"),
    ):
        with pytest.raises(error, match=said):
            data_folder(environment, f"official:{name}")


@pytest.mark.parametrize("inside", ["", "official"])
def test_the_folder_lies_outside_of_the_defaults(tmp_path: Path, inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    found = official_root({})
    assert (found.name, found.is_relative_to(tmp_path)) == ("official", True)
    variables = {"IAD_DATA": str(tmp_path), "IAD_OFFICIAL": str(tmp_path / inside)}
    with pytest.raises(ValueError, match="expected a folder of official data outside of IAD_DATA"):
        official_root(variables)
    assert official_root({**variables, "IAD_DATA": str(tmp_path / "data")}) == tmp_path / inside


def test_an_installed_package_has_its_data(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of("bfcl")._replace(package="official_data_of_a_test")
    assert find_official(source) is None
    (tmp_path / source.package).mkdir()
    (tmp_path / source.package / "__init__.py").write_text("raise SystemExit", encoding="utf-8")  # it is not imported
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert find_official(source) == tmp_path / source.package
    (root / "bfcl").mkdir(parents=True)
    assert find_official(source) == root / "bfcl"
