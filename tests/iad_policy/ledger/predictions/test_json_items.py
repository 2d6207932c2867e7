"""JSON that others wrote: what can be read is read, and what can't be is named with its place."""

from pathlib import Path
from typing import Any

import pytest

from iad_policy.ledger.predictions.json_items import read_items


def read(tmp_path: Path, text: str | bytes, name: str = "file.json") -> tuple[list[tuple[Any, ...]], list[str]]:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    items, problems = read_items(path)
    for place in [item.place for item in items] + problems:
        assert place.startswith(str(path))
    shown = [(item.place.removeprefix(f"{path}, line "), *item[1:]) for item in items]
    return shown, [problem.removeprefix(f"{path}") for problem in problems]


def test_members_of_objects_and_arrays_and_lines_have_their_places(tmp_path: Path) -> None:
    assert read(tmp_path, '{"a": 1,\n"b": [2]}') == ([("1", 0, "a", 1), ("2", 1, "b", [2])], [])
    assert read(tmp_path, '\ufeff [1,\n\n{"b": 2} ]\n') == ([("1", 0, None, 1), ("3", 1, None, {"b": 2})], [])
    lines = '{"a": 1}\n\n{"a": 2}\n'
    for name in ("file.jsonl", "file.ndjson", "file.json"):
        assert read(tmp_path, lines, name) == ([("1", 0, None, {"a": 1}), ("3", 1, None, {"a": 2})], [])
    assert read(tmp_path, "{}") == read(tmp_path, "[]") == ([], [])


def test_a_line_that_can_not_be_read_costs_only_itself_and_keeps_its_number(tmp_path: Path) -> None:
    items, problems = read(tmp_path, '{"a": 1}\n{"a": \nNaN\n"\udc80'.encode("utf-8", "surrogateescape"), "file.jsonl")
    assert [(place, position) for place, position, *_ in items] == [("1", 0), ("3", 2)]
    assert [problem.partition(":")[0] for problem in problems] == [", line 2", ", line 4"]
    assert "not UTF-8" in problems[1]
    items, problems = read(tmp_path, '{bad}\n{"a": 2}\n')
    assert ([position for _, position, *_ in items], len(problems)) == ([1], 1)


@pytest.mark.parametrize(
    ("text", "n_items", "place"),
    [
        *(('{"a": 1,\n"b": 2,\n"c": "cut o', 2, ", line 3"), ('{"a": 1,\n"b" 2}', 1, ", line 2")),
        *(('{"a": 1 "b": 2}', 1, ", line 1"), ("{1: 2}", 0, ", line 1"), ('[1,\n2,\n{"a":', 2, ", line 3")),
        *(("[1,\n" + "[" * 10**5, 1, ", line 2"), ("[1, " + "9" * 10**4 + "]", 1, ", line 1")),
        *(("", 0, ""), ("no JSON", 0, ""), ("12", 0, "")),
    ],
)
def test_what_comes_before_a_damaged_place_is_kept(text: str, n_items: int, place: str, tmp_path: Path) -> None:
    items, (problem,) = read(tmp_path, text)
    assert len(items) == n_items
    assert problem.startswith(f"{place}: expected ")


def test_of_two_members_with_one_key_the_later_one_counts_and_the_first_is_named(tmp_path: Path) -> None:
    assert read(tmp_path, '{"a": 1,\n"b": 2,\n"a": 3}') == (
        [("2", 1, "b", 2), ("3", 2, "a", 3)],
        [", line 1: the key 'a' is there again in a later line, which counts"],
    )


def test_a_member_that_is_not_utf_8_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    items, problems = read(tmp_path, b'{"a": "x",\n"b": "\xff",\n"c": "\xc3\xa9"}')
    assert [(key, value) for *_, key, value in items] == [("a", "x"), ("c", "é")]
    assert problems == [", line 2: expected UTF-8, got other bytes"]
