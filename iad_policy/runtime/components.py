"""Who answers a strategy's questions."""

from dataclasses import dataclass

from iad_policy.simulators import Simulator
from iad_policy.types import Agent, Roles, Verifier


@dataclass(frozen=True, slots=True)
class Components:
    """Who answers: the base agent, the verifier (if there is one), the roles, and the simulator of a run."""

    agent: Agent
    verifier: Verifier | None
    roles: Roles
    simulator: Simulator | None = None

    @property
    def agent_information(self) -> str:
        """The agent's label: `oracle` for an instrument that is shown gold, "" for any other."""
        return str(getattr(self.agent, "information", ""))
