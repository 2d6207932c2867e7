"""Beam search over proposals: each level keeps the few states with the best scores."""

from collections.abc import Generator
from contextlib import suppress
from typing import Any

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import All, Asking, Commit, Keep, Request, Verify
from iad_policy.strategies import declares
from iad_policy.strategies.building_blocks.expansion import outcome, proposed
from iad_policy.strategies.building_blocks.rollouts import follow, value_of
from iad_policy.strategies.building_blocks.tree import Edge, Node, Tree
from iad_policy.types import State


@declares(n="levels of a search", needs="verifier")
def beam(
    here: State,
    *,
    n: int = 3,
    width: int = 3,
    k: int = 3,
    temperature: float | None = None,
) -> Generator[Request, Any, None]:
    """Look n levels ahead with the `width` best-scored states of each, and commit the whole path to the best.

    Every state of a level is expanded with k proposals. Of all their actions, those with the best verdicts are
    simulated and form the next level. A state where the episode is over keeps its place with its verdict. In the last
    level the best verdict wins, and ties go to the first.

    When the budget ends, the last complete level counts. Before the first level, the action with the best verdict is
    committed, and before any verdict the first usable proposal. Then the search starts again from there.

    Args:
        here: The episode's first state.
        n: Number of levels.
        width: Number of states kept per level.
        k: Number of proposals in a state. Equal ones are one action.
        temperature: Temperature of proposals.
    """
    while not here.done:
        tree = Tree(here)
        level = [tree.root]
        with suppress(BudgetExhausted):
            for _ in range(n):
                todo = [node for node in level if not node.state.done]
                found = yield from All([_expanded(tree, node, k, temperature) for node in todo])
                edges = [node.by for node in level if node.by is not None and node.state.done]
                edges += [edge for actions in found for edge in actions or ()]
                edges.sort(key=lambda edge: -edge.q)
                ahead = []
                for edge in edges[:width]:
                    ahead.append((yield from outcome(edge)))
                level = ahead or level  # the same one if nothing follows from it
        yield from Keep(tree)
        if level[0].by is None:
            here = yield from Commit(tree.chosen())
        else:
            here = yield from follow(here, tree.path_to(level[0]))


def _expanded(tree: Tree, node: Node, k: int, temperature: float | None) -> Asking[list[Edge]]:
    """Expand a node, and value its actions by their verdicts."""
    counted = yield from proposed(tree, node, k, temperature=temperature)
    node.consider([candidate for candidate, _ in counted])
    verified = yield from Verify(node.state, [edge.candidate for edge in node.edges])
    for edge, candidate in zip(node.edges, verified, strict=True):
        edge.candidate = candidate
        edge.visited(value_of(candidate))
    return node.edges
