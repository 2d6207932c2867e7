"""Best-first tree search of Koh et al.: the most promising state first, then the best sequence is committed."""

from collections.abc import Generator
from contextlib import suppress
from heapq import heappop, heappush
from typing import Any

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Commit, Keep, Request, Verify
from iad_policy.strategies import declares
from iad_policy.strategies.building_blocks.expansion import outcome, proposed
from iad_policy.strategies.building_blocks.rollouts import follow, value_of
from iad_policy.strategies.building_blocks.tree import Edge, Tree
from iad_policy.types import State


@declares(n="states valued in a search", needs="verifier")
def best_first(
    here: State,
    *,
    n: int = 20,
    branching: int = 5,
    depth: int = 4,
    samples: int | None = None,
    votes: int = 20,
    temperature: float | None = None,
) -> Generator[Request, Any, None]:
    """Look at up to n states, the most promising first, and commit the whole path to the best (arXiv 2407.01476).

    A state taken from the queue is valued. If its value is 1, the search ends. Otherwise its actions are simulated and
    queued with that value as priority. Its actions are the `branching` most frequent of `samples` proposals. Its value
    is the mean of the verifier's votes on the action that led to it, so the verifier's label applies. Votes differ only
    if the verifier samples: after three equal votes no more are asked for, and `votes=1` suits a verifier that
    computes.

    When the budget ends, the path to the best valued state is committed. If there is none, the most frequent proposal
    is committed, or else the first one. Then the search starts again from there.

    Args:
        here: The episode's first state.
        n: Number of states taken from the queue in a search.
        branching: Number of actions kept per state.
        depth: Depth in actions at which states are not expanded any further.
        samples: Number of proposals in a state. None takes max(2 branching, 20).
        votes: Maximum number of verdicts for one value.
        temperature: Temperature of proposals.
    """
    samples = max(2 * branching, 20) if samples is None else samples
    while not here.done:
        tree = Tree(here)
        first_priority = 0.5
        queue = [(-first_priority, 0, tree.root)]
        best, n_queued = tree.root, 1
        with suppress(BudgetExhausted):
            for _ in range(n):
                if not queue:
                    break
                node = heappop(queue)[-1]
                value = first_priority if node.by is None else (yield from _vote(node.by, votes))
                if best.by is None or value > best.by.q:
                    best = node
                if value >= 1.0:
                    break
                if node.state.done or node.depth >= depth:
                    continue
                counted = yield from proposed(tree, node, samples, temperature=temperature)
                counted.sort(key=lambda pair: -pair[1])
                node.consider([candidate for candidate, _ in counted[:branching]])
                for edge in node.edges:
                    heappush(queue, (-value, n_queued, (yield from outcome(edge))))
                    n_queued += 1
        yield from Keep(tree)
        here = yield from Commit(tree.chosen()) if best is tree.root else follow(here, tree.path_to(best))


def _vote(edge: Edge, votes: int) -> Asking[float]:
    """Return the mean of the verifier's votes on an action, as one visit. Three equal votes end it."""
    values: list[float] = []
    while len(values) < votes and not (len(values) == 3 and len(set(values)) == 1):
        (edge.candidate,) = yield from Verify(edge.node.state, [edge.candidate])
        values.append(value_of(edge.candidate))
    edge.visited(sum(values) / len(values))
    return edge.q
