"""Best-first tree search of Koh et al.: the most promising state first, and the whole best sequence committed."""

from collections.abc import Generator, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from typing import Any

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Commit, Request, Verify
from iad_policy.strategies import declares
from iad_policy.strategies.building_blocks.expansion import outcome, proposed
from iad_policy.strategies.building_blocks.rollouts import follow, value_of
from iad_policy.strategies.building_blocks.tree import Edge, Node, Tree
from iad_policy.types import Candidate, State

FIRST_PRIORITY = 0.5
MIN_SAMPLES = 20
N_ALIKE = 3
"""Votes that end a vote where they are all the same: a verifier that computes its scores need not be asked 20 times."""


@declares(n="states valued in a search")
def best_first(
    here: State,
    *,
    n: int = 20,
    branching: int = 5,
    depth: int = 4,
    samples: int | None = None,
    votes: int = 20,
    temperature: float | None = None,
    trees: list[Tree] | None = None,
) -> Generator[Request, Any, None]:
    """Look at up to n states, the most promising first, and commit the whole way to the best (arXiv 2407.01476).

    A state taken from the queue is valued; if the value is 1 the search is over, else its actions are simulated and
    queued with that value as priority. Actions are the `branching` most frequent of `samples` proposals. The value is
    the mean of the verifier's votes on the action that led there: its label is the verifier's. Votes differ only where
    the verifier samples; one whose first three are the same is not asked further, and `votes=1` is right for a verifier
    that computes.

    When the budget ends, the best state valued until then is gone to; before any was, the most frequent proposal is
    committed, and before that the first one. Then it searches again from there.

    Args:
        here: The episode's first state.
        n: States taken from the queue in a search.
        branching: Actions kept of a state.
        depth: States as many actions away are not gone on from.
        samples: Proposals in a state; None takes max(2 branching, 20).
        votes: Verdicts asked for one value, at most.
        temperature: Of proposals.
        trees: Every search's tree is added to it.
    """
    samples = max(2 * branching, MIN_SAMPLES) if samples is None else samples
    while not here.done:
        tree = Tree(here)
        if trees is not None:
            trees.append(tree)
        best = yield from _search(
            tree, n=n, branching=branching, depth=depth, samples=samples, votes=votes, temperature=temperature
        )
        here = yield from Commit(tree.chosen()) if best is tree.root else follow(here, tree.way_to(best))


def _search(
    tree: Tree, *, n: int, branching: int, depth: int, samples: int, votes: int, temperature: float | None
) -> Asking[Node]:
    """Return the best state that was valued, the first of equals; the root where none was."""
    queue = [(-FIRST_PRIORITY, 0, tree.root)]
    best, n_queued = tree.root, 1
    with suppress(BudgetExhausted):
        for _ in range(n):
            if not queue:
                break
            node = heappop(queue)[-1]
            value = FIRST_PRIORITY if node.by is None else (yield from _vote(node.by, votes))
            if best.by is None or value > best.by.q:
                best = node
            if value >= 1.0:
                break
            if node.state.done or node.depth >= depth:
                continue
            counted = yield from proposed(tree, node, samples, temperature=temperature)
            node.consider(_most_frequent(counted, branching))
            for edge in node.edges:
                heappush(queue, (-value, n_queued, (yield from outcome(edge))))
                n_queued += 1
    return best


def _most_frequent(counted: Sequence[tuple[Candidate, int]], n: int) -> list[Candidate]:
    return [candidate for candidate, _ in sorted(counted, key=lambda pair: -pair[1])[:n]]


def _vote(edge: Edge, votes: int) -> Asking[float]:
    """Return the mean of the verifier's votes on an action; it is one visit of the action."""
    values: list[float] = []
    while len(values) < votes and not (len(values) == N_ALIKE and len(set(values)) == 1):
        (edge.candidate,) = yield from Verify(edge.node.state, [edge.candidate])
        values.append(value_of(edge.candidate))
    edge.visited(sum(values) / len(values))
    return edge.q
