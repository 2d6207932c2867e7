"""`IAD/WebShop-v0` with its products on disk: the same world."""

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from iad_envs.webshop.env import WebShopEnv, load_store
from webshop_server.goals import load_goals
from webshop_server.storage.indexes import Indexes, IndexNotFound
from webshop_server.storage.loading import open_products


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Indexes:
    return Indexes(tmp_path_factory.mktemp("indexes"))


@pytest.fixture
def home(indexes: Indexes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IAD_INDEX", str(indexes.home))


def walk(env: Any, seed: int) -> list[Any]:
    """What a random shopper sees, is paid and could do."""
    draw = random.Random(seed)
    observation, info = env.reset(seed=seed)
    seen: list[Any] = [observation, info]
    query = " ".join(draw.sample(info["instruction"].split(), 4))
    for number in range(8):
        actions = [action for action in info["available_actions"] if action != "search[...]"]
        action = draw.choice(actions) if number and actions else f"search[{query}]"
        *step, info = env.step(action)
        seen += [*step, info]
        if step[2]:
            break
    return seen


@pytest.mark.usefixtures("home")
def test_episodes_are_the_same_as_in_memory(indexes: Indexes) -> None:
    in_memory = WebShopEnv(catalog="memory")
    folder = Path(in_memory.data.folder)
    indexes.build(folder)
    on_disk = WebShopEnv(catalog="disk")
    assert load_store(folder, None, "bm25", "light", catalog="disk").catalog.is_on_disk
    assert on_disk.task_ids == in_memory.task_ids
    for seed in range(8):
        assert walk(on_disk, seed) == walk(in_memory, seed)


def test_products_on_disk_that_were_not_indexed_are_an_error_with_the_command(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("IAD_INDEX", str(tmp_path / "none"))
    copy = tmp_path / "webshop"
    shutil.copytree(Path(WebShopEnv().data.folder), copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    with pytest.raises(IndexNotFound, match=rf"build it: iad index build --data-dir {copy}"):
        WebShopEnv(data_dir=copy, catalog="disk")


def test_catalogues_on_disk_and_in_memory_give_the_same_goals_of_each_kind(indexes: Indexes) -> None:
    folder = Path(WebShopEnv().data.folder)
    indexes.build(folder)
    catalogs = [open_products(folder, catalog=place, indexes=indexes) for place in ("memory", "disk")]
    for kind in ("human", "synthetic"):
        first, second = ([repr(goal) for goal in load_goals(folder, catalog, kind, first=50)] for catalog in catalogs)
        assert first == second
