"""Value targets: Q-values of actions from trees of simulated episodes, to train a value model on.

This is the reasoning tree of Q*Agent (Algorithms 3 and 4, published as QLASS). Rewards are the verdicts of the chosen
verifier, every row carries the verifier's label, and nothing is committed.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from iad_policy.errors import GoldError, UnknownName
from iad_policy.strategies.building_blocks.tree import Edge, Node, Tree
from iad_policy.strategies.q_tree import reasoning_tree
from iad_policy.types import State
from iad_policy.types.hashing import dumps, encode
from iad_policy.wrapper import IADPolicyWrapper

Backup = Literal["bellman", "averaged", "raw", "pseudo-depth"]
BACKUPS: tuple[Backup, ...] = ("bellman", "averaged", "raw", "pseudo-depth")
Scale = Literal["none", "tree"]
SCALES: tuple[Scale, ...] = ("none", "tree")
TRAIN = "train"


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
    if backup not in BACKUPS:
        raise UnknownName("backup", backup, BACKUPS)
    if scale not in SCALES:
        raise UnknownName("scale", scale, SCALES)
    nodes = list(tree.nodes())
    if backup == "raw":
        return [_row(edge, node.ended.value) for node in nodes if node.ended is not None for edge in node.edges_above()]
    edges = [edge for node in nodes for edge in node.edges]
    if backup == "averaged":
        values = [(edge, edge.q) for edge in edges if edge.n]
    else:
        q = _discounted(nodes, gamma, _lasting(nodes, gamma) if backup == "pseudo-depth" else {})
        values = [(edge, q[edge]) for edge in edges if edge in q]
    return _scaled(values) if scale == "tree" else [_row(edge, value) for edge, value in values]


def _lasting(nodes: Sequence[Node], gamma: float) -> dict[Node, float]:
    """Return the rewards of ends as if they were earned until the depth of the deepest one."""
    ends = [(node, node.ended.value) for node in nodes if node.ended is not None]
    deepest = max((node.depth for node, _ in ends), default=0)
    steps = [sum(gamma**step for step in range(deepest - depth + 1)) for depth in range(deepest + 1)]
    return {node: value * steps[node.depth] / steps[0] for node, value in ends}


def _discounted(nodes: Sequence[Node], gamma: float, ends: Mapping[Node, float]) -> dict[Edge, float]:
    """Back up the best later reward. An action with several outcomes gets their mean.

    Args:
        nodes: The nodes, parents before their children.
        gamma: Discount.
        ends: Rewards of ends, where they are others than what the rollouts earned.
    """
    best: dict[Node, float] = {}
    q: dict[Edge, float] = {}
    for node in reversed(nodes):  # children before their parents
        for edge in node.edges:
            ahead = [best[end] for end in edge.children if end in best]
            if ahead:
                q[edge] = sum(ahead) / len(ahead)
        known = [gamma * q[edge] for edge in node.edges if edge in q]
        known += [ends.get(node, node.ended.value)] if node.ended is not None else []
        if known:
            best[node] = max(known)
    return q


def _scaled(values: list[tuple[Edge, float]]) -> list[ValueRow]:
    low = min((value for _, value in values), default=0.0)
    span = max((value for _, value in values), default=0.0) - low
    return [_row(edge, (value - low) / span if span else 0.0) for edge, value in values]


def _row(edge: Edge, value: float) -> ValueRow:
    return ValueRow(edge.node.state, edge.candidate.action, value)


def value_rows(
    policy: IADPolicyWrapper,
    task_ids: Sequence[str],
    *,
    backup: Backup = "bellman",
    gamma: float = 0.9,
    **options: Any,
) -> Iterator[dict[str, Any]]:
    """Grow a reasoning tree for each task, and yield its rows as JSON-able records.

    The policy's agent proposes, its verifier gives the rewards, and its budget applies. Its strategy is not used. A
    record has the task's id, the agent's view (`instruction history observation`), `action`, `q`, `backup`, and the
    verifier's label as `information`.

    Args:
        policy: A policy on the environment to which the tasks belong.
        task_ids: The tasks.
        backup: How rewards become values. See `q_values`.
        gamma: Discount. See `q_values`.
        options: Options of `reasoning_tree`.

    Raises:
        GoldError: The verifier is labelled `oracle`, and the split is not `train` or a task is not in it.
        BudgetExhausted: The budget of the run is spent.
    """
    _refuse_gold_of_other_splits(policy, task_ids)
    information = "" if policy.verifier is None else policy.verifier.information
    for task_id in task_ids:
        observation, info = policy.env.reset(options={"task_id": task_id})
        tree = policy.look(observation, info, partial(reasoning_tree, **options))
        for row in q_values(tree, backup, gamma):
            yield {"task_id": task_id, **_record(row), "backup": backup, "information": information}


def write_value_data(path: Path | str, policy: IADPolicyWrapper, task_ids: Sequence[str], **options: Any) -> int:
    """Write the records of `value_rows` as JSON lines, and return their number."""
    n_rows = 0
    with Path(path).open("w", encoding="utf-8") as file:
        for record in value_rows(policy, task_ids, **options):
            file.write(f"{dumps(record)}\n")
            n_rows += 1
    return n_rows


def _record(row: ValueRow) -> Mapping[str, Any]:
    state = row.state
    return {
        "instruction": state.info.get("instruction", ""),
        "history": [{"observation": encode(turn.observation), "action": encode(turn.action)} for turn in state.history],
        "observation": encode(state.observation),
        "action": encode(row.action),
        "q": row.q,
    }


def _refuse_gold_of_other_splits(policy: IADPolicyWrapper, task_ids: Sequence[str]) -> None:
    if policy.verifier is None or policy.verifier.information != "oracle":
        return
    inner: Any = policy.env.unwrapped
    split = getattr(inner, "split", None)
    others = [task_id for task_id in task_ids if task_id not in set(inner.task_ids)]
    if split != TRAIN or others:
        raise GoldError(
            f"expected tasks of the split {TRAIN!r}, as the verifier is labelled 'oracle', got the split {split!r}"
            f"{f' and tasks that are not in it: {others[:3]}' if others else ''}; a value model that learned from the "
            "gold of test tasks knows them: make the environment with split='train', or use a proxy verifier"
        )
