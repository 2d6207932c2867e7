"""Q-guided generation: a few candidates at every step, of which the one with the highest value is committed."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import All, Asking, Propose, Verify
from iad_policy.strategies import declares
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.strategies.building_blocks.paraphrases import paraphrases
from iad_policy.strategies.building_blocks.rollouts import DEPTH, Rollout, best_of, carry_out, roll_out
from iad_policy.types import Candidate, State


@declares(n_with={"episodes": "proposals per step of each simulated episode"}, needs="verifier")
def q_guided(
    here: State,
    *,
    n: int = 3,
    episodes: int | None = None,
    perturb: bool = True,
    depth: int = DEPTH,
    temperature: float | None = None,
) -> Asking[None]:
    """Commit at each step the candidate with the highest value (Algorithm 2 of QLASS, arXiv 2502.02584; n is its M).

    The verifier is the value function, also for candidates that end the episode, where QLASS reads the true reward. The
    first candidate is proposed for the task itself. Each of the others gets its own paraphrase, made at the start of
    the episode. `perturb=False` uses no paraphrases. With `episodes=N`, N such episodes are simulated first. The one
    whose end the verifier scores best is committed as long as the real environment answers as in the simulation. After
    an answer of the world that no simulation could know, N are simulated again.

    When the budget ends before the verdicts, the first candidate is committed. Of simulated episodes, finished ones are
    preferred, and the missing steps of the chosen one are decided step by step.
    """
    wordings = ["", *((yield from paraphrases(here, n - 1)) if perturb else [""] * (n - 1))]
    decide = partial(best_valued, wordings=wordings, temperature=temperature)
    while not here.done:
        chosen = Rollout(here)
        if episodes is not None:
            simulated = yield from All([roll_out(here, depth=depth, decide=decide) for _ in range(episodes)])
            chosen = yield from best_of(simulated)
        here = yield from carry_out(here, chosen, decide=decide)


def best_valued(at: State, *, wordings: Sequence[str], temperature: float | None) -> Asking[Candidate]:
    """Return the best-scored of one candidate per wording of the task, the first among equals."""
    requests = [Propose(at.worded(wording), 1, temperature=temperature) for wording in wordings]
    answers = yield from All([iter(one) for one in requests])
    candidates = [candidate for answer in answers for candidate in answer or ()]
    if not candidates:
        return (yield from Propose(at, 1, temperature=temperature))[0]
    with suppress(BudgetExhausted):
        candidates = yield from Verify(at, candidates)
    return incumbent(candidates)
