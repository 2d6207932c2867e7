"""How a tree grows: the iterations that Monte-Carlo searches share, and what all searches ask of a node."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from iad_policy.errors import BudgetExhausted, ContractError
from iad_policy.requests import Ask, Asking, Propose, Simulate
from iad_policy.strategies.building_blocks.rollouts import Decide, Rollout, roll_on, valued
from iad_policy.strategies.building_blocks.tree import Edge, Node, SelectionScore, Tree, back_up, selected
from iad_policy.types import Candidate, State, score

Ranking: TypeAlias = Callable[[State, list[Candidate]], Asking[list[Candidate]]]
"""Puts the actions of a state in the order in which they are first visited, the best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """What tells the Monte-Carlo searches apart.

    Attributes:
        selection_score: Which of the visited actions of a node is visited next.
        ranking: In which order they are visited first.
        decide: How a rollout goes on where the tree ends.
        width: How many proposals a node is expanded with.
        root_width: Likewise for the root.
        depth: Actions of a rollout, those in the tree included.
        draws: Outcomes kept of one action where the environment is random.
        temperature: Of proposals.
        notes: Told to the agent with every proposal; may grow while the search goes on.
        at_depth: What a rollout is worth that is `depth` actions long and did not end the episode; None asks the
            verifier there too.
    """

    selection_score: SelectionScore
    ranking: Ranking
    decide: Decide
    width: int
    root_width: int
    depth: int
    draws: int = 1
    temperature: float | None = None
    notes: Sequence[str] = ()
    at_depth: float | None = None


def iteration(tree: Tree, config: SearchConfig) -> Asking[Rollout | None]:
    """Select, expand, play to the end, and back up what that was worth.

    The way down ends where a node has no actions yet: it is expanded, its best-ranked action is taken, and the rollout
    goes on from there. A node where the episode is over, or from which no action is known, is worth what it was worth
    before.

    Returns:
        The rollout from the root, with its worth as value; None where nothing can be done at the root.
    """
    node = tree.root
    is_within = True
    while is_within and not node.state.done and node.depth < config.depth:
        if not node.is_expanded:
            yield from _expand(tree, node, config)
            is_within = False
        if not node.edges:
            break
        node = yield from outcome(selected(node, config.selection_score), config.draws)
    rollout = tree.way_to(node)
    if not rollout.candidates:
        return None
    rollout = node.ended or (yield from _played(node, rollout, config))
    back_up(node.edges_above(), rollout.value)
    return rollout


def _played(node: Node, rollout: Rollout, config: SearchConfig) -> Asking[Rollout]:
    is_end = node.state.done or node.is_expanded or len(rollout) >= config.depth
    if not is_end:
        rollout = yield from roll_on(rollout, depth=config.depth, decide=config.decide)
    if config.at_depth is not None and not rollout.end.done and len(rollout) >= config.depth:
        rollout = replace(rollout, value=config.at_depth)
    else:
        rollout = yield from valued(rollout)
    if is_end:
        node.ended = rollout
    return rollout


def _expand(tree: Tree, node: Node, config: SearchConfig) -> Asking[None]:
    n = config.width if node.by else config.root_width
    counted = yield from proposed(tree, node, n, temperature=config.temperature, notes=config.notes)
    node.consider([candidate for candidate, _ in counted])  # known even if the budget ends with the ranking
    node.consider((yield from config.ranking(node.state, [edge.candidate for edge in node.edges])))


def proposed(
    tree: Tree, node: Node, n: int, *, temperature: float | None, notes: Sequence[str] = ()
) -> Asking[list[tuple[Candidate, int]]]:
    """Propose at a node; returns each different action once, in order, with how often it was proposed."""
    candidates = yield from Propose(node.state.noted(*notes) if notes else node.state, n, temperature=temperature)
    if node is tree.root:
        tree.proposed = (*tree.proposed, *candidates)
    counted: dict[str, tuple[Candidate, int]] = {}
    for candidate in candidates:
        if not candidate.error:
            first, times = counted.get(candidate.key, (candidate, 0))
            counted[candidate.key] = first, times + 1
    return list(counted.values())


def outcome(edge: Edge, draws: int = 1) -> Asking[Node]:
    """Return where an action leads at this visit: where the environment is random, `draws` outcomes take turns."""
    draw = edge.n % draws if edge.node.state.is_random else 0
    if draw >= len(edge.draws):
        edge.add_child((yield from Simulate(edge.node.state, edge.candidate, len(edge.draws))))
    return edge.draws[min(draw, len(edge.draws) - 1)]


def ranked(at: State, candidates: list[Candidate]) -> Asking[list[Candidate]]:
    """Order candidates by repeated best-removal: the ranker names the best of those left, K - 1 times.

    Those it can't be asked about any more, as the budget is spent, follow by their verdicts.
    """
    left, order = list(candidates), list[Candidate]()
    while len(left) > 1:
        try:
            said = yield from Ask("ranker", at, tuple(left))
        except BudgetExhausted:
            left.sort(key=score, reverse=True)
            break
        if not said.isdecimal() or int(said) >= len(left):
            raise ContractError(
                f"expected the ranker to answer with a place from 0 to {len(left) - 1}, got {said!r:.80}"
            )
        order.append(left.pop(int(said)))
    return order + left
