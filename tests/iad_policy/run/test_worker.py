"""Workers, each in an environment of its own: the same episodes, whatever the number, also where calls fail."""

import json
import sqlite3
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.agents.language import LanguageAgent
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.models.cache import CachedModel
from iad_policy.models.litellm import LiteLLMModel
from iad_policy.models.scripted import ScriptedModel
from iad_policy.run.components import CACHE_VARIABLE, load_components
from iad_policy.run.config import FREE, RunConfig
from iad_policy.run.engines.thread_pool import ThreadPool
from iad_policy.run.journal import RunStopped
from iad_policy.run.runner import Runner
from iad_policy.types import Candidate, State, Usage
from iad_policy.types.hashing import seed_of
from tests.browser import without_chromium
from tests.iad_policy.evaluation_toy import DIGITS, DialsEnv, cast, config, kept, unmeasured
from tests.iad_policy.models.openai_server import OpenAIServer, Reply, serving

ENVIRONMENTS = ("WebShop", "InterCodeBash", "BIRD", "Booking", "BFCL", "ACEBench")


@pytest.mark.parametrize("name", [*ENVIRONMENTS, pytest.param("Sketch2Code", marks=pytest.mark.slow)])
def test_our_environments_give_the_same_episodes_to_one_worker_and_to_many(name: str) -> None:
    if name == "Sketch2Code" and (reason := without_chromium()):
        pytest.skip(reason)
    rate = 0.0 if "Bash" in name else 0.5  # a wrong command may show the time
    run = partial(evaluate, f"IAD/{name}-v0", "iad", 2, n=2, agent=f"solution:{rate}")
    alone, together = (list(map(unmeasured, one.records["iad"])) for one in (run(), run(workers=4, threads=2)))
    assert alone == together
    assert [one.error_kind for one in alone] == ["", ""]


class Spender:
    """Every answer costs ten tokens, and all wait for one another, so that they are under way at once."""

    def __init__(self, n_at_once: int) -> None:
        self.n_calls, self._lock, self._barrier = 0, threading.Lock(), threading.Barrier(n_at_once)

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        with self._lock:
            self.n_calls += 1
        with suppress(threading.BrokenBarrierError):  # where the others have come to their end
            self._barrier.wait(timeout=0.5)
        return Candidate(f"turn[{rng.choice(DIGITS)}]", usage=Usage(prompt_tokens=10))


@pytest.mark.parametrize(("axis", "limit", "most"), [("tokens", 60, 10), ("proposals", 6, 6)])
def test_a_runs_budget_is_passed_by_a_call_of_each_worker(axis: str, limit: int, most: int, tmp_path: Path) -> None:
    agent = Spender(4)
    asked = config(workers=4, strategies=("single",), budget={f"run.{axis}": limit})
    with pytest.raises(RunStopped, match=f"run.{axis}"):
        kept(Runner(asked, DialsEnv, lambda *_: cast(agent)), tmp_path)
    assert 6 <= agent.n_calls <= most


def test_an_error_of_one_worker_ends_the_others_and_is_told_and_results_that_nobody_takes_stop_them() -> None:
    stopped = threading.Event()

    def serve(jobs: Any) -> Any:
        for job in jobs:
            if job == 3:
                raise ZeroDivisionError("three")
            if stopped.is_set():
                return
            yield job

    with pytest.raises(ZeroDivisionError, match="three"):
        list(ThreadPool(2, serve, stopped).work(range(1000)))
    assert stopped.is_set()
    stopped.clear()
    next(work := ThreadPool(3, serve, stopped).work(range(4, 10**6)))
    work.close()  # type: ignore[attr-defined]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("iad-worker")]


def test_a_failure_while_the_run_is_coming_to_an_end_is_nobodys_error(tmp_path: Path) -> None:
    class Failing:
        def propose(self, state: State, **_: Any) -> Candidate:
            runner.stop()
            raise OSError("the connection was taken down with the rest")

    runner = Runner(config(), DialsEnv, lambda *_: cast(Failing()))
    with RunFolder(tmp_path, runner.recorded_config()) as folder:
        with pytest.raises(KeyboardInterrupt):
            list(runner.episodes(folder))
        assert folder.episodes == {}


