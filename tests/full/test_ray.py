"""Episodes on a real Ray cluster of two processes (`make test-ray`): those of threads, whatever dies meanwhile."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from iad_policy import evaluate
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.run.engines import EngineError
from iad_policy.run.engines.ray_cluster import connected, load_ray
from iad_policy.run.journal import RunStopped
from iad_policy.run.runner import Runner
from tests.full.processes import ROOT, finished, python
from tests.full.ray_components import Dials, OtherDataEnv
from tests.iad_policy.evaluation_toy import DialsEnv, Liker, cast, config, unmeasured
from tests.iad_policy.models.openai_server import Reply, completion, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore"),  # Ray's own
    pytest.mark.skipif(find_spec("ray") is None, reason="the package ray is not installed: make test-ray"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    ray = load_ray()
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", PYTHONPATH=str(ROOT))
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    ray.init(address="local", num_cpus=2, object_store_memory=2**28, _node_ip_address="127.0.0.1", **quiet)
    yield ray
    ray.shutdown()


def noted(notes: Path) -> Counter[str]:
    """How often each answer was given, by episode and draw."""
    return Counter(line.rpartition(" ")[0] for line in notes.read_text().splitlines())


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


def runner(agent: Any, **changes: Any) -> Runner:
    here = cast(agent, Liker())
    return Runner(config(**({"tasks": 6, "engine": "ray", "workers": 2} | changes)), DialsEnv, lambda *_: here)


def run(asked: Runner, folder: Path) -> list[EpisodeRecord]:
    with RunFolder(folder, asked.recorded_config(), free=frozenset({"engine", "workers", "run_budget"})) as kept:
        return list(asked.episodes(kept))


@pytest.mark.parametrize("env", ["WebShop", "InterCodeBash", "BIRD", "BFCL", "ACEBench"])
def test_ray_gives_what_threads_give(env: str, cluster: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"tasks": 4, "n": 2, "agent": "solution:0.4"}
    if env == "WebShop":
        options |= {"tasks": 12, "agent": "shopper", "strategies": ("single", "bon-sc", "iad", "mcts")}
    alone = evaluate(f"IAD/{env}-v0", out=tmp_path / "threads", **options)
    together = evaluate(f"IAD/{env}-v0", out=tmp_path / "ray", engine="ray", workers=4, **options)
    assert alone.n_episodes == together.n_episodes > 0
    assert not any(record.error_kind for own in together.records.values() for record in own)
    same(tmp_path / "threads", tmp_path / "ray")
    assert (tmp_path / "ray" / "report.html").exists()


def test_a_run_of_threads_goes_on_on_ray(cluster: Any, tmp_path: Path) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "run"
    evaluate("IAD/WebShop-v0", tasks=6, out=whole)
    shutil.copytree(whole, folder)
    for name, kept in (("answers.jsonl", 0.5), ("episodes.jsonl", 0.1)):
        lines = (whole / name).read_bytes().splitlines(keepends=True)
        (folder / name).write_bytes(b"".join(lines[: int(len(lines) * kept)]))
    evaluate("IAD/WebShop-v0", tasks=6, out=folder, engine="ray", workers=2)
    same(whole, folder)


def test_an_episode_whose_worker_dies_goes_on_in_another(cluster: Any, tmp_path: Path) -> None:
    calm, storm = tmp_path / "calm", tmp_path / "storm"
    for folder in (calm, storm):
        folder.mkdir()
    run(runner(Dials(calm / "notes"), engine="threads"), calm / "run")
    records = run(runner(Dials(storm / "notes", 0.3, {"dials-1": 1, "dials-3": 2})), storm / "run")
    assert len(list(storm.glob("*.death.*"))) == 3
    assert len(records) == 18
    same(calm / "run", storm / "run")
    # What had arrived is replayed: asked twice are only answers under way when a process died, one for each of its own.
    asked, once = noted(storm / "notes"), noted(calm / "notes")
    assert asked.keys() == once.keys()
    assert sum((asked - once).values()) <= 3


def test_an_episode_that_kills_every_worker_is_given_up_and_the_others_are_not(cluster: Any, tmp_path: Path) -> None:
    records = run(runner(Dials(tmp_path / "notes", deaths={"dials-2": 9})), tmp_path / "run")
    lost = [record for record in records if record.error_kind]
    assert {(record.task_id, record.error_kind) for record in lost} == {("dials-2", "worker")}
    assert "process died" in lost[0].error
    assert len(records) == 18
    assert len([record for record in records if record.is_scored]) == 15
    again = run(runner(Dials(tmp_path / "notes")), tmp_path / "run")  # a living agent: the same command runs them again
    assert not any(record.error_kind for record in again)


def test_pairing_holds_for_a_model_whose_answers_are_random(tmp_path: Path) -> None:
    counter = itertools.count()
    with serving() as server:
        server.reply_to = lambda request: Reply(completion(f"Action: search[shoes {next(counter)}]"))
        variables = {
            "OPENAI_API_KEY": "none",
            "OPENAI_API_BASE": server.address,
            "IAD_CACHE": str(tmp_path / "cache.sqlite"),
            "RAY_ADDRESS": "local",  # the cluster of the other tests does not have these variables
        }
        options = "--tasks 6 --strategies single,bon --agent litellm:openai/moody --env-arg max_steps=2 --engine ray"
        command = ["compare", "IAD/WebShop-v0", *options.split(), "--workers", 4, "--out", tmp_path / "run"]
        python("-m", "iad_policy.cli", *command, cwd=tmp_path, **variables)
    records = Run(tmp_path / "run").records
    assert len(records) == 12
    first: dict[str, list[str]] = defaultdict(list)
    for key, lines in answers(tmp_path / "run").items():
        proposals = [line for line in lines if line["kind"] == "candidate"]
        first[records[key].task_id].append(proposals[0]["action"])
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
    unsendable = Dials(tmp_path / "notes")
    unsendable.lock = Lock()  # type: ignore[attr-defined]
    for agent, env, said in (
        (Dials(tmp_path / "notes"), OtherDataEnv, "the same data"),
        (unsendable, DialsEnv, "can be pickled"),
    ):
        asked = Runner(config(engine="ray", workers=2, tasks=6), env, lambda *_, agent=agent: cast(agent, Liker()))
        with RunFolder(tmp_path / said, asked.recorded_config()) as folder, pytest.raises(EngineError, match=said):
            list(asked.episodes(folder))
    with connected() as n_cpus:
        assert n_cpus == 2
    assert cluster.is_initialized()  # a session of the caller's own is left open
    # More workers than processors share processes.
    records = run(runner(Dials(tmp_path / "notes", 0.2), workers=6, strategies=("single",)), tmp_path / "run")
    pids = {line.rpartition(" ")[2] for line in (tmp_path / "notes").read_text().splitlines()}
    assert (len(records), len(pids)) == (6, 2)


def test_ctrl_c_keeps_what_was_answered_and_the_command_goes_on(tmp_path: Path) -> None:
    notes, folder = tmp_path / "notes", tmp_path / "run"
    command = ["-m", "tests.full.ray_session", str(folder), str(notes)]
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    while not notes.exists() or len(notes.read_text().splitlines()) < 8:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of the group
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 130, said
    assert "Traceback" not in said
    n_kept = sum(line["kind"] == "candidate" for lines in answers(folder).values() for line in lines)
    assert n_kept == noted(notes).total()
    python(*command)
    assert len(Run(folder).records) == 18
    assert max(noted(notes).values()) <= 3


def test_a_cluster_that_does_not_answer_is_told() -> None:
    code = "from iad_policy.run.engines.ray_cluster import connected\nwith connected(): pass\n"
    done = finished([sys.executable, "-c", code], RAY_ADDRESS="127.0.0.1:1")
    assert "expected a Ray cluster at RAY_ADDRESS=127.0.0.1:1" in done.stderr
