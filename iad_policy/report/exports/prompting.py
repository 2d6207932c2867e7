"""What an agent was asked and what it answered, as messages, put together again from an episode.

It is the agent itself that says what it would ask in a recorded state, without feedback: a refined answer is trained as
if it had been the first one. For an agent that reads no prompt it is what `litellm:<model>` would be asked in its
place, so that a model trained on it is asked in the same words when it runs here. Such an agent has no thoughts of a
model, so its prompts ask for the action alone: those of the style `direct`, where there is one.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium.spaces import Discrete

from iad_policy.agents.composite import CompositeAgent
from iad_policy.agents.language import LanguageAgent
from iad_policy.agents.react import ReActAgent
from iad_policy.ledger.episode import RecordedStep
from iad_policy.models import text_of
from iad_policy.models.scripted import ScriptedModel
from iad_policy.prompts import domain_prompts
from iad_policy.registry import load_object
from iad_policy.registry.domain import domain_by_id
from iad_policy.types import Candidate, State, Turn

LANGUAGE = ("litellm", "local", "hf")
KINDS: Mapping[str, type[LanguageAgent]] = {"react": ReActAgent, "composite": CompositeAgent}
"""Agents whose one question follows from the state, by the name they are run by."""

WRITERS = (*LANGUAGE, *KINDS, "plan-solve")

Message = dict[str, str]


class Prompter:
    """Puts the states and answers of a run into words.

    Args:
        config: What the run's `config.json` holds.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._domain = domain_by_id(str(config["env"]))
        self._prompts = domain_prompts(self._domain, self._domain.mode_of(config.get("env_args", {})))
        self._max_steps: float = config.get("max_steps") or math.inf
        first_and_n = config.get("discrete")
        self._space = Discrete(first_and_n[1], start=first_and_n[0]) if first_and_n else None
        self._agents: dict[str, LanguageAgent] = {}

    def messages(self, agent: str, steps: Sequence[RecordedStep], index: int) -> list[Message]:
        """Return what an agent was asked at a step, of pictures nothing.

        Args:
            agent: Its name.
            steps: The episode's.
            index: Which of them; what was observed there must be known.
        """
        before = steps[index].before
        assert before is not None
        history = []
        for step in steps[:index]:
            seen, info = (None, {}) if step.before is None else (step.before.observation, step.before.info)
            thought, parts = ("", ()) if step.proposed is None else (step.proposed.thought, step.proposed.parts)
            history.append(Turn(seen, step.action, info, thought=thought, parts=parts))
        state = State(
            before.observation,
            before.info,
            history=tuple(history),
            steps_left=self._max_steps - index,
        )
        return [{"role": one["role"], "content": text_of(one["content"])} for one in self._agent(agent).messages(state)]

    def completion(self, agent: str, candidate: Candidate) -> list[Message]:
        """Return a candidate as the answer to that; what a model said before the action is part of it."""
        is_said = agent.partition(":")[0] in WRITERS  # a language model wrote the thoughts
        answer = self._prompts.rendering.written(candidate.action, self._agent(agent).heading)
        if is_said and candidate.error:
            answer = candidate.thought
        elif candidate.parts:
            answer = "\n".join(f"{part.name.capitalize()}: {part.text}" for part in candidate.parts)
        elif is_said and candidate.thought:
            answer = f"{candidate.thought}\n{answer}"
        return [{"role": "assistant", "content": answer}]

    def _agent(self, name: str) -> LanguageAgent:
        if name not in self._agents:
            kind, _, model = name.partition(":")
            style: Any = model.rpartition("#")[2] if kind in LANGUAGE and "#" in model else None
            made: type[LanguageAgent] = KINDS.get(kind) or load_object(self._domain.language)
            if kind not in WRITERS and made.default_style == "cot":
                style = "direct"  # there is no thought to ask for
            nobody = ScriptedModel(())  # prompts are rendered only
            self._agents[name] = made(nobody, self._prompts, style, space=self._space)
        return self._agents[name]
