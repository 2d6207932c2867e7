"""Environments on real data that were taken by `--from`, by the name that they have then."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.official.sources import source_of
from tests.iad_envs.official.small_sources import fetcher

WHERE = {"bird-dev": "bird", "webshop-small": "webshop", "bfcl": "bfcl/bfcl_eval"}
"""Where official data are in the folder of real data, if not under their name."""


@pytest.fixture
def made(real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes an environment on official data, after taking them from the folder of real data."""
    monkeypatch.setenv("IAD_OFFICIAL", str(tmp_path))

    def make(name: str, **options: Any) -> Any:
        source = source_of(name)
        given = real_data / WHERE.get(name, name)
        if not given.is_dir():
            pytest.skip(f"no {given} in IAD_REAL_DATA")
        # The products are the official ones with prices written in another way: another version, which is asked for.
        record = fetcher(source, tmp_path, any_version=name == "webshop-small").take(given)
        assert record is not None
        return gym.make(source.read_by, data_dir=f"official:{name}", **options).unwrapped

    return make


@pytest.mark.parametrize(("name", "options", "action", "said"), [
    ("webshop-small", {}, "search[red shoe]", "Total results: 50"),
    ("bird-dev", {"schema": "m-schema"}, "execute[SELECT COUNT(*) FROM superhero]", "750"),
    ("intercode", {}, "", ""),
    ("sketch2code", {}, "", ""),
    ("bfcl", {"category": "multi_turn_base", "scoring": "official"}, "", ""),
    ("acebench", {"category": "agent_multi_step", "scoring": "official"}, "", ""),
])  # fmt: skip
def test_data_are_read_as_taken(made: Any, tmp_path: Path, name: str, options: Any, action: str, said: str) -> None:
    env = made(name, **options)
    if name == "sketch2code":
        assert Path(env.data.folder) == tmp_path / name
        return
    env.reset(seed=0)
    assert said in env.step(action)[0] if action else env.data.name == "official"
    if name == "bird-dev":
        assert env.database_versions["superhero"] == "other"
    if name == "webshop-small":
        assert "price lower than" in env.reset(options={"task_id": "synthetic-499"})[1]["instruction"]
