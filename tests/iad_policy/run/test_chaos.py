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
    Reply(is_reset=True),
    Reply(is_cut=True),
    Reply(b"<html>Bad gateway</html>"),
    Reply(b'{"choices": [{"message":'),
)
KINDS = {"rate_limit", "server", "connection", "malformed"}


class Moody:
    """Gives the answer that a request always gets, or a fault, by how often the same was asked before."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.n_faults = 0
        self._lock = threading.Lock()
        self._asked: Counter[str] = Counter()

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
    asked = config(tasks=n_tasks, workers=n_workers, verifier="liker")
    given: dict[str, Any] = {"api_base": server.address, "api_key": "none", "max_parallel": n_workers}
    model = LiteLLMModel("openai/toy", max_retries=max_retries, sleep=lambda seconds: None, **given)
    here = Components(LanguageAgent(model), Liker(), TemplateRoles())
    runner = Runner(asked, lambda: DialsEnv(n_tasks), lambda *_: here)
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
def test_every_episode_ends_and_what_was_answered_in_the_end_is_the_calm_runs(
    n_workers: int, n_tasks: int, max_retries: int, tmp_path: Path
) -> None:
    with serving() as server:
        server.reply_to = Moody(0.0)
        calm = plain(run(server, tmp_path / "calm", n_tasks, n_workers))
        server.reply_to = moody = Moody(SHARE)
        records = run(server, tmp_path / "chaos", n_tasks, n_workers, max_retries)
        scored = plain(records)
        assert scored == {key: calm[key] for key in scored}
        errored = [one for one in records if not one.is_scored]
        assert (errored != []) == (max_retries < 10), "enough tries let nothing fail"
        assert {one.error_kind for one in errored} <= KINDS
        assert all(one.error and one.stop_reason == "error" for one in errored)
        for one in records:  # an answer is charged once, however often it was asked for, and a failure not at all
            n_answered, rest = divmod(one.spent.tokens, TOKENS)
            assert rest == 0
            assert n_answered < one.spent.proposals if one.error_kind else n_answered == one.spent.proposals
        assert moody.n_faults > 5
        moody.share = 0.0
        assert plain(run(server, tmp_path / "chaos", n_tasks, n_workers)) == calm
