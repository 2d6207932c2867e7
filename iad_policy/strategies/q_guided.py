"""Q-guided generation: at every step a few candidates, and the one of most value."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import All, Asking, Propose, Verify
from iad_policy.roles.paraphrase_check import paraphrases
from iad_policy.strategies import declares
from iad_policy.strategies.building_blocks.rollouts import DEPTH, best_of, finish, follow, roll_out
from iad_policy.types import Candidate, State, score


@declares(n_with={"episodes": "proposals per step of each simulated episode"})
def q_guided(
    here: State,
    *,
    n: int = 3,
    episodes: int | None = None,
    perturb: bool = True,
    depth: int = DEPTH,
    temperature: float | None = None,
) -> Asking[None]:
    """Commit at each step the candidate of most value (algorithm 2 of QLASS, arXiv 2502.02584; n is its M).

    The value function is the verifier, for candidates that end the episode too: there QLASS reads the true reward. All
    candidates but the first are proposed for a paraphrase of the task, one for each, made at the episode's start; with
    `perturb=False` all are for its own words. With `episodes` N, N such episodes are simulated first, and the one whose
    end the verifier scores best is committed as far as the real environment answers alike.

    When the budget ends, candidates without verdicts give way to the first one; simulated episodes that were cut give
    way to those that came to their end, and what is missing of the one chosen is decided step by step.
    """
    wordings = ["", *((yield from paraphrases(here, n - 1)) if perturb else [""] * (n - 1))]
    decide = partial(best_valued, wordings=wordings, temperature=temperature)
    if episodes is not None:
        simulated = yield from All([roll_out(here, depth=depth, decide=decide) for _ in range(episodes)])
        here = yield from follow(here, (yield from best_of(simulated)))
    yield from finish(here, decide=decide)


def best_valued(at: State, *, wordings: Sequence[str], temperature: float | None) -> Asking[Candidate]:
    """Return the best-scored of as many candidates as there are wordings of the task; the first of equals."""
    asked = [Propose(at.worded(wording), 1, temperature=temperature) for wording in wordings]
    answers = yield from All([iter(one) for one in asked])
    candidates = [candidate for answer in answers for candidate in answer or ()]
    if not candidates:
        return (yield from Propose(at, 1, temperature=temperature))[0]
    with suppress(BudgetExhausted):
        candidates = yield from Verify(at, candidates)
    return max(candidates, key=score)
