"""Contract 4: a log cut anywhere is taken up where it ends; what is recorded is never asked again."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from iad_policy.errors import ReplayError
from iad_policy.hashing import digest
from iad_policy.recording.answer_log import ANSWERS, BLOBS, AnswerLog
from tests.contract.players import STRATEGIES, Played, play
from tests.contract.toy import Digger

ASKED_OF = {"candidate": "agent", "verdict": "verifier", "text": "roles"}


def lines_of(folder: Path) -> list[bytes]:
    return (folder / ANSWERS).read_bytes().splitlines(keepends=True)


def records_of(folder: Path) -> Counter[str]:
    """The records of a log as a multiset, without the seconds that no two runs share."""
    found: Counter[str] = Counter()
    for line in lines_of(folder):
        record = json.loads(line)
        record.get("usage", {}).pop("seconds", None)
        if not record.get("usage", True):
            del record["usage"]
        found[json.dumps(record, sort_keys=True)] += 1
    return found


def cut(source: Path, target: Path, n_lines: int, *, extra_bytes: int = 0) -> list[dict[str, Any]]:
    """Copy the first lines of a log, and some bytes of the next; returns the records that are whole."""
    lines = lines_of(source)
    target.mkdir(parents=True)
    torn = lines[n_lines][:extra_bytes] if extra_bytes else b""
    (target / ANSWERS).write_bytes(b"".join(lines[:n_lines]) + torn)
    if (source / BLOBS).exists():
        shutil.copytree(source / BLOBS, target / BLOBS)
    return [json.loads(line) for line in lines[:n_lines]]


def resumes_everywhere(folder: Path, environment: str, how: dict[str, Any], **options: Any) -> Played:
    """Cut a run's log at every line, also within lines; each time the rest is asked, and nothing else."""
    full = folder / "full"
    uncut = play(environment, how, log=full, **options)
    expected = records_of(full)
    n_lines = len(lines_of(full))
    for n_kept in range(n_lines + 1):
        torn = 0 if n_kept == n_lines or n_kept % 2 else 11 + 7 * n_kept % 40
        target = folder / str(n_kept)
        kept = cut(full, target, n_kept, extra_bytes=torn)
        resumed = play(environment, how, log=target, **options)
        assert resumed.actions == uncut.actions, n_kept
        assert resumed.ended_by == uncut.ended_by
        assert records_of(target) == expected, n_kept
        asked = Counter(ASKED_OF[record["kind"]] for record in kept if record["kind"] in ASKED_OF)
        assert resumed.counts == uncut.counts - asked, n_kept
        assert [d.cut for d in resumed.decisions] == [d.cut for d in uncut.decisions]
        assert [d.notes for d in resumed.decisions] == [d.notes for d in uncut.decisions]
        shutil.rmtree(target)
    return uncut


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("environment", ["digger", "slippery"])
@pytest.mark.parametrize("name", list(STRATEGIES))
def test_a_log_cut_anywhere_is_taken_up(name: str, environment: str, threads: int, tmp_path: Path) -> None:
    resumes_everywhere(tmp_path, environment, STRATEGIES[name], threads=threads, n_decisions=2)


@pytest.mark.parametrize("name", ["iad", "lookahead", "rehearse"])
def test_a_log_of_a_forked_environment_cut_anywhere_is_taken_up(name: str, tmp_path: Path) -> None:
    resumes_everywhere(tmp_path, "taxi", STRATEGIES[name], n_decisions=1)


@pytest.mark.parametrize("verifier", ["apart", "oracle"])
@pytest.mark.parametrize("name", ["bon", "iad", "lookahead"])
def test_verdicts_given_apart_or_by_gold_are_taken_up(name: str, verifier: str, tmp_path: Path) -> None:
    resumes_everywhere(tmp_path, "digger", STRATEGIES[name], verifier=verifier, n_decisions=2)


BUDGETS = [
    {"decision.proposals": 2},
    {"decision.proposals": 0},
    {"episode.proposals": 5},
    {"decision.verifications": 1},
    {"episode.verifications": 3},
    {"decision.simulations": 2},
    {"run.simulations": 3},
    {"decision.asks": 1},
    {"decision.tokens": 25},
    {"decision.tokens": 0},
    {"decision.verifier.tokens": 10},
    {"run.tokens": 65},
    {"decision.seconds": 25.0},
    {"episode.agent.prompt_tokens": 45, "decision.simulations": 3},
]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", ["bon", "iad-fb", "lookahead", "rehearse"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_same_cuts_are_replayed(name: str, budget: dict[str, float], threads: int, tmp_path: Path) -> None:
    options = {"budget": budget, "verifier": "apart", "n_tokens": 10, "threads": threads}
    resumes_everywhere(tmp_path, "digger", STRATEGIES[name], n_decisions=2, **options)


