"""Agent Q's Monte-Carlo tree search: ranked proposals, UCB1, rollouts, and the most visited action committed."""

from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Keep, Verify
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.expansion import SearchConfig, iteration, ranked
from iad_policy.strategies.building_blocks.rollouts import DEPTH, first_answer
from iad_policy.strategies.building_blocks.tree import FirstVisits, Pick, Tree, ucb1
from iad_policy.types import Candidate, State


@declares(n="iterations per decision", needs="verifier")
@per_step
def mcts(
    here: State,
    *,
    n: int = 10,
    k: int = 3,
    c_exp: float = 1.0,
    first_visits: FirstVisits = "ranked",
    depth: int = DEPTH,
    draws: int = 3,
    pick: Pick = "visits",
    verify_first: bool = True,
    temperature: float | None = None,
) -> Asking[Candidate]:
    """Commit the action that n iterations visited most (arXiv 2408.07199, section 4.1, Algorithm 1).

    An iteration follows UCB1 from the root and expands the first state without actions with k proposals in the ranker's
    order (K - 1 asks). It takes the best-ranked one, continues with the agent to the end of the episode, and backs up
    the verifier's score of the last step.

    When the budget ends, the visits so far decide. Before the first visit the ranking decides, before that the
    verdicts, and before those the first usable proposal is committed.

    Args:
        here: The state.
        n: Number of iterations.
        k: Number of proposals that expand a state. Equal ones are one action.
        c_exp: Weight of exploration.
        first_visits: "ranked" visits each action once, in the ranking's order, before UCB1 decides. "published" is
            eq. 7 for all: Q is 0 before a visit, so an action that succeeded is visited again before the others.
        depth: Maximum number of actions from the state. A rollout of that length is valued even if it is not finished.
        draws: Number of outcomes kept per action if the environment is random. Visits use them in turn.
        pick: "visits" commits the most visited action, and Q decides ties. "value" does the reverse.
        verify_first: Whether the verifier scores all actions of a state before the ranker orders them. A ranker without
            a model uses these verdicts. False saves them if a model ranks, as in the paper.
        temperature: Temperature of proposals.
    """
    ranking = ranked_by_verdict if verify_first else ranked
    if first_visits not in ("ranked", "published"):
        raise ValueError(f"expected first_visits to be 'ranked' or 'published', got {first_visits!r}")
    config = SearchConfig(
        selection_score=ucb1(c_exp, first_visits), ranking=ranking, decide=first_answer(temperature), width=k,
        root_width=k, depth=depth, draws=draws, temperature=temperature, first_visits=first_visits,
    )  # fmt: skip
    tree = Tree(here)
    with suppress(BudgetExhausted):
        for _ in range(n):
            if (yield from iteration(tree, config)) is None:
                break
    yield from Keep(tree)
    return tree.chosen(pick)


def ranked_by_verdict(at: State, candidates: list[Candidate]) -> Asking[list[Candidate]]:
    """Verify the candidates, then rank them."""
    return (yield from ranked(at, (yield from Verify(at, candidates))))
