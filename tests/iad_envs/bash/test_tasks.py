"""The bundled shell tasks: how they are made, that each is a good one, and that none is that of another split."""

import json
import re
import sys
import tarfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from iad_envs.bash.env import BashEnv
from iad_envs.bash.intercode_compat import arrives_as
from iad_envs.bash.tasks import BashTask, TaskFileError, commands_in, load_tasks, setup_of
from iad_envs.errors import DataNotFound
from tests.contract.environments import solution_of
from tests.iad_envs import data_scripts

DATA = data_scripts.DATA / "intercode"
TREES: Mapping[str, tuple[str, ...]] = {
    "test": ("fs_1", "fs_2", "fs_3"), "train": ("fs_4", "fs_5", "fs_6"), "dev": ("fs_7", "fs_8"),
}  # fmt: skip
FAMILIES = {"test": "families.toml", "train": "train_families.toml", "dev": "dev_families.toml"}


def tasks_of(group: str) -> list[BashTask]:
    return [task for task in load_tasks(DATA) if task.file_system in TREES[group]]


def files_of(group: str) -> Iterator[tuple[str, str]]:
    for file_system in TREES[group]:
        with tarfile.open(DATA / f"{file_system}.tar") as archive:
            for member in archive.getmembers():
                content = archive.extractfile(member)
                if content is not None:
                    yield member.name, content.read().decode("utf-8", "replace")


VALUES = ((r"\.[a-z]\w*", "E"), (r"\d[\d-]*", "N"))
SENTENCE = ((r"'[^']*'", "Q"), (r"(?<!\S)/[\w./-]*\w", "P"), *VALUES)
COMMAND = ((r"(?<![^\s(])/[a-z][\w./-]*", "P"), (r"'(?![\d,]+p')[\w .*=<>#\[\]|:;,-]*'", "Q"), *VALUES)
"""What is taken out of sentences and commands: quoted words that are no program, paths, endings and numbers."""


def shape(text: str, values: Sequence[tuple[str, str]]) -> str:
    for pattern, mark in values:
        text = re.sub(pattern, mark, text)
    return text.lower() if values == SENTENCE else text


def runs_of_lines(group: str) -> set[tuple[str, ...]]:
    """Three lines in a row, which count as shared content."""
    texts = [content.splitlines() for _, content in files_of(group)]
    return {tuple(rows[start : start + 3]) for rows in texts for start in range(len(rows) - 2)}


