"""Runs as they are read: episodes by task, steps and search trees as they were; and runs of recorded actions."""

import gc
import json
import warnings
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import Keep, evaluate
from iad_policy.learn.recipes.qnet import Backup, q_values
from iad_policy.ledger.episode import UNFINISHED, UNKNOWN
from iad_policy.ledger.episode_index import EpisodeIndex
from iad_policy.ledger.episode_record import EPISODES, EpisodeRecord
from iad_policy.ledger.gc_pause import without_collector
from iad_policy.ledger.run import Run
from iad_policy.strategies import load_strategy
from iad_policy.strategies.building_blocks.tree import Tree, preference_pairs
from iad_policy.strategies.building_blocks.tree_record import grown
from iad_policy.types import FALLBACK, Candidate, State
from iad_policy.types.hashing import dumps
from tests.command_line import iad
from tests.iad_policy.evaluation_toy import Babbler, kept, runner


def run(path: Path, agent: Any = None) -> Run:
    return Run(kept(runner(agent), path))


def test_the_steps_of_an_episode_add_up_to_its_record(tmp_path: Path) -> None:
    """What a step has of its decision is in tests/contract/test_log.py."""
    traces = run(tmp_path)
    assert len(traces.records) == 12
    for key, record in traces.records.items():
        steps = traces.episode(key).steps
        assert tuple(step.action for step in steps) == record.actions
        assert [step.after.done for step in steps if step.after] == [False] * (len(steps) - 1) + [True]
        assert sum(step.reward for step in steps) == record.reward
        for step, following in pairwise(steps):
            assert step.after == following.before
        if record.strategy == "iad":
            first, second, _ = steps[0].decision.candidates
            assert (bool(first.feedback), bool(second.feedback)) == (False, True)


def test_what_was_left_in_a_changed_course_is_not_told(tmp_path: Path) -> None:
    traces = run(tmp_path)
    key, whole = next((key, traces.episode(key)) for key, one in traces.records.items() if one.strategy == "iad")
    with (tmp_path / "answers.jsonl").open("a") as log:
        log.write(json.dumps({"episode": key, "item": "2.4.0", "kind": "left", "dropped": ["2.4.0"]}) + "\n")
    for episode, expected in ((whole, [3, 3, 3]), (Run(tmp_path).episode(key), [3, 3, 2])):
        assert [len(step.decision.candidates) for step in episode.steps] == expected


def test_a_run_that_goes_on_is_followed_line_by_line(tmp_path: Path) -> None:
    run(tmp_path)
    path = tmp_path / "episodes.jsonl"
    episodes = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    traces = Run(tmp_path)
    assert (traces.records, traces.refresh()) == ({}, False)
    with path.open("ab", buffering=0) as file:
        for n_whole, text in enumerate((episodes[0] + episodes[1][:40], episodes[1][40:]), start=1):
            file.write(text)
            assert (traces.refresh(), len(traces.records)) == (True, n_whole)
    with pytest.raises(KeyError, match="expected the key of an episode"):
        traces.episode("0" * 32)


OTHER_FORMS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "episodes side by side": lambda lines: sorted(lines, key=lambda line: str(json.loads(line).get("item"))),
    "as others write JSON": lambda lines: [f"{json.dumps(json.loads(line))}\n".encode() for line in lines],
    "longer, so its size does not tell": lambda lines: lines[::-1] + lines[:1],
}


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_files_that_were_replaced_by_another_form_of_the_same_are_read_anew(form: str, tmp_path: Path) -> None:
    traces = run(tmp_path)
    expected = {key: traces.episode(key) for key in traces.records}
    for name in ("answers.jsonl", "episodes.jsonl"):
        new = tmp_path / f"{name}.new"
        new.write_bytes(b"".join(OTHER_FORMS[form]((tmp_path / name).read_bytes().splitlines(keepends=True))))
        new.replace(tmp_path / name)
    assert traces.refresh()
    for own in (traces, Run(tmp_path)):
        assert {key: own.episode(key) for key in own.records} == expected


def changed(folder: Path, change: Callable[[dict[str, Any]], Any]) -> tuple[Any, Any]:
    """The steps of a first episode, and those after a change of its lines: True keeps a line, False drops it."""
    traces, log = run(folder), folder / "answers.jsonl"
    key = next(iter(traces.records))
    whole = traces.episode(key)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    new = [(line, change(line) if line["episode"] == key else True) for line in lines]
    log.write_text("".join(f"{json.dumps(line if one is True else one)}\n" for line, one in new if one))
    return whole.steps, Run(folder).episode(key).steps


