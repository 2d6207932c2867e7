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
from tests.iad_policy.ledger.finished_run import timeless
from tests.iad_policy.run.interrupted_run import main
from tests.waiting import until

ROOT = Path(__file__).parents[3]
N_WORKERS = 4
N_PLACES = 30


def started(folder: Path, answers: Path, answer_s: float = 0.008) -> subprocess.Popen[str]:
    module = "tests.iad_policy.run.interrupted_run"
    command = [sys.executable, "-m", module, str(folder), str(answers), str(answer_s)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finished(folder: Path) -> None:
    """Run what is missing to its end, in this process."""
    assert main(folder / "run", folder / "answers", 0.0) == 0


def n_answers(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def episodes(folder: Path) -> dict[str, Any]:
    """The records by key, without what was measured."""
    records = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    return {record["key"]: timeless(record) for record in records}


Undisturbed = tuple[dict[str, Any], Counter[str]]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """The episodes of a run that nothing disturbs, and what was answered."""
    folder = tmp_path_factory.mktemp("undisturbed")
    finished(folder)
    return episodes(folder / "run"), Counter((folder / "answers").read_text().splitlines())


def ends_the_same(folder: Path, undisturbed: Undisturbed) -> None:
    """The same command ends the run. An answer that was not yet written down is lost: one of each worker at most."""
    finished(folder)
    expected, answered = undisturbed
    assert len(expected) == 18
    assert episodes(folder / "run") == expected
    assert (Counter((folder / "answers").read_text().splitlines()) - answered).total() <= N_WORKERS


@pytest.mark.slow
@pytest.mark.parametrize("place", range(N_PLACES))
def test_a_run_that_is_killed_ends_with_the_same_episodes(place: int, undisturbed: Undisturbed, tmp_path: Path) -> None:
    """Kill a run somewhere in one part of many, and let the same command end it."""
    random = Random(1000 * N_PLACES + place)
    after = int((place + random.random()) / N_PLACES * undisturbed[1].total())
    process = started(tmp_path / "run", tmp_path / "answers")
    while n_answers(tmp_path / "answers") < after and process.poll() is None:
        time.sleep(0.001)
    time.sleep(0.01 * random.random())
    process.kill()
    process.communicate(timeout=60)
    ends_the_same(tmp_path, undisturbed)


def test_a_second_process_is_refused_and_a_killed_one_leaves_no_lock(undisturbed: Undisturbed, tmp_path: Path) -> None:
    process = started(tmp_path / "run", tmp_path / "answers", 0.02)
    assert until(lambda: n_answers(tmp_path / "answers") > 20, 60)
    with pytest.raises(RunFolderError, match=rf"no other process writes to.*in use by process {process.pid}"):
        main(tmp_path / "run", tmp_path / "others", 0.0)
    assert (process.poll(), (tmp_path / "others").exists()) == (None, False)
    process.kill()
    process.communicate(timeout=60)
    ends_the_same(tmp_path, undisturbed)  # no lock is left


def test_ctrl_c_waits_for_the_answers_under_way_and_keeps_them(undisturbed: Undisturbed, tmp_path: Path) -> None:
    expected, answered = undisturbed
    process = started(tmp_path / "run", tmp_path / "answers", 0.2)
    assert until(lambda: n_answers(tmp_path / "answers") > 0, 60)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    told = ("Ctrl-C again to stop at once", "repeat the command to continue", "Traceback")
    assert (process.returncode, [one in said for one in told]) == (130, [True, True, False])
    kept = [json.loads(line)["kind"] for line in (tmp_path / "run" / "answers.jsonl").read_text().splitlines()]
    assert kept.count("candidate") == n_answers(tmp_path / "answers") < answered.total()
    finished(tmp_path)
    assert episodes(tmp_path / "run") == expected
    assert Counter((tmp_path / "answers").read_text().splitlines()) == answered


def test_a_second_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    process = started(tmp_path / "run", tmp_path / "answers", 50.0)
    # The first states are kept before the first calls are made.
    assert until(lambda: n_answers(tmp_path / "run" / "answers.jsonl") > 0, 60)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert "Waiting for the answers" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert (process.returncode, "Traceback" in said) == (130, False)
