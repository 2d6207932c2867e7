"""Search trees go into the log, and come back as they grew."""

from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

from iad_policy import Keep, evaluate
from iad_policy.learn.recipes.qnet import Backup, q_values
from iad_policy.ledger.run import Run
from iad_policy.strategies import load_strategy
from iad_policy.strategies.building_blocks.tree import Tree, preference_pairs
from iad_policy.strategies.building_blocks.tree_record import grown
from iad_policy.types import State

SEARCHES = {
    "mcts": {"n": 6, "k": 2},
    "lats": {"n": 3, "k": 2, "k_root": 2},
    "beam": {"n": 2, "k": 2},
    "best-first": {"n": 4, "samples": 4},
}
N_TASKS = 2
TOLD = ("action", "id", "score")


def kept(name: str, seen: list[Tree], here: State) -> Generator[Any, Any, Any]:
    """Run a strategy and note the trees that it keeps."""
    strategy = load_strategy(name, **SEARCHES[name], temperature=1.0)(here)
    request = next(strategy)
    while True:
        if isinstance(request, Keep):
            seen.append(request.tree)
        answer = yield request
        try:
            request = strategy.send(answer)
        except StopIteration:
            return


def recorded(folder: Path) -> list[Tree]:
    run = Run(folder)
    steps = [step for key in run.records for step in run.episode(key).steps]
    trees = []
    for step in steps:
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
    strategy = partial(kept, name, live)
    given: dict[str, Any] = {"tasks": N_TASKS, "split": "train", "verifier": "oracle"}
    evaluate("IAD/WebShop-v0", {"searching": strategy}, out=tmp_path, baseline="searching", **given)
    read = recorded(tmp_path)
    assert len(read) == len(live) >= N_TASKS
    assert [shape(tree) for tree in read] == [shape(tree) for tree in live]
    assert any(edge.draws for tree in read for node in tree.nodes() for edge in node.edges)
