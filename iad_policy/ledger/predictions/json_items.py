"""Reads JSON that others wrote, item by item, so that a damaged place costs only what is damaged."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

LINES = (".jsonl", ".ndjson")
_DECODER = json.JSONDecoder()
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
"""What stands for bytes that are not UTF-8 in a text decoded with `surrogateescape`."""


class JSONItem(NamedTuple):
    """One item of a file: a member of its array or object, or a line.

    Attributes:
        place: Its place for messages: the file and the line.
        position: Its number from 0 on, counted with those that can't be read.
        key: The member's key in an object; None in an array and for a line.
        value: Its value.
    """

    place: str
    position: int
    key: str | None
    value: Any


def read_items(path: Path) -> tuple[list[JSONItem], list[str]]:
    """Return the items of a file, and what of it can't be read, with its place and the reason.

    A file is an array, an object, or has an object on each line, whatever its name ends in. In lines, one that can't be
    read does not affect the others. In an array or an object, what comes after a damaged item can't be read either. Of
    two members of an object with one key the later one counts, as usual in JSON.

    Raises:
        OSError: The file can't be read.
    """
    text = path.read_bytes().decode("utf-8-sig", "surrogateescape")
    problems: list[str] = []
    if path.suffix in LINES or _has_lines(text):
        return list(_lines(path, text, problems)), problems
    items = list(_members(path, text, problems))
    return _without_repeats(items, problems), problems


def _has_lines(text: str) -> bool:
    """Whether more follows after the first value, so that the file has one on each line."""
    try:
        _, end = _DECODER.raw_decode(text, _after_spaces(text, 0))
    except (ValueError, RecursionError):
        first, newline, _ = text.lstrip().partition("\n")
        return bool(newline) and first.rstrip().endswith("}")  # one damaged line among others
    return _after_spaces(text, end) < len(text)


def _lines(path: Path, text: str, problems: list[str]) -> Iterator[JSONItem]:
    lines = ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())
    for position, (number, line) in enumerate(lines):
        place = f"{path}, line {number}"
        try:
            if _NOT_UTF8.search(line):
                raise ValueError("bytes that are not UTF-8")
            yield JSONItem(place, position, None, json.loads(line))
        except (ValueError, RecursionError) as error:
            problems.append(f"{place}: expected JSON, got {_reason(error)}")


def _members(path: Path, text: str, problems: list[str]) -> Iterator[JSONItem]:
    at = _after_spaces(text, 0)
    if text[at : at + 1] not in ("[", "{"):
        problems.append(f"{path}: expected a JSON array or object, got {text[at : at + 40]!r}")
        return
    is_object, closing = text[at] == "{", {"[": "]", "{": "}"}[text[at]]
    n_lines = seen = position = 0
    at = _after_spaces(text, at + 1)
    try:
        while text[at : at + 1] != closing:
            n_lines, seen = n_lines + text.count("\n", seen, at), at
            place = f"{path}, line {n_lines + 1}"
            key = None
            if is_object:
                key, at = _DECODER.raw_decode(text, _expected(text, at, '"') - 1)
                at = _expected(text, _after_spaces(text, at), ":")
            value, at = _DECODER.raw_decode(text, _after_spaces(text, at))
            if _NOT_UTF8.search(text, seen, at):
                problems.append(f"{place}: expected UTF-8, got other bytes")
            else:
                yield JSONItem(place, position, key, value)
            position += 1
            at = _after_spaces(text, at)
            if text[at : at + 1] != closing:
                at = _after_spaces(text, _expected(text, at, ","))
    except (ValueError, RecursionError) as error:
        problems.append(
            f"{path}, line {n_lines + 1}: expected JSON, got {_reason(error)}; the file can't be read from here on"
        )


def _without_repeats(items: list[JSONItem], problems: list[str]) -> list[JSONItem]:
    last: dict[str | None, JSONItem] = {item.key: item for item in items if item.key is not None}
    if len(last) == len(items) or not last:
        return items
    kept = []
    for item in items:
        if last[item.key] is item:
            kept.append(item)
        else:
            problems.append(f"{item.place}: the key {item.key!r} is there again in a later line, which counts")
    return kept


def _after_spaces(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n\r":
        at += 1
    return at


def _expected(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise ValueError(f"{text[at : at + 20]!r} in place of {sign!r}" if at < len(text) else "the end of the file")
    return at + 1


def _reason(error: Exception) -> str:
    return "too many values in each other" if isinstance(error, RecursionError) else f"something else ({error!s:.100})"