def test_workers_share_one_cache_and_wait_for_an_answer_that_another_one_asked_for(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()

    def answer(messages: Any) -> str:
        asked[str(messages)] += 1
        time.sleep(0.005)
        return "Action: turn[1]"

    model = CachedModel(ScriptedModel(answer), tmp_path / "cache.sqlite")
    here, n_asked = cast(LanguageAgent(model)), []
    for name in ("first", "second"):
        kept(Runner(config(workers=16), DialsEnv, lambda *_: here), tmp_path / name)
        n_asked.append(asked.total())
    model.close()
    with sqlite3.connect(tmp_path / "cache.sqlite") as connection:
        (n_kept,) = connection.execute("SELECT count(*) FROM completions").fetchone()
    assert n_asked == [n_kept, n_kept]


def test_seats_load_one_client_behind_one_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache.sqlite"))
    asked = RunConfig("Dials", "litellm:openai/toy", workers=16, threads=2)
    agents: list[Any] = [load_components(asked, DialsEnv(), "litellm:openai/toy").agent for _ in range(2)]
    assert agents[0].model is agents[1].model
    assert LanguageAgent("openai/toy").model.rate_limit.n == 32  # type: ignore[attr-defined]


TOKENS = 18
FAULTS = (
    Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "2"}),
    Reply({"error": {"message": "oops"}}, 500),
    Reply(is_reset=True),
    Reply(is_cut=True),
    Reply(b"<html>Bad gateway</html>"),
    Reply(b'{"choices": [{"message":'),
)


class Moody:
    """Gives the answer that a request always gets, or a fault, by how often the same was asked before."""

    def __init__(self, share: float) -> None:
        self.share, self.n_faults = share, 0
        self._lock, self._asked = threading.Lock(), Counter[str]()

    def __call__(self, request: dict[str, Any]) -> Reply:
        name = json.dumps(request["messages"])
        with self._lock:
            self._asked[name] += 1
            if seed_of(name, self._asked[name]) % 1000 < 1000 * self.share:
                self.n_faults += 1
                return FAULTS[self.n_faults % len(FAULTS)]
        return Reply(f"Action: turn[{DIGITS[seed_of(name) % 3]}]")


def run(server: OpenAIServer, folder: Path, n_tasks: int, n_workers: int, max_retries: int = 0) -> list[EpisodeRecord]:
    """Run the toy with a model behind the server; back-off takes no time."""
    given: dict[str, Any] = {"api_base": server.address, "api_key": "none", "max_parallel": n_workers}
    model = LiteLLMModel("openai/toy", max_retries=max_retries, sleep=lambda seconds: None, **given)
    here = cast(LanguageAgent(model))
    runner = Runner(config(tasks=n_tasks, workers=n_workers), lambda: DialsEnv(n_tasks), lambda *_: here)
    with RunFolder(folder, runner.recorded_config(), free=FREE) as kept:
        records = list(runner.episodes(kept))
    assert len(records) == 3 * n_tasks
    return records


def plain(records: list[EpisodeRecord]) -> dict[str, EpisodeRecord]:
    """Scored episodes by key, without what was measured."""
    return {one.key: unmeasured(one) for one in records if one.is_scored}


@pytest.mark.parametrize(
    ("n_workers", "n_tasks", "max_retries"), [pytest.param(1, 2, 1, marks=pytest.mark.slow), (8, 3, 1), (8, 2, 12)]
)
def test_a_run_in_chaos_ends_as_a_calm_one(n_workers: int, n_tasks: int, max_retries: int, tmp_path: Path) -> None:
    with serving() as server:
        server.reply_to = Moody(0.0)
        calm = plain(run(server, tmp_path / "calm", n_tasks, n_workers))
        server.reply_to = moody = Moody(0.3)
        records = run(server, tmp_path / "chaos", n_tasks, n_workers, max_retries)
        scored = plain(records)
        assert scored == {key: calm[key] for key in scored}
        errored = [one for one in records if not one.is_scored]
        assert (errored != []) == (max_retries < 10), "enough tries let nothing fail"
        assert {one.error_kind for one in errored} <= {"rate_limit", "server", "connection", "malformed"}
        assert all(one.error and one.stop_reason == "error" for one in errored)
        for one in records:  # an answer is charged once, however often it was asked for, and a failure not at all
            n_answered, rest = divmod(one.spent.tokens, TOKENS)
            assert rest == 0
            assert n_answered < one.spent.proposals if one.error_kind else n_answered == one.spent.proposals
        assert moody.n_faults > 5
        moody.share = 0.0
        assert plain(run(server, tmp_path / "chaos", n_tasks, n_workers)) == calm
