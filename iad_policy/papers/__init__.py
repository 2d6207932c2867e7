"""The papers' comparisons, to be run at our scale. To add one, write its file and name it in `PAPERS`.

A paper is stages of training, arms that are measured, and claims: which arm the paper has above which.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from iad_policy.errors import UnknownName
from iad_policy.registry import load_object

PAPERS: Mapping[str, str] = {
    "agentq": "iad_policy.papers.agentq:AGENTQ",
    "qstar": "iad_policy.papers.qstar:QSTAR",
    "artis": "iad_policy.papers.artis:ARTIS",
    "iad": "iad_policy.papers.iad:IAD",
}
"""Name -> "module:object"."""
ELSEWHERE: Mapping[tuple[str, str], str] = {
    ("agentq", "IAD/Booking-v0"): "iad_policy.papers.agentq:BOOKING",
    ("agentq", "IAD/BookingBrowser-v0"): "iad_policy.papers.agentq:BOOKING",
}
"""Name and environment -> "module:object", where a paper has an experiment of its own for it."""


@dataclass(frozen=True, slots=True)
class MeasuredArm:
    """What is measured: an agent under a strategy.

    Attributes:
        agent: Name of a trained policy of the paper's stages, or of any agent if it has no such name.
        strategy: The strategy.
        options: Its settings, and those of the run.
        verifier: The verifier; the name of a trained value model stands for it.
        simulator: The simulator; the name of a trained one stands for it.
        needs_text: Whether it differs from another arm only for a policy that reads text. Others leave it out.
        needs_features: Whether it can't be trained with a language model.
        evaluator: The component of the role evaluator; the name of a trained one stands for it.
    """

    agent: str
    strategy: str = "single"
    options: Mapping[str, Any] = field(default_factory=dict)
    verifier: str = ""
    simulator: str = ""
    needs_text: bool = False
    needs_features: bool = False
    evaluator: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A trend of a paper: one arm is above another.

    Attributes:
        name: Its name in the tables.
        more: Name of the better arm.
        less: Name of the other.
        published: The paper's figures.
        least: How far the interval of the difference has to be above 0; negative for "not below".
    """

    name: str
    more: str
    less: str
    published: str
    least: float = 0.0


class Laboratory(Protocol):
    """Explores and trains for the stages of a paper: see `iad_policy.learn.laboratory`."""

    @property
    def env(self) -> str:
        """The environment's id."""
        ...

    @property
    def folder(self) -> Path:
        """The folder of this seed."""
        ...

    @property
    def scale(self) -> float:
        """Share of the training tasks that stages explore."""
        ...

    @property
    def reads_text(self) -> bool:
        """Whether what is trained is a language model."""
        ...

    def explored(self, name: str, *, tasks: int, agent: str = "", **options: Any) -> Any:
        """Explore training tasks, and return the experience."""
        ...

    def trained(self, name: str, recipe: str, found: Any, *, start: str = "", **options: Any) -> None:
        """Train a model on experience, or on several of them."""
        ...

    def simulator(self, name: str, outcomes: str, *, tasks: int, **options: Any) -> None:
        """Train a simulator on recorded outcomes."""
        ...


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper's comparison at our scale.

    Attributes:
        title: What it is.
        source: Where it was published.
        differs: What is different here, a sentence each.
        stages: Explores and trains with one seed, in a laboratory.
        arms: What is measured, by name.
        claims: What the paper has above what.
    """

    title: str
    source: str
    differs: tuple[str, ...]
    stages: Callable[[Laboratory], None]
    arms: Mapping[str, MeasuredArm]
    claims: tuple[Claim, ...]

    def for_what_is_trained(self, *, reads_text: bool) -> "Paper":
        """Return the comparison without the arms that say nothing for what is trained, nor their claims."""
        arms = {
            name: arm
            for name, arm in self.arms.items()
            if not (arm.needs_text and not reads_text) and not (arm.needs_features and reads_text)
        }
        return replace(self, arms=arms, claims=tuple(one for one in self.claims if {one.more, one.less} <= set(arms)))


def load_paper(name: str, env: str = "") -> Paper:
    """Return a paper's comparison, the one for an environment where the paper has several.

    Raises:
        UnknownName: There is no such paper.
    """
    if name not in PAPERS:
        raise UnknownName("paper", name, PAPERS)
    found: Paper = load_object(ELSEWHERE.get((name, env), PAPERS[name]))
    return found
