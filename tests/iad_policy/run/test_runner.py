import json
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.core import Transition
from iad_envs.errors import Lost
from iad_policy.agents.language import LanguageAgent
from iad_policy.errors import ModelError, RunFolderError
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.models.scripted import ScriptedModel
from iad_policy.report.figures import Heading
from iad_policy.report.results import Results
from iad_policy.run.components import CACHE_VARIABLE, load_components
from iad_policy.run.config import FREE, RunConfig
from iad_policy.run.journal import RunStopped
from iad_policy.run.runner import Runner
from iad_policy.types import Candidate, State, Usage
from iad_policy.types.call_context import current_call
from tests.effort import some
from tests.iad_policy.evaluation_toy import DialsEnv, EasyDials, Guesser, Liker, cast, config, runner, unmeasured
from tests.iad_policy.models.openai_server import serving


def run(one: Runner, path: Path) -> list[EpisodeRecord]:
    with RunFolder(path, one.recorded_config(), free=FREE) as folder:
        return list(one.episodes(folder))


def results_of(records: list[EpisodeRecord], **changes: Any) -> Results:
    results = Results(Heading(config(**changes), "proxy", 4, {}))
    for record in records:
        results.add(record)
    return results


def summary(records: list[EpisodeRecord]) -> dict[str, Any]:
    results = results_of([unmeasured(one) for one in records])
    return results.as_json(results.figures(100))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "episodes.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[EpisodeRecord]:
    """The episodes of a run that nothing disturbs."""
    return run(runner(), tmp_path_factory.mktemp("whole"))


def test_episodes_come_task_by_task_and_are_on_disk_and_the_same_command_asks_nothing_again(tmp_path: Path) -> None:
    records = run(runner(), tmp_path)
    assert [one.task_id[-1] + one.strategy for one in records[:4]] == ["0single", "0bon-sc", "0iad", "1single"]
    assert [EpisodeRecord.of(line) for line in lines(tmp_path)] == records
    iad = records[2]
    assert (iad.stop_reason, iad.difficulty, iad.information, iad.grounding) == ("done", "hard", "proxy", 1.0)
    assert (iad.n_steps, len(iad.actions), len(iad.progress_by_step)) == (3, 3, 4)
    assert (iad.usage["agent"]["proposals"], iad.usage["agent"]["prompt_tokens"]) == (9, 63)
    assert iad.usage["verifier"]["verifications"] == 9
    agent, verifier = Guesser(), Liker()
    assert run(runner(agent, verifier), tmp_path) == records
    assert (agent.n_calls, verifier.n_calls, len(lines(tmp_path))) == (0, 0, 12)


def test_an_interruption_anywhere_costs_no_answer_and_changes_nothing(tmp_path: Path) -> None:
    counting, whole_verifier = Guesser(), Liker()
    whole = run(runner(counting, whole_verifier), tmp_path / "whole")
    for call in some(range(1, counting.n_calls + 1, 3), 8, 1):
        path = tmp_path / str(call)
        first, verifier = Guesser({call: KeyboardInterrupt()}), Liker()
        with pytest.raises(KeyboardInterrupt):
            run(runner(first, verifier), path)
        second, again = Guesser(), Liker()
        resumed = run(runner(second, again), path)
        assert summary(resumed) == summary(whole)
        assert [one.actions for one in resumed] == [one.actions for one in whole]
        assert first.n_calls - 1 + second.n_calls == counting.n_calls
        assert verifier.n_calls + again.n_calls == whole_verifier.n_calls


@pytest.mark.parametrize("error", [ModelError("slow down", kind="rate_limit"), ZeroDivisionError()])
def test_a_failed_episode_is_tried_again(error: Exception, whole: list[EpisodeRecord], tmp_path: Path) -> None:
    records = run(runner(Guesser({2: error})), tmp_path)
    first, kind = records[0], getattr(error, "kind", "crash")
    assert (len(records), first.stop_reason, first.error_kind) == (12, "error", kind)
    assert first.error.startswith(type(error).__name__)
    assert first.usage["agent"]["proposals"] >= 1
    found = summary(records)["strategies"]["single"]
    assert (found["n_errored"], found["n_episodes"]) == (1, 3)
    agent = Guesser()
    assert summary(run(runner(agent), tmp_path)) == summary(whole)
    assert agent.n_calls == 2  # the first of the episode's three answers was there already


class Losing(DialsEnv):
    """Ends below its episodes in actions of some numbers."""

    def __init__(self, losses: Sequence[int]) -> None:
        super().__init__()
        self._losses, self._n_actions = losses, 0

    def _transition(self, state: str, action: str, rng: Any) -> Transition:
        self._n_actions += 1
        if self._n_actions in self._losses:
            raise Lost("it has ended")
        return super()._transition(state, action, rng)


