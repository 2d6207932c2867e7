"""Files: written whole or not at all, read value by value; products on disk; and indexes that are built once."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.webshop_server.small_shop import ANNOTATIONS, record, write_folder
from webshop_server.catalog import Catalog, load_catalog
from webshop_server.storage.atomic import write_atomically
from webshop_server.storage.disk_catalog import open_disk_catalog, write_disk_catalog
from webshop_server.storage.indexes import CATALOG, Indexes, IndexNotFound, index_home
from webshop_server.storage.json_files import CatalogError, read_items, read_pairs
from webshop_server.storage.loading import open_products, open_shop


def test_a_file_is_replaced_whole_when_its_block_ends_well_while_others_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")

    def write(text: str, error: BaseException | None = None) -> None:
        with write_atomically(path) as part:
            part.write_text(text)
            assert (path.read_text(), part.parent) == ("old", tmp_path)
            if error is not None:
                raise error

    with pytest.raises(KeyboardInterrupt):
        write("half", KeyboardInterrupt())
    with write_atomically(path):
        pass
    assert path.read_text() == "old"
    write("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
    texts = [letter * 50_000 for letter in "abcd"]

    def write_often(text: str) -> None:
        for _ in range(8):
            with write_atomically(path) as part:
                part.write_text(text)

    write_often(texts[0])
    with ThreadPoolExecutor(len(texts)) as threads:
        writing, seen = [threads.submit(write_often, text) for text in texts], {path.read_text()}
        while not all(one.done() for one in writing):
            seen.add(path.read_text())
        assert [one.result() for one in writing] == [None] * len(texts)
    assert seen <= set(texts)
    assert list(tmp_path.iterdir()) == [path]


texts = st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
chunks = st.integers(1, 40)
layouts = st.sampled_from([{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("json") / "items_shuffle.json"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return path


@given(st.lists(values, max_size=6), st.dictionaries(texts, values, max_size=6), layouts, chunks)
@settings(deadline=None)
def test_a_file_is_read_by_items_or_by_pairs(path: Path, items: Any, content: Any, layout: Any, chunk: int) -> None:
    assert list(read_items(written(path, json.dumps(items, **layout) + "\n"), chunk=chunk)) == items
    assert dict(read_pairs(written(path, " " + json.dumps(content, **layout)), chunk=chunk)) == content


@given(st.text('[]{},:"1e- \nat', max_size=12), chunks)
@settings(deadline=None)
def test_what_is_not_json_is_an_error_that_names_the_file(path: Path, text: str, chunk: int) -> None:
    written(path, text)
    for read, kind in ((read_items, list), (read_pairs, dict)):
        try:
            content = json.loads(text)
        except json.JSONDecodeError:
            content = None
        if isinstance(content, kind):
            assert len(list(read(path, chunk=chunk))) >= len(content)  # type: ignore[operator]
        else:
            with pytest.raises(CatalogError, match=r"items_shuffle\.json: expected"):
                list(read(path, chunk=chunk))  # type: ignore[operator]


def test_memory_does_not_grow_with_the_file_and_another_top_level_or_no_text_is_told(path: Path) -> None:
    record = json.dumps({"asin": "B1", "text": "word " * 100})
    written(path, "[" + ",\n".join([record] * 3_000) + "]")
    read: list[int] = []
    tracemalloc.start()
    n = sum(1 for _ in read_items(path, read.append, chunk=1 << 14))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n == 3_000
    assert peak < path.stat().st_size / 10
    assert read == sorted(read)
    assert read[-1] == path.stat().st_size
    for read, content, said in (
        (read_items, b"{}", "list, got dict"), (read_pairs, b"12", "object, got int"),
        (read_items, b'["\xff"]', "parse")
    ):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(CatalogError, match=said):
            list(read(path))  # type: ignore[operator]


@pytest.fixture
def stored(folder: Path, tmp_path: Path) -> Catalog:
    (tmp_path / "shelf").mkdir()
    write_disk_catalog(folder, tmp_path / "shelf")
    return open_disk_catalog(tmp_path / "shelf")


def facts(catalog: Any) -> list[dict[str, Any]]:
    return [asdict(product) for product in catalog]


def test_products_their_order_and_their_ids_are_the_same_also_in_threads(catalog: Catalog, stored: Catalog) -> None:
    assert facts(stored) == facts(catalog)
    assert list(stored.asins()) == list(catalog.asins())
    assert facts(stored.products[2:20:3]) == facts(catalog.products[2:20:3])
    assert stored.products[-1].asin == catalog.products[-1].asin
    assert stored["B000VASE01"] is stored.products[2]
    for each, is_on_disk in ((stored, True), (catalog, False)):
        assert (each.is_on_disk, len(each), each.get("B1")) == (is_on_disk, 23, None)
        assert ("B000VASE01" in each, "b000vase01" in each, 7 in each) == (True, False, False)
        with pytest.raises(KeyError, match="one of the 23 products, got 'B1'"):
            each["B1"]
    with pytest.raises(IndexError):
        stored.products[23]
    asins = [asin for seed in range(4) for asin in random.Random(seed).sample(list(catalog.asins()), len(catalog))]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda asin: stored[asin].name, asins)) == [catalog[asin].name for asin in asins]


def test_repeated_ids_are_left_out_and_a_broken_record_is_the_same_error_as_in_memory(tmp_path: Path) -> None:
    for name in ("shelf", "other", "broken"):
        (tmp_path / name).mkdir()
    write_folder(tmp_path, [record("B1", "First"), record("B1", "Again"), record("nan", "N")])
    (tmp_path / "items_ins_v2_1000.json").write_text('{"B1": {"attributes": ["a"]}, "B1": {"attributes": ["b"]}}')
    assert write_disk_catalog(tmp_path, tmp_path / "shelf") == 1
    (product,) = open_disk_catalog(tmp_path / "shelf")
    assert (product.name, product.attributes) == ("First", ("b",))
    write_folder(tmp_path, [record("B1", "Cup \ud800", query="\x00")])  # no Unicode text
    assert write_disk_catalog(tmp_path, tmp_path / "other") == 1
    assert facts(open_disk_catalog(tmp_path / "other")) == facts(load_catalog(tmp_path))
    write_folder(tmp_path, [record("B1", "Cup"), record("B2", "Cup", pricing="free")], ANNOTATIONS)
    said = []
    for read in (lambda: write_disk_catalog(tmp_path, tmp_path / "broken"), lambda: load_catalog(tmp_path)):
        with pytest.raises(CatalogError, match=r"record 1 \(asin B2\)") as refused:
            read()
        said.append(str(refused.value))
    assert said[0] == said[1]


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
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return write_folder(tmp_path / "data")


def test_what_was_built_is_found_and_not_built_again(data: Path, indexes: Indexes) -> None:
    in_memory = open_shop(data, indexes=indexes)
    assert (indexes.home.exists(), indexes.find(data, CATALOG), indexes.all()) == (False, None, [])
    told: list[tuple[str, int, int]] = []
    paths = indexes.build(data, report=lambda *what: told.append(what))
    size = (data / "items_shuffle_1000.json").stat().st_size
    assert told == [("reading products", size, size), ("indexing for bm25", 0, 23), ("writing the index bm25", 23, 23)]
    assert [indexes.find(data, part) for part in (CATALOG, "bm25")] == paths
    assert indexes.build(data, report=lambda *what: told.append(what)) == paths
    assert (len(told), sorted(index.part for index in indexes.all())) == (3, ["bm25", CATALOG])
    assert all(index.is_current and index.n_products == 23 and index.n_bytes > 0 for index in indexes.all())
    after = open_shop(data, indexes=indexes)
    assert (in_memory.catalog.is_on_disk, after.catalog.is_on_disk) == (False, False)  # as they are few
    assert in_memory.engine.search("ceramic vase") == after.engine.search("ceramic vase")


def test_products_on_disk_need_an_index_and_the_error_says_how_to_build_it(data: Path, indexes: Indexes) -> None:
    with pytest.raises(ValueError, match=r"auto, memory, disk; got 'cloud'"):
        open_products(data, catalog="cloud")
    with pytest.raises(IndexNotFound, match=rf"the catalogue of {data} .*found none; build it: iad index build"):
        open_products(data, catalog="disk", indexes=indexes)
    indexes.build(data)
    catalog, engine = open_shop(data, catalog="disk", indexes=indexes)
    expected = open_shop(data, catalog="memory", indexes=Indexes(indexes.home / "none")).engine
    assert (catalog.is_on_disk, engine.search("wool socks")) == (True, expected.search("wool socks"))
    write_folder(data, [record("B1", "Cup", pricing="free")])
    with pytest.raises(CatalogError, match="record 0"):  # in another format
        indexes.build(data)
    assert (len(indexes.all()), indexes.find(data, CATALOG)) == (2, None)


@pytest.mark.parametrize("name", ["items_shuffle_1000.json", "items_ins_v2_1000.json"])
def test_an_index_for_other_data_is_named_and_not_used(data: Path, indexes: Indexes, name: str) -> None:
    indexes.build(data)
    old = indexes.digest(data)
    content = json.loads((data / name).read_text())
    (data / name).write_text(json.dumps(content, indent=1))
    assert indexes.find(data, CATALOG) is None
    with pytest.raises(IndexNotFound, match=rf"found one for other data of this folder \({old}, built 2"):
        indexes.require(data, "bm25")
    indexes.build(data)
    assert indexes.digest(data) != old
    assert len(indexes.all()) == 4


def test_touched_or_copied_data_are_the_same(data: Path, indexes: Indexes, tmp_path: Path) -> None:
    catalog, bm25 = indexes.build(data)
    os.utime(data / "items_shuffle_1000.json", (1, 1))
    assert indexes.find(data, CATALOG) == catalog
    (stamp,) = json.loads((catalog.parent / "sources.json").read_text())
    assert stamp["files"]["items_shuffle_1000.json"][1] == 10**9  # so that next time it is not read
    shutil.copytree(data, tmp_path / "copy")
    assert indexes.find(tmp_path / "copy", "bm25") == bm25
    bm25.rename(bm25.with_name("bm25-0-a0"))
    assert indexes.find(data, "bm25") is None
    assert [index.is_current for index in indexes.all()] == [False, True]


def killed_while(writing: str, data: Path, indexes: Indexes, how: str = "") -> None:
    code = BUILD_AND_DIE.replace("report=report", f"report=report{how}")
    command = [sys.executable, "-c", code, data, indexes.home, writing]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL


@pytest.mark.parametrize("stage", ["indexing for bm25", "writing the index bm25"])
def test_a_killed_build_leaves_nothing_that_is_used(data: Path, indexes: Indexes, stage: str) -> None:
    killed_while(stage, data, indexes)
    assert indexes.find(data, "bm25") is None
    with pytest.raises(IndexNotFound):
        open_shop(data, catalog="disk", indexes=indexes)
    paths = indexes.build(data)
    assert open_shop(data, catalog="disk", indexes=indexes).engine.search("vase")[0].asin == "B000VASE01"
    left = {path.name for path in paths[0].parent.iterdir()}
    assert left == {"sources.json", "lock.sqlite", *(path.name for path in paths)}


def test_a_rebuild_killed_or_done_disturbs_nobody_who_reads(data: Path, indexes: Indexes) -> None:
    indexes.build(data)
    shops = [open_shop(data, catalog="disk", indexes=indexes)]
    for rebuild in (
        lambda: killed_while("writing the index bm25", data, indexes, ", rebuild=True"),
        lambda: indexes.build(data, rebuild=True),
    ):
        rebuild()
        shops.append(open_shop(data, catalog="disk", indexes=indexes))
        for catalog, engine in shops:
            found = engine.search("vase")[0].asin, [product.asin for product in catalog][2]
            assert found == ("B000VASE01", "B000VASE01")


def test_two_who_build_at_once_build_once(data: Path, indexes: Indexes) -> None:
    started, told = threading.Barrier(2), []

    def build(_: int) -> None:
        started.wait()
        indexes.build(data, report=lambda doing, *_: told.append(doing))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(build, range(2)))
    assert told.count("indexing for bm25") == 1
    assert len(indexes.all()) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other places")
def test_the_home_can_be_named_or_is_a_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    cache, place = "XDG_CACHE_HOME", "iad/indexes"
    for name, value, home in (("IAD_INDEX", "b", "b"), (cache, "a", f"a/{place}"), (cache, "", f".cache/{place}")):
        monkeypatch.delenv("IAD_INDEX", raising=False)
        monkeypatch.setenv(name, str(tmp_path / value) if value else "")
        assert index_home() == tmp_path / home
