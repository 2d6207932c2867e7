"""Agent Q's Monte-Carlo tree search: ranked proposals, UCB1, rollouts, and the action that proved itself."""

from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Verify
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.expansion import SearchConfig, iteration, ranked
from iad_policy.strategies.building_blocks.rollouts import DEPTH, first_answer
from iad_policy.strategies.building_blocks.tree import Pick, Tree, ucb1
from iad_policy.types import Candidate, State


@declares(n="iterations per decision")
@per_step
def mcts(
    here: State,
    *,
    n: int = 10,
    k: int = 3,
    c_exp: float = 1.0,
    depth: int = DEPTH,
    draws: int = 3,
    pick: Pick = "visits",
    verify_first: bool = True,
    temperature: float | None = None,
    trees: list[Tree] | None = None,
) -> Asking[Candidate]:
    """Commit the action that n iterations visited most (arXiv 2408.07199, section 4.1, Algorithm 1).

    An iteration follows UCB1 from the root, expands the first state without actions by k proposals in the ranker's
    order (K - 1 asks), takes the best-ranked, goes on with the agent to the episode's end, and backs up the verifier's
    score of the last step. First visits follow the ranking.

    When the budget ends, what was visited until then decides, before the first visit the ranking, before that the
    verdicts, and before those the first proposal that is an action.

    Args:
        here: The state.
        n: Iterations.
        k: Proposals with which a state is expanded; equal ones are one action.
        c_exp: Weight of exploring.
        depth: Actions, from the state on, after which a rollout is valued even if the episode is not over.
        draws: Outcomes kept of one action where the environment is random; visits take them in turn.
        pick: "visits" commits the most visited action, the higher Q among equals; "value" the other way round.
        verify_first: Ask the verifier about all actions of a state before the ranker: without a model the ranker goes
            by these verdicts. False saves them where a model ranks, as in the paper.
        temperature: Of proposals.
        trees: Every decision's tree is added to it, to be read by `preference_pairs`.
    """
    ranking = ranked_by_verdict if verify_first else ranked
    config = SearchConfig(
        selection_score=ucb1(c_exp), ranking=ranking, decide=first_answer(temperature), width=k, root_width=k,
        depth=depth, draws=draws, temperature=temperature,
    )  # fmt: skip
    tree = Tree(here)
    if trees is not None:
        trees.append(tree)
    with suppress(BudgetExhausted):
        for _ in range(n):
            if (yield from iteration(tree, config)) is None:
                break
    return tree.chosen(pick)


def ranked_by_verdict(at: State, candidates: list[Candidate]) -> Asking[list[Candidate]]:
    """Verify the candidates, then have them ranked."""
    return (yield from ranked(at, (yield from Verify(at, candidates))))
