"""Groups the components that answer a strategy's requests."""

from dataclasses import dataclass

from iad_policy.registry import with_defaults
from iad_policy.simulators import Simulator
from iad_policy.types import LoadedAgent, LoadedRoles, LoadedVerifier


@dataclass(frozen=True, slots=True)
class Components:
    """The base agent, the verifier (if there is one), the roles, and the simulator of a run."""

    agent: LoadedAgent
    verifier: LoadedVerifier | None
    roles: LoadedRoles
    simulator: Simulator | None = None

    def __post_init__(self) -> None:
        # Components may be constructed directly, not by `load_agent` and similar functions.
        with_defaults(self.agent, LoadedAgent)
        with_defaults(self.roles, LoadedRoles)
        if self.verifier is not None:
            with_defaults(self.verifier, LoadedVerifier)
