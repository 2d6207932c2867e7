"""Agent Q's composite action (arXiv 2408.07199, section 4.1): plan, thought, command and explanation in one answer."""

import math
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.agents.language import LanguageAgent, paper_agent
from iad_policy.models import Completion, LanguageModel
from iad_policy.prompts.rendering import n_left_out
from iad_policy.types import Candidate, Feedback, Part, State
from iad_policy.types.answers import read_parts
from iad_policy.types.texts import shortened

HEADINGS = ("plan", "thought", "command", "explanation", "status")


class CompositeAgent(LanguageAgent):
    """Proposes a composite action with one call per proposal. See `LanguageAgent`.

    The first answer has a plan, a thought, a command and an explanation. Later answers have no plan. A status says
    CONTINUE or DONE. Only the command goes to the environment, but all of these texts are kept in the candidate's
    `parts`, each with its log-probability if the model returns those of its tokens. The history is compact: all earlier
    answers, but only the current page.
    """

    kind = "composite"
    heading = "Command"
    roles = ("actor_composite-first", "actor_composite")

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Ask the model for one composite action.

        Raises:
            ModelError: The model could not answer.
        """
        reading, answer = self._asked(self.messages(state, feedback), temperature, state)
        parts = parts_of(answer)
        thought = next((part.text for part in parts if part.name == "thought"), "")
        candidate = self._candidate(reading, answer, state, parts)
        return candidate if candidate.error else replace(candidate, thought=thought)

    def messages(self, state: State, feedback: Feedback | None = None) -> tuple[Mapping[str, Any], ...]:
        """Return the messages for a state: the first state asks for a plan, later ones for the next command."""
        role = self.roles[1 if state.history else 0]
        first, blocks = n_left_out(len(state.history)), []
        for number, turn in enumerate(state.history[first:], start=first + 1):
            parts = [part for part in turn.parts if part.name not in ("command", "status")]
            texts = [f"{part.name.capitalize()}: {shortened(part.text, 600)}" for part in parts]
            blocks.append("\n   ".join([f"{number}. Command: {turn.action}", *texts]))
        said = "\n".join(["What you answered so far:", *blocks]) if blocks else ""
        return self.prompt(role, state, feedback, history=said).messages()


def composite_agent(env: gym.Env[Any, Any], model: str | LanguageModel = "", **options: Any) -> CompositeAgent:
    """Ask a language model for plan, thought, command and explanation in one answer (Agent Q)."""
    sampling = {"logprobs": True} if isinstance(model, str) else {}
    return paper_agent(env, CompositeAgent, model, **{**sampling, **options})


def parts_of(answer: Completion) -> tuple[Part, ...]:
    """Return the parts of an answer. Their log-probabilities add up to the answer's."""
    found = read_parts(answer.text, HEADINGS)
    ends = (*(start for _, start, _ in found[1:]), math.inf)
    parts = []
    for (name, start, text), end in zip(found, ends, strict=False):
        logprob = None
        if answer.logprobs is not None and answer.starts is not None:
            pairs = zip(answer.logprobs, answer.starts, strict=True)
            logprob = math.fsum(one for one, at in pairs if start <= at < end)
        parts.append(Part(name, text, logprob))
    return tuple(parts)
