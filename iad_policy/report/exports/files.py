"""Files of rows: JSON lines, or parquet, which keeps the types of columns that are empty at first."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from iad_policy.report.exports.packing import Pack, schema_of
from iad_policy.report.exports.tables import Kind
from iad_policy.types.atomic import write_atomically

PARQUET = ".parquet"


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
