"""Finds and reads the official JSON files, either as a whole or value by value in bounded memory.

ijson also reads value by value. On 40,000 products (90 MB) it takes the same time (0.44 s) and memory (5 MB) if its C
backend is installed, and 13 times as long without. It is not used, because it yields nothing from a file with another
top level, refuses NaN and integers of more than 64 bits, which `json` reads, and its errors name no line.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

_decode = json.JSONDecoder().raw_decode

Read = Callable[[int], None]
"""Progress callback: number of bytes of a file read so far."""


class CatalogError(ValueError):
    """A data file is not in the official format. The error text names the file and the record."""


def find_file(folder: str | Path, stem: str) -> Path:
    """Return the only file `<stem>.json` or `<stem>_<suffix>.json` of a folder.

    Raises:
        FileNotFoundError: There is no such file, or more than one.
    """
    folder = Path(folder)
    found = sorted(path for path in folder.glob(f"{stem}*.json") if re.fullmatch(rf"{stem}(_\w+)?", path.stem))
    if len(found) == 1:
        return found[0]
    there = ", ".join(path.name for path in found) or "none"
    message = f"expected one file {stem}.json (or {stem}_1000.json) in {folder}, found {there}"
    raise FileNotFoundError(f"{message}; put one set of the official WebShop files there")


def read_json(path: Path, kind: type) -> Any:
    """Return the content of a JSON file whose top level is a list or an object (`kind` is list or dict).

    Raises:
        CatalogError: The file is not JSON, or has another top level.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise _not_json(path, error) from None
    if not isinstance(content, kind):
        raise _other_top_level(path, kind, type(content).__name__)
    return content


def read_items(path: Path, read: Read | None = None, *, chunk: int = 1 << 20) -> Iterator[Any]:
    """Yield the items of a JSON file whose top level is a list. The file may have any size.

    Raises:
        CatalogError: The file is not JSON, or its top level is not a list.
    """
    with path.open(encoding="utf-8") as file:
        reader = _Reader(path, file, read, chunk)
        for _ in reader.places("[", "]", list):
            yield reader.value()


def read_pairs(path: Path, read: Read | None = None, *, chunk: int = 1 << 20) -> Iterator[tuple[str, Any]]:
    """Yield the pairs (key, value) of a JSON file whose top level is an object.

    Raises:
        CatalogError: The file is not JSON, or its top level is not an object.
    """
    with path.open(encoding="utf-8") as file:
        reader = _Reader(path, file, read, chunk)
        for _ in reader.places("{", "}", dict):
            key = reader.value()
            if not isinstance(key, str):
                raise _not_json(path, f"expected a text as key, got {key!r:.60}")
            reader.take(":")
            yield key, reader.value()


class _Reader:
    """A sliding window on a JSON text. It advances value by value."""

    def __init__(self, path: Path, file: TextIO, read: Read | None, chunk: int) -> None:
        self._path = path
        self._file = file
        self._read = read
        self._chunk = chunk
        self._text = ""
        self._at = 0

    def places(self, opening: str, closing: str, kind: type) -> Iterator[None]:
        """Yield at each item of the top level, which the caller then reads."""
        if self.peek() != opening:
            raise _other_top_level(self._path, kind, type(self.value()).__name__)
        self._at += 1
        while self.peek() != closing:
            yield
            if self.peek() != closing:
                self.take(",")
                if self.peek() == closing:
                    raise _not_json(self._path, f"expected a value after a comma, got {closing!r}")
        self._at += 1
        if self.peek():
            raise _not_json(self._path, f"expected the end after the closing bracket, got {self.peek()!r}")

    def take(self, sign: str) -> None:
        if self.peek() != sign:
            raise _not_json(self._path, f"expected {sign!r}, got {self.peek()!r}")
        self._at += 1

    def peek(self) -> str:
        """Return the next non-blank character, or "" at the end."""
        while True:
            while self._text[self._at : self._at + 1] in (" ", "\t", "\n", "\r"):
                self._at += 1
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # A longer value is treated as invalid.
                if len(self._text) - self._at > 1 << 26 or not self._more():
                    raise _not_json(self._path, error) from None
                continue
            # A number at the end of the window may continue after it, including its fraction or exponent.
            after = self._text[end : end + 1]
            is_whole = after in tuple(" \t\n\r,]}") if isinstance(value, int | float) else bool(after)
            if is_whole or not self._more():
                self._at = end
                return value

    def _more(self) -> bool:
        try:
            chunk = self._file.read(self._chunk)
        except UnicodeDecodeError as error:
            raise _not_json(self._path, error) from None
        if chunk:
            self._text = self._text[self._at :] + chunk
            self._at = 0
            if self._read:
                self._read(self._file.buffer.tell())
        return bool(chunk)


def _not_json(path: Path, error: object) -> CatalogError:
    return CatalogError(f"{path}: expected JSON, got text that does not parse: {error}")


def _other_top_level(path: Path, kind: type, given: str) -> CatalogError:
    expected = "a JSON list" if kind is list else "a JSON object"
    return CatalogError(f"{path}: expected {expected}, got {given}")
