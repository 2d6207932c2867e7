"""Language agent tree search: UCT, rollouts led by verdicts, reflections on failures, the best path committed."""

from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Ask, Asking, Commit, Propose, Request, Verify
from iad_policy.strategies import declares
from iad_policy.strategies.building_blocks.expansion import SearchConfig, iteration
from iad_policy.strategies.building_blocks.rollouts import Decide, Rollout, follow
from iad_policy.strategies.building_blocks.stop import StopRule, score_reached
from iad_policy.strategies.building_blocks.tree import Tree, uct
from iad_policy.types import Candidate, State, score

SOLVED = score_reached(1.0)


@declares(n="iterations of a search")
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
    trees: list[Tree] | None = None,
) -> Generator[Request, Any, None]:
    """Search n iterations and commit the best rollout that ended, as long as the world follows it (arXiv 2310.04406).

    Mcts' engine with UCT. The k proposals of a state are first visited in the order of their verdicts, and so does a
    rollout go on: k proposals, the best-scored is simulated. Up to `n_reflections` rollouts that ended and do not meet
    `stop` are reflected on, and every later proposal of the episode is made with these notes.

    The published code stops at the true reward 1 and returns the best true reward. Here both are the verifier's word:
    the search is over when a rollout has ended with a verdict that meets `stop`, by default the score 1. Only under the
    label `oracle` is that the true reward.

    Where no rollout ended (also: before the budget did), one action is committed: the most visited, before any visit
    the best-scored, before that the first proposal that is an action. Then it searches again from there.

    Args:
        here: The episode's first state.
        n: Iterations of a search.
        k: Proposals with which a state is expanded, and of every step of a rollout.
        k_root: Likewise for the state searched from.
        depth: Actions of a rollout.
        n_reflections: In an episode.
        stop: When a rollout that ended is good enough; `finalise` asks whether the verifier let it pass.
        at_depth: What a rollout is worth that has not ended after `depth` actions.
        draws: Outcomes kept of one action where the environment is random; visits take them in turn.
        temperature: Of proposals.
        trees: Every search's tree is added to it.
    """
    reflections = _Reflections(n_reflections)
    config = SearchConfig(
        selection_score=uct, ranking=_by_score, decide=_best_scored(k, temperature, reflections.notes),
        width=k, root_width=k_root,
        depth=depth, at_depth=at_depth, draws=draws, temperature=temperature, notes=reflections.notes,
    )  # fmt: skip
    while not here.done:
        tree = Tree(here)
        if trees is not None:
            trees.append(tree)
        best = yield from _search(tree, config, reflections, n=n, stop=stop)
        here = yield from Commit(tree.chosen()) if best is None else follow(here, best)


@dataclass(frozen=True, slots=True)
class _Reflections:
    """What the reflector said of rollouts that failed, `limit` of them at most."""

    limit: int
    notes: list[str] = field(default_factory=list)
    ends: set[str] = field(default_factory=set)

    def on(self, here: State, rollout: Rollout) -> Asking[None]:
        """Have a rollout reflected on, unless one with its end was; where the budget has none, a search goes on."""
        if len(self.notes) >= self.limit or rollout.end.id in self.ends:
            return
        self.ends.add(rollout.end.id)
        verdict = rollout.candidates[-1].verdict
        said = [verdict.critique] if verdict is not None and verdict.critique else []
        with suppress(BudgetExhausted):
            self.notes.append((yield from Ask("reflector", here, [rollout.end, *said])))


def _search(
    tree: Tree, config: SearchConfig, reflections: _Reflections, *, n: int, stop: StopRule
) -> Asking[Rollout | None]:
    """Return the best rollout that ended, the first of equals."""
    best: Rollout | None = None
    with suppress(BudgetExhausted):
        for _ in range(n):
            rollout = yield from iteration(tree, config)
            if rollout is None:
                break
            if not rollout.end.done:
                continue
            if best is None or rollout.value > best.value:
                best = rollout
            if stop(rollout.candidates[-1]):
                break
            yield from reflections.on(tree.root.state, rollout)
    return best


def _by_score(at: State, candidates: list[Candidate]) -> Asking[list[Candidate]]:
    return sorted((yield from Verify(at, candidates)), key=score, reverse=True)


def _best_scored(k: int, temperature: float | None, notes: Sequence[str]) -> Decide:
    """Return the way to decide that takes the best-scored of k proposals, made with the notes there are by then."""

    def decide(at: State) -> Asking[Candidate]:
        candidates = yield from Propose(at.noted(*notes), k, temperature=temperature)
        return max((yield from Verify(at, candidates)), key=score)

    return decide
