"""Rows made from episodes, packed as bytes here or in processes side by side, and written; the files are the same.

Files are JSON lines, or parquet, which keeps the types of columns that are empty at first.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from iad_policy.errors import MissingExtra
from iad_policy.ledger.episode import Episode
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.gc_pause import without_collector
from iad_policy.report.exports.tables import ExportTable, Kind, Row, Source
from iad_policy.types.atomic import write_atomically
from iad_policy.types.secrets import masked
from iad_policy.types.texts import well_formed

PARQUET = ".parquet"
SAFE_PATH = "PYTHONSAFEPATH"


class Chunk(NamedTuple):
    """Episodes of one source: its place, and their keys."""

    source: int
    keys: tuple[str, ...]


class Pack(NamedTuple):
    """Rows as bytes: lines of JSON, or a stream of Arrow."""

    content: bytes
    n_rows: int


Packed: TypeAlias = Callable[[Sequence[ExportTable]], Iterator[list[Pack]]]
"""Makes the rows of tables from the episodes that are exported, as JSON lines: each time a pack of every table."""


def packs(
    tables: Sequence[ExportTable],
    sources: Sequence[Source],
    chunks: Iterable[Chunk],
    *,
    is_parquet: bool,
    n_processes: int,
) -> Iterator[list[Pack]]:
    """Yield the rows of chunks, in their order: for each chunk a pack of every table.

    Args:
        tables: Make the rows. An episode is read once for all of them.
        sources: The runs.
        chunks: Of their episodes.
        is_parquet: Whether they are packed for parquet.
        n_processes: How many work side by side; 1 for none but this.

    Raises:
        MissingExtra: Parquet without pyarrow.
    """
    if is_parquet:
        load_pyarrow()
    make = partial(_pack, tables, is_parquet=is_parquet)
    if n_processes == 1:
        yield from (make(chunk, sources=sources) for chunk in chunks)
        return
    # New processes, not forks: this one may have threads.
    with _safe_path(), ProcessPoolExecutor(n_processes, get_context("spawn"), _begin, (sources,)) as pool:
        yield from pool.map(make, chunks)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Let the processes that start meanwhile import nothing from the working folder, which is first on their path."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[SAFE_PATH]
        if before is not None:
            os.environ[SAFE_PATH] = before


def chunks_of(sources: Sequence[Source], is_wanted: Callable[[Source, EpisodeRecord], bool]) -> Iterator[Chunk]:
    """Yield the episodes that tables have rows of, a chunk at a time."""
    for place, source in enumerate(sources):
        wanted = iter(record.key for record in list(source.run.records.values()) if is_wanted(source, record))
        while keys := tuple(islice(wanted, 200)):
            yield Chunk(place, keys)


def write_packs(kinds: Mapping[Path, Mapping[str, Kind]], packs: Iterable[Sequence[Pack]]) -> dict[Path, int]:
    """Write rows to files, which are there only when all of them are; returns how many each has.

    If a file would have none, no file is written.

    Args:
        kinds: The columns' types of each file: parquet if its name ends so, else JSON lines. Its folder is made; a file
            of that name is replaced.
        packs: The rows, packed for such files: each time a pack of every file.

    Raises:
        MissingExtra: Parquet without pyarrow.
        StorageError: It can't be written.
    """
    n_rows = dict.fromkeys(kinds, 0)
    with ExitStack() as parts:
        part_of = {path: parts.enter_context(write_atomically(path)) for path in kinds}
        with ExitStack() as files:
            write = {
                path: files.enter_context(_writing(part, kinds[path], path.suffix == PARQUET))
                for path, part in part_of.items()
            }
            for made in packs:
                for path, pack in zip(kinds, made, strict=False):  # a chunk without a readable episode has no packs
                    write[path](pack.content)
                    n_rows[path] += pack.n_rows
        if not all(n_rows.values()):
            for part in part_of.values():
                part.unlink()
    return n_rows


@contextmanager
def _writing(part: Path, kinds: Mapping[str, Kind], is_parquet: bool) -> Iterator[Callable[[bytes], object]]:
    """Open a file, and give the function that writes the content of a pack to it."""
    part.parent.mkdir(parents=True, exist_ok=True)
    if not is_parquet:
        with part.open("wb") as file:
            yield file.write
        return
    schema = schema_of(kinds)
    from pyarrow import ipc
    from pyarrow.parquet import ParquetWriter

    with ParquetWriter(part, schema, compression="zstd") as writer:

        def write(content: bytes) -> None:
            with ipc.open_stream(content) as stream:
                writer.write_table(stream.read_all())

        yield write


def schema_of(kinds: Mapping[str, Kind]) -> Any:
    """Return the columns as Arrow has them."""
    pyarrow = load_pyarrow()
    plain = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}

    def of(kind: Kind) -> Any:
        if isinstance(kind, list):
            return pyarrow.list_(of(kind[0]))
        if isinstance(kind, dict):
            return pyarrow.struct([(name, of(part)) for name, part in kind.items()])
        return plain[kind]

    return pyarrow.schema([(name, of(kind)) for name, kind in kinds.items()])


def load_pyarrow() -> Any:
    """Return the package.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("pyarrow", "export") from None
    return pyarrow


_sources: Sequence[Source] = ()
"""Of a process that packs; set once, when it begins."""


def _begin(sources: Sequence[Source]) -> None:
    global _sources
    _sources = sources


def _pack(
    tables: Sequence[ExportTable], chunk: Chunk, *, is_parquet: bool, sources: Sequence[Source] | None = None
) -> list[Pack]:
    source = (_sources if sources is None else sources)[chunk.source]

    def rows_of(episode: Episode) -> list[list[Row]]:
        return [list(table.rows(source, episode)) for table in tables]

    def packed(made: Iterable[Sequence[Sequence[Row]]]) -> list[Pack]:
        by_table = [[masked(row) for own in rows for row in own] for rows in zip(*made, strict=True)]
        return [
            Pack(_arrow(rows, table.kinds) if is_parquet else json_lines(rows), len(rows))
            for table, rows in zip(tables, by_table, strict=False)  # nothing of a chunk without a readable episode
        ]

    def json_lines(rows: Sequence[Row]) -> bytes:
        lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False) for row in rows)
        return b"".join(f"{well_formed(line)}\n".encode() for line in lines)

    with without_collector():
        by_key = dict(source.run.readable(chunk.keys, rows_of))
        try:
            return packed(by_key.values())
        except (ValueError, TypeError, OverflowError, RecursionError):  # a column has values of another type
            whole = source.run.readable(by_key, lambda episode: packed([by_key[episode.record.key]]))
            return packed([by_key[key] for key, _ in list(whole)])


def _arrow(rows: Sequence[Row], kinds: Mapping[str, Kind]) -> bytes:
    pyarrow = load_pyarrow()
    from pyarrow import ipc

    schema = schema_of(kinds)
    try:
        table = pyarrow.Table.from_pylist(rows, schema)
    except UnicodeEncodeError:
        table = pyarrow.Table.from_pylist(well_formed(list(rows)), schema)
    sink = pyarrow.BufferOutputStream()
    # The same page stands in many rows: packed it is a tenth, on its way to another process.
    with ipc.new_stream(sink, schema, options=ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())
