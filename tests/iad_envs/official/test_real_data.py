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


def test_the_shop_has_its_test_and_human_instructions(made: Any) -> None:
    env = made("webshop-small")
    _, info = env.reset(options={"task_id": "synthetic-499"})
    assert "price lower than" in info["instruction"]
    assert "Total results: 50" in env.step("search[red shoe]")[0]
    human = gym.make("IAD/WebShop-v0", data_dir="official:webshop-small", goals="human")
    assert human.reset(options={"task_id": "human-12"})[1]["instruction"]


def test_bird_answers_a_query(made: Any) -> None:
    env = made("bird-dev", schema="m-schema")
    env.reset(seed=0)
    assert "750" in env.step("execute[SELECT COUNT(*) FROM superhero]")[0]
    assert env.database_versions["superhero"] == "other"


@pytest.mark.parametrize(
    ("name", "options", "found"),
    [
        ("intercode", {}, "fs_3.tar.gz"),
        ("sketch2code", {}, "webpages/rick.jpg"),
        ("bfcl", {"category": "multi_turn_base", "scoring": "official"}, "*"),
        ("acebench", {"category": "agent_multi_step", "scoring": "official"}, "*"),
    ],
)
def test_others_are_read_as_they_were_taken(made: Any, tmp_path: Path, name: str, options: Any, found: str) -> None:
    env = made(name, **options)
    assert list((tmp_path / name).glob(found))
    if name == "sketch2code":
        assert Path(env.data.folder) == tmp_path / name
        return
    env.reset(seed=0)
    assert env.data.name == "official"
