"""A model server that fails in every way for a third of the calls changes no score: it is tried again, or told."""

import json
import math
import os
import re
import signal
import threading
from collections import Counter
from itertools import repeat
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import pytest

from iad_policy.agents.language import LanguageAgent
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.models.litellm import LiteLLMModel
from iad_policy.report.figures import heading_of
from iad_policy.report.results import Results
from iad_policy.roles import TemplateRoles
from iad_policy.run.config import FREE
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.types.hashing import digest, seed_of
from tests.command_line import Forks, forking, iad
from tests.iad_policy.evaluation_toy import DIGITS, DialsEnv, Liker, config, unmeasured
from tests.iad_policy.models.openai_server import OpenAIServer, Reply, Slowly, chunks, completion, event, serving
from tests.waiting import until

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
STALLS = (Reply(hold=threading.Event()), Reply(Slowly(repeat(b"\n"), pause_s=0.05)))
"""What only a time limit ends. A busy machine may pass it, too, so a test with these must not count failures."""
KINDS = {"rate_limit", "server", "connection", "malformed"}


class Moody:
    """Gives the answer that a request always gets, or a fault, by how often the same was asked before."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.n_faults = 0
        self.lock = threading.Lock()
        self._asked: Counter[str] = Counter()

    def fails(self, name: str) -> int | None:
        """Return the number of the fault with which a question is answered now, if it is one."""
        with self.lock:
            self._asked[name] += 1
            if seed_of(name, self._asked[name]) % 1000 >= 1000 * self.share:
                return None
            self.n_faults += 1
            return self.n_faults

    def __call__(self, request: dict[str, Any]) -> Reply:
        name = json.dumps(request["messages"])
        fault = self.fails(name)
        return Reply(f"Action: turn[{DIGITS[seed_of(name) % 3]}]") if fault is None else FAULTS[fault % len(FAULTS)]


def run(
    server: OpenAIServer, folder: Path, *, n_tasks: int, n_workers: int, max_retries: int = 0
) -> list[EpisodeRecord]:
    """Run the toy with a model behind the server; back-off takes no time."""
    asked = config(tasks=n_tasks, workers=n_workers, verifier="liker")
    model = LiteLLMModel(
        *("openai/toy",),
        api_base=server.address,
        api_key="none",
        max_parallel=n_workers,
        max_retries=max_retries,
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


def holds(folder: Path, *, n_tasks: int, n_workers: int, max_retries: int) -> tuple[int, int]:
    """Compare a run in chaos with a calm one; returns how many episodes failed, and how many faults there were."""
    size = {"n_tasks": n_tasks, "n_workers": n_workers}
    with serving() as server:
        server.reply_to = Moody(0.0)
        calm = plain(run(server, folder / "calm", **size))
        server.reply_to = moody = Moody(SHARE)
        records = run(server, folder / "chaos", max_retries=max_retries, **size)
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


class MoodyShopper(Moody):
    """Answers about the shop, each answer with a mark of its own. Some come byte by byte, and stalls are among faults.

    After a number of answers it gives no more, so that a process can be killed before its run is over.
    """

    faults = (*FAULTS, *STALLS)
    n_more = 3

    def __init__(self) -> None:
        super().__init__(0.0)
        self.n_left = math.inf
        self.first_at = math.inf
        self.last_at = 0.0

    def __call__(self, request: dict[str, Any]) -> Reply:
        name = mark(request)
        fault = self.fails(name)
        with self.lock:
            self.first_at, self.last_at = min(self.first_at, monotonic()), monotonic()
            self.n_left -= fault is None
            if self.n_left < -self.n_more:
                return Reply(hold=threading.Event())
        if fault is not None:
            return self.faults[fault % len(self.faults)]
        links = re.findall(r"click\[[^\]\n]+\]", json.dumps(request["messages"][-1]))
        draw = seed_of(name)
        actions = links or ["search[lamp]", "search[red shirt]"]
        text = f"Thought: {name}\nAction: {actions[draw % len(actions)]}"
        if draw % 20 or not request.get("stream"):
            return Reply(text)
        parts = b"".join(map(event, [*chunks(completion(text)), "[DONE]"]))
        return Reply(Slowly(bytes([part]) for part in parts))


def mark(request: dict[str, Any]) -> str:
    """What names a request: the same question has the same mark."""
    return f"call-{digest(json.dumps(request['messages']))[:12]}"


class Starts:
    """Starts one command again and again. A key tells the server which of its processes asks."""

    def __init__(self, server: OpenAIServer, forks: Forks, command: tuple[object, ...], **environment: str) -> None:
        self.command = command
        self.folder = Path(str(command[-1]))
        self._server = server
        self._forks = forks
        self._environment = environment
        self.output = self.folder.with_suffix(".txt")
        self._n = 0
        self._logged: set[str] = set()

    def start(self, n_bytes: int = -1) -> int:
        """Return the id of a new process, whose files can't grow beyond a size."""
        self._n += 1
        environment = {**self._environment, "OPENAI_API_KEY": self._key}
        return self._forks.start(self.command, environment, self.output, n_bytes)

    @property
    def _key(self) -> str:
        return f"start {self._n} of {self.folder.name}"

    def ended(self) -> int:
        """Wait for the process, and return its exit status. What it asked was not in the log when it began."""
        status = self._forks.status()
        requests = zip(self._server.requests, self._server.keys, strict=False)  # one may be coming in
        assert not self._logged & {mark(request) for request, key in requests if key == f"Bearer {self._key}"}
        answered = self.answered()
        assert self._logged <= set(answered)
        assert len(answered) == len(set(answered))
        self._logged = set(answered)
        return status

    def answered(self) -> list[str]:
        """The marks of all answers in the log."""
        path = self.folder / "answers.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        records = [json.loads(line) for line in lines if line.endswith(b"\n")]
        said = [one["text"] for record in records for one in record.get("exchanges", ())]
        return [re.findall("call-[0-9a-f]{12}", text)[0] for text in said]

    def killed(self, moody: MoodyShopper, *, after: int, wait_s: float) -> None:
        """Kill the process a moment after so many answers, and try a second one just before."""
        moody.n_left = after
        process = self.start()
        assert until(lambda: moody.n_left <= 0 or self._forks.has_ended(), 300)
        threading.Event().wait(wait_s)
        second = iad(*self.command)
        os.kill(process, signal.SIGKILL)
        assert self.ended() == -signal.SIGKILL, self.output.read_text()
        assert (second.exit_code, "no other process writes to" in second.stderr) == (2, True), second.output
        moody.n_left = math.inf

    def finished(self, n_tasks: int) -> dict[str, EpisodeRecord]:
        """Run what is missing. What fails too often is run again by the same command."""
        for _ in range(10):
            self.start()
            status = self.ended()
            episodes = plain(list(Run(self.folder).records.values()))
            if len(episodes) == n_tasks:
                assert status == 0
                return episodes
        raise AssertionError(self.output.read_text())


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("n_kills", "n_workers", "n_tasks"), [(2, 8, 12), (10, 32, 60)])
def test_a_run_in_chaos_that_is_killed_again_and_again_asks_nothing_twice_and_ends_as_a_calm_one(
    n_kills: int, n_workers: int, n_tasks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(n_kills)
    with serving() as server, forking() as forks:
        server.reply_to = moody = MoodyShopper()
        monkeypatch.setenv("OPENAI_API_BASE", server.address)
        what = ("run", "IAD/WebShop-v0", "--agent", "litellm:openai/toy", "--strategy", "iad", "--n", 2)
        how = ("--tasks", n_tasks, "--env-arg", "max_steps=3", "--workers", n_workers, "--no-cache", "--out")
        base = {"OPENAI_API_BASE": server.address}
        calm = Starts(server, forks, (*what, *how, tmp_path / "calm"), **base)
        expected = calm.finished(n_tasks)
        n_each = len(calm.answered()) // (n_kills + 1) - moody.n_more
        assert n_each > 0

        moody.share = SHARE
        # No answer takes as long as all of them took, however busy the machine is.
        limit = {"IAD_TIMEOUT_S": f"{min(max(1.0, moody.last_at - moody.first_at), 15.0):.1f}"}
        starts = Starts(server, forks, (*what, *how, tmp_path / "chaos"), **base, **limit)
        for place in range(n_kills):
            starts.killed(moody, after=random.randint(n_each // 2, n_each), wait_s=0.02 * random.random())
            if place == 4:  # the disk is full
                starts.start((starts.folder / "answers.jsonl").stat().st_size + 5000)
                assert (starts.ended(), "expected to write" in starts.output.read_text()) == (2, True)
        assert starts.finished(n_tasks) == expected
        assert sorted(starts.answered()) == sorted(calm.answered())
        assert moody.n_faults > n_kills
