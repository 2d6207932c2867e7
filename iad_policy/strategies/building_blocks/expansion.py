"""Expansion of search trees: the iterations of Monte-Carlo searches, and the requests that all searches make."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from iad_policy.errors import BudgetExhausted, ContractError
from iad_policy.requests import Ask, Asking, Propose, Simulate
from iad_policy.strategies.building_blocks.rollouts import Decide, Rollout, roll_on, valued
from iad_policy.strategies.building_blocks.tree import Edge, FirstVisits, Node, SelectionScore, Tree, back_up, selected
from iad_policy.types import Candidate, State, score

Ranking: TypeAlias = Callable[[State, list[Candidate]], Asking[list[Candidate]]]
"""Returns the actions of a state in the order of their first visits, the best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """The differences between the Monte-Carlo searches.

    Attributes:
        selection_score: Score that decides which action of a node is visited next.
        first_visits: Whether unvisited actions go before the others.
        ranking: Order in which the actions are visited first.
        decide: Rule that continues a rollout below the tree.
        width: Number of proposals that expand a node.
        root_width: Number of proposals that expand the root.
        depth: Maximum number of actions of a rollout, including those in the tree.
        draws: Number of outcomes kept per action if the environment is random.
        temperature: Temperature of proposals.
        notes: Notes given to the agent with every proposal. They may grow during the search.
        at_depth: Value of a rollout with `depth` actions that did not end the episode. None asks the verifier.
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
    first_visits: FirstVisits = "ranked"


def iteration(tree: Tree, config: SearchConfig) -> Asking[Rollout | None]:
    """Select, expand, simulate to the end, and back up the value.

    The path down ends at a node without actions. That node is expanded, its best-ranked action is taken, and the
    rollout continues from there. A node where the episode is over, or for which no action is known, keeps its value.

    Returns:
        The rollout from the root with its value, or None if there is nothing to do at the root.
    """
    node = tree.root
    is_within = True
    while is_within and not node.state.done and node.depth < config.depth:
        if not node.is_expanded:
            n = config.width if node.by else config.root_width
            counted = yield from proposed(tree, node, n, temperature=config.temperature, notes=config.notes)
            node.consider([candidate for candidate, _ in counted])  # kept even if the budget ends during the ranking
            node.consider((yield from config.ranking(node.state, [edge.candidate for edge in node.edges])))
            is_within = False
        if not node.edges:
            break
        node = yield from outcome(selected(node, config.selection_score, config.first_visits), config.draws)
    rollout = tree.path_to(node)
    if not rollout.candidates:
        return None
    if node.ended is None:
        is_end = node.state.done or node.is_expanded or len(rollout) >= config.depth
        if not is_end:
            rollout = yield from roll_on(rollout, depth=config.depth, decide=config.decide)
        if config.at_depth is not None and not rollout.end.done and len(rollout) >= config.depth:
            rollout = replace(rollout, value=config.at_depth)
        else:
            rollout = yield from valued(rollout)
        if is_end:
            node.ended = rollout
    else:
        rollout = node.ended
    back_up(node.edges_above(), rollout.value)
    return rollout


def proposed(
    tree: Tree, node: Node, n: int, *, temperature: float | None, notes: Sequence[str] = ()
) -> Asking[list[tuple[Candidate, int]]]:
    """Propose at a node, and return each different action once, in order, with its number of proposals."""
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
    """Return the result of an action at this visit. In a random environment, `draws` outcomes take turns."""
    draw = edge.n % draws if edge.node.state.is_random else 0
    if draw >= len(edge.draws):
        edge.add_child((yield from Simulate(edge.node.state, edge.candidate, len(edge.draws))))
    return edge.draws[min(draw, len(edge.draws) - 1)]


def ranked(at: State, candidates: list[Candidate]) -> Asking[list[Candidate]]:
    """Order candidates by asking the ranker for the best of those left, K - 1 times.

    When the budget is spent, the remaining ones follow in the order of their verdicts.
    """
    left, order = list(candidates), list[Candidate]()
    while len(left) > 1:
        try:
            answer = yield from Ask("ranker", at, tuple(left))
        except BudgetExhausted:
            left.sort(key=score, reverse=True)
            break
        if not answer.isdecimal() or int(answer) >= len(left):
            raise ContractError(
                f"expected the ranker to answer with an index from 0 to {len(left) - 1}, got {answer!r:.80}; "
                "return one of these"
            )
        order.append(left.pop(int(answer)))
    return order + left
