"""Run folders that version 0.1.0 wrote, one per environment: read by everything, and replayed by the same command."""

import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from iad_policy.analysis.exports import FORMATS
from iad_policy.analysis.results import read_results
from iad_policy.analysis.viewer.report import write_report
from iad_policy.analysis.viewer.server import create_app
from iad_policy.cli import app
from iad_policy.recording.trace import RunTraces
from tests.contract.rule_based import made

FIXTURES = Path(__file__).parents[1] / "fixtures"
FOLDERS = sorted(path.name for path in (FIXTURES / "run_folders").iterdir())
COMMANDS = dict(re.findall(r"^\| `(\w+)` \| `iad (.*)` \|$", (FIXTURES / "README.md").read_text(), re.MULTILINE))
FINISHED = "episodes.jsonl"


@pytest.fixture(params=FOLDERS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    copied = tmp_path / str(request.param)
    shutil.copytree(FIXTURES / "run_folders" / str(request.param), copied)
    return copied


def test_every_recorded_run_has_its_command() -> None:
    assert set(COMMANDS) == set(FOLDERS)


def test_a_recorded_run_is_read_with_every_decision(folder: Path) -> None:
    runs = RunTraces(folder)
    assert runs.records
    for key, record in runs.records.items():
        steps = runs.trace(key).steps
        assert len(steps) == record.n_steps
        assert steps[0].decision.candidates  # later steps may follow a plan without proposing
        assert all(step.after is not None for step in steps)
    assert read_results(folder).n_episodes == len(runs.records)


def test_a_recorded_run_has_a_report_and_is_viewed(folder: Path) -> None:
    assert write_report(folder).stat().st_size > 10_000
    client = create_app([folder]).test_client()
    pages = [rule.rule for rule in create_app([folder]).url_map.iter_rules() if not rule.arguments]
    assert pages
    for page in pages:
        assert client.get(page).status_code == 200
    for key in RunTraces(folder).records:
        assert client.get(f"/api/episode/0/{key}").json["steps"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_recorded_run_is_exported(folder: Path, form: str, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    result = CliRunner().invoke(app, ["export", str(folder), "--format", form, "--out", str(out)])
    is_empty = result.exit_code == 2 and "got" in result.stderr  # such as no preference among so few candidates
    assert is_empty or result.exit_code == 0, result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", FOLDERS)
def test_the_same_command_replays_a_recorded_run(name: str, tmp_path: Path) -> None:
    command = COMMANDS[name].split()
    made(command[1]).close()  # skips where its browser is not installed
    folder = tmp_path / name
    shutil.copytree(FIXTURES / "run_folders" / name, folder)
    (folder / FINISHED).write_text("")  # so that every episode is decided again, from its recorded answers
    before = (folder / "answers.jsonl").read_bytes()
    result = CliRunner().invoke(app, [*command, "--out", str(folder)])
    assert result.exit_code == 0, result.output
    assert (folder / "answers.jsonl").read_bytes() == before  # nothing was asked that is not recorded
    assert read_results(folder).n_episodes == read_results(FIXTURES / "run_folders" / name).n_episodes
