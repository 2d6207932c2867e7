"""Files of rows: JSON lines, or parquet, which keeps the types of columns that are empty at first."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

from iad_policy.errors import MissingExtra, StorageError
from iad_policy.evaluation.collector import without_collector
from iad_policy.evaluation.exports.tables import Kind, Row

PARQUET = ".parquet"
PART = ".part"
N_BATCH = 1000
"""Rows that are written together."""


def write_rows(path: Path, rows: Iterator[Row], kinds: Mapping[str, Kind]) -> int:
    """Write rows to a file, which is there only when all of them are; returns how many there are, 0 for no file.

    Args:
        path: Parquet where it ends so, else JSON lines. Its folder is made; a file of that name is replaced.
        rows: Each with every column.
        kinds: The columns' types.

    Raises:
        MissingExtra: Parquet without pyarrow.
        StorageError: It can't be written.
    """
    write = _write_parquet if path.suffix == PARQUET else _write_lines
    part = path.with_name(f"{path.name}{PART}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with without_collector():
            n_rows = write(part, rows, kinds)
        if n_rows:
            part.replace(path)
    except OSError as error:
        raise StorageError(path, error) from error
    finally:
        part.unlink(missing_ok=True)
    return n_rows


def _write_lines(path: Path, rows: Iterator[Row], kinds: Mapping[str, Kind]) -> int:
    n_rows = 0
    with path.open("wb") as file:
        for row in rows:
            line = json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            file.write(f"{line}\n".encode(errors="replace"))  # readers refuse lone surrogates
            n_rows += 1
    return n_rows


def _write_parquet(path: Path, rows: Iterator[Row], kinds: Mapping[str, Kind]) -> int:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise MissingExtra("pyarrow", "export") from None
    schema = pyarrow.schema([(name, _type(kind)) for name, kind in kinds.items()])
    n_rows = 0
    writing: Future[None] | None = None
    # Compressing needs none of Python's time, so it goes on while the next rows are made.
    with ParquetWriter(path, schema, compression="zstd") as writer, ThreadPoolExecutor(1) as behind:
        while batch := list(islice(rows, N_BATCH)):
            try:
                table = pyarrow.Table.from_pylist(batch, schema)
            except UnicodeEncodeError:
                table = pyarrow.Table.from_pylist([_encodable(row) for row in batch], schema)
            if writing is not None:
                writing.result()
            writing = behind.submit(writer.write_table, table)
            n_rows += len(batch)
        if writing is not None:
            writing.result()
    return n_rows


def _type(kind: Kind) -> Any:
    import pyarrow

    if isinstance(kind, list):
        return pyarrow.list_(_type(kind[0]))
    if isinstance(kind, dict):
        return pyarrow.struct([(name, _type(part)) for name, part in kind.items()])
    return {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}[kind]


def _encodable(value: Any) -> Any:
    """Return a value whose texts have no lone surrogates."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [_encodable(part) for part in value]
    if isinstance(value, dict):
        return {name: _encodable(part) for name, part in value.items()}
    return value
