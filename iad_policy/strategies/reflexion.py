"""Reflexion: an episode is simulated, reflected on and tried again before one is committed."""

from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Ask, Asking, Propose
from iad_policy.strategies import declares
from iad_policy.strategies.building_blocks.rollouts import DEPTH, Rollout, carry_out, roll_out, valued
from iad_policy.strategies.building_blocks.stop import StopRule, passed
from iad_policy.types import Candidate, State


@declares(n="simulated episodes", needs="verifier")
def reflexion(
    here: State, *, n: int = 3, stop: StopRule = passed, depth: int = DEPTH, temperature: float | None = None
) -> Asking[None]:
    """Simulate up to n episodes, each with reflections on the earlier ones, and commit the last (arXiv 2303.11366).

    The verifier scores an episode by its last step, and `stop` decides whether the trials end. The reflector's texts
    are notes for the agent. If the real environment answers differently than the simulation, the episode continues with
    first answers, with the reflections still in the notes. After an answer of the world that no simulation could know,
    up to n episodes are simulated again, with the same notes.

    When the budget ends, the last finished episode is committed, or the unfinished first one.
    """
    reflections: list[str] = []

    def decide(at: State) -> Asking[Candidate]:
        # the latest three: the paper keeps one to three
        (candidate,) = yield from Propose(at.noted(*reflections[-3:]), 1, temperature=temperature)
        return candidate

    while not here.done:
        attempts: list[Rollout] = []
        with suppress(BudgetExhausted):
            for _ in range(n):
                attempts.append((yield from roll_out(here, depth=depth, decide=decide)))
                attempts[-1] = attempt = yield from valued(attempts[-1])
                lasts = [one.last for one in attempts if one.last is not None]
                if attempt.last is None or stop(attempt.last, lasts) or len(attempts) == n:
                    break
                reflections.append((yield from Ask("reflector", here, [attempt.end, attempt.last])))
        chosen = next((attempt for attempt in reversed(attempts) if attempt.end.done), attempts[0])
        here = yield from carry_out(here, chosen, decide=decide)
