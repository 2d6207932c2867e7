"""Indexes on disk: built once, named by what they were built from, and never broken."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.webshop_server.small_shop import record, write_folder
from webshop_server.storage.indexes import CATALOG, Indexes, IndexNotFound, index_home
from webshop_server.storage.json_files import CatalogError
from webshop_server.storage.loading import open_products, open_shop

ROOT = Path(__file__).parents[3]
BUILD_AND_DIE = """
import os, signal, sys
from pathlib import Path
from webshop_server.storage.indexes import Indexes
def report(doing, done, total):
    if doing == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)
Indexes(Path(sys.argv[2])).build(Path(sys.argv[1]), report=report)
"""


@pytest.fixture
def indexes(tmp_path: Path) -> Indexes:
    return Indexes(tmp_path / "indexes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return write_folder(tmp_path / "data")


def test_what_was_built_is_found_and_not_built_again(folder: Path, indexes: Indexes) -> None:
    in_memory = open_shop(folder, indexes=indexes)
    assert (indexes.home.exists(), indexes.find(folder, CATALOG), indexes.all()) == (False, None, [])
    told: list[tuple[str, int, int]] = []
    paths = indexes.build(folder, report=lambda *what: told.append(what))
    size = (folder / "items_shuffle_1000.json").stat().st_size
    assert told == [("reading products", size, size), ("indexing for bm25", 0, 23), ("writing the index bm25", 23, 23)]
    assert [indexes.find(folder, part) for part in (CATALOG, "bm25")] == paths
    assert indexes.build(folder, report=lambda *what: told.append(what)) == paths
    assert (len(told), sorted(index.part for index in indexes.all())) == (3, ["bm25", CATALOG])
    assert all(index.is_current and index.n_products == 23 and index.n_bytes > 0 for index in indexes.all())
    after = open_shop(folder, indexes=indexes)
    assert (in_memory.catalog.is_on_disk, after.catalog.is_on_disk) == (False, False)  # as they are few
    assert in_memory.engine.search("ceramic vase") == after.engine.search("ceramic vase")


def test_products_on_disk_need_an_index_and_the_error_says_how_to_build_it(folder: Path, indexes: Indexes) -> None:
    with pytest.raises(ValueError, match=r"auto, memory, disk; got 'cloud'"):
        open_products(folder, catalog="cloud")
    with pytest.raises(IndexNotFound, match=rf"the catalogue of {folder} .*found none; build it: iad index build"):
        open_products(folder, catalog="disk", indexes=indexes)
    indexes.build(folder)
    catalog, engine = open_shop(folder, catalog="disk", indexes=indexes)
    expected = open_shop(folder, catalog="memory", indexes=Indexes(indexes.home / "none")).engine
    assert (catalog.is_on_disk, engine.search("wool socks")) == (True, expected.search("wool socks"))
    write_folder(folder, [record("B1", "Cup", pricing="free")])
    with pytest.raises(CatalogError, match="record 0"):  # in another format
        indexes.build(folder)
    assert (len(indexes.all()), indexes.find(folder, CATALOG)) == (2, None)


@pytest.mark.parametrize("name", ["items_shuffle_1000.json", "items_ins_v2_1000.json"])
def test_an_index_for_other_data_is_named_and_not_used(folder: Path, indexes: Indexes, name: str) -> None:
    indexes.build(folder)
    old = indexes.digest(folder)
    content = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(content, indent=1))
    assert indexes.find(folder, CATALOG) is None
    with pytest.raises(IndexNotFound, match=rf"found one for other data of this folder \({old}, built 2"):
        indexes.require(folder, "bm25")
    indexes.build(folder)
    assert indexes.digest(folder) != old
    assert len(indexes.all()) == 4


def test_touched_or_copied_data_are_the_same(folder: Path, indexes: Indexes, tmp_path: Path) -> None:
    catalog, bm25 = indexes.build(folder)
    os.utime(folder / "items_shuffle_1000.json", (1, 1))
    assert indexes.find(folder, CATALOG) == catalog
    (stamp,) = json.loads((catalog.parent / "sources.json").read_text())
    assert stamp["files"]["items_shuffle_1000.json"][1] == 10**9  # so that next time it is not read
    shutil.copytree(folder, tmp_path / "copy")
    assert indexes.find(tmp_path / "copy", "bm25") == bm25
    bm25.rename(bm25.with_name("bm25-0-a0"))
    assert indexes.find(folder, "bm25") is None
    assert [index.is_current for index in indexes.all()] == [False, True]


def killed_while(writing: str, folder: Path, indexes: Indexes, how: str = "") -> None:
    code = BUILD_AND_DIE.replace("report=report", f"report=report{how}")
    command = [sys.executable, "-c", code, folder, indexes.home, writing]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL


@pytest.mark.parametrize("stage", ["indexing for bm25", "writing the index bm25"])
def test_a_killed_build_leaves_nothing_that_is_used(folder: Path, indexes: Indexes, stage: str) -> None:
    killed_while(stage, folder, indexes)
    assert indexes.find(folder, "bm25") is None
    with pytest.raises(IndexNotFound):
        open_shop(folder, catalog="disk", indexes=indexes)
    paths = indexes.build(folder)
    assert open_shop(folder, catalog="disk", indexes=indexes).engine.search("vase")[0].asin == "B000VASE01"
    left = {path.name for path in paths[0].parent.iterdir()}
    assert left == {"sources.json", "lock.sqlite", *(path.name for path in paths)}


def test_a_rebuild_killed_or_done_disturbs_nobody_who_reads(folder: Path, indexes: Indexes) -> None:
    indexes.build(folder)
    shops = [open_shop(folder, catalog="disk", indexes=indexes)]
    for rebuild in (
        lambda: killed_while("writing the index bm25", folder, indexes, ", rebuild=True"),
        lambda: indexes.build(folder, rebuild=True),
    ):
        rebuild()
        shops.append(open_shop(folder, catalog="disk", indexes=indexes))
        for catalog, engine in shops:
            found = engine.search("vase")[0].asin, [product.asin for product in catalog][2]
            assert found == ("B000VASE01", "B000VASE01")


def test_two_who_build_at_once_build_once(folder: Path, indexes: Indexes) -> None:
    started, told = threading.Barrier(2), []

    def build(_: int) -> None:
        started.wait()
        indexes.build(folder, report=lambda doing, *_: told.append(doing))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(build, range(2)))
    assert told.count("indexing for bm25") == 1
    assert len(indexes.all()) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other places")
def test_the_home_can_be_named_or_is_a_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value, home in (
        ("IAD_INDEX", "mine", "mine"),
        ("XDG_CACHE_HOME", "caches", "caches/iad/indexes"),
        ("XDG_CACHE_HOME", "", ".cache/iad/indexes"),
    ):
        monkeypatch.delenv("IAD_INDEX", raising=False)
        monkeypatch.setenv(name, str(tmp_path / value) if value else "")
        assert index_home() == tmp_path / home
