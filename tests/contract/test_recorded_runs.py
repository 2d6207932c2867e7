"""Contract 4: run folders of an earlier version are still shown, reported, exported, and replayed or refused."""

import json
import re
import shutil
import zlib
from base64 import b64decode
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from iad_policy import evaluate
from iad_policy.ledger.answer_log import ANSWERS
from iad_policy.ledger.episode_record import EPISODES
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import CONFIG, REPORT
from iad_policy.report.exports import FOLDER_FORMATS, FORMATS
from iad_policy.report.viewer.server import create_app
from tests.browser import missing
from tests.command_line import iad

FIXTURES = Path(__file__).parents[1] / "fixtures"
FOLDERS = sorted((FIXTURES / "run_folders").iterdir())
ROWS = re.findall(r"^\| `(\w+)` \| `iad (compare .+)` \|$", (FIXTURES / "README.md").read_text(), re.MULTILINE)
COMMANDS = {name: command.split() for name, command in ROWS}
NEED_CHROMIUM = {"sketch2code", "webshop_browser"}
OF_GONE_AGENTS = {"bash": "scripter", "bird": "linker", "bird_0_2": "linker", "bird_linker": "linker"}
OF_GONE_AGENTS["sketch2code"] = "tracer"
"""Folder -> its agent, which this version no longer has."""
every_folder = pytest.mark.parametrize("name", [folder.name for folder in FOLDERS])


# Steps and progress in percent of the first tasks of `make demo`, whose whole table `make test-full` compares.
DEMO = {
    "single": "4:87 4:100 6:87 9:78 4:100 3:44 4:83 6:83 4:83 3:33 5:67 4:100 6:100 12:17 6:87 4:100",
    "bon-sc": "4:87 4:100 6:87 3:78 4:100 3:44 4:83 6:83 4:83 5:33 5:67 4:100 6:100 11:17 4:87 3:89",
    "iad": "8:87 8:100 15:87 4:100 8:100 8:100 15:83 12:100 8:83 9:100 8:83 8:100 14:87 12:100 12:100 4:100",
}


def test_the_first_tasks_of_the_demo_end_as_they_did() -> None:
    records = evaluate("IAD/WebShop-v0", list(DEMO), 16, n=3, agent="shopper", verifier="proxy").records
    for arm, ended in DEMO.items():
        assert " ".join(f"{len(one.actions)}:{100 * one.progress:.0f}" for one in records[arm]) == ended, arm


@pytest.fixture
def folder(name: str, tmp_path: Path) -> Path:
    return shutil.copytree(FIXTURES / "run_folders" / name, tmp_path / name)


def refused(folder: Path, words: tuple[str, ...]) -> None:
    """Check that the same command is refused in one sentence that has these words, and that no answer is lost."""
    answers = (folder / ANSWERS).read_bytes()
    result = iad(*COMMANDS[folder.name], "--out", folder)
    (said,) = result.output.strip().splitlines()
    assert result.exit_code == 2
    assert all(word in said for word in words)
    assert (folder / ANSWERS).read_bytes() == answers


def test_every_folder_has_its_command_and_is_shown_with_all_its_steps() -> None:
    assert sorted(COMMANDS) == [folder.name for folder in FOLDERS]
    client = create_app(FOLDERS).test_client()
    assert "<script" in client.get("/").text
    runs = client.get("/api/runs").get_json()
    assert [run["name"] for run in runs] == [folder.name for folder in FOLDERS]
    for place, (run, folder) in enumerate(zip(runs, FOLDERS, strict=True)):
        records = Run(folder).records
        listed = client.get(f"/api/episodes/{place}/0").get_json()["lines"]
        assert {one["key"] for one in listed} == set(records)
        assert run["n_recorded"] == len(records)
        for key, record in records.items():
            shown = client.get(f"/api/episode/{place}/{key}").get_json()
            assert len(shown["steps"]) == record.n_steps


@every_folder
def test_its_report_has_every_step_its_rows_are_compared_and_it_is_exported(folder: Path, tmp_path: Path) -> None:
    result = iad("report", folder)
    assert result.exit_code == 0, result.output
    chunks = re.search(r'"chunks": (\[.*?\])', (folder / REPORT).read_text())
    assert chunks
    n_steps: dict[str, int] = {}
    for packed in json.loads(chunks[1]):
        episodes = json.loads(zlib.decompress(b64decode(packed)))["episodes"]
        n_steps |= {key: len(episode["steps"]) for key, episode in episodes.items()}
    records = Run(folder).records
    assert n_steps == {key: record.n_steps for key, record in records.items()}
    arms = json.loads(iad("analyse", folder, "--json").stdout)["arms"]
    assert sum(arm["n_samples"] for arm in arms.values()) == len(records)
    assert len(arms) == len({record.arm for record in records.values()})
    forms = {*FORMATS, *FOLDER_FORMATS} - ({"parquet"} if find_spec("pyarrow") is None else set())
    for form in sorted(forms):
        out = tmp_path / f"{form}.{'parquet' if form == 'parquet' else 'jsonl'}"
        result = iad("export", folder, "--format", form, "--out", out)
        if result.exit_code:
            assert (form in ("preference", "kto"), folder.name in ("bird_linker", "webshop_browser")) == (True, True)
            assert "committed and a rejected" in result.output
            continue
        assert out.stat().st_size > 0, form
        if form == "jsonl":
            rows = [json.loads(line) for line in out.read_text().splitlines()]
            for key, record in records.items():
                own = [row for row in rows if row["episode"] == key]
                assert [row["action"] for row in own] == list(record.actions)
                assert sum(len(row["candidates"]) for row in own) == record.spent.proposals


@every_folder
def test_the_same_command_replays_it_or_says_in_one_sentence_why_not(folder: Path) -> None:
    if folder.name in NEED_CHROMIUM and (reason := missing()):
        pytest.skip(reason)
    before, answers = Run(folder).records, (folder / ANSWERS).read_bytes()
    (folder / EPISODES).unlink()  # so that every episode is run again, from the recorded answers
    if agent := OF_GONE_AGENTS.get(folder.name):
        refused(folder, (folder.name, agent, "gone", "solution:0.4"))
        return
    config = json.loads((folder / CONFIG).read_text())
    if config["iad_version"] == version("iad"):
        result = iad(*COMMANDS[folder.name], "--out", folder)
        assert result.exit_code == 0, result.output
        assert (folder / ANSWERS).read_bytes() == answers
        found, expected = (
            [one.as_json() | {"wall_s": 0} for one in each.values()] for each in (Run(folder).records, before)
        )
        assert found == expected
        (folder / CONFIG).write_text(json.dumps(config | {"iad_version": "0.0.1"}))
    refused(folder, ("iad_version", json.loads((folder / CONFIG).read_text())["iad_version"]))
