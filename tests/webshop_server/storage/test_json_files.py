"""Official files read value by value: the same values as read whole, whatever the file and wherever it is cut."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webshop_server.storage.json_files import CatalogError, read_items, read_pairs

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
def test_a_file_is_read_item_by_item_or_pair_by_pair(
    path: Path, items: list[Any], content: dict[str, Any], layout: Any, chunk: int
) -> None:
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


def test_memory_does_not_grow_with_the_file(path: Path) -> None:
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


def test_another_top_level_and_bytes_that_are_no_text_are_told(path: Path) -> None:
    for read, content, said in (
        (read_items, b"{}", "list, got dict"), (read_pairs, b"12", "object, got int"),
        (read_items, b'["\xff"]', "parse")
    ):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(CatalogError, match=said):
            list(read(path))  # type: ignore[operator]
