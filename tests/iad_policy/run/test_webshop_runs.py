"""Runs on the shop: the bundled data, and the official ones where they are at hand."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers the shop)
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.run.components import load_components
from iad_policy.run.config import RunConfig
from iad_policy.run.runner import Runner

SHOP = "IAD/WebShop-v0"


def run(path: Path, data_dir: str | None = None, **changes: Any) -> list[EpisodeRecord]:
    config = RunConfig(SHOP, "shopper", "proxy", data_dir=data_dir, **({"tasks": 10} | changes))
    runner = Runner(
        config, lambda: gym.make(SHOP, **({} if data_dir is None else {"data_dir": data_dir})), load_components
    )
    with RunFolder(path, runner.recorded_config()) as folder:
        return list(runner.episodes(folder))


def test_the_same_seed_gives_the_same_run_and_another_one_another(tmp_path: Path) -> None:
    first, second, other = (run(tmp_path / str(place), seed=seed) for place, seed in enumerate((0, 0, 1)))
    assert [one.actions for one in first] == [one.actions for one in second]
    assert [one.key for one in first] == [one.key for one in second]
    assert [one.actions for one in first] != [one.actions for one in other]


def test_a_lost_record_is_rebuilt_from_the_answers(tmp_path: Path) -> None:
    whole = run(tmp_path)
    path = tmp_path / "episodes.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-3]))
    size = (tmp_path / "answers.jsonl").stat().st_size
    again = run(tmp_path)
    assert [one.actions for one in again] == [one.actions for one in whole]
    assert [one.reward for one in again] == [one.reward for one in whole]
    assert [one.spent for one in again] == [one.spent for one in whole]
    assert (tmp_path / "answers.jsonl").stat().st_size == size


def test_official_data_run_and_have_keys_of_their_own(tmp_path: Path, real_data: Path) -> None:
    bundled = run(tmp_path / "bundled", tasks=2)
    official = run(tmp_path / "official", str(real_data / "webshop"), tasks=2)
    assert not {one.key for one in bundled} & {one.key for one in official}
    assert all(one.stop_reason in ("done", "max_steps") for one in official)


@pytest.mark.parametrize("strategy", ["single", "bon", "bon-sc", "iad"])
def test_every_strategy_is_run_with_its_own_options(tmp_path: Path, strategy: str) -> None:
    (record,) = run(tmp_path, strategies=(strategy,), tasks=1, n=2)
    n = 1 if strategy == "single" else 2
    assert record.usage["agent"]["proposals"] == n * record.n_steps
