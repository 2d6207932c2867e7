"""Workers, each in an environment of its own: the same episodes, whatever the number; budgets and caches that hold."""

import sqlite3
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.agents.language import LanguageAgent
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.models.cache import CachedModel
from iad_policy.models.scripted import ScriptedModel
from iad_policy.roles import TemplateRoles
from iad_policy.run.components import CACHE_VARIABLE, load_components
from iad_policy.run.config import RunConfig
from iad_policy.run.engines.thread_pool import ThreadPool
from iad_policy.run.journal import RunStopped
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.types import Candidate, State, Usage
from tests.browser import without_chromium
from tests.iad_policy.evaluation_toy import DIGITS, DialsEnv, Liker, cast, config, unmeasured

ENVIRONMENTS = [
    ("IAD/WebShop-v0", 4),
    ("IAD/InterCodeBash-v0", 2),
    ("IAD/BIRD-v0", 2),
    ("IAD/Booking-v0", 2),
    ("IAD/BFCL-v0", 2),
    ("IAD/ACEBench-v0", 2),
    pytest.param("IAD/Sketch2Code-v0", 2, marks=[pytest.mark.slow]),
]


@pytest.mark.parametrize(("env", "n_tasks"), ENVIRONMENTS)
def test_our_environments_give_the_same_episodes_to_one_worker_and_to_many(env: str, n_tasks: int) -> None:
    if "Sketch" in env and (reason := without_chromium()):
        pytest.skip(reason)
    strategies = ("single", "bon", "iad")
    alone = evaluate(env, strategies, n_tasks, n=2)
    together = evaluate(env, strategies, n_tasks, n=2, workers=8, threads=2)
    for row, own in alone.records.items():
        assert [unmeasured(one) for one in own] == [unmeasured(one) for one in together.records[row]]
        assert len(own) == n_tasks
        assert not any(one.error_kind for one in own)


class Spender:
    """Every answer costs ten tokens, and all wait for one another, so that they are under way at once."""

    def __init__(self, n_at_once: int) -> None:
        self.n_calls = 0
        self._barrier = threading.Barrier(n_at_once)
        self._lock = threading.Lock()

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        with self._lock:
            self.n_calls += 1
        with suppress(threading.BrokenBarrierError):  # where the others have come to their end
            self._barrier.wait(timeout=0.5)
        return Candidate(f"turn[{rng.choice(DIGITS)}]", usage=Usage(prompt_tokens=10))


@pytest.mark.parametrize("axis", ["tokens", "proposals"])
def test_a_budget_of_the_run_is_passed_by_one_call_of_each_worker_at_most(axis: str, tmp_path: Path) -> None:
    n_workers, limit = 4, {"tokens": 60, "proposals": 6}[axis]
    agent = Spender(n_workers)
    asked = config(workers=n_workers, strategies=("single",), budget={f"run.{axis}": limit})
    runner = Runner(asked, DialsEnv, lambda *_: cast(agent))
    with RunFolder(tmp_path, runner.recorded_config()) as folder, pytest.raises(RunStopped, match=f"run.{axis}"):
        list(runner.episodes(folder))
    assert 6 <= agent.n_calls <= (6 + n_workers if axis == "tokens" else 6)


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
    work = ThreadPool(3, serve, stopped).work(range(4, 10**6))
    next(work)
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
    here = Components(LanguageAgent(model), Liker(), TemplateRoles())
    for name in ("first", "second"):
        runner = Runner(config(workers=16), DialsEnv, lambda *_: here)
        with RunFolder(tmp_path / name, runner.recorded_config()) as folder:
            assert len(list(runner.episodes(folder))) == 12
        if name == "first":
            n_first = asked.total()
    assert asked.total() == n_first
    model.close()
    with sqlite3.connect(tmp_path / "cache.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM completions").fetchone() == (n_first,)


def test_seats_load_one_client_behind_one_cache_wide_enough_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache.sqlite"))
    asked = RunConfig("Dials", "litellm:openai/toy", workers=16, threads=2)
    agents: list[Any] = [load_components(asked, DialsEnv(), "litellm:openai/toy").agent for _ in range(2)]
    assert agents[0].model is agents[1].model
    assert LanguageAgent("openai/toy").model.rate_limit.n == 32  # type: ignore[attr-defined]
