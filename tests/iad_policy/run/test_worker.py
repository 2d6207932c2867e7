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
from tests.iad_policy.evaluation_toy import DIGITS, DialsEnv, Liker, cast, config, kept, unmeasured

ENVIRONMENTS = ("WebShop", "InterCodeBash", "BIRD", "Booking", "BFCL", "ACEBench")


@pytest.mark.parametrize("name", [*ENVIRONMENTS, pytest.param("Sketch2Code", marks=pytest.mark.slow)])
def test_our_environments_give_the_same_episodes_to_one_worker_and_to_many(name: str) -> None:
    if name == "Sketch2Code" and (reason := without_chromium()):
        pytest.skip(reason)
    rate = 0.0 if "Bash" in name else 0.5  # a wrong command may show the time
    asked: dict[str, Any] = {"strategies": "iad", "tasks": 2, "n": 2, "agent": f"solution:{rate}"}
    alone, together = (
        [unmeasured(one) for one in evaluate(f"IAD/{name}-v0", **asked, **how).records["iad"]]
        for how in ({}, {"workers": 4, "threads": 2})
    )
    assert alone == together
    assert [one.error_kind for one in alone] == ["", ""]


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


@pytest.mark.parametrize(("axis", "limit", "most"), [("tokens", 60, 10), ("proposals", 6, 6)])
def test_a_budget_of_the_run_is_passed_by_one_call_of_each_worker_at_most(
    axis: str, limit: int, most: int, tmp_path: Path
) -> None:
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
    n_asked = []
    for name in ("first", "second"):
        kept(Runner(config(workers=16), DialsEnv, lambda *_: here), tmp_path / name)
        n_asked.append(asked.total())
    assert n_asked[0] == n_asked[1]
    model.close()
    with sqlite3.connect(tmp_path / "cache.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM completions").fetchone() == (n_asked[0],)


def test_seats_load_one_client_behind_one_cache_wide_enough_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache.sqlite"))
    asked = RunConfig("Dials", "litellm:openai/toy", workers=16, threads=2)
    agents: list[Any] = [load_components(asked, DialsEnv(), "litellm:openai/toy").agent for _ in range(2)]
    assert agents[0].model is agents[1].model
    assert LanguageAgent("openai/toy").model.rate_limit.n == 32  # type: ignore[attr-defined]
