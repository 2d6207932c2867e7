"""Runs of one command share their workers: what is recorded and shown is the same as one after the other."""

import json
import signal
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from iad_policy.commands.side_by_side import PlannedRun, fit_side_by_side, run_side_by_side
from iad_policy.commands.terminal import INTERRUPTED
from iad_policy.errors import Interrupted
from iad_policy.run.places import WorkerPlaces
from tests.command_line import iad
from tests.iad_policy.report.snapshots import rounded

SUITE = """
tasks = 2
n = 2
seed = [0, 1]
run = [
  {env = "IAD/WebShop-v0", name = "shop", strategies = ["single", "iad"]},
  {env = "IAD/BIRD-v0", name = "sql", agent = "solution:0.5", strategies = ["bon-sc"]},
  {env = "FrozenLake-v1", name = "lake", verifier = "none", strategies = ["single", "bon-sc"]},
]
"""
INTERRUPTING = """
import os, signal, time
from random import Random

calls = []

def slip(observation, info, rng):
    calls.append(1)
    if len(calls) == 20 and "ENOUGH" not in os.environ:
        os.kill(os.getpid(), signal.SIGINT)
    if len(calls) >= 20 and "ENOUGH" not in os.environ:
        time.sleep(0.05)  # the main thread hears it before these threads have played all episodes
    return rng.randrange(4)
"""


def recorded(folder: Path) -> dict[str, Any]:
    """What each run of a suite has in its folder: the configuration, and the episodes by key."""
    found: dict[str, Any] = {}
    for path in sorted(folder.glob("*/config.json")):
        config = json.loads(path.read_text())
        config.pop("workers")
        lines = (path.parent / "episodes.jsonl").read_text().splitlines()
        episodes = {record["key"]: rounded(record, 15) for record in map(json.loads, lines)}
        found[path.parent.name] = (config, episodes)
    return found


def table_of(text: str) -> list[str]:
    """The lines that name the runs, and their rows of scores and differences, which have no seconds."""
    return [line for line in text.splitlines() if line.startswith(("IAD/", "FrozenLake", "Budget")) or "[." in line]


def test_runs_side_by_side_record_and_show_what_they_do_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(SUITE)
    run = ("compare", "--full", "--config", tmp_path / "suite.toml")
    beside = iad(*run, "--workers", 4, "--out", tmp_path / "beside")
    after = iad(*run, "--workers", 1, "--out", tmp_path / "after")
    assert (beside.exit_code, after.exit_code) == (0, 0), beside.output + after.output
    assert recorded(tmp_path / "beside") == recorded(tmp_path / "after")
    assert table_of(beside.stdout) == table_of(after.stdout)
    named = [line.split(",")[0] for line in table_of(beside.stdout) if ", seeds 0, 1" in line]
    assert named == ["IAD/WebShop-v0", "IAD/BIRD-v0", "FrozenLake-v1"]


def test_an_interrupted_suite_keeps_what_it_has_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_slips.py").write_text(INTERRUPTING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "suite.toml").write_text(
        'tasks = 12\nagent = "mine_slips:slip"\nverifier = "none"\nstrategies = ["single"]\n'
        '[[run]]\nenv = "FrozenLake-v1"\nname = "a"\n[[run]]\nenv = "FrozenLake-v1"\nname = "b"\nseed = 1\n'
    )
    run = ("compare", "--config", "suite.toml", "--workers", 2)
    before = signal.getsignal(signal.SIGINT)
    stopped = iad(*run, "--out", "run")
    assert (stopped.exit_code, signal.getsignal(signal.SIGINT)) == (INTERRUPTED, before), stopped.output
    assert "Waiting for the answers to pending calls" in stopped.stdout
    n_kept = sum(len(episodes) for _, episodes in recorded(tmp_path / "run").values())
    assert n_kept < 24
    monkeypatch.setenv("ENOUGH", "1")
    for given in (("--out", "run"), ("--workers", 1, "--out", "after")):
        assert iad(*run, *given).exit_code == 0
    whole = recorded(tmp_path / "run")
    assert whole == recorded(tmp_path / "after")
    assert [len(episodes) for _, episodes in whole.values()] == [12, 12]
    sys.modules.pop("mine_slips")


class StandIn:
    """A runner as the command sees it."""

    def __init__(self, workers: int = 2, engine: str = "threads") -> None:
        self.config = SimpleNamespace(workers=workers, engine=engine)
        self.stopped = Event()

    def share(self, places: WorkerPlaces, rank: int) -> None: ...

    def stop(self) -> None:
        self.stopped.set()


def planned(n: int, **given: Any) -> list[PlannedRun]:
    return [PlannedRun(Path(str(place)), StandIn(**given)) for place in range(n)]  # type: ignore[arg-type]


def shown(n: int, session: Callable[[PlannedRun, Callable[[], None]], int]) -> tuple[int, str, list[PlannedRun]]:
    """Run so many sessions, which print their run's name; return the exit code, the screen and the runs."""
    screen, runs = StringIO(), planned(n)

    def told(run: PlannedRun, console: Console) -> int:
        return session(run, lambda: console.print(f"run {run.folder}"))

    return run_side_by_side(runs, told, Console(file=screen, width=100)), screen.getvalue(), runs


def test_what_a_run_prints_waits_for_its_turn() -> None:
    is_told = Event()

    def session(run: PlannedRun, say: Callable[[], None]) -> int:
        assert run.folder.name == "1" or is_told.wait(10)
        say()
        is_told.set()
        return 0

    assert shown(2, session)[:2] == (0, "run 0\nrun 1\n")


def test_a_run_that_fails_stops_those_after_it_and_is_told_and_its_error_is_raised() -> None:
    is_over = Event()

    def session(run: PlannedRun, say: Callable[[], None]) -> int:
        say()
        if run.folder.name == "1":
            is_over.set()
            return 2
        stopped = is_over if run.folder.name == "0" else run.runner.stopped  # type: ignore[attr-defined]
        assert stopped.wait(10)
        return 0 if run.folder.name == "0" else INTERRUPTED

    code, screen, runs = shown(3, session)
    assert (code, screen) == (2, "run 0\nrun 1\n")
    assert not runs[0].runner.stopped.is_set()  # type: ignore[attr-defined]

    def failing(run: PlannedRun, say: Callable[[], None]) -> int:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        shown(2, failing)


def test_only_runs_that_can_share_workers_do() -> None:
    assert fit_side_by_side(planned(2), tracks=False)
    others = [(planned(2), True)]
    others += [(runs, False) for runs in (planned(1), planned(2, workers=1), planned(2, engine="ray"))]
    assert not any(fit_side_by_side(runs, tracks=tracks) for runs, tracks in others)


def test_an_earlier_run_goes_first_and_no_more_episodes_run_than_there_are_places() -> None:
    places, order = WorkerPlaces(1), list[int]()

    def one(rank: int) -> None:
        with places.of(rank, lambda: None)():
            order.append(rank)

    threads = {rank: Thread(target=one, args=(rank,)) for rank in (2, 0, 1)}
    with places.of(0, lambda: None)():
        for rank, thread in threads.items():
            thread.start()
            while not places._waiting[rank]:
                pass
    for thread in threads.values():
        thread.join(10)
    assert order == [0, 1, 2]

    def stopped() -> None:
        raise Interrupted

    places = WorkerPlaces(0)
    with pytest.raises(Interrupted), places.of(0, stopped)():
        pass
    assert not +places._waiting, "who waits is not kept when the run is stopped"