@pytest.mark.parametrize(("losses", "n_errors"), [((2,), 0), ((2, 4), 1), ((2, 3, 5), 1)])
def test_an_episode_that_lost_its_world_is_run_once_more(losses: Sequence[int], n_errors: int, tmp_path: Path) -> None:
    def ended(name: str, losses: Sequence[int]) -> list[EpisodeRecord]:
        asked = config(strategies=("single",), tasks=3)
        return run(Runner(asked, lambda: Losing(losses), lambda *_: cast()), tmp_path / name)

    records, whole = ended("lost", losses), ended("whole", ())
    assert [bool(one.error_kind) for one in records] == [True] * n_errors + [False] * (3 - n_errors)
    for one, other in zip(records[n_errors:], whole[n_errors:], strict=True):
        assert unmeasured(one) == unmeasured(other)
        lost, found = (Run(tmp_path / name).episode(one.key).steps for name in ("lost", "whole"))
        assert [step.action for step in lost] == [step.action for step in found]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_crashed_episode_keeps_what_it_spent_also_in_the_call_that_crashed(tmp_path: Path, threads: int) -> None:
    class Paid(Guesser):
        def propose(self, state: State, **_: Any) -> Candidate:
            self.n_calls += 1
            current_call().report(Usage(prompt_tokens=100, usd=0.25))
            if current_call().sample_index == 0 and self.n_calls > 3:
                raise ZeroDivisionError
            return Candidate("turn[0]")

    (record,) = run(runner(Paid(), strategies=("bon-sc",), n=3, tasks=1, threads=threads), tmp_path)
    (line,) = lines(tmp_path)
    # Three answers of the first decision. In the second the first one fails, beside two others if they run in parallel.
    n_paid = 4 if threads == 1 else 6
    assert line["usage"]["agent"]["prompt_tokens"] == record.spent.prompt_tokens == 100 * n_paid
    assert (record.error_kind, record.spent.usd) == ("crash", pytest.approx(0.25 * n_paid))
    assert summary([record])["strategies"]["bon-sc"]["spent_errored"]["prompt_tokens"] == 100 * n_paid


@pytest.mark.parametrize(("call", "kind"), [(1, "not_found"), (1, "other"), (20, "auth")])
def test_a_model_that_can_not_be_asked_stops_the_run(tmp_path: Path, call: int, kind: str) -> None:
    with pytest.raises(RunStopped, match="no such model") as stopped:
        run(runner(Guesser({call: ModelError("no such\nmodel", kind=kind)})), tmp_path)
    assert stopped.value.is_failure
    assert [line["error_kind"] for line in lines(tmp_path)] == ([""] * (0 if call == 1 else 2) + [kind])
    run(runner(), tmp_path)
    if kind == "other":  # an odd answer later on is one episode's failure
        records = run(runner(Guesser({20: ModelError("what", kind="other")})), tmp_path / "later")
        assert sorted(one.error_kind for one in records) == [""] * 11 + ["other"]


def test_missing_verdicts_are_counted_and_end_a_run_that_has_no_others(tmp_path: Path) -> None:
    failing: dict[str, Any] = {"verifier": Liker(failing=True), "strategies": ("iad",)}
    with pytest.raises(RunStopped, match=r"first 18 verdicts are missing.*too many requests") as stopped:
        run(runner(**failing), tmp_path / "stopped")
    assert stopped.value.is_failure
    records = run(runner(**failing, keep_going=True), tmp_path / "whole")
    assert [(one.n_failed_verdicts, one.error_kind) for one in records] == [(9, "")] * 4
    assert "too many requests" in records[0].failed_verdict


class Crashing(Guesser):
    tasks = "012"

    def propose(self, state: State, **given: Any) -> Candidate:
        if state.info["task_id"][-1] in self.tasks:
            raise ZeroDivisionError("no dial")
        return super().propose(state, **given)