def test_a_decision_that_was_not_finished_says_so_and_keeps_what_was_proposed(tmp_path: Path) -> None:
    whole, (*others, last) = changed(tmp_path, lambda line: line["item"] not in ("2.commit", "2.step"))
    episodes = tmp_path / "episodes.jsonl"
    first, *records = [json.loads(line) for line in episodes.read_text().splitlines()]
    records.insert(0, first | {"actions": first["actions"][:2]})
    episodes.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    *others, last = Run(tmp_path).episode(first["key"]).steps
    assert (*others, last.decision.candidates) == (*whole[:2], whole[2].decision.candidates)
    assert [step.is_finished for step in (*others, last)] == [True, True, False]
    assert (last.decision.committed, last.action, last.after, last.proposed) == (UNFINISHED, None, None, None)
    assert all(step.proposed == step.decision.committed for step in others)


def test_what_the_strategy_made_itself_has_the_action_alone_and_a_damaged_state_is_not_known(tmp_path: Path) -> None:
    _, steps = changed(tmp_path / "made", lambda line: line["kind"] != "commit" or line | {"candidate": ""})
    for step in steps:
        assert (step.decision.committed, step.is_finished, step.proposed) == (Candidate(step.action), True, None)
    whole, (first, *others) = changed(tmp_path / "damaged", lambda line: line["item"] != "reset")
    assert (first.before, first.decision.state) == (None, UNKNOWN)
    assert first.decision.candidates == whole[0].decision.candidates
    assert tuple(others) == whole[1:]


def test_what_stood_in_for_an_answer_that_is_no_action_keeps_its_error(tmp_path: Path) -> None:
    traces = run(tmp_path, Babbler())
    for key, record in traces.records.items():
        for step in traces.episode(key).steps:
            decision = step.decision
            assert decision.committed.error
            assert decision.committed.action == step.action == record.actions[step.index]
            assert (step.is_finished, decision.is_fallback, decision.notes) == (True, True, (FALLBACK,))
            assert (step.proposed and step.proposed.action) == "blah"


SEARCHES = {"mcts": {"n": 6, "k": 2}, "lats": {"n": 3, "k": 2, "k_root": 2}, "beam": {"n": 2, "k": 2}}
SEARCHES |= {"best-first": {"n": 4, "samples": 4}}
TOLD = ("action", "id", "score")


def noting(name: str, seen: list[Tree], here: State) -> Generator[Any, Any, Any]:
    """Run a strategy and note the trees that it keeps."""
    strategy = load_strategy(name, **SEARCHES[name], temperature=1.0)(here)
    answer = None
    with suppress(StopIteration):
        while True:
            request = strategy.send(answer)
            seen += [request.tree] if isinstance(request, Keep) else []
            answer = yield request


def trees_of(folder: Path) -> list[Tree]:
    run, trees = Run(folder), list[Tree]()
    for step in [step for key in run.records for step in run.episode(key).steps]:
        assert step.before is not None
        trees += [grown(one.record, step.before, states=one.states, candidates=one.candidates) for one in step.trees]
    return trees


def shape(tree: Tree) -> list[Any]:
    """Everything that a tree says, by its own words, and what is made of it."""
    shown = [
        (
            *(node.state.id, node.state.observation, node.state.done, [move.action for move in node.state.path]),
            None if node.ended is None else node.ended.value,
            [(*(getattr(edge.candidate, name) for name in TOLD), edge.rank, edge.n, edge.q) for edge in node.edges],
            [[child.state.id for child in edge.draws] for edge in node.edges],
        )
        for node in tree.nodes()
    ]
    values = [[(row.action, row.q) for row in q_values(tree, backup)] for backup in get_args(Backup)]
    pairs = [(one.state.id, one.chosen.action, one.rejected.action, one.margin) for one in preference_pairs(tree)]
    return [shown, values, pairs]


@pytest.mark.parametrize("name", list(SEARCHES))
def test_trees_come_back_from_the_log_as_they_grew(name: str, tmp_path: Path) -> None:
    live: list[Tree] = []
    strategies = {"searching": partial(noting, name, live)}
    evaluate("IAD/WebShop-v0", strategies, 2, split="train", verifier="oracle", out=tmp_path, baseline="searching")
    read = trees_of(tmp_path)
    assert len(read) == len(live) >= 2
    assert [shape(tree) for tree in read] == [shape(tree) for tree in live]
    assert any(edge.draws for tree in read for node in tree.nodes() for edge in node.edges)


WORDS = {"IAD/WebShop-v0": "search[lamp]", "IAD/InterCodeBash-v0": "ls", "IAD/BIRD-v0": "execute[SELECT 1]"}
ENVS = (*WORDS, "IAD/Booking-v0", "IAD/BFCL-v0", "IAD/ACEBench-v0")
N_TASKS = 3


def recorded(env_id: str, path: Path) -> Path:
    """A file with the solutions of two tasks, and actions for a third one that don't solve it."""
    env = gym.make(env_id)
    lines = []
    for task in env.unwrapped.task_ids[:N_TASKS]:  # type: ignore[attr-defined]
        env.reset(options={"task_id": task})
        solution = list(env.unwrapped.oracle(env.unwrapped.snapshot())["solution"])  # type: ignore[attr-defined]
        lines.append({"task_id": task, "actions": solution})
    env.close()
    lines[-1]["actions"] = [*([WORDS[env_id]] if env_id in WORDS else []), lines[-1]["actions"][-1]]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


