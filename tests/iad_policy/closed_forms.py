"""What strategies reach with the test instruments, worked out by hand, and how far a measured share may be from it."""

from collections.abc import Sequence
from math import comb
from typing import Any, NamedTuple

from iad_policy.agents.synthetic import SyntheticAgent, solution_agent
from iad_policy.types import Verifier
from iad_policy.verifiers.changed import SparseVerifier
from tests.iad_policy.quiz import Examiner, Quiz, answer, n_solved, other_answer

EPSILON, SIGMA, RHO, BETA = 0.6, 0.25, 0.5, 0.7
KINDS = {
    "noisy": f"{EPSILON}",
    "responsive": f"{EPSILON}:sigma={SIGMA}:rho={RHO}",
    "stubborn": f"{EPSILON}:tau=0:sigma={SIGMA}:rho={RHO}:stubborn=1",
    "over": f"{EPSILON}:sigma={SIGMA}:rho={RHO}:beta={BETA}",
}
"""Kind of the solution agent -> its rates."""


def made(kind: str, rates: str = "") -> SyntheticAgent:
    """Return an agent of a kind, with further rates."""
    return solution_agent(Quiz(), f"{KINDS[kind]}:{rates}", gold=answer, mistakes=other_answer)


def bon(n: int) -> float:
    """With a perfect verifier: one of n independent answers is right."""
    return 1 - EPSILON**n


def mended(n: int, share: float) -> float:
    """With a perfect verifier: right at first, or mended in one of n - 1 refinements."""
    return 1 - EPSILON * (1 - share) ** (n - 1)


def bon_accepted(n: int, a: float, b: float) -> float:
    """With a verifier that accepts right answers with probability a, wrong ones with b.

    The first accepted one is committed; without any, the first.
    """
    right = 1 - EPSILON
    accepted = right * a + EPSILON * b
    return (1 - (1 - accepted) ** n) * right * a / accepted + (1 - accepted) ** (n - 1) * right * (1 - a)


def sparse(full: float, threshold: float) -> float:
    """With scores of right answers spread from 0 to 1 and only those above the threshold seen: else the first stays."""
    return (1 - threshold) * full + threshold * (1 - EPSILON)


def last_version(n: int, mended: float, broken: float) -> float:
    """With the last of n versions committed, whatever it is worth."""
    right = 1 - EPSILON
    for _ in range(n - 1):
        right = right * (1 - broken) + (1 - right) * mended
    return right


PERFECT = Examiner()
SHADES = Examiner(in_shades=True)


class Cell(NamedTuple):
    """A point of a curve: an agent, a strategy with its options, a verifier, and the share of tasks it solves."""

    kind: str
    strategy: str
    options: dict[str, Any]
    verifier: Verifier
    how: str
    n: int
    expected: float

    def __str__(self) -> str:
        return "-".join([self.kind, self.strategy, *self.options.values(), self.how, str(self.n)])

    def n_solved(self, n_trials: int) -> int:
        """How many of so many questions are solved."""
        return n_solved(made(self.kind), self.verifier, n_trials, strategy=self.strategy, n=self.n, **self.options)


def cells(ns: Sequence[int]) -> list[Cell]:
    """Return the points of all curves at these n."""
    judged = {"feedback": "judge"}
    found = []
    for n in ns:
        found += [
            Cell("noisy", "bon", {}, PERFECT, "perfect", n, bon(n)),
            Cell("noisy", "iad", {}, PERFECT, "perfect", n, bon(n)),  # it ignores feedback
            Cell("responsive", "bon", {}, PERFECT, "perfect", n, bon(n)),
            Cell("responsive", "iad", {}, PERFECT, "perfect", n, mended(n, SIGMA)),
            Cell("responsive", "iad", judged, PERFECT, "perfect", n, mended(n, RHO)),
            Cell("responsive", "iad", {"feedback": "none"}, PERFECT, "perfect", n, bon(n)),
            Cell("stubborn", "bon", {}, PERFECT, "perfect", n, bon(1)),
            Cell("stubborn", "iad", {}, PERFECT, "perfect", n, mended(n, SIGMA)),
            Cell("stubborn", "iad", judged, PERFECT, "perfect", n, mended(n, RHO)),
            Cell("over", "iad", judged, PERFECT, "perfect", n, mended(n, RHO)),  # the incumbent is kept
            Cell("over", "self-refine", {}, PERFECT, "unasked", n, last_version(n, SIGMA, BETA)),  # names no error
            Cell("over", "sk2code-feedback", {}, PERFECT, "perfect", n, last_version(n, RHO, BETA)),
            Cell("responsive", "sk2code-feedback", {}, PERFECT, "perfect", n, last_version(n, RHO, 0.0)),
        ]
        for a, b in ((0.8, 0.3), (0.3, 0.6)):
            found.append(Cell("noisy", "bon", {}, Examiner(a, b), f"a={a} b={b}", n, bon_accepted(n, a, b)))
        for t in (0.25, 0.75):
            seldom = SparseVerifier(SHADES, t)
            found.append(Cell("noisy", "bon", {}, seldom, f"above {t}", n, sparse(bon(n), t)))
            found.append(Cell("responsive", "iad", {}, seldom, f"above {t}", n, sparse(mended(n, SIGMA), t)))
    return found


def fits(n_successes: int, n: int, rate: float, *, confidence: float) -> bool:
    """Whether so many successes lie in the exact binomial interval of a rate."""
    chances = [comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]
    return min(sum(chances[: n_successes + 1]), sum(chances[n_successes:])) > (1 - confidence) / 2