def test_an_uncut_log_asks_nothing_and_simulates_nothing(tmp_path: Path) -> None:
    class Unmoving(Digger):
        def simulate(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("a recorded simulation was simulated again")

    how = STRATEGIES["lookahead"]
    uncut = play(lambda: Digger(max_steps=6), how, log=tmp_path)
    again = play(lambda: Unmoving(max_steps=6), how, log=tmp_path)
    assert again.actions == uncut.actions
    assert again.counts == Counter()


def test_a_run_that_goes_on_after_a_cut_rebuilds_simulated_states_by_their_path(tmp_path: Path) -> None:
    """The token of a replayed state is not in the log, so the way to it is simulated again, but not recorded twice."""
    full = tmp_path / "full"
    uncut = play("taxi", STRATEGIES["rehearse"], log=full, n_decisions=1)
    kinds = [json.loads(line)["kind"] for line in lines_of(full)]
    cut(full, tmp_path / "cut", kinds.index("outcome") + 1)
    resumed = play("taxi", STRATEGIES["rehearse"], log=tmp_path / "cut", n_decisions=1)
    assert resumed.actions == uncut.actions
    items = Counter(json.loads(line)["item"] for line in lines_of(tmp_path / "cut"))
    assert set(items.values()) == {1}


def test_a_changed_option_goes_live_from_where_questions_differ(tmp_path: Path) -> None:
    play("digger", {"strategy": "iad", "feedback": "none"}, log=tmp_path)
    changed = play("digger", {"strategy": "iad", "feedback": "scalar"}, log=tmp_path)
    fresh = play("digger", {"strategy": "iad", "feedback": "scalar"})
    assert changed.actions == fresh.actions
    assert 0 < changed.counts["agent"] < fresh.counts["agent"]


@pytest.mark.parametrize("n_lines", range(0, 60, 3))
def test_a_record_that_was_left_does_not_come_back(n_lines: int, tmp_path: Path) -> None:
    """Course A, then course B cut short, then B again: nothing of A may be taken for B's."""
    play("digger", {"strategy": "bon"}, log=tmp_path / "both", n_decisions=4)
    n_of_a = len(lines_of(tmp_path / "both"))
    fresh = play("digger", {"strategy": "iad-fb"} | STRATEGIES["iad-fb"], log=tmp_path / "both", n_decisions=4)
    n_of_both = len(lines_of(tmp_path / "both"))
    cut(tmp_path / "both", tmp_path / "cut", min(n_of_a + n_lines, n_of_both))
    again = play("digger", STRATEGIES["iad-fb"], log=tmp_path / "cut", n_decisions=4)
    assert again.actions == fresh.actions == play("digger", STRATEGIES["iad-fb"], n_decisions=4).actions


def test_a_changed_environment_is_noticed(tmp_path: Path) -> None:
    class Renamed(Digger):
        def _view(self, state: Any, complaint: str) -> Any:
            view = super()._view(state, complaint)
            return view._replace(observation=view.observation.replace("at the", "by the"))

    play("digger", STRATEGIES["iad"], log=tmp_path)
    with pytest.raises(ReplayError, match="the environment or its data changed"):
        play(Renamed, STRATEGIES["iad"], log=tmp_path)


def test_an_environment_that_changed_deep_in_a_simulation_is_noticed(tmp_path: Path) -> None:
    """Only simulated rooms look different, so it shows where a simulated state is rebuilt."""

    class Moved(Digger):
        def _view(self, state: Any, complaint: str) -> Any:
            view = super()._view(state, complaint)
            return view if (state.x, state.y) == (1, 1) else view._replace(observation="fog")

    full = tmp_path / "full"
    play("digger", STRATEGIES["rehearse"], log=full, n_decisions=1)
    kinds = [json.loads(line)["kind"] for line in lines_of(full)]
    cut(full, tmp_path / "cut", len(kinds) - 1 - kinds[::-1].index("outcome"))
    with pytest.raises(ReplayError, match="simulated observation"):
        play(lambda: Moved(max_steps=6), STRATEGIES["rehearse"], log=tmp_path / "cut", n_decisions=1)


def test_two_episodes_share_a_log_without_meeting(tmp_path: Path) -> None:
    log = AnswerLog(tmp_path)
    first = play("digger", STRATEGIES["bon"], log=lambda task: log.episode(digest("first", task)))
    second = play("digger", STRATEGIES["iad"], log=lambda task: log.episode(digest("second", task)))
    log.close()
    assert first.counts["agent"] == len(first.decisions) * 3
    assert second.counts["agent"] == len(second.decisions) * 3
    assert len({json.loads(line)["episode"] for line in lines_of(tmp_path)}) == 2


def test_rewards_and_long_observations_are_in_the_log(tmp_path: Path) -> None:
    class Wordy(Digger):
        def _view(self, state: Any, complaint: str) -> Any:
            view = super()._view(state, complaint)
            return view._replace(observation=view.observation + " blah" * 500)

    played = play(lambda: Wordy(max_steps=4), STRATEGIES["iad"], log=tmp_path, n_decisions=6)
    steps = [record for record in map(json.loads, lines_of(tmp_path)) if record["kind"] == "step"]
    assert len(steps) == len(played.actions) + 1
    assert [step["reward"] is None for step in steps] == [True] + [False] * len(played.actions)
    assert all("__blob__" in step["observation"] for step in steps)
    log = AnswerLog(tmp_path)
    assert log.get(steps[0]["observation"]).startswith("You are at the ford. blah")
    log.close()
