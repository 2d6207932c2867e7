"""AB-MCTS: at each node of a tree of answers, Thompson sampling decides whether to go wider or deeper."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, pairwise

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Propose, Verify
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.feedback_forms import FeedbackForm, findings, instructed
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.types import DIFFER, Candidate, State
from iad_policy.types.hashing import seed_of

Uniform = Callable[[], float]
"""Function that returns the next number between 0 and 1."""
PRIOR_MEAN, PRIOR_KAPPA, PRIOR_NU, PRIOR_TAU2 = 0.0, 1.0, 1.0, 0.1


@dataclass
class Posterior:
    """Normal-inverse-gamma posterior of the scores that a choice leads to."""

    scores: list[float] = field(default_factory=list)

    def parameters(self) -> tuple[float, float, float, float]:
        """Return mean, kappa, nu and tau squared after the scores."""
        n = len(self.scores)
        mean = sum(self.scores) / n if n else 0.0
        spread = sum((one - mean) ** 2 for one in self.scores)
        kappa, nu = PRIOR_KAPPA + n, PRIOR_NU + n
        far = n * PRIOR_KAPPA * (PRIOR_MEAN - mean) ** 2 / kappa
        return (PRIOR_KAPPA * PRIOR_MEAN + n * mean) / kappa, kappa, nu, (PRIOR_NU * PRIOR_TAU2 + spread + far) / nu

    def draw(self, uniform: Uniform) -> float:
        """Return a mean, drawn: it has Student's t distribution."""
        from scipy.special import stdtrit  # 0.3 s of CPU, needed by this strategy only

        mean, kappa, nu, tau2 = self.parameters()
        scale = (tau2 / kappa) ** 0.5
        return float(mean + stdtrit(nu, uniform()) * scale)


@dataclass(eq=False)
class AnswerNode:
    """A node: the answers from the root to it, and what its choices led to.

    Attributes:
        path: Indices of the candidates from the root to this one; empty for the root.
        children: The nodes that refine it; of the root, the independent answers.
        generating: Scores of its children.
        going_on: Scores of all nodes below its children.
        reached: Its own score and those below.
    """

    path: tuple[int, ...] = ()
    children: list["AnswerNode"] = field(default_factory=list)
    generating: Posterior = field(default_factory=Posterior)
    going_on: Posterior = field(default_factory=Posterior)
    reached: Posterior = field(default_factory=Posterior)


def uniforms(name: str) -> Uniform:
    """Return a source of numbers between 0 and 1 that follow from a name."""
    places = count()
    return lambda: (seed_of("ab-mcts", name, next(places)) + 0.5) / 2**64


def selected(root: AnswerNode, uniform: Uniform) -> list[AnswerNode]:
    """Return the nodes from the root to the one that gets a child next."""
    above = [root]
    while (node := above[-1]).children and node.generating.draw(uniform) < node.going_on.draw(uniform):
        draws = [child.reached.draw(uniform) for child in node.children]
        above.append(node.children[draws.index(max(draws))])
    return above


def add(above: Sequence[AnswerNode], place: int, score: float) -> None:
    """Add the candidate with index `place` below the last of the nodes, and tell its score to all of them."""
    node = above[-1]
    node.children.append(AnswerNode((*node.path, place), reached=Posterior([score])))
    node.generating.scores.append(score)
    for parent, child in pairwise(above):
        parent.going_on.scores.append(score)
        child.reached.scores.append(score)


@declares(needs="verifier")
@per_step
def ab_mcts(
    here: State,
    *,
    n: int = 4,
    feedback: FeedbackForm = findings,
    instruct: str = DIFFER,
    temperature: float | None = None,
) -> Asking[Candidate]:
    """Commit the best-scored of n proposals of a tree that grows wider or deeper (AB-MCTS-A, arXiv 2503.04412).

    At each node from the root on, Thompson sampling compares a new child with going on below a child, and then the
    children (node aggregation). At the root a new child is an independent proposal, elsewhere one with
    feedback on the answers from the root to the node. Scores are clipped to [0, 1]. The draws follow from the state.
    """
    root, uniform = AnswerNode(), uniforms(here.id)
    tried: list[Candidate] = []
    with suppress(BudgetExhausted):
        while len(tried) < n:
            above = selected(root, uniform)
            hint = None
            if path := above[-1].path:
                hint = instructed((yield from feedback(here, [tried[place] for place in path], 0.0)), instruct)
            tried += yield from Propose(here, 1, feedback=hint, temperature=temperature)
            tried = yield from Verify(here, tried)
            add(above, len(tried) - 1, min(max(tried[-1].score, 0.0), 1.0))
    return incumbent(tried)