@pytest.fixture
def checking(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(DATA)
    for name in ("checking", "weakening"):  # another data folder has scripts of these names
        monkeypatch.delitem(sys.modules, name, raising=False)
    import checking  # type: ignore[import-not-found]

    yield checking
    for name in ("checking", "weakening"):
        sys.modules.pop(name, None)


def test_there_are_150_tasks_for_training_and_50_for_development_half_of_them_easy_on_trees_of_their_own() -> None:
    counts = Counter((task.split, task.difficulty) for task in load_tasks(DATA))
    assert counts == {
        ("test", "easy"): 39, ("tuning", "easy"): 7, ("train", "easy"): 75, ("dev", "easy"): 25,
        ("test", "hard"): 44, ("tuning", "hard"): 5, ("train", "hard"): 75, ("dev", "hard"): 25,
    }  # fmt: skip
    assert len({task.instruction for task in load_tasks(DATA)}) == counts.total()
    for group in TREES:
        assert {task.split for task in tasks_of(group)} == {group} | ({"tuning"} if group == "test" else set())


@pytest.mark.parametrize(("one", "other"), list(combinations(TREES, 2)))
def test_no_file_sentence_command_or_kind_of_task_is_that_of_another_split(one: str, other: str) -> None:
    files, others = dict(files_of(one)), dict(files_of(other))
    assert not files.keys() & others.keys()
    assert not {path.split("/")[0] for path in files} & {path.split("/")[0] for path in others}
    assert not {Path(path).name for path in files} & {Path(path).name for path in others}
    assert not {text for text in files.values() if text} & set(others.values())
    assert not runs_of_lines(one) & runs_of_lines(other)
    for values, said in ((SENTENCE, "instruction"), (COMMAND, "gold")):
        shapes = [{shape(getattr(task, said), values) for task in tasks_of(group)} for group in (one, other)]
        assert not shapes[0] & shapes[1]
    families = [tomllib.loads((DATA / FAMILIES[group]).read_text(encoding="utf-8")) for group in (one, other)]
    assert not families[0].keys() & families[1].keys()
    kinds = [
        {re.sub(r"\{\w+\}", "{}", text) for family in found.values() for text in (family["gold"], *family["says"])}
        for found in families
    ]
    assert not kinds[0] & kinds[1]


def test_the_script_writes_the_same_bytes_again_and_golds_arrive_the_same_however_they_are_quoted() -> None:
    status, said = data_scripts.ran("intercode/make_tasks.py", "--check")
    assert status == 0, said
    for task in load_tasks(DATA):
        assert arrives_as(task.gold) == ("/bin/bash", "-c", task.gold)
        assert '"' not in task.gold


PUBLISHED: Mapping[str, Any] = {"published": True}
STRICT: Mapping[str, Any] = {"reward": "strict"}


@pytest.mark.parametrize(("group", "options", "every"), [
    *(("test", options, 30) for options in (PUBLISHED, STRICT)),
    *((split, STRICT, 10) for split in ("train", "dev")),
    *(pytest.param("test", options, 1, marks=pytest.mark.slow) for options in (PUBLISHED, STRICT, {})),
], ids=str)  # fmt: skip
def test_a_gold_command_scores_1_and_nothing_does_not(group: str, options: Mapping[str, Any], every: int) -> None:
    env = BashEnv(split=None, data_dir=DATA, **options)
    for task in tasks_of(group)[::every]:
        env.reset(options={"task_id": task.task_id})
        start = env.snapshot()
        *_, info = env.step(solution_of(env)[0])
        facts = info["facts"]
        assert (facts["exit_code"], info["progress"]) == (0, 1.0), task
        assert info["page"]["output"] or facts["n_created"] or facts["n_changed"] or facts["n_deleted"], task
        assert env.oracle(env.simulate(start, "true").token)["progress"] < 1.0, task
        _, reward, terminated, _, info = env.step("submit")
        assert (reward, terminated, info["success"]) == (1.0, True, True), task
    env.close()


COMPLAINTS = {
    "find /desk -name '*.txt' -type f": "the same without -type f", "true": "nothing happens",
    "grep -i 'one' /desk/a.txt": "the same without i of grep -i",
    "echo $RANDOM$RANDOM$RANDOM": "the second time differs",
    "grep 'one' /desk/a.txt | grep -v 'two'": "the same without the stage grep -v 'two'",
    "awk '$2 > 0 { print $1 }' /desk/a.txt": "the same without the condition", 'echo "one   two"': "its quotes",
    "awk '$2 > 1 && $2 > 0' /desk/a.txt": "the same without $2 > 0", "grep 'nine' /desk/a.txt": "exit code 1",
    "sed 's/one/1/g' /desk/a.txt > /desk/c.txt": "the same without the g",
    "cut -d' ' -f2 /desk/b.txt | sort | uniq -c | sort -rn | head -n 1": "a tie at its end",
    "cat /desk/a.txt": "the same without all but a look at /desk/a.txt",
    "mkdir /desk/new": "full reward without anything", "grep 'one' /desk/c.txt | cut -d' ' -f2 | sort": "",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("gold", COMPLAINTS)
def test_a_bad_task_is_complained_about_and_a_good_one_not(checking: ModuleType, tmp_path: Path, gold: str) -> None:
    complaint = COMPLAINTS[gold]
    (tmp_path / "tasks_fs_1.json").write_text(json.dumps([{"query": "Do it", "gold": gold}]))
    files = {"a": r"one 2\ntwo 1\n", "b": r"a 1\nb 2\n"} | ({} if complaint else {"c": r"one 22\none 11\ntwo 44\n"})
    texts = "; ".join(f"printf '{text}' > /desk/{name}.txt" for name, text in files.items())
    (tmp_path / "setup_nl2b_fs_1.sh").write_text(f"mkdir /desk; {texts}")
    env = BashEnv(data_dir=tmp_path)
    found = checking.complaints(env, "fs_1-0")
    env.close()
    assert any(complaint in one for one in found) if complaint else found == [], found


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_bundled_task_is_complained_about(checking: ModuleType) -> None:
    assert checking.main() == 0


def test_programs_are_found_in_a_command_broken_task_files_are_told_and_start_states_found(tmp_path: Path) -> None:
    cases = {
        "find /a -name '*.x' -exec rm {} \\; | sort -u": {"find", "rm", "sort"},
        "cat f | xargs -I{} -P10 compress {} &": {"cat", "xargs", "compress"},
        "cat f | xargs -n 1 wc -l": {"cat", "xargs", "wc"}, "diff <(ls /a) <(tree /b)": {"diff", "ls", "tree"},
        "a=$(dig +short x | head -n 1) && echo $a": {"dig", "head", "echo"}, "ls `which c++`": {"ls", "which"},
        "echo '|tree'": {"echo"},
    }  # fmt: skip
    for command, names in cases.items():
        assert commands_in(command) == names, command
    with pytest.raises(DataNotFound, match="expected task files"):
        load_tasks(tmp_path)
    for name, text, message in (
        ("one", "[", "expected JSON"),
        ("two", '{"query": 1}', "a list of tasks"),
        ("three", '[{"query": "q"}]', "query and gold"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "tasks_fs_1.json").write_text(text)
        with pytest.raises(TaskFileError, match=message):
            load_tasks(folder)
    (tmp_path / "fs_1.tar.gz").write_bytes(b"")
    (tmp_path / "setup_nl2b_fs_2.sh").write_text("mkdir /x\n")
    assert setup_of(tmp_path, "fs_1") == tmp_path / "fs_1.tar.gz"
    assert setup_of(tmp_path, "fs_2") == ("mkdir /x\n",)
    assert setup_of(tmp_path, "fs_3") == ()
