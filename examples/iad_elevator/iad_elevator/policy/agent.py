"""An agent without a model that often takes the wrong button."""

from iad_elevator.policy.reading import next_action
from iad_policy.agents.rule_based import ChoosingAgent
from iad_policy.types import State


class ElevatorAgent(ChoosingAgent):
    """Takes the action that leads on more often than any other one."""

    name = "operator"
    scale = 0.5

    def choices(self, state: State) -> dict[str, float]:
        """Return all actions; the one that leads on fits best."""
        best = next_action(state)
        return {action: float(action == best) for action in state.info["available_actions"]}
