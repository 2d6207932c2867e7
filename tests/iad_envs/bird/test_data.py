"""BIRD's files with their traps: layouts, encodings, repeated ids, prediction files."""

import json
import shutil
from pathlib import Path

import pytest

from iad_envs.bird.data import load_data, read_descriptions
from iad_envs.data import data_version
from iad_envs.errors import DataNotFound
from iad_envs.official.hashes import is_official, official_sha256
from tests.iad_envs.bird.small_bird import QUESTIONS, make_folder

HEADER = "original_column_name,column_name,column_description,data_format,value_description\n"


def test_a_split_is_loaded_with_its_golds_apart_and_a_repeated_id_gets_a_number(towns: Path, tmp_path: Path) -> None:
    data = load_data(towns, "dev")
    assert list(data.questions) == ["7", "8", "9", "10"]
    assert data.questions["7"].difficulty == "simple"
    assert set(data.golds) == {"7", "8", "9"}
    assert not any("SELECT" in str(question) for question in data.questions.values())
    data = load_data(make_folder(tmp_path, [QUESTIONS[0], QUESTIONS[1] | {"question_id": 7}, QUESTIONS[2]]), "dev")
    assert list(data.questions) == ["7", "7#2", "9"]
    assert data.golds["7#2"] == QUESTIONS[1]["SQL"]


@pytest.mark.parametrize(("split", "names"), [
    ("mini_dev", ("mini_dev_sqlite.json", "mini_dev.json", "mini_dev_sqlite.jsonl")),
    ("mini_dev_mysql", ("mini_dev_mysql.jsonl",)),
    ("dev_20251106", ("dev_20251106.json",)),
    ("train_filtered", ("train_filtered.jsonl",)),
])  # fmt: skip
def test_a_split_is_found_as_an_array_or_as_lines(tmp_path: Path, split: str, names: tuple[str, ...]) -> None:
    lines = [json.dumps(question) for question in QUESTIONS[:2]]
    for name in names:
        folder = make_folder(tmp_path / name)
        text = "\n".join(lines) if name.endswith("l") else f"[{','.join(lines)}]"
        (folder / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
        (folder / "train_databases").symlink_to(folder / "dev_databases")
        data = load_data(folder, split)
        assert (list(data.questions), data.database("towns").is_file()) == (["7", "8"], True)


def test_descriptions_tolerate_encodings_spaces_and_case_and_another_format_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "A.csv").write_bytes(b"\xef\xbb\xbf" + f'{HEADER} Name ,full name,é,text,"a\nb"\n'.encode())
    (tmp_path / "b .csv").write_bytes(f"{HEADER}price,,costs £ and €,real,\n".encode("cp1252"))
    found = read_descriptions(tmp_path)
    assert found["a", "name"] == ("full name", "é", "a b")
    assert found["b", "price"].description == "costs £ and €"
    folder = make_folder(tmp_path)
    for content, error in (("{", "expected JSON in"), ("{}", "expected a JSON array"), ('[{"a": 1}]', "got .* at 0")):
        load_data.cache_clear()
        (folder / "dev.json").write_text(content, encoding="utf-8")
        with pytest.raises(ValueError, match=error):
            load_data(folder, "dev")


def test_the_version_of_a_split_is_that_of_its_own_files_and_official_ones_are_known(tmp_path: Path) -> None:
    folder, other = make_folder(tmp_path / "one"), tmp_path / "two"
    shutil.copytree(folder, other)
    first = load_data(folder, "dev").version
    assert (first.name, first.digest) == ("other", load_data(other, "dev").version.digest)
    shutil.copytree(folder / "dev_databases", folder / "train_databases")
    shutil.copy(folder / "dev.json", folder / "train.json")
    path = other / "dev_databases" / "towns" / "towns.sqlite"
    path.write_bytes(path.read_bytes() + b"\0")
    data_version.cache_clear()
    assert load_data(folder, "dev").version.digest == first.digest
    assert load_data(folder, "train").version.digest != first.digest
    assert load_data(other, "dev").version.digest != first.digest
    assert sum(name.endswith(".sqlite") for name in official_sha256()) == 11
    path = tmp_path / "superhero.sqlite"
    path.write_bytes(b"")
    assert not is_official(path)
    data = load_data(make_folder(tmp_path / "f", [QUESTIONS[0], {**QUESTIONS[1], "db_id": "gone"}]), "dev")
    assert data.database_versions() == {"towns": "other", "gone": "missing"}
    with pytest.raises(DataNotFound, match="unpack BIRD's dev_databases"):
        data.database("gone")
