"""A language model that chooses among prepared actions, for models that are too small to write one."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from iad_policy.agents.language import LanguageAgent, made_for
from iad_policy.models import Completion, LanguageModel
from iad_policy.models.parsing import Reading, read_integer
from iad_policy.registry.domain import env_id
from iad_policy.trained.features import Features, load_features
from iad_policy.types import Feedback, State
from iad_policy.types.hashing import digest
from iad_policy.types.names import CUT_OFF


class ChoosingLanguageAgent(LanguageAgent):
    """Asks a language model for the number of one of the actions that an environment's features offer.

    These are what a page offers. See `LanguageAgent`.

    Args:
        given: As for `LanguageAgent`.
        features: The features.
        options: As for `LanguageAgent`.
    """

    kind = "choose"

    def __init__(self, *given: Any, features: Features, **options: Any) -> None:
        super().__init__(*given, **options)
        self._features = features

    @classmethod
    def options_of(cls, env: gym.Env[Any, Any]) -> Mapping[str, Any]:
        """Return the environment's features."""
        return {"features": load_features(env_id(env))}

    @property
    def identity(self) -> str:
        """Everything its answers depend on, the offered actions among it."""
        return f"{super().identity} among {self._features.identity}"

    def messages(self, state: State, feedback: Feedback | None = None) -> tuple[Mapping[str, Any], ...]:
        """Return the messages that ask for a number, with the numbered actions."""
        offered = [f"{n}. {action}" for n, action in enumerate(self._offered(state), 1)]
        return self.prompt("actor_choose", state, feedback, actions="\n".join(["The actions:", *offered])).messages()

    def _offered(self, state: State) -> list[Any]:
        """Return the actions in an order that tells nothing. In some modes not all that features offer can be taken."""
        actions = self._features.actions(state)
        listed = state.info.get("available_actions", ())
        begun = tuple(one.removesuffix("...]") for one in map(str, listed) if one.endswith("...]"))
        taken = [one for one in actions if one in listed or (begun and str(one).startswith(begun))]
        return sorted(taken or actions, key=digest)

    def _read(self, answer: Completion, state: State) -> Reading:
        reading = read_integer(answer.text, is_cut=answer.finish_reason == CUT_OFF)
        offered = self._offered(state)
        if reading.action is not None and 1 <= reading.action <= len(offered):
            return reading._replace(action=offered[reading.action - 1])
        return Reading(None, answer.text, reading.got)

    def _expected(self, state: State) -> str:
        return f'a line "{self.heading}: n" with a number from 1 to {len(self._offered(state))}'


def choosing_agent(env: gym.Env[Any, Any], model: str | LanguageModel = "", **options: Any) -> ChoosingLanguageAgent:
    """Ask a language model to choose among prepared actions: those that a policy of `iad train` chooses from."""
    return made_for(env, ChoosingLanguageAgent, model, **options)
