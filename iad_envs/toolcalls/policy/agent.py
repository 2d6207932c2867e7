"""A rule-based agent that calls functions. It is stochastic and reads only observation and info, without gold.

It cuts the user's message into clauses, finds the function that each asks for, and takes arguments from the user's
words and earlier results. The temperature makes it drop a clause, take a near function, or another value. Given best
and worst, it takes another response.
"""

from iad_envs.toolcalls.policy.responses import choices_of
from iad_policy.agents.rule_based import ChoosingAgent
from iad_policy.types import State


class ToolCallAgent(ChoosingAgent):
    """The rule-based agent for tool calls: it reads pages and draws a response that fits.

    Args:
        env: Not used. The agent reads observations only.
        temperature: Randomness of the choices. 0 is greedy.
    """

    name = "caller"
    scale = 0.1
    choice = "responses"

    def choices(self, state: State) -> dict[str, float]:
        """Return the sensible responses in a state, each with its fit."""
        return choices_of(state)
