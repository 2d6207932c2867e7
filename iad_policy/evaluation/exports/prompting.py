"""What an agent was asked and what it answered, as messages, put together again from a trace.

A language model's prompt is rendered as `LanguageAgent` renders it, without feedback: a refined answer is trained as if
it had been the first one. For an agent that reads no prompt it is the one that a language model would get in its place
(style `direct`), so that a model trained on it is asked in the same words when it runs here.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from iad_policy.agents import load_object
from iad_policy.agents.language import TEXT, WHOLE_NUMBER, LanguageAgent, actor_messages
from iad_policy.defaults import DEFAULTS, Defaults
from iad_policy.evaluation.trace import Proposed, Step
from iad_policy.prompts import Prompts
from iad_policy.types import State, Turn

LANGUAGE = "litellm:"
DIRECT = "direct"

Message = dict[str, str]


class Prompter:
    """Puts the states and answers of a run into words.

    Args:
        config: What the run's `config.json` holds.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        defaults = DEFAULTS.get(str(config["env"]).rpartition(":")[2], Defaults())
        kind: type[LanguageAgent] = load_object(defaults.language)
        self._prompts = Prompts(defaults.prompts)
        self._heading, self._in_words = kind.heading, kind.in_words
        self._max_steps: float = config.get("max_steps") or math.inf

    def messages(self, agent: str, steps: Sequence[Step], index: int) -> list[Message]:
        """Return what an agent was asked at a step.

        Args:
            agent: Its name.
            steps: The episode's.
            index: Which of them; what was observed there must be known.
        """
        before = steps[index].before
        assert before is not None
        state = State(
            before.observation,
            before.info,
            history=tuple(Turn(_observation(step), step.action) for step in steps[:index]),
            steps_left=self._max_steps - index,
        )
        is_number = isinstance(steps[index].action, int)
        asked = "" if not self._heading else f"{WHOLE_NUMBER}." if is_number else TEXT
        messages = actor_messages(self._prompts, style_of(agent), self._in_words(state), answer_format=asked)
        return [{"role": one["role"], "content": one["content"]} for one in messages]

    def completion(self, agent: str, candidate: Proposed) -> list[Message]:
        """Return a candidate as the answer to that; what a model said before the action is part of it."""
        return [{"role": "assistant", "content": self._answer(agent, candidate)}]

    def _answer(self, agent: str, candidate: Proposed) -> str:
        is_said = agent.startswith(LANGUAGE)
        if is_said and candidate.error:
            return candidate.thought
        action = f"{self._heading}{candidate.action}"
        return f"{candidate.thought}\n{action}" if is_said and candidate.thought else action


def style_of(agent: str) -> str:
    """Return the prompt style of an agent's name, such as `litellm:<model>#cot`."""
    return agent.rpartition("#")[2] if agent.startswith(LANGUAGE) and "#" in agent else DIRECT


def _observation(step: Step) -> Any:
    return None if step.before is None else step.before.observation
