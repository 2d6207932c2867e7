"""Episodes on real Ray clusters on this machine (`make test-ray`): those of threads, whatever dies meanwhile."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Lock
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from iad_policy import evaluate
from iad_policy.commands.terminal_run import run_session
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.run.engines import EngineError
from iad_policy.run.engines.ray_cluster import connected, load_ray
from iad_policy.run.journal import RunStopped
from iad_policy.run.runner import Runner
from iad_policy.types import Candidate, State, Usage
from iad_policy.types.call_context import current_call
from tests.full.processes import ROOT, finished, needing, python
from tests.iad_policy.evaluation_toy import DIGITS, DialsEnv, Liker, cast, config, unmeasured
from tests.iad_policy.models.openai_server import Reply, completion, serving
from tests.waiting import until

pytestmark = [*needing("ray", how="make test-ray"), pytest.mark.alone, pytest.mark.timeout(600)]
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}


class Dials:
    """Turns a random dial after a while, and notes every answer in a file before it is given.

    `deaths` says of a task how often the process dies in it, instead of the second answer there.
    """

    identity = "dials"

    def __init__(self, notes: Path, answer_s: float = 0.0, deaths: dict[str, int] | None = None) -> None:
        self._notes, self._answer_s, self._deaths = notes, answer_s, deaths or {}

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        time.sleep(self._answer_s)
        task = str(state.info["task_id"])
        marks = sorted(self._notes.parent.glob(f"{task}.death.*"))
        if len(marks) < self._deaths.get(task, 0) and "dials: -" not in str(state.observation):
            (self._notes.parent / f"{task}.death.{len(marks)}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        call = current_call()
        with self._notes.open("ab", buffering=0) as notes:
            notes.write(f"{task} {call.stream} {call.seed} {os.getpid()}\n".encode())
        return Candidate(f"turn[{rng.choice(DIGITS)}]", thought="hm " * 500, usage=Usage(prompt_tokens=7))


class OtherDataEnv(DialsEnv):
    """Has other data in every process."""

    def __init__(self) -> None:
        super().__init__()
        self.data = SimpleNamespace(name="dials", digest=str(os.getpid()), folder=Path())


def runner(agent: Any, env: Any = DialsEnv, **changes: Any) -> Runner:
    here = cast(agent, Liker())
    return Runner(config(**({"tasks": 6, "engine": "ray", "workers": 2} | changes)), env, lambda *_: here)


def session(folder: str, notes: str) -> None:
    """A run as a process of its own, to be interrupted."""
    sys.exit(run_session(runner(Dials(Path(notes), 0.3), workers=4), Path(folder), Console()))


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", PYTHONPATH=str(ROOT))
    yield load_ray()
    load_ray().shutdown()


@pytest.fixture
def cluster(ray: Any) -> Any:
    """Two processes, for all tests."""
    if not ray.is_initialized():
        options = {"object_store_memory": 2**28, "_node_ip_address": "127.0.0.1", "include_dashboard": False, **QUIET}
        ray.init(address="local", num_cpus=2, **options)
    return ray


@pytest.fixture
def nodes(ray: Any) -> Iterator[Any]:
    """A cluster whose head runs nothing, and two nodes with a processor each."""
    from ray.cluster_utils import Cluster

    ray.shutdown()
    small = {"object_store_memory": 2**27}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small})
    for _ in range(2):
        cluster.add_node(num_cpus=1, **small)
    ray.init(address=cluster.address, **QUIET)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def noted(notes: Path) -> Counter[str]:
    """How often each answer was given, by episode and draw."""
    return Counter(line.rpartition(" ")[0] for line in notes.read_text().splitlines())


def players(notes: Path) -> set[str]:
    """The processes that answered."""
    return {line.rpartition(" ")[2] for line in notes.read_text().splitlines()} if notes.exists() else set()


def answers(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of every episode in their order, without what was measured."""
    lines = defaultdict(list)
    for line in (folder / "answers.jsonl").read_text().splitlines():
        record = json.loads(line)
        record.get("usage", {}).pop("seconds", None)
        lines[record.pop("episode")].append(record)
    return dict(lines)


