"""Contract 4 under kill -9: whenever it comes, the same command ends with the same episodes and asks nothing twice."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from iad_policy.errors import RunFolderError
from tests.effort import some
from tests.iad_policy.run.interrupted_run import main
from tests.waiting import until

ROOT = Path(__file__).parents[3]
MODULE = "tests.iad_policy.run.interrupted_run"
N_WORKERS = 4
MEASURED = ("wall_s",)
N_PLACES = 30


def started(folder: Path, answers: Path, answer_s: float = 0.008) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", MODULE, str(folder), str(answers), str(answer_s)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(process: "subprocess.Popen[str]") -> int:
    """Return the exit status."""
    process.communicate(timeout=60)
    return process.returncode


def finished(folder: Path) -> None:
    """Run what is missing to its end, in this process."""
    assert main(folder / "run", folder / "answers", 0.0) == 0


def n_answers(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def killed(folder: Path, *, after: int, wait_s: float) -> None:
    """Start the run, and kill it a moment after so many answers."""
    process = started(folder / "run", folder / "answers")
    while n_answers(folder / "answers") < after and process.poll() is None:
        time.sleep(0.001)
    time.sleep(wait_s)
    process.kill()
    ended(process)


def episodes(folder: Path) -> list[dict[str, Any]]:
    """The records by key, without what was measured."""
    found: dict[str, dict[str, Any]] = {}
    for line in (folder / "episodes.jsonl").read_text().splitlines():
        record = json.loads(line)
        for usage in record["usage"].values():
            usage.pop("seconds", None)
        found[record["key"]] = {name: value for name, value in record.items() if name not in MEASURED}
    return [found[key] for key in sorted(found)]


Undisturbed = tuple[list[dict[str, Any]], Counter[str]]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """The episodes of a run that nothing disturbs, and what was answered."""
    folder = tmp_path_factory.mktemp("undisturbed")
    finished(folder)
    return episodes(folder / "run"), Counter((folder / "answers").read_text().splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("place", range(N_PLACES))
def test_a_run_that_is_killed_ends_with_the_same_episodes(place: int, undisturbed: Undisturbed, tmp_path: Path) -> None:
    """Kill a run somewhere in one part of many, and let the same command end it."""
    expected, answered = undisturbed
    random = Random(1000 * N_PLACES + place)
    after = int((place + random.random()) / N_PLACES * answered.total())
    killed(tmp_path, after=after, wait_s=0.01 * random.random())
    finished(tmp_path)
    assert episodes(tmp_path / "run") == expected
    again = Counter((tmp_path / "answers").read_text().splitlines()) - answered
    # An answer that was given, but not yet written down when the kill came, is lost: one of each worker at most.
    assert again.total() <= N_WORKERS
    assert len(expected) == 18


def test_a_run_that_is_killed_again_and_again_comes_to_its_end(undisturbed: Undisturbed, tmp_path: Path) -> None:
    expected, answered = undisturbed
    for after in some((20, 70, 45, 95), 2):
        killed(tmp_path, after=after, wait_s=0.003)
    finished(tmp_path)
    assert episodes(tmp_path / "run") == expected
    again = Counter((tmp_path / "answers").read_text().splitlines()) - answered
    assert again.total() <= 4 * N_WORKERS
    assert len(expected) == 18


def test_a_second_process_changes_nothing_of_a_run_that_goes_on(undisturbed: Undisturbed, tmp_path: Path) -> None:
    expected, answered = undisturbed
    process = started(tmp_path / "run", tmp_path / "answers", 0.05)
    assert until(lambda: n_answers(tmp_path / "answers") > 0, 60)
    with pytest.raises(RunFolderError, match="no other process writes to"):
        main(tmp_path / "run", tmp_path / "others", 0.0)
    assert process.poll() is None
    process.kill()
    ended(process)
    finished(tmp_path)  # no lock is left
    assert not (tmp_path / "others").exists()
    assert episodes(tmp_path / "run") == expected
    assert (Counter((tmp_path / "answers").read_text().splitlines()) - answered).total() <= N_WORKERS


def test_ctrl_c_waits_for_the_answers_under_way_and_keeps_them(undisturbed: Undisturbed, tmp_path: Path) -> None:
    expected, answered = undisturbed
    process = started(tmp_path / "run", tmp_path / "answers", 0.2)
    while not n_answers(tmp_path / "answers"):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Ctrl-C again to stop at once" in said
    assert "repeat the command to continue" in said
    assert "Traceback" not in said
    kept = [json.loads(line)["kind"] for line in (tmp_path / "run" / "answers.jsonl").read_text().splitlines()]
    assert kept.count("candidate") == n_answers(tmp_path / "answers") < answered.total()
    finished(tmp_path)
    assert episodes(tmp_path / "run") == expected
    assert Counter((tmp_path / "answers").read_text().splitlines()) == answered


def test_a_second_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    process = started(tmp_path / "run", tmp_path / "answers", 50.0)
    while not (tmp_path / "run" / "answers.jsonl").exists() or not (tmp_path / "run" / "answers.jsonl").stat().st_size:
        time.sleep(0.01)  # the first states are kept before the first calls are made
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert "Waiting for the answers" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in said
