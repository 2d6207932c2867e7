"""Files of rows: JSON lines, or parquet, which keeps the types of columns that are empty at first."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from iad_policy.analysis.exports.packing import Pack, schema_of
from iad_policy.analysis.exports.tables import Kind
from iad_policy.recording.atomic import write_atomically

PARQUET = ".parquet"


def write_packs(path: Path, packs: Iterator[Pack], kinds: Mapping[str, Kind]) -> int:
    """Write rows to a file, which is there only when all of them are; returns how many there are, 0 for no file.

    Args:
        path: Parquet where it ends so, else JSON lines. Its folder is made; a file of that name is replaced.
        packs: The rows, packed for such a file.
        kinds: The columns' types.

    Raises:
        MissingExtra: Parquet without pyarrow.
        StorageError: It can't be written.
    """
    write = _write_parquet if path.suffix == PARQUET else _write_lines
    with write_atomically(path) as part:
        path.parent.mkdir(parents=True, exist_ok=True)
        n_rows = write(part, packs, kinds)
        if not n_rows:
            part.unlink()
    return n_rows


def _write_lines(path: Path, packs: Iterator[Pack], kinds: Mapping[str, Kind]) -> int:
    n_rows = 0
    with path.open("wb") as file:
        for pack in packs:
            file.write(pack.content)
            n_rows += pack.n_rows
    return n_rows


def _write_parquet(path: Path, packs: Iterator[Pack], kinds: Mapping[str, Kind]) -> int:
    schema = schema_of(kinds)
    from pyarrow import ipc
    from pyarrow.parquet import ParquetWriter

    n_rows = 0
    with ParquetWriter(path, schema, compression="zstd") as writer:
        for pack in packs:
            with ipc.open_stream(pack.content) as stream:
                writer.write_table(stream.read_all())
            n_rows += pack.n_rows
    return n_rows
