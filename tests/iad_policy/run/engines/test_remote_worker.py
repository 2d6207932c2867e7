"""Workers that see neither the run's folder nor its meter: what they hand over makes the same folder."""

import json
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy.errors import ModelError, UnknownName
from iad_policy.ledger.answer_log import AnswerLine, AnswerLog, EpisodeLog, blobs_named
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.run.components import load_components
from iad_policy.run.config import RunConfig
from iad_policy.run.engines.remote_worker import EpisodeRequest, FileContent, LogLines, RelayedLog, RemoteWorker
from iad_policy.run.resolve import env_of
from iad_policy.run.runner import Runner
from iad_policy.run.worker import WorkerSpec
from iad_policy.types import Candidate, State
from tests.iad_policy.evaluation_toy import DialsEnv, Guesser, cast, config, unmeasured


class Waiting(Guesser):
    def __init__(self) -> None:
        super().__init__()
        self.asked, self.let = threading.Event(), threading.Event()

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        self.asked.set()
        assert self.let.wait(10)
        return super().propose(state, feedback=feedback, temperature=temperature, rng=rng)


@contextmanager
def worker(agent: Any = None, make_env: Any = DialsEnv, n_workers: int = 1) -> Iterator[tuple[RemoteWorker, Runner]]:
    here = cast(agent)
    with closing(RemoteWorker(WorkerSpec(config(), make_env, lambda *_: here), n_workers)) as made:
        yield made, Runner(config(), DialsEnv, lambda *_: here)


def requests(runner: Runner, n: int, answers: Any = None, blobs: Any = None) -> tuple[EpisodeRequest, ...]:
    return tuple(EpisodeRequest(job, (answers or {}).get(job.key, {}), blobs or {}) for job in list(runner.jobs())[:n])


def told(worker: RemoteWorker, requests: tuple[EpisodeRequest, ...]) -> list[Any]:
    return [message for batch in worker.run(requests) for message in batch]


def written(messages: list[Any], folder: Path) -> list[EpisodeRecord]:
    """Write messages as a journal does, in the order in which they came."""
    log = AnswerLog(folder)
    for message in messages:
        if isinstance(message, FileContent):
            log.keep(message.place, lambda message=message: message.content)  # type: ignore[misc]
        elif isinstance(message, LogLines):
            log.write(message.lines)
    log.close()
    return [message for message in messages if isinstance(message, EpisodeRecord)]


@contextmanager
def shop() -> Iterator[tuple[RemoteWorker, Runner]]:
    """Two tasks in the shop, whose pages are long enough to be kept as blobs."""
    asked = RunConfig("IAD/WebShop-v0", "shopper", "proxy", ("single", "iad"), n=2, tasks=2)
    how: Any = (partial(env_of, asked), load_components)
    with closing(RemoteWorker(WorkerSpec(asked, *how), 1)) as made, closing(Runner(asked, *how)) as runner:
        yield made, runner


def test_what_is_handed_over_makes_the_folder_that_threads_make(tmp_path: Path) -> None:
    with shop() as (there, runner):
        records = written(told(there, requests(runner, 99)), tmp_path / "relayed")
        with RunFolder(tmp_path / "own", runner.recorded_config()) as folder:
            own = list(runner.episodes(folder))
    assert [unmeasured(record) for record in records] == [unmeasured(record) for record in own]
    blobs = [{path.name: path.read_bytes() for path in (tmp_path / it).rglob("blobs/*")} for it in ("relayed", "own")]
    assert blobs[0] == blobs[1] != {}


def test_an_order_with_answers_is_replayed_and_asks_for_the_rest_only(tmp_path: Path) -> None:
    with shop() as (there, runner):
        *_, record = written(told(there, requests(runner, 2)), tmp_path)
        with closing(AnswerLog(tmp_path)) as log:
            known = dict(log.episode(record.key).answers)
        half = {item: known[item] for item in list(known)[: len(known) // 2]}
        blobs = {place: (tmp_path / place).read_bytes() for place in blobs_named(half)}
        *_, request = requests(runner, 2, {record.key: half}, blobs)
        again = told(there, (request,))
    assert blobs
    *_, replayed = [message for message in again if isinstance(message, EpisodeRecord)]
    assert unmeasured(replayed) == unmeasured(record)
    lines = b"".join(message.lines for message in again if isinstance(message, LogLines))
    assert [json.loads(line)["item"] for line in lines.splitlines()] == list(known)[len(known) // 2 :]


def test_stopped_it_hands_over_what_was_under_way_and_no_more() -> None:
    agent = Waiting()
    with worker(agent) as (there, runner), ThreadPoolExecutor(1) as listening:
        listened = listening.submit(told, there, requests(runner, 9))
        assert agent.asked.wait(10)
        there.stop()
        agent.let.set()
        received = listened.result(10)
    assert agent.n_calls == 1
    assert sum(message.lines.count(b'"kind":"candidate"') for message in received if isinstance(message, LogLines)) == 1
    assert not any(isinstance(message, EpisodeRecord) for message in received)


def test_workers_of_a_station_run_side_by_side_each_in_its_own_thread() -> None:
    threads: set[int] = set()
    both = threading.Barrier(2, timeout=10)  # one worker alone would never pass it

    def make() -> DialsEnv:
        both.wait()
        threads.add(threading.get_ident())
        return DialsEnv()

    with worker(make_env=make, n_workers=2) as (there, runner), ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda request: told(there, (request,)), requests(runner, 2)))
    assert len(threads - {threading.get_ident()}) == 2
    assert sum(isinstance(message, EpisodeRecord) for messages in done for message in messages) == 2


class Odd(Exception):
    """Does not travel, as its class is not known elsewhere."""

    __qualname__ = "nowhere.Odd"


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [(FileNotFoundError("no data here"), FileNotFoundError, "no data"), (Odd("ours"), RuntimeError, "Odd: ours")],
)
def test_an_error_in_making_an_environment_is_the_askers(error: Exception, kind: type[Exception], said: str) -> None:
    def broken() -> DialsEnv:
        raise error

    with worker(make_env=broken) as (there, _), pytest.raises(kind, match=said):
        there.handshake()


def test_a_greeting_tells_what_a_run_records() -> None:
    with worker() as (there, runner):
        facts, recorded = there.handshake(), runner.recorded_config()
    assert all(facts[part] == recorded[part] for part in ("data", "identity", "iad_version"))


@pytest.mark.parametrize(
    "error", [ModelError("too many", kind="rate_limit"), UnknownName("engine", "rai", ["ray", "threads"])]
)
def test_our_errors_travel(error: Exception) -> None:
    there = pickle.loads(pickle.dumps(error))
    assert (type(there), str(there), vars(there)) == (type(error), str(error), vars(error))


def test_a_file_that_did_not_come_along_is_missed_as_one_that_is_gone() -> None:
    with worker() as (_, runner):
        (request,) = requests(runner, 1)
    messages: list[Any] = []
    log = EpisodeLog(RelayedLog(request, messages.append), request.job.key, {})
    long, _ = log.put("x" * 5000), log.put("x" * 5000)
    log.write(AnswerLine("0.0.0", "q", {"kind": "text", "text": long}))
    assert [type(message) for message in messages] == [FileContent, LogLines]
    with pytest.raises(FileNotFoundError):
        log.get(long)
