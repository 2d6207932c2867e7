"""A trained policy as an agent."""

from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.agents.language import language_agent
from iad_policy.registry.domain import env_id
from iad_policy.trained.models import Model, ModelFolderError, load_model
from iad_policy.types import Candidate, Feedback, State


class LearnedAgent:
    """Samples from a trained policy: `learned:<folder>`.

    It chooses from the actions that the environment's features offer. With feedback it samples from those that were not
    tried yet, as it does not read it. A candidate's log-probability is that of the policy at temperature 1 among these
    actions, whatever it was sampled with.

    Args:
        trained: The policy.
        temperature: Temperature, if a strategy asks for none.
    """

    model = None  # none that writes

    def __init__(self, trained: Model, *, temperature: float = 1.0) -> None:
        self.trained = trained
        self.trained_on = self.trained.trained_on
        self.temperature = temperature
        self.identity = f"learned {self.trained.identity} temperature={temperature:g}"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return an action of the policy."""
        heat = self.temperature if temperature is None else temperature
        tried = () if feedback is None else [one.action for one in feedback.tried]
        return self.trained.backend.sample(state, temperature=heat, rng=rng, avoid=tried)


class LearnedWriter:
    """Writes answers with a trained language model, which are read as those of any language model.

    Args:
        trained: The policy, of a language model.
        env: The environment.
        temperature: Temperature, if a strategy asks for none.
        max_tokens: Maximum length of an answer.

    Raises:
        ModelFolderError: It is a policy without a language model.
    """

    def __init__(
        self, trained: Model, env: gym.Env[Any, Any], *, temperature: float = 1.0, max_tokens: int = 256
    ) -> None:
        self.trained = trained
        client = getattr(trained.backend, "client", None)
        if client is None:
            raise ModelFolderError(
                f"expected a language model for decode=free, got a policy of {trained.backend.name} in "
                f"{trained.folder}; leave decode out"
            )
        self._agent = language_agent(env, client(), "direct", temperature=temperature, max_tokens=max_tokens, reask=0)
        self.model = self._agent.model
        self.trained_on = self.trained.trained_on
        self.identity = f"learned {self.trained.identity} {self._agent.identity}"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Ask the model for one action.

        Raises:
            ModelError: The model could not answer.
        """
        return self._agent.propose(state, feedback=feedback, temperature=temperature, rng=rng)


def learned_agent(
    env: gym.Env[Any, Any], folder: str = "", *, temperature: float = 1.0, decode: str = "", max_tokens: int = 256
) -> LearnedAgent | LearnedWriter:
    """Return a trained policy as an agent: `learned:<folder>`.

    Args:
        env: The environment.
        folder: Folder of the model.
        temperature: Temperature, if a strategy asks for none.
        decode: How a language model acts: `offered` chooses from the actions that the environment's features offer,
            `free` writes. "" is how it was trained.
        max_tokens: Maximum length of an answer that is written.

    Raises:
        ModelFolderError: The folder has no such policy for this environment.
        ValueError: There is no such way to decode.
    """
    if decode not in ("", "offered", "free"):
        raise ValueError(f"expected decode to be offered or free, got {decode!r}; pass one of the two")
    known = load_model(folder, head="policy", env=env_id(env))
    if (decode or getattr(known.backend, "decode", "offered")) == "free":
        return LearnedWriter(known, env, temperature=temperature, max_tokens=max_tokens)
    return LearnedAgent(known, temperature=temperature)
