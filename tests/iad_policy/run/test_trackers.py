import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from iad_policy.commands.terminal_run import run_session
from iad_policy.errors import ModelError, UnknownName
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.roles import AssignedRoles, TemplateRoles
from iad_policy.run.runner import Runner
from iad_policy.run.trackers import TRACKERS, MakeTracker, TrackerError, flat, labels_of, load_tracker
from iad_policy.run.trackers.tensorboard import known_by
from iad_policy.runtime.components import Components
from tests.iad_policy.evaluation_toy import DialsEnv, Guesser, Liker, config, runner


class Notebook:
    """Writes down what it is told, and fails when it is told to."""

    def __init__(self, fails_at: str = "") -> None:
        self.told, self.means, self._fails_at = list[Any](), dict[str, float](), fails_at
        self.config: Mapping[str, Any] = {}

    def __call__(self, folder: Path, config: Mapping[str, Any]) -> "Notebook":
        self.config = config
        self._tell("begin", folder)
        return self

    def on_episode(self, record: EpisodeRecord, means: Mapping[str, float], n_episodes: int) -> None:
        self._tell("episode", (record.key, n_episodes))
        self.means |= means

    def on_summary(self, summary: Mapping[str, Any]) -> None:
        self._tell("summary", summary)

    def close(self) -> None:
        self._tell("close", None)

    def of(self, kind: str) -> list[Any]:
        return [what for name, what in self.told if name == kind]

    def _tell(self, kind: str, what: Any) -> None:
        self.told.append((kind, what))
        if kind == self._fails_at:
            raise OSError("the server is gone")


def tracked(one: Runner, out: Path, *trackers: str | MakeTracker) -> tuple[int, str]:
    console = Console(file=io.StringIO(), width=400)
    status = run_session(one, out, console, trackers=trackers)
    return status, console.file.getvalue()  # type: ignore[attr-defined]


def test_a_tracker_hears_of_every_episode_then_of_the_table_then_of_the_end_also_again(tmp_path: Path) -> None:
    book, again = Notebook(), Notebook()
    assert tracked(runner(), tmp_path / "run", book)[0] == 0
    assert [kind for kind, _ in book.told] == ["begin", *["episode"] * 12, "summary", "close"]
    assert sorted(n for _, n in book.of("episode")) == sorted([1, 2, 3, 4] * 3)
    (summary,) = book.of("summary")
    for row in ("single", "bon-sc", "iad"):
        for name in ("success", "progress", "reward", "proposals", "tokens"):
            assert book.means[f"{row}/{name}"] == pytest.approx(summary["strategies"][row][name])
    assert book.config["env"] == "Dials"
    assert labels_of(book.config) == {"information": "proxy", "agent_information": "none", "role_information": "none"}
    tracked(runner(), tmp_path / "run", again)
    assert sorted(book.of("episode")) == sorted(again.of("episode"))
    assert again.of("summary") == [summary]


def test_an_episode_that_failed_is_in_no_mean_and_a_session_that_is_cut_short_tells_the_end(tmp_path: Path) -> None:
    book, cut = Notebook(), Notebook()
    agent = Guesser({4: ModelError("too many requests", kind="rate_limit")})
    tracked(runner(agent, strategies=("single",)), tmp_path / "run", book)
    (summary,) = book.of("summary")
    assert book.means["single/n_errored"] == 1
    assert book.means["single/progress"] == pytest.approx(summary["strategies"]["single"]["progress"])
    tracked(runner(strategies=("single",), budget={"run.proposals": 4}), tmp_path / "cut", cut)
    (summary,) = cut.of("summary")
    assert (summary["is_complete"], cut.told[-1][0]) == (False, "close")


@pytest.mark.parametrize("moment", ["episode", "summary", "close"])
def test_a_tracker_that_fails_is_said_and_left_and_costs_nothing(moment: str, tmp_path: Path) -> None:
    bad, good = Notebook(fails_at=moment), Notebook()
    status, said = tracked(runner(), tmp_path / "run", bad, good)
    assert (status, said.count("OSError: the server is gone")) == (0, 1)
    assert bad.told[-1][0] == moment
    assert len(good.of("episode")) == 12
    assert len((tmp_path / "run" / "episodes.jsonl").read_text().splitlines()) == 12


def test_a_tracker_that_can_not_begin_ends_the_run_before_anything_is_asked(tmp_path: Path) -> None:
    agent, good = Guesser(), Notebook()
    with pytest.raises(TrackerError, match="OSError: the server is gone"):
        tracked(runner(agent), tmp_path / "run", good, Notebook(fails_at="begin"))
    assert (agent.n_calls, good.told[-1][0]) == (0, "close")


def test_the_labels_of_a_run_name_an_oracle_wherever_it_is(tmp_path: Path) -> None:
    book = Notebook()
    knower, cheat, seer = Liker(), Guesser(), TemplateRoles()
    for one in (knower, cheat, seer):
        one.information = "oracle"  # type: ignore[union-attr]
    here = Components(cheat, knower, AssignedRoles({"critic": seer}, TemplateRoles()))
    said = tracked(Runner(config(), DialsEnv, lambda *_: here), tmp_path / "run", book)[1]
    assert set(labels_of(book.config).values()) == {"oracle"}
    assert known_by(book.config) == ["oracle", "agent-oracle", "role-oracle"]
    assert "*** critic is an oracle role" in said
    assert any(alarm.startswith("critic is an oracle role") for alarm in book.of("summary")[0]["alarms"])


def test_a_configuration_is_flat_texts_without_what_is_empty_and_trackers_are_known_by_name() -> None:
    given = {"env": "Dials", "n": 3, "agent": ["a", "b"], "budget": {"decision.proposals": 2}, "split": None}
    expected = {"env": "Dials", "n": "3", "agent": "a, b", "budget.decision.proposals": "2"}
    assert dict(flat({**given, "baseline": ""})) == expected
    assert all(load_tracker(name).__doc__ for name in TRACKERS)
    with pytest.raises(UnknownName, match="known: mlflow, tensorboard, wandb"):
        load_tracker("neptune")
