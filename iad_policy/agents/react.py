"""ReAct: a thought and an action per turn, with earlier turns as a dialogue (the agent of Q*Agent and ETO)."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from iad_policy.agents.language import LanguageAgent, paper_agent
from iad_policy.models import LanguageModel
from iad_policy.prompts.rendering import N_OLD_TURNS, OLD_OBSERVATION_CHARS, shown
from iad_policy.types import Feedback, State


class ReActAgent(LanguageAgent):
    """Asks a language model for a thought and an action in a dialogue, with one call per proposal.

    The dialogue holds the earlier turns: observation, thought and action. See `LanguageAgent`.
    """

    kind = "react"

    def messages(self, state: State, feedback: Feedback | None = None) -> tuple[Mapping[str, Any], ...]:
        """Return the dialogue so far and the current observation."""
        prompt_messages = self.prompt("actor_react", state, feedback, history="").messages()
        return (*prompt_messages[:-1], *_dialogue(state), prompt_messages[-1])


def react_agent(env: gym.Env[Any, Any], model: str | LanguageModel = "", **options: Any) -> ReActAgent:
    """Ask a language model for a thought and an action, in one dialogue (ReAct)."""
    return paper_agent(env, ReActAgent, model, **options)


def _dialogue(state: State) -> list[Mapping[str, Any]]:
    turns: list[Mapping[str, Any]] = []
    for turn in state.history[-N_OLD_TURNS:]:
        seen = shown(turn.observation, OLD_OBSERVATION_CHARS)
        turns.append({"role": "user", "content": f"Observation: {seen}"})
        turns.append({"role": "assistant", "content": f"{turn.thought}\nAction: {turn.action}".strip()})
    return turns
