"""Language agent tree search: UCT, rollouts guided by verdicts, reflections on failures, and the best path is kept."""

from collections.abc import Generator
from contextlib import suppress
from typing import Any

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Ask, Asking, Commit, Keep, Propose, Request, Verify
from iad_policy.strategies import declares
from iad_policy.strategies.building_blocks.expansion import SearchConfig, iteration
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.strategies.building_blocks.rollouts import Rollout, follow
from iad_policy.strategies.building_blocks.stop import StopRule, score_reached
from iad_policy.strategies.building_blocks.tree import Tree, uct
from iad_policy.types import Candidate, State, score

SOLVED = score_reached(1.0)


@declares(n="iterations of a search", needs="verifier")
def lats(
    here: State,
    *,
    n: int = 30,
    k: int = 5,
    k_root: int = 10,
    depth: int = 15,
    n_reflections: int = 3,
    stop: StopRule = SOLVED,
    at_depth: float = -0.5,
    draws: int = 3,
    temperature: float | None = None,
) -> Generator[Request, Any, None]:
    """Search n iterations and commit the best finished rollout while the environment follows it (arXiv 2310.04406).

    It is the search of `mcts` with UCT. The k proposals of a state are first visited in the order of their verdicts. A
    rollout continues in the same way: of k proposals the best-scored is simulated. Up to `n_reflections` finished
    rollouts that do not meet `stop` are reflected on, and all later proposals of the episode get these notes.

    The published code stops at the true reward 1 and returns the best true reward. Here the verifier's score replaces
    both: the search ends when a finished rollout has a verdict that meets `stop`, by default the score 1. It is the
    true reward only under the label `oracle`.

    If no rollout is finished, for example because the budget ended, one action is committed: the most visited, or
    before any visit the best-scored, or before that the first usable proposal. Then the search starts again from there.

    Args:
        here: The episode's first state.
        n: Number of iterations of a search.
        k: Number of proposals that expand a state, and of proposals per step of a rollout.
        k_root: Number of proposals that expand the root.
        depth: Maximum number of actions of a rollout.
        n_reflections: Maximum number of reflections in an episode.
        stop: Rule for when a finished rollout is good enough. `passed` asks whether the verifier passed it.
        at_depth: Value of a rollout that is not finished after `depth` actions.
        draws: Number of outcomes kept per action if the environment is random. Visits use them in turn.
        temperature: Temperature of proposals.
    """
    reflections: list[str] = []
    reflected: set[str] = set()

    def by_score(at: State, candidates: list[Candidate]) -> Asking[list[Candidate]]:
        return sorted((yield from Verify(at, candidates)), key=score, reverse=True)

    def best_scored(at: State) -> Asking[Candidate]:
        candidates = yield from Propose(at.noted(*reflections), k, temperature=temperature)
        return incumbent((yield from Verify(at, candidates)))

    config = SearchConfig(
        selection_score=uct, ranking=by_score, decide=best_scored, width=k, root_width=k_root,
        depth=depth, at_depth=at_depth, draws=draws, temperature=temperature, notes=reflections,
    )  # fmt: skip
    while not here.done:
        tree = Tree(here)
        best: Rollout | None = None  # the first among equals
        ends: list[Candidate] = []
        with suppress(BudgetExhausted):
            for _ in range(n):
                rollout = yield from iteration(tree, config)
                if rollout is None:
                    break
                if not rollout.end.done:
                    continue
                if best is None or rollout.value > best.value:
                    best = rollout
                ends.append(rollout.candidates[-1])
                if stop(ends[-1], ends):
                    break
                if len(reflections) < n_reflections and rollout.end.id not in reflected:
                    reflected.add(rollout.end.id)
                    verdict = ends[-1].verdict
                    critiques = [verdict.critique] if verdict is not None and verdict.critique else []
                    with suppress(BudgetExhausted):  # the search goes on without
                        reflections.append((yield from Ask("reflector", here, [rollout.end, *critiques])))
        yield from Keep(tree)
        here = yield from Commit(tree.chosen()) if best is None else follow(here, best)
