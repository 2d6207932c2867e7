"""`IAD/WebShop-v0` with its products on disk: the same world."""

from pathlib import Path

import pytest

from iad_envs.webshop.env import WebShopEnv, load_store
from tests.iad_envs.webshop.shop_walks import walk_together
from webshop_server.storage.indexes import Indexes


def test_episodes_are_the_same_as_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IAD_INDEX", str(tmp_path))
    in_memory = WebShopEnv(catalog="memory")
    folder = Path(in_memory.data.folder)
    Indexes(tmp_path).build(folder)
    on_disk = WebShopEnv(catalog="disk")
    assert load_store(folder, None, "bm25", "light", catalog="disk").catalog.is_on_disk
    assert on_disk.task_ids == in_memory.task_ids
    for seed in range(8):
        walk_together([on_disk, in_memory], seed)
