"""Q*Agent's exploration: a tree of whole rollouts, of which the best is committed (published as QLASS)."""

from collections import deque
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Commit, Keep, Request
from iad_policy.strategies import declares
from iad_policy.strategies.building_blocks.rollouts import DEPTH, Rollout, carry_out, roll_out, valued
from iad_policy.strategies.building_blocks.tree import Edge, Node, Tree, back_up
from iad_policy.types import State


@declares(needs="verifier")
def q_tree(
    here: State,
    *,
    width: int = 2,
    depth_expanded: int = 3,
    depth: int = DEPTH,
    threshold: float = 0.01,
    temperature: float | None = None,
) -> Generator[Request, Any, None]:
    """Grow a reasoning tree, keep it, and commit its best rollout, the first among equals.

    It makes the data that a value model is trained on. If the real environment answers otherwise than in the
    simulation, the rest is decided step by step by the agent's first answers.

    When the budget ends before a rollout was valued, the first proposal is committed, and the tree grows again from
    there.

    Args:
        here: The episode's first state.
        width: Number of children of an expanded state (W).
        depth_expanded: Maximum depth of the states that are expanded (D).
        depth: Maximum number of actions of a rollout.
        threshold: Rewards up to this value count as none: nothing below such a rollout is expanded.
        temperature: Temperature of proposals.
    """
    while not here.done:
        tree = yield from reasoning_tree(
            here, width=width, depth_expanded=depth_expanded, depth=depth, threshold=threshold, temperature=temperature
        )
        yield from Keep(tree)
        values = {node: node.ended.value for node in tree.nodes() if node.ended is not None}
        if values:
            best = max(values, key=values.__getitem__)
            here = yield from carry_out(here, tree.path_to(best), temperature=temperature)
        else:
            here = yield from Commit(tree.chosen())


def reasoning_tree(
    here: State,
    *,
    width: int = 2,
    depth_expanded: int = 3,
    depth: int = DEPTH,
    threshold: float = 0.01,
    temperature: float | None = None,
) -> Asking[Tree]:
    """Grow a tree of whole rollouts, first in, first out (Algorithm 3).

    Each state in the queue starts up to `width` rollouts, until it has `width` children. Rollouts share their steps as
    long as their actions are equal. If a rollout's value is above `threshold`, its states up to depth `depth_expanded`
    are queued. Otherwise none is queued, which prunes the branch. An answer that is not an action ends its rollout with
    value 0. When the budget ends, the tree so far is returned. The paper also adds the expert's trajectory as a branch.
    It is gold, so it is added when values are learned (`iad_policy.learn.recipes.qnet`).

    Args:
        here: The root.
        width: Number of children of an expanded state (W, published code: 2).
        depth_expanded: Maximum depth of the states that are expanded, in actions from the root (D, WebShop: 3).
        depth: Maximum number of actions of a rollout, counted from the root (WebShop: 5).
        threshold: Rewards up to this value count as none.
        temperature: Temperature of proposals (paper: 0.7). None takes the agent's own.
    """
    tree = Tree(here)
    queue, queued = deque([tree.root]), {tree.root}
    with suppress(BudgetExhausted):
        while queue:
            node = queue.popleft()
            for _ in range(width - len(node.edges)):
                rollout = yield from roll_out(node.state, depth=depth - node.depth, temperature=temperature)
                if node is tree.root:  # the first proposal, simulated or not; none if the budget did not cover it
                    first = rollout.candidates[:1] or [rollout.untried] * (rollout.untried is not None)
                    tree.proposed = (*tree.proposed, *first)
                wrong = next((at for at, candidate in enumerate(rollout.candidates) if candidate.error), None)
                if wrong is None:
                    rollout = yield from valued(rollout)
                else:
                    usable, seen = rollout.candidates[:wrong], rollout.states[:wrong]
                    rollout = replace(rollout, candidates=usable, states=seen, value=0.0)
                branch = attached(node, rollout)
                if rollout.value > threshold:
                    new = [one for one in branch if one not in queued and one.depth <= depth_expanded]
                    queue.extend(one for one in new if not one.state.done)
                    queued.update(new)
    return tree


def attached(node: Node, rollout: Rollout) -> list[Node]:
    """Add a rollout below a node, and return its nodes."""
    branch = []
    for candidate, state in zip(rollout.candidates, rollout.states, strict=True):
        edge = next((known for known in node.edges if known.candidate.key == candidate.key), None)
        if edge is None:
            edge = Edge(node, candidate)
            node.edges.append(edge)
        node = edge.draws[0] if edge.draws else edge.add_child(state)
        branch.append(node)
    if branch:
        node.ended = rollout
        back_up(node.edges_above(), rollout.value)
    return branch
