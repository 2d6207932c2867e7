"""ReAct: a thought and an action per turn, with earlier turns as a dialogue (the agent of Q*Agent and ETO)."""

from collections.abc import Mapping
from itertools import chain, cycle, pairwise
from typing import Any

import gymnasium as gym

from iad_policy.agents.language import LanguageAgent, paper_agent
from iad_policy.models import LanguageModel
from iad_policy.prompts.rendering import RESULT_CHARS, n_left_out
from iad_policy.types import Feedback, State
from iad_policy.types.texts import shortened


class ReActAgent(LanguageAgent):
    """Asks a language model for a thought and an action in a dialogue, with one call per proposal.

    The dialogue holds the earlier turns: observation, thought and action. See `LanguageAgent`.
    """

    kind = "react"

    def messages(self, state: State, feedback: Feedback | None = None) -> tuple[Mapping[str, Any], ...]:
        """Return the dialogue so far and the current observation. The task stands before the first observation."""
        if not state.history:
            return self.prompt("actor_react", state, feedback).messages()
        words, history = self._prompts.rendering, state.history
        results = [words.result(turn, turn.action, after) for turn, after in pairwise(history)]
        left_out = n_left_out(len(history))
        seen = [shortened(words.page(history[0]), RESULT_CHARS), *results][left_out:]
        said = [f"{turn.thought}\nAction: {turn.action}".strip() for turn in history[left_out:]]
        first = self.prompt("actor_react", state, None, observation=seen[0], actions="", facts="", steps_left="")
        last = self.prompt("actor_react", state, feedback, environment="", task="", notes="")
        dialogue = [*chain.from_iterable(zip([first.user, *map("Observation: ".__add__, seen[1:])], said, strict=True))]
        spoken = zip(cycle(("user", "assistant")), [*dialogue, last.user], strict=False)
        return (*first.messages()[:-1], *({"role": role, "content": text} for role, text in spoken))


def react_agent(env: gym.Env[Any, Any], model: str | LanguageModel = "", **options: Any) -> ReActAgent:
    """Ask a language model for a thought and an action, in one dialogue (ReAct)."""
    return paper_agent(env, ReActAgent, model, **options)
