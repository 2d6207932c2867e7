"""A model server that fails in every way for a third of the calls changes no score: it is tried again, or told."""

import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from iad_policy.agents.language import LanguageAgent
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.models.litellm import LiteLLMModel
from iad_policy.report.figures import heading_of
from iad_policy.report.results import Results
from iad_policy.roles import TemplateRoles
from iad_policy.run.config import FREE
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.types.hashing import seed_of
from tests.iad_policy.evaluation_toy import DIGITS, DialsEnv, Liker, config, unmeasured
from tests.iad_policy.models.openai_server import OpenAIServer, Reply, serving

SHARE = 0.3
TOKENS = 18
FAULTS = (
    Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "2"}),
    Reply({"error": {"message": "oops"}}, 500),
    Reply(hold=threading.Event()),
    Reply(is_cut=True),
    Reply(b"<html>Bad gateway</html>"),
    Reply(b'{"choices": [{"message":'),
)
KINDS = {"rate_limit", "server", "timeout", "connection", "malformed"}


class Moody:
    """Gives the answer that a request always gets, or a fault, by how often the same was asked before."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.n_faults = 0
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any]) -> Reply:
        name = json.dumps(request["messages"])
        with self._lock:
            self._asked[name] += 1
            draw = seed_of(name, self._asked[name])
            if draw % 1000 < 1000 * self.share:
                self.n_faults += 1
                return FAULTS[draw // 1000 % len(FAULTS)]
        return Reply(f"Action: turn[{DIGITS[seed_of(name) % 3]}]")


def run(
    server: OpenAIServer, folder: Path, *, n_tasks: int, n_workers: int, max_retries: int = 0, timeout_s: float = 30.0
) -> list[EpisodeRecord]:
    """Run the toy with a model behind the server; back-off takes no time."""
    asked = config(tasks=n_tasks, workers=n_workers, verifier="liker")
    model = LiteLLMModel(
        *("openai/toy",),
        api_base=server.address,
        api_key="none",
        max_parallel=n_workers,
        max_retries=max_retries,
        timeout_s=timeout_s,
        sleep=lambda seconds: None,
    )
    here = Components(LanguageAgent(model), Liker(), TemplateRoles())
    runner = Runner(asked, lambda: DialsEnv(n_tasks), lambda *_: here)
    results = Results(heading_of(runner.config, runner.recorded_config(), len(runner.tasks)))
    with RunFolder(folder, runner.recorded_config(), free=FREE) as kept:
        for record in runner.episodes(kept):
            results.add(record)
    rows = results.figures(100).summaries.values()
    assert sum(one.n_episodes + one.n_errored for one in rows) == 3 * n_tasks
    return [record for own in results.records.values() for record in own]


def plain(records: list[EpisodeRecord]) -> dict[str, EpisodeRecord]:
    """Scored episodes by key, without what was measured."""
    return {one.key: unmeasured(one) for one in records if one.is_scored}


def holds(folder: Path, *, n_tasks: int, n_workers: int, max_retries: int, timeout_s: float = 0.3) -> tuple[int, int]:
    """Compare a run in chaos with a calm one; returns how many episodes failed, and how many faults there were."""
    size = {"n_tasks": n_tasks, "n_workers": n_workers}
    with serving() as server:
        server.reply_to = Moody(0.0)
        calm = plain(run(server, folder / "calm", **size))
        server.reply_to = moody = Moody(SHARE)
        records = run(server, folder / "chaos", max_retries=max_retries, timeout_s=timeout_s, **size)
        scored = plain(records)
        assert scored == {key: calm[key] for key in scored}
        errored = [one for one in records if not one.is_scored]
        assert {one.error_kind for one in errored} <= KINDS
        assert all(one.error and one.stop_reason == "error" for one in errored)
        for one in records:  # an answer is charged once, however often it was asked for, and a failure not at all
            n_answered, rest = divmod(one.spent.tokens, TOKENS)
            assert rest == 0
            assert n_answered < one.spent.proposals if one.error_kind else n_answered == one.spent.proposals
        n_faults, moody.share = moody.n_faults, 0.0
        assert plain(run(server, folder / "chaos", **size)) == calm
    return len(errored), n_faults


@pytest.mark.parametrize(("n_workers", "n_tasks"), [pytest.param(1, 2, marks=pytest.mark.slow), (8, 4)])
def test_every_episode_ends_and_what_was_answered_in_the_end_is_the_calm_runs(
    n_workers: int, n_tasks: int, tmp_path: Path
) -> None:
    n_errored, n_faults = holds(tmp_path, n_tasks=n_tasks, n_workers=n_workers, max_retries=1)
    assert n_errored > 0
    assert n_faults > 5


def test_enough_tries_let_nothing_fail(tmp_path: Path) -> None:
    n_errored, n_faults = holds(tmp_path, n_tasks=2, n_workers=8, max_retries=12)
    assert n_errored == 0
    assert n_faults > 10


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_episodes_with_many_workers_hold_too(tmp_path: Path) -> None:
    # With 32 workers a busy machine may take a second for an answer, which is no fault.
    n_errored, n_faults = holds(tmp_path, n_tasks=60, n_workers=32, max_retries=2, timeout_s=2.0)
    assert n_errored > 0
    assert n_faults > 100
