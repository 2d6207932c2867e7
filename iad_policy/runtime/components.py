"""Makes the components that answer a strategy's requests, from names or objects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from iad_policy.agents import AGENTS, load_agent
from iad_policy.errors import NoProxyVerifier
from iad_policy.registry import with_defaults
from iad_policy.roles import AssignedRoles, component_for, load_roles
from iad_policy.simulators import SIMULATORS, load_simulator, require_no_gold, require_predicted_info
from iad_policy.strategies import STRATEGIES
from iad_policy.types import Agent, AsyncAgent, LoadedAgent, LoadedRoles, LoadedVerifier, Roles, Verifier
from iad_policy.types.information import may_read_gold
from iad_policy.types.names import NO_VERIFIER, PERFECT, ROLES
from iad_policy.verifiers import VERIFIERS, is_known, load_verifier
from iad_policy.world.simulator import LoadedSimulator, Simulator

TABLES: Mapping[str, Mapping[str, str]] = {
    "agents": AGENTS,
    "strategies": STRATEGIES,
    "verifiers": VERIFIERS,
    "simulators": SIMULATORS,
}
"""Kind of component -> name -> "module:factory"."""


@dataclass(frozen=True, slots=True)
class Components:
    """The base agent, the verifier (if there is one), the roles, and the simulator of a run."""

    agent: LoadedAgent
    verifier: LoadedVerifier | None
    roles: LoadedRoles
    simulator: LoadedSimulator | None = None

    def __post_init__(self) -> None:
        # Components may be constructed directly, not by `load_components`.
        with_defaults(self.agent, LoadedAgent)
        with_defaults(self.roles, LoadedRoles)
        if self.verifier is not None:
            with_defaults(self.verifier, LoadedVerifier)

    @property
    def by_role(self) -> dict[str, LoadedRoles]:
        """The component of each role, also of those of one strategy: `<strategy>.<role>`."""
        assigned = self.roles.assigned if isinstance(self.roles, AssignedRoles) else {}
        return {role: component_for(self.roles, role) for role in ROLES} | assigned

    @property
    def oracle_roles(self) -> tuple[str, ...]:
        """The roles whose component sees gold."""
        return tuple(role for role, one in self.by_role.items() if may_read_gold(one))


def load_components(
    env: gym.Env[Any, Any],
    agent: str | Agent | AsyncAgent | Callable[..., Any],
    verifier: str | Verifier | None,
    *,
    roles: Roles | Mapping[str, str | Roles] | None = None,
    simulator: str | Simulator = PERFECT,
    needs_info: bool = False,
    **agent_args: Any,
) -> Components:
    """Return the components of a policy.

    Args:
        env: The environment.
        agent: See `iad_policy.agents.load_agent`.
        verifier: See `iad_policy.verifiers.load_verifier`; "none" for none. None takes the environment's proxy, if it
            has one.
        roles: See `iad_policy.roles.load_roles`.
        simulator: See `iad_policy.simulators.load_simulator`.
        needs_info: Whether verifier and roles are asked about what was simulated.
        agent_args: Options of the agent.

    Raises:
        UnknownName: There is no such agent, verifier, role or simulator.
        SimulationError: The agent, the verifier or a role reads gold that the simulator does not have, or structured
            info.
    """
    loaded = load_agent(agent, env, **agent_args)
    checking = _verifier(verifier, env)
    made = Components(loaded, checking, load_roles(roles, env, loaded, checking), load_simulator(simulator, env))
    assert made.simulator is not None
    require_no_gold(made.simulator, loaded, checking, *made.by_role.values())
    if needs_info:
        require_predicted_info(made.simulator, checking, made.by_role.values())
    return made


def has_name(kind: str, name: str) -> bool:
    """Return whether a name stands for a component that `--verifier`, `--simulator` ... know."""
    return is_known(name) if kind == "verifiers" else name.partition(":")[0] in TABLES[kind]


def _verifier(verifier: str | Verifier | None, env: gym.Env[Any, Any]) -> LoadedVerifier | None:
    if isinstance(verifier, str) and verifier == NO_VERIFIER:
        return None
    if verifier is not None:
        return load_verifier(verifier, env)
    try:
        return load_verifier("proxy", env)
    except NoProxyVerifier:
        return None