@pytest.mark.parametrize("env_id", ENVS)
def test_a_run_of_recorded_actions_gets_what_score_gives(env_id: str, tmp_path: Path) -> None:
    file = recorded(env_id, tmp_path / "actions.jsonl")
    evaluate(env_id, ["single"], N_TASKS, agent=f"replay:{file}", out=tmp_path / "run")
    records = {one.task_id: one for one in Run(tmp_path / "run").records.values()}
    lines = tmp_path / "scored.jsonl"
    said = iad("score", file, "--env", env_id, "--tasks", N_TASKS, "--workers", 1, "--out", lines)
    assert said.exit_code == 0, said.output
    scored: list[dict[str, Any]] = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(scored) == len(records) == N_TASKS
    for one in scored:
        record = records[one["task_id"]]
        found = {"success": record.success, "progress": record.progress, "reward": record.reward}
        assert found == pytest.approx({name: one[name] for name in found})
    assert [records[one["task_id"]].success for one in scored][:2] == [1.0, 1.0]


NAMES = [("b", 1), ("a", 0), ('quoted "a"', 0), ("b", 0), ("\u05d0 \\ b", 2), ("a", 0)]
RECORDS = [
    EpisodeRecord(f"{place:032x}", "Toy", name, "iad", seed, instruction=f"Do {name}", reward=float(place))
    for place, (name, seed) in enumerate(NAMES)
]


def written(folder: Path, *lines: str | EpisodeRecord) -> Path:
    path = folder / EPISODES
    path.write_text("".join(f"{one if isinstance(one, str) else dumps(one.as_json())}\n" for one in lines))
    return path


def test_it_holds_the_records_by_task_and_seed(tmp_path: Path) -> None:
    spaced = json.dumps(RECORDS[1].as_json())  # as others write JSON
    turned = json.dumps(dict(reversed(RECORDS[3].as_json().items())))
    path = written(tmp_path, RECORDS[0], spaced, RECORDS[2], turned, *RECORDS[4:])
    index = EpisodeIndex(path)
    assert [index.refresh(), index.refresh()] == [True, False]
    assert index.all() == {one.key: one for one in RECORDS}
    in_order = [index.record(key) for key in index.in_order]
    assert in_order == sorted(RECORDS, key=lambda one: (one.task_id, one.seed))
    assert (index.read_to, RECORDS[0].key in index) == (path.stat().st_size, True)
    with pytest.raises(KeyError):
        index.record("f")


def test_only_what_is_asked_for_is_parsed(tmp_path: Path) -> None:
    damaged = dumps(RECORDS[1].as_json()).replace('"reward":1.0', '"reward":"much"')
    index = EpisodeIndex(written(tmp_path, RECORDS[0], damaged, "no record"))
    with pytest.warns(UserWarning, match="the line is skipped"):
        index.refresh()
    assert len(index) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(index.records([RECORDS[0].key])) == RECORDS[:1]
    with pytest.warns(UserWarning, match="line 2"):
        assert index.all() == {RECORDS[0].key: RECORDS[0]}
    assert index.in_order == [RECORDS[0].key]


def test_the_later_of_two_lines_counts_unless_it_is_damaged(tmp_path: Path) -> None:
    again = EpisodeRecord.of({**RECORDS[0].as_json(), "reward": 9.0})
    path = written(tmp_path, RECORDS[0], RECORDS[1])
    index = EpisodeIndex(path)
    assert (index.refresh(), index.record(again.key).reward) == (True, 0.0)
    with path.open("a") as file:
        file.write(f"{dumps(again.as_json())}\n{dumps(RECORDS[2].as_json())[:40]}")
    assert (index.refresh(), index.record(again.key).reward) == (True, 9.0)
    assert (len(index), list(index.all())) == (2, [again.key, RECORDS[1].key])
    damaged = dumps(again.as_json()).replace('"reward":9.0', '"reward":[]')
    index = EpisodeIndex(written(tmp_path, RECORDS[0], damaged))
    index.refresh()
    with pytest.warns(UserWarning, match="the line is skipped"):
        assert index.record(again.key) == RECORDS[0]


@pytest.mark.parametrize("is_on", [True, False])
def test_the_collector_rests_inside_and_is_as_before_after_also_after_an_error(is_on: bool) -> None:
    try:
        (gc.enable if is_on else gc.disable)()
        with without_collector(), without_collector():
            assert not gc.isenabled()
        assert gc.isenabled() is is_on
        with pytest.raises(ValueError, match="inside"), without_collector():
            raise ValueError("inside")
        assert (without_collector()(gc.isenabled)(), gc.isenabled()) == (False, is_on)
    finally:
        gc.enable()