def same(one: Path, other: Path) -> None:
    """Require the same episodes, answers and blobs."""
    here, there = ({key: unmeasured(it) for key, it in Run(path).records.items()} for path in (one, other))
    assert here == there
    assert answers(one) == answers(other)
    blobs, theirs = ({path.name: path.read_bytes() for path in (it / "blobs").glob("*")} for it in (one, other))
    assert blobs == theirs


def run(asked: Runner, folder: Path) -> list[EpisodeRecord]:
    with RunFolder(folder, asked.recorded_config(), free=frozenset({"engine", "workers", "run_budget"})) as kept:
        return list(asked.episodes(kept))


@pytest.fixture
def calm(tmp_path: Path) -> Path:
    """The folder of a run of threads in which nothing happened."""
    (tmp_path / "calm").mkdir()
    (tmp_path / "storm").mkdir()
    run(runner(Dials(tmp_path / "calm" / "notes"), engine="threads"), tmp_path / "calm" / "run")
    return tmp_path / "calm"


@pytest.mark.parametrize("env", ["WebShop", "InterCodeBash", "BIRD", "BFCL", "ACEBench"])
def test_ray_gives_what_threads_give_and_a_run_of_threads_goes_on_there(env: str, cluster: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"tasks": 4, "n": 2, "agent": "solution:0.4"}
    if env == "WebShop":
        options |= {"tasks": 12, "agent": "shopper", "strategies": ("single", "bon-sc", "iad", "mcts")}
    if env == "InterCodeBash":  # a mistake there may be `ls -la`, which tells the time
        options["agent"] = "solution:0"
    threads, folder = tmp_path / "threads", tmp_path / "ray"
    alone = evaluate(f"IAD/{env}-v0", out=threads, **options)
    together = evaluate(f"IAD/{env}-v0", out=folder, engine="ray", workers=4, **options)
    assert alone.n_episodes == together.n_episodes > 0
    assert not any(record.error_kind for own in together.records.values() for record in own)
    same(threads, folder)
    assert (folder / "report.html").exists()
    for name, kept in (("answers.jsonl", 0.5), ("episodes.jsonl", 0.1)):
        lines = (threads / name).read_bytes().splitlines(keepends=True)
        (threads / name).write_bytes(b"".join(lines[: int(len(lines) * kept)]))
    evaluate(f"IAD/{env}-v0", out=threads, engine="ray", workers=2, **options)
    same(threads, folder)


def test_an_episode_whose_worker_dies_goes_on_in_another(cluster: Any, calm: Path, tmp_path: Path) -> None:
    storm = tmp_path / "storm"
    records = run(runner(Dials(storm / "notes", 0.3, {"dials-1": 1, "dials-3": 2})), storm / "run")
    assert (len(list(storm.glob("*.death.*"))), len(records)) == (3, 18)
    same(calm / "run", storm / "run")
    # What had arrived is replayed: asked twice are only answers under way when a process died, one for each of its own.
    asked, once = noted(storm / "notes"), noted(calm / "notes")
    assert asked.keys() == once.keys()
    assert sum((asked - once).values()) <= 3


def test_a_run_survives_a_machine(nodes: Any, calm: Path, tmp_path: Path) -> None:
    storm = tmp_path / "storm"

    def lose_one() -> None:
        until(lambda: len(players(storm / "notes")) == 2, 120)
        nodes.remove_node(sorted(nodes.worker_nodes, key=str)[0], allow_graceful=False)

    losing = threading.Thread(target=lose_one)
    losing.start()
    records = run(runner(Dials(storm / "notes", 0.4)), storm / "run")
    losing.join()
    assert [record.error_kind for record in records] == [""] * 18
    same(calm / "run", storm / "run")
    assert len(nodes.worker_nodes) == 1


