"""The content of a run's table: the facts above it, and the figures in it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from iad_policy.report.compare import ArmFigures, Difference
from iad_policy.report.curves import AXES, Curve, CurveDifference, compared
from iad_policy.report.matching import Matched
from iad_policy.report.metrics import StrategySummary
from iad_policy.run.config import RunConfig
from iad_policy.types.information import ORACLE_AGENT_TEXT, ORACLE_ROLE_TEXT, verifier_text
from iad_policy.types.names import PERFECT
from iad_policy.verifiers import is_own


@dataclass(frozen=True, slots=True)
class Heading:
    """The facts shown above the table.

    Attributes:
        config: The run's configuration.
        information: The first verifier's information label, or "" without a verifier.
        n_tasks: Number of tasks in the run.
        data: Name and digest of the data, or empty if the environment has none.
        oracle_agents: Names of the agents that know gold.
        oracle_roles: The roles whose component sees gold.
        n_codes: Number of versions of an agent's code that gave answers, where there are several.
        unheard: Names of the agents that take no feedback, and had been given some.
        success_rule: What counts as success; "" for a reward of 1.
        trained_here: Number of the tasks that trained components were trained on, by component.
        informations: The information label of every verifier, by name.
    """

    config: RunConfig
    information: str
    n_tasks: int
    data: Mapping[str, str]
    oracle_agents: tuple[str, ...] = ()
    success_rule: str = ""
    trained_here: Mapping[str, int] = field(default_factory=dict)
    informations: Mapping[str, str] = field(default_factory=dict)
    oracle_roles: tuple[str, ...] = ()
    n_codes: Mapping[str, int] = field(default_factory=dict)
    unheard: tuple[str, ...] = ()

    @property
    def verifier_text(self) -> str:
        """What is said of the first verifier: what it reads, or that its label is its author's word."""
        return verifier_text(self.information, is_own=is_own(self.config.verifier[0], self.config.env))

    @property
    def verifier_texts(self) -> dict[str, str]:
        """What is said of every verifier, by name."""
        return {
            name: verifier_text(label, is_own=is_own(name, self.config.env))
            for name, label in self.informations.items()
        }

    @property
    def alarms(self) -> list[str]:
        """What makes the figures unfair or void: gold that somebody sees, training on these tasks, dropped feedback."""
        return [
            *(
                f"FEEDBACK WAS DROPPED: {agent} takes none, so its refinements are fresh samples; give the function an "
                "argument feedback"
                for agent in self.unheard
            ),
            *(
                f"the answers of {agent} are of {n} versions of its code (--accept-agent)"
                for agent, n in self.n_codes.items()
            ),
            *(f"{agent} is an {ORACLE_AGENT_TEXT}" for agent in self.oracle_agents),
            *(f"{role} is an {ORACLE_ROLE_TEXT}" for role in self.oracle_roles),
            *(f"the {name} was trained on {n} of these tasks" for name, n in self.trained_here.items()),
            *(text for name, text in self._labels.items() if self.informations[name] == "oracle"),
        ]

    @property
    def notes(self) -> list[str]:
        """What is said of the other verifiers, and what plans' pilots cost, which a row has only if it is charged."""
        charged = "counted" if self.config.charge_pilot else "not counted"
        return [
            *(text for name, text in self._labels.items() if self.informations[name] != "oracle"),
            *(
                f"the plan's pilot of {one.pilot['tasks']:,.0f} tasks spent {amount(one.pilot['spent'])} {one.axis}, "
                f"{amount(one.pilot['spent'] / max(self.n_tasks, 1))} per task of this run, {charged}"
                for one in self.config.plans.values()
            ),
        ]

    @property
    def _labels(self) -> dict[str, str]:
        """What is said of every verifier, with its name if there are several."""
        texts = self.verifier_texts
        return {name: f"{name}: {text}" for name, text in texts.items()} if len(texts) > 1 else texts

    def simulator_text(self, rows: Iterable[StrategySummary]) -> str:
        """Return what is said of the simulator, given the rows of the table.

        An environment without a simulation of its own is simulated in copies or replays. These know what an agent can't
        see, such as the number that is to be guessed.
        """
        name = self.config.simulator
        ways = " and ".join(sorted({way for row in rows for way in row.simulated_by}))
        if not ways:
            return name
        return f"{'' if name == PERFECT else f'{name} of a '}{ways} (sees hidden state)"

    def named(self, metric: str) -> str:
        """Return the name of a metric, for success with its rule: `success (layout >= 0.75)`."""
        return f"{metric} ({self.success_rule})" if metric == "success" and self.success_rule else metric


class Figures(NamedTuple):
    """The summaries, differences and curves of a run, and pass@k and pass^k where there are several seeds.

    `matched` compares the strategies of each agent at equal spending, if that was asked for. `unmatched` says why they
    could not be compared. `failed` is why episodes are no success -> row of the table -> their tasks.
    """

    summaries: dict[str, StrategySummary]
    differences: dict[str, Difference]
    curves: tuple[Curve, ...] = ()
    passes: Mapping[str, ArmFigures] = {}
    matched: Mapping[str, Matched] = {}
    unmatched: str = ""
    failed: Mapping[str, Mapping[str, Sequence[str]]] = {}

    def comparisons(self, metric: str) -> list[CurveDifference]:
        """Compare the curves of a metric on each axis where they share a range of budgets."""
        found = [compared([one for one in self.curves if (one.metric, one.axis) == (metric, axis)]) for axis in AXES]
        return [one for one in found if one is not None]


def heading_of(config: RunConfig, recorded: Mapping[str, Any], n_tasks: int) -> Heading:
    """Return the heading of a run.

    Args:
        config: The run's configuration, including the user's own strategies if they are known.
        recorded: The content of its `config.json`.
        n_tasks: Number of tasks.
    """
    identity = recorded["identity"]
    first, *others = config.verifier
    information = identity[config.agent[0]]["information"]
    informations = {first: information}
    informations |= {one: identity[f"{config.agent[0]} with {one}"]["information"] for one in others}
    oracle_agents = tuple(agent for agent in config.agent if "agent_information" in identity[agent])
    roles = tuple(identity[config.agent[0]].get("oracle_roles", ()))
    n_codes = {agent: 1 + len(codes) for agent, codes in recorded.get("accepted", {}).items()}
    rule, trained = recorded.get("success_rule", ""), recorded.get("trained_here", {})
    return Heading(
        config, information, n_tasks, recorded["data"], oracle_agents, rule, trained, informations, roles, n_codes
    )


def amount(value: float) -> str:
    """Return a spending with three digits, thousands separated."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