class Leaving(Guesser):
    def propose(self, state: State, *, feedback: str | None, **given: Any) -> Candidate:
        return sys.exit(3) if feedback else super().propose(state, feedback=feedback, **given)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Crashing, r"7 episodes crashed alike: .*no dial \(test_runner.py, line \d+, in propose\)"),
        (Leaving, r"3 episodes crashed alike: .*SystemExit: 3"),
        (lambda: Guesser({n: ModelError(f"{n}", kind="server") for n in range(1, 99)}), "the last 10 episodes failed"),
    ],
)
def test_a_run_whose_episodes_all_fail_is_ended(make: Callable[[], Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(RunStopped, match=said):
        run(runner(make()), tmp_path)


def test_equal_crashes_of_two_tasks_in_a_row_end_nothing(tmp_path: Path) -> None:
    agent = Crashing()
    agent.tasks = "013"
    records = run(runner(agent), tmp_path)
    assert [one.error_kind for one in records].count("crash") == 9
    assert records[0].traceback.endswith("ZeroDivisionError: no dial\n")


def test_answers_that_are_no_action_are_counted_and_for_ever_end_with_a_reason(tmp_path: Path) -> None:
    def told(*texts: str, **changes: Any) -> list[EpisodeRecord]:
        said = cycle(texts)
        here = cast(LanguageAgent(ScriptedModel(lambda messages: next(said))))
        one = Runner(config(tasks=1, **changes), lambda: DialsEnv(max_steps=2), lambda *_: here)
        return run(one, tmp_path / str(len(texts)))

    records = told("I'd rather not.")
    assert [record.stop_reason for record in records] == ["max_steps"] * 3
    assert (records[0].grounding, records[0].success) == (pytest.approx(1 / 3), 0.0)
    # It is asked again once.
    (record,) = told("I'd rather not.", "I'd still rather not.", "Action: turn[1]", strategies=("bon-sc",))
    assert record.n_unreadable == record.spent.proposals / 2 > 0
    assert record.grounding == 1.0  # another candidate was committed each time


def test_the_budget_of_an_episode_truncates_it_and_that_of_the_run_stops_it(whole: Any, tmp_path: Path) -> None:
    single, iad, *_ = run(runner(strategies=("single", "iad"), budget={"episode.proposals": 4}), tmp_path / "episode")
    assert (iad.stop_reason, iad.cut, iad.n_steps, iad.success) == ("budget", "episode.proposals", 2, 0.0)
    assert (iad.is_scored, single.stop_reason) == (True, "done")
    tmp_path /= "run"
    n_lines = []
    for n_calls in (40, 0):
        agent = Guesser()
        with pytest.raises(RunStopped, match=r"run\.proposals") as stopped:
            run(runner(agent, budget={"run.proposals": 40}), tmp_path)
        assert (stopped.value.is_failure, agent.n_calls) == (False, n_calls)
        n_lines.append(len(lines(tmp_path)))
    assert n_lines[0] == n_lines[1]
    assert summary(run(runner(), tmp_path)) == summary(whole)


def keyed(strategy: str = "iad", task: str = "dials-0", **changes: Any) -> str:
    jobs = Runner(config(**changes), DialsEnv, lambda *_: cast()).jobs()
    return next(job.key for job in jobs if (job.arm.strategy, job.task) == (strategy, task))


def test_keys_change_with_what_changes_answers_and_with_nothing_else() -> None:
    same: dict[str, Any] = {"threads": 2, "workers": 2, "cache": False, "tasks": 2, "strategies": ("iad",)}
    other: dict[str, Any] = {"seed": 1, "n": 2, "delta": 0.5, "feedback": "none", "stop": "passed", "temperature": 0.5}
    other |= {"agent": "x", "verifier": "y", "budget": {"decision.proposals": 2}, "env_args": {"max_steps": 3}}
    same["budget"] = {"run.usd": 3}
    assert {keyed(**{name: value}) for name, value in same.items()} == {key := keyed()}
    keys = [keyed(**{name: value}) for name, value in other.items()]
    assert len({key, *keys, keyed(task="dials-1"), keyed("single")}) == len(other) + 3
    assert keyed("single", n=2) == keyed("single", n=5)


def test_every_agent_seed_and_n_is_run_and_has_its_row(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"agent": ("guesser", "other"), "seed": (0, 1), "n": (1, 3), "workers": 3}
    records = run(Runner(config(**changes), EasyDials, lambda *_: cast()), tmp_path)
    assert len(records) == len({record.key for record in records}) == 4 * 2 * 2 * 5
    results = results_of(records, **changes)
    assert results.n_episodes == results.n_expected == 80
    rows = ("single", "bon-sc n=1", "bon-sc n=3", "iad n=1", "iad n=3")
    assert list(results.records) == [f"{row} {agent}" for agent in ("guesser", "other") for row in rows]
    assert {len(own) for own in results.records.values()} == {8}
    figures = results.figures(100)
    found = {row: one.baseline for row, one in figures.differences.items() if row.endswith("other")}
    baselines = {"single": "bon-sc n=3", "iad n=1": "bon-sc n=1", "iad n=3": "bon-sc n=3"}
    assert found == {f"{row} other": f"{baseline} other" for row, baseline in baselines.items()}
    assert {one.n_pairs for one in figures.differences.values()} == {4}
    iad = results.records["iad n=3 other"][0]
    assert (iad.agent, iad.strategy, iad.n, iad.seed, iad.verifier) == ("other", "iad", 3, 0, "liker")


def test_another_configuration_is_refused_and_the_difference_said(tmp_path: Path) -> None:
    def content() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    run(runner(), tmp_path)
    before = content()
    with pytest.raises(RunFolderError, match=r"n \(there 3, now 4\), seed \(there 0, now 1\)"):
        run(runner(n=4, seed=1), tmp_path)
    assert content() == before
    run(runner(threads=2), tmp_path)
    with RunFolder(tmp_path, {"a": 1}, is_fresh=True) as folder:
        assert (folder.episodes, content()[tmp_path / "answers.jsonl"]) == ({}, b"")


def test_a_folder_of_other_files_is_left_alone_and_one_of_a_run_that_hardly_began_is_not(tmp_path: Path) -> None:
    (thesis := tmp_path / "thesis.tex").write_text("...")
    for path, said in ((tmp_path, "empty or new folder"), (thesis, "got the file")):
        with pytest.raises(RunFolderError, match=said):
            RunFolder(path, {}, is_fresh=True)
    assert list(tmp_path.iterdir()) == [thesis]
    (begun := tmp_path / "begun").mkdir()
    for name in (".lock", "config.json.part", "config.json.12.34.part"):  # the second as older versions named it
        (begun / name).write_text('{"n"' if name != ".lock" else "")
    assert len(run(runner(), begun)) == 12


def test_environments_that_are_not_ours_run_from_seeds(tmp_path: Path) -> None:
    asked = RunConfig("CartPole-v1", "random", strategies=("single", "bon-sc"), tasks=3)
    one = Runner(asked, lambda: gym.make("CartPole-v1"), load_components)
    records = run(one, tmp_path)
    assert len({one.actions for one in records}) > 1
    assert all((one.success, one.reward) == (None, one.n_steps) for one in records)
    (tmp_path / "episodes.jsonl").write_text("")
    assert [again.actions for again in run(one, tmp_path)] == [first.actions for first in records]


def test_a_configuration_that_makes_no_sense_is_refused() -> None:
    wrong: list[dict[str, Any]] = [{"strategies": one} for one in ((), ("iad", "iad"), ("nope",))]
    wrong += [{"n": 0}, {"tasks": 0}, {"tasks": -1}, {"threads": 0}, {"seed": -1}, {"baseline": "bon"}]
    wrong += [{"stop": "nope"}, {"feedback": "nope"}, {"temperature": -1.0}, {"delta": float("nan")}]
    wrong += [{"budget": {"run.usd": -1}}, {"strategies": ("single",), "delta": 0.1}]
    for changes in wrong:
        with pytest.raises(ValueError, match="expected"):
            config(**changes)


def test_a_configuration_says_its_axis_of_equality_and_a_name_for_its_folder() -> None:
    both = "proposals per decision for bon, iad; simulated episodes for bon-episode"
    for strategies, said in (
        (("single", "bon-sc", "iad"), "equal on proposals per decision: n = 3; single is the reference with 1"),
        (("single", "bon", "bon-episode", "iad"), f"not equal: n = 3 counts {both}; single is the reference with 1"),
        (("reflexion", "bon-episode"), "equal on simulated episodes: n = 3"),
        (("single",), "one proposal per decision"),
    ):
        assert config(strategies=strategies).equal_on() == said
    assert config(budget={"episode.tokens": 500}).equal_on().endswith("; episode.tokens <= 500")
    assert config().name() == config(threads=4).name() != config(seed=1).name()


@pytest.mark.slow
def test_a_model_is_asked_once_for_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        given = {"OPENAI_API_BASE": server.address, "OPENAI_API_KEY": "none", CACHE_VARIABLE: str(tmp_path / "cache")}
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        models = ("litellm:openai/toy", "judge:openai/toy")  # the scripted judge gives no verdict
        asked = RunConfig("IAD/WebShop-v0", *models, ("single", "iad"), {"max_steps": 2}, tasks=1, keep_going=True)
        records, n_requests = [], []
        for name in ("first", "second"):
            with closing(Runner(asked, lambda: gym.make(asked.env, **asked.env_args), load_components)) as one:
                records.append([(one.actions, one.spent.tokens, one.information) for one in run(one, tmp_path / name)])
            n_requests.append(len(server.requests))
    assert n_requests[0] == n_requests[1] > 0
    assert records[0] == records[1]
    (_, n_of_single, _), (_, n_of_iad, information) = records[0]
    assert (n_of_iad > n_of_single > 0, information) == (True, "self")
