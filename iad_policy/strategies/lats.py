"""Language agent tree search: UCT, rollouts guided by verdicts, reflections on failures, and the best path is kept."""

from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Ask, Asking, Commit, Keep, Propose, Request, Verify
from iad_policy.strategies import declares
from iad_policy.strategies.building_blocks.expansion import SearchConfig, iteration
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.strategies.building_blocks.rollouts import Decide, Rollout, follow
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
        stop: Rule for when a finished rollout is good enough. `finalise` asks whether the verifier passed it.
        at_depth: Value of a rollout that is not finished after `depth` actions.
        draws: Number of outcomes kept per action if the environment is random. Visits use them in turn.
        temperature: Temperature of proposals.
    """
    reflections = _Reflections(n_reflections)
    config = SearchConfig(
        selection_score=uct, ranking=_by_score, decide=_best_scored(k, temperature, reflections.notes),
        width=k, root_width=k_root,
        depth=depth, at_depth=at_depth, draws=draws, temperature=temperature, notes=reflections.notes,
    )  # fmt: skip
    while not here.done:
        tree = Tree(here)
        best = yield from _search(tree, config, reflections, n=n, stop=stop)
        yield from Keep(tree)
        here = yield from Commit(tree.chosen()) if best is None else follow(here, best)


@dataclass(frozen=True, slots=True)
class _Reflections:
    """The reflector's texts about failed rollouts, at most `limit` of them."""

    limit: int
    notes: list[str] = field(default_factory=list)
    ends: set[str] = field(default_factory=set)

    def on(self, here: State, rollout: Rollout) -> Asking[None]:
        """Have a rollout reflected on, unless one with the same end was. Without budget, the search continues."""
        if len(self.notes) >= self.limit or rollout.end.id in self.ends:
            return
        self.ends.add(rollout.end.id)
        verdict = rollout.candidates[-1].verdict
        critiques = [verdict.critique] if verdict is not None and verdict.critique else []
        with suppress(BudgetExhausted):
            self.notes.append((yield from Ask("reflector", here, [rollout.end, *critiques])))


def _search(
    tree: Tree, config: SearchConfig, reflections: _Reflections, *, n: int, stop: StopRule
) -> Asking[Rollout | None]:
    """Return the best finished rollout, the first among equals."""
    best: Rollout | None = None
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
            yield from reflections.on(tree.root.state, rollout)
    return best


def _by_score(at: State, candidates: list[Candidate]) -> Asking[list[Candidate]]:
    return sorted((yield from Verify(at, candidates)), key=score, reverse=True)


def _best_scored(k: int, temperature: float | None, notes: Sequence[str]) -> Decide:
    """Return a rule that picks the best-scored of k proposals, made with the notes that exist at that time."""

    def decide(at: State) -> Asking[Candidate]:
        candidates = yield from Propose(at.noted(*notes), k, temperature=temperature)
        return incumbent((yield from Verify(at, candidates)))

    return decide
