"""QNet: a value model of actions, fitted to the values that search trees give them (Q*Agent, published as QLASS)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from iad_policy.errors import UnknownName
from iad_policy.learn.examples import Examples, NothingToLearn, weighted
from iad_policy.learn.experience import Experience
from iad_policy.learn.objectives import squared_error
from iad_policy.strategies.building_blocks.rollouts import Rollout
from iad_policy.strategies.building_blocks.tree import Edge, Node, Tree
from iad_policy.strategies.reasoning_tree import attached
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Head
from iad_policy.trained.rows import Row
from iad_policy.types import State

Backup = Literal["bellman", "averaged", "raw", "pseudo-depth"]
Scale = Literal["none", "tree"]


@dataclass(frozen=True, slots=True)
class QNet:
    """Fit a value model to the Q-values of trees.

    Attributes:
        targets: How rewards become values: see `q_values`.
        gamma: Discount of `bellman`.
        scale: `none` leaves the values as they are. `tree` scales each tree to [0, 1], as the paper does. A tree whose
            episodes all earned the same then says nothing of whether that was much.
        experts: Whether episodes without a tree, such as an expert's, are branches of their tasks' trees.
    """

    head: ClassVar[Head] = "value"
    needs_start: ClassVar[bool] = False

    targets: Backup = "bellman"
    gamma: float = 0.9
    scale: Scale = "none"
    experts: bool = False

    def examples(self, experience: Experience, start: Backend, rng: np.random.Generator) -> Examples:
        """Return the trees' actions with their values."""
        trees = with_experts(experience) if self.experts else [tree for _, tree in experience.trees]
        found = [row for tree in trees for row in q_values(tree, self.targets, self.gamma, self.scale)]
        if not found:
            raise NothingToLearn(
                f"expected search trees in which episodes ended, got none in {len(experience.trajectories)} episodes; "
                "run the strategy q-tree, or another one that keeps trees"
            )
        target = np.array([row.q for row in found])
        return weighted([Row(row.state, row.action) for row in found], squared_error, target=target)


def with_experts(experience: Experience) -> list[Tree]:
    """Return the trees, in which episodes without a tree of their own are branches (Algorithm 3: the expert's).

    Such an episode is a branch of the trees of its task, or else a tree of its own.
    """
    trees = list(experience.trees)
    for one in experience.trajectories:
        if one.trees or not one.steps or one.end is None:
            continue
        start = one.steps[0].state
        of_task = [tree for task, tree in trees if task == one.task and not tree.root.state.history]
        if not of_task:
            of_task = [Tree(start)]
            trees.append((one.task, of_task[0]))
        states = (*(step.state for step in one.steps[1:]), one.end)
        branch = Rollout(start, tuple(step.committed for step in one.steps), states, value=one.reward)
        for tree in of_task:
            if not _has_ended(tree.root, one.actions):  # a rollout there was the same, or this was done before
                attached(tree.root, branch)
    return [tree for _, tree in trees]


def _has_ended(node: Node, keys: Sequence[str]) -> bool:
    for key in keys:
        ahead = next((edge.draws[0] for edge in node.edges if edge.candidate.key == key and edge.draws), None)
        if ahead is None:
            return False
        node = ahead
    return node.ended is not None


class ValueRow(NamedTuple):
    """A training example: an action in a state, and its value."""

    state: State
    action: Any
    q: float


def q_values(tree: Tree, backup: Backup = "bellman", gamma: float = 0.9, scale: Scale = "tree") -> list[ValueRow]:
    """Return the values of the tree's actions (Algorithm 4), in the order of the tree.

    Args:
        tree: A tree from `reasoning_tree`, or any other in which rollouts ended.
        backup: How rewards become values. "bellman": q = gamma max over the next actions, or the reward where a rollout
            ended (eq. 4; there are no rewards before the end). "averaged": the mean reward of the rollouts through the
            action. "raw": one row for each action of each finished rollout, with its unchanged reward. "pseudo-depth":
            as "bellman", with rewards as if each rollout earned its reward again in every step until the depth of the
            longest one, so that short ones are not overrated. They are divided by what an end at the root would give.
        gamma: Discount of "bellman" and "pseudo-depth".
        scale: "tree" scales all but "raw" to [0, 1] by the tree's smallest and largest value, or sets them
            to 0 if these are equal, as the paper does. "none" leaves them as they are.

    Raises:
        UnknownName: There is no such backup or scale.
    """
    for kind, given, known in (("backup", backup, get_args(Backup)), ("scale", scale, get_args(Scale))):
        if given not in known:
            raise UnknownName(kind, given, known)
    nodes = list(tree.nodes())
    ends = {node: node.ended.value for node in nodes if node.ended is not None}
    if backup == "raw":
        values = [(edge, value) for node, value in ends.items() for edge in node.edges_above()]
    elif backup == "averaged":
        values = [(edge, edge.q) for node in nodes for edge in node.edges if edge.n]
    else:
        q = _discounted(nodes, gamma, _lasting(ends, gamma) if backup == "pseudo-depth" else ends)
        values = [(edge, q[edge]) for node in nodes for edge in node.edges if edge in q]
    if scale == "tree" and backup != "raw" and values:
        low = min(value for _, value in values)
        span = max(value for _, value in values) - low
        values = [(edge, (value - low) / span if span else 0.0) for edge, value in values]
    return [ValueRow(edge.node.state, edge.candidate.action, value) for edge, value in values]


def _lasting(ends: Mapping[Node, float], gamma: float) -> dict[Node, float]:
    """Return the rewards of ends as if they were earned until the depth of the deepest one."""
    deepest = max((node.depth for node in ends), default=0)
    steps = [sum(gamma**step for step in range(deepest - depth + 1)) for depth in range(deepest + 1)]
    return {node: value * steps[node.depth] / steps[0] for node, value in ends.items()}


def _discounted(nodes: Sequence[Node], gamma: float, ends: Mapping[Node, float]) -> dict[Edge, float]:
    """Back up the best later reward from the ends. An action with several outcomes gets their mean."""
    best: dict[Node, float] = {}
    q: dict[Edge, float] = {}
    for node in reversed(nodes):  # children before their parents
        for edge in node.edges:
            ahead = [best[end] for end in edge.children if end in best]
            if ahead:
                q[edge] = sum(ahead) / len(ahead)
        known = [gamma * q[edge] for edge in node.edges if edge in q]
        known += [ends[node]] if node in ends else []
        if known:
            best[node] = max(known)
    return q
