"""What the page of a run is made of: its head, the parts of its list, attempts, and votes."""

import json
import warnings
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.ledger.run import Run
from iad_policy.report.viewer.attempts import attempts_of
from iad_policy.report.viewer.server import create_app
from iad_policy.report.viewer.shown import ShownTable, _state, episode_json, episodes_json, run_json
from iad_policy.requests import Asking
from iad_policy.strategies.artis import artis
from iad_policy.types import State
from tests.iad_policy.evaluation_toy import EasyDials, Guesser, Liker
from tests.iad_policy.report.snapshots import require_snapshot


def parallel(here: State, *, n: int = 2) -> Asking[None]:
    return (yield from artis(here, n=n, mode="parallel"))


STRATEGIES: dict[str, Any] = {"artis": "artis", "parallel": parallel, "bon": "bon", "reflexion": "reflexion"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    evaluate("IAD/WebShop-v0", STRATEGIES, 3, n=2, out=folder, baseline="bon")
    return folder


def test_the_page_is_told_what_was_looked_at(tmp_path: Path) -> None:
    """The head, the list, and the first step of an episode of each strategy, of which one keeps a tree."""
    strategies = ["bon", "artis", "reflexion", "mcts"]
    evaluate(EasyDials, strategies, 2, agent=Guesser(), verifier=Liker(), n=2, out=tmp_path / "dials", baseline="bon")
    toy = Run(tmp_path / "dials")
    keys = {one.strategy: one.key for one in toy.records.values()}
    steps = {name: episode_json(toy, key, ShownTable())["steps"][0] for name, key in keys.items()}
    require_snapshot("viewer.json", {"head": run_json(toy), "list": episodes_json(toy), "steps": steps})


def changed(run: Path, folder: Path, **summary: Any) -> Run:
    """A copy of a run with another summary."""
    copytree(run, folder)
    path = folder / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | summary))
    return Run(folder)


CHANGES: list[dict[str, Any]] = [
    {"episodes_bytes": 1},
    {"baseline": "artis"},
    *({"strategies": wrong} for wrong in ({}, {name: {} for name in STRATEGIES}, 7)),
]


@pytest.mark.parametrize("changes", CHANGES)
def test_a_summary_of_something_else_is_not_shown(run: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    traces = changed(run, tmp_path / "run", label="from the summary", **changes)
    assert run_json(traces) == run_json(Run(run)) | {"name": "run"}


def test_the_figures_are_those_of_the_summary_until_there_is_an_episode_more(run: Path, tmp_path: Path) -> None:
    traces = changed(run, tmp_path / "run", label="from the summary")
    assert run_json(traces)["label"] == "from the summary"
    line = json.loads((run / "episodes.jsonl").read_text().splitlines()[-1])
    with (tmp_path / "run" / "episodes.jsonl").open("a") as file:
        file.write(json.dumps({**line, "key": "0" * 32, "task_id": "one more"}) + "\n")
    assert traces.refresh()
    head = run_json(traces)
    assert (head["label"] != "from the summary", head["n_tasks"]) == (True, 4)


def test_the_list_of_episodes_is_read_in_parts(run: Path) -> None:
    whole = episodes_json(Run(run))
    client = create_app([run], n_listed_first=5, n_listed=4).test_client()
    parts, start = [], 0
    while start is not None:
        parts.append(client.get(f"/api/episodes/0/{start}").get_json())
        start = parts[-1]["next"]
    assert [len(part["lines"]) for part in parts] == [5, 4, 3]
    assert [line for part in parts for line in part["lines"]] == whole["lines"]
    assert {task: said for part in parts for task, said in part["instructions"].items()} == whole["instructions"]
    assert client.get("/api/episodes/1/0").status_code == 404
    key = whole["lines"][0]["key"]
    assert client.get(f"/api/episode/0/{key}").get_json()["line"] == whole["lines"][0]
    assert client.get("/api/episode/0/unknown").status_code == 404


def test_the_list_reads_nothing_of_the_log(run: Path, tmp_path: Path) -> None:
    copytree(run, tmp_path / "run")
    log = tmp_path / "run" / "answers.jsonl"
    log.write_text(f"no line of a log\n{log.read_text()}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traces = Run(tmp_path / "run")
        assert run_json(traces) == run_json(Run(run)) | {"name": "run"}
        (first, *_) = episodes_json(traces)["lines"]
    with pytest.warns(UserWarning, match="line 1"):
        assert "steps" in episode_json(traces, first["key"], ShownTable())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_attempts_are_found_with_their_evaluations(run: Path, strategy: str) -> None:
    traces = Run(run)
    for record in (one for one in traces.records.values() if one.strategy == strategy):
        decision = traces.episode(record.key).steps[0].decision
        attempts = attempts_of(decision)
        assert len(attempts) == (0 if strategy == "bon" else 2), "candidates of one state are no attempts"
        for attempt in attempts:
            states = [one.preview.id for one in attempt.candidates if one.preview is not None]
            assert [one.at for one in attempt.candidates] == [decision.state.id, *states[:-1]]
            score = attempt.candidates[-1].score
            assert attempt.is_over
            assert (f"Score: {score:.4g}" in attempt.evaluation) == (strategy != "reflexion")
            assert attempt.has_passed is (None if strategy == "reflexion" else score >= 0.5)
        if attempts:  # and the proposal after them
            n_own = len(decision.candidates) - sum(len(attempt.candidates) for attempt in attempts)
            assert n_own == (0 if strategy == "reflexion" else 1)


def test_a_page_of_calls_and_messages_is_told(run: Path) -> None:
    told = {"messages": [{"role": "user", "content": "Go on"}, {"role": "tool"}], "results": ["x"]}
    page = told | {"calls": [{"name": "ls", "arguments": {"a": 1}}]}
    info = {"page": page, "facts": {"changed": ("file",)}, "none": ()}
    shown, plain = (_state(State("seen", one), Run(run), ShownTable()) or {} for one in (info, {"page": "text"}))
    assert (shown["said"], shown["calls"], shown["changed"]) == ([["User", "Go on"]], [["ls(a=1)", "x"]], "file")
    assert list(shown["info"]) == ["facts"]
    assert plain
    assert not {"said", "calls", "picture"} & plain.keys()
