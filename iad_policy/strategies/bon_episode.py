"""Best-of-N over whole episodes: N are simulated, and the best one is committed."""

from iad_policy.requests import All, Asking
from iad_policy.strategies import declares
from iad_policy.strategies.building_blocks.paraphrases import paraphrases
from iad_policy.strategies.building_blocks.rollouts import DEPTH, best_of, carry_out, roll_out
from iad_policy.types import State


@declares(n="simulated episodes", needs="verifier")
def bon_episode(
    here: State, *, n: int = 3, perturb: bool = False, depth: int = DEPTH, temperature: float | None = None
) -> Asking[None]:
    """Simulate n episodes in parallel and commit the one whose end the verifier scores best (BoN of QLASS).

    With `perturb=True`, all but the first use a paraphrase of the task (BoN-aug of QLASS, arXiv 2502.02584). The true
    reward decides only under the label `oracle`. If the real environment answers differently than the simulation, the
    episode continues with first answers. After an answer of the world that no simulation could know, n episodes are
    simulated again.

    When the budget ends, a finished episode is preferred to an unfinished one, and one with a verdict to one without.
    Its missing steps are first answers.
    """
    wordings = ["", *((yield from paraphrases(here, n - 1)) if perturb else [""] * (n - 1))]
    while not here.done:
        starts = [here.worded(wording) for wording in wordings]
        simulated = yield from All([roll_out(start, depth=depth, temperature=temperature) for start in starts])
        here = yield from carry_out(here, (yield from best_of(simulated)), temperature=temperature)
