"""Files are written whole or not at all."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from webshop_server.storage.atomic import write_atomically


def test_a_file_is_replaced_when_its_block_ends_well_and_no_part_is_left(tmp_path: Path) -> None:
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


def test_readers_see_whole_files_while_several_threads_write(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    texts = [letter * 50_000 for letter in "abcd"]

    def write(text: str) -> None:
        for _ in range(8):
            with write_atomically(path) as part:
                part.write_text(text)

    write(texts[0])
    with ThreadPoolExecutor(len(texts)) as threads:
        writing = [threads.submit(write, text) for text in texts]
        seen = {path.read_text()}
        while not all(one.done() for one in writing):
            seen.add(path.read_text())
        for one in writing:
            one.result()
    assert seen <= set(texts)
    assert list(tmp_path.iterdir()) == [path]