def test_an_episode_that_kills_every_worker_is_given_up_and_the_others_are_not(cluster: Any, tmp_path: Path) -> None:
    records = run(runner(Dials(tmp_path / "notes", deaths={"dials-2": 9})), tmp_path / "run")
    lost = [record for record in records if record.error_kind]
    assert {(record.task_id, record.error_kind) for record in lost} == {("dials-2", "worker")}
    assert "process died" in lost[0].error
    assert (len(records), len([record for record in records if record.is_scored])) == (18, 15)
    again = run(runner(Dials(tmp_path / "notes")), tmp_path / "run")  # a living agent: the same command runs them again
    assert not any(record.error_kind for record in again)


def test_pairing_holds_for_a_model_whose_answers_are_random(tmp_path: Path) -> None:
    counter = itertools.count()
    with serving() as server:
        server.reply_to = lambda request: Reply(completion(f"Action: search[shoes {next(counter)}]"))
        variables = {"OPENAI_API_KEY": "none", "OPENAI_API_BASE": server.address}
        variables |= {"IAD_CACHE": str(tmp_path / "cache.sqlite"), "RAY_ADDRESS": "local"}  # a cluster that has these
        options = "--tasks 6 --strategies single,bon --agent litellm:openai/moody --env-arg max_steps=2 --engine ray"
        command = ["compare", "IAD/WebShop-v0", *options.split(), "--workers", 4, "--out", tmp_path / "run"]
        python("-m", "iad_policy.cli", *command, cwd=tmp_path, **variables)
    records = Run(tmp_path / "run").records
    assert len(records) == 12
    first: dict[str, list[str]] = defaultdict(list)
    for key, lines in answers(tmp_path / "run").items():
        first[records[key].task_id].append(next(line["action"] for line in lines if line["kind"] == "candidate"))
    assert len(first) == 6
    assert all(single == bon for single, bon in first.values())


def test_the_budget_of_a_run_ends_it_between_episodes(cluster: Any, tmp_path: Path) -> None:
    small, large = (runner(Dials(tmp_path / "notes"), budget={"run.proposals": n}) for n in (20, 10_000))
    with RunFolder(tmp_path / "run", small.recorded_config()) as folder:
        with pytest.raises(RunStopped, match=r"run\.proposals"):
            list(small.episodes(folder))
        assert 0 < len(folder.episodes) < 18
    assert len(run(large, tmp_path / "run")) == 18


def test_what_can_not_run_there_is_told(cluster: Any, tmp_path: Path) -> None:
    unsendable, notes = Dials(tmp_path / "notes"), tmp_path / "notes"
    unsendable.lock = Lock()  # type: ignore[attr-defined]
    for agent, env, said in ((Dials(notes), OtherDataEnv, "same data"), (unsendable, DialsEnv, "can be pickled")):
        with pytest.raises(EngineError, match=said):
            run(runner(agent, env), tmp_path / said)
    with connected() as n_cpus:
        assert n_cpus == 2
    assert cluster.is_initialized()  # a session of the caller's own is left open
    # More workers than processors share processes.
    records = run(runner(Dials(notes, 0.2), workers=6, strategies=("single",)), tmp_path / "run")
    assert (len(records), len(players(notes))) == (6, 2)
    code = "from iad_policy.run.engines.ray_cluster import connected\nwith connected(): pass\n"
    done = finished([sys.executable, "-c", code], RAY_ADDRESS="127.0.0.1:1")
    assert "expected a Ray cluster at RAY_ADDRESS=127.0.0.1:1" in done.stderr


def test_ctrl_c_keeps_what_was_answered_and_the_command_goes_on(tmp_path: Path) -> None:
    notes, folder = tmp_path / "notes", tmp_path / "run"
    command = ["-c", f"from tests.full.test_ray import session; session({str(folder)!r}, {str(notes)!r})"]
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    assert until(lambda: process.poll() is not None or (notes.exists() and noted(notes).total() >= 8), 120)
    assert process.poll() is None, process.communicate()[0]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of the group
    said = process.communicate(timeout=120)[0]
    assert (process.returncode, "Traceback" in said) == (130, False), said
    n_kept = sum(line["kind"] == "candidate" for lines in answers(folder).values() for line in lines)
    assert n_kept == noted(notes).total()
    python(*command)
    assert len(Run(folder).records) == 18
    assert max(noted(notes).values()) <= 3
