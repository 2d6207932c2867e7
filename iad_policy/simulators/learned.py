"""A trained simulator: a model says which type of outcome follows, and the nearest recorded one is shown."""

from typing import Any

import gymnasium as gym

from iad_policy.errors import SimulationError
from iad_policy.prompts import prompts_of
from iad_policy.registry.domain import env_id
from iad_policy.simulators.recorded import OUTCOMES, earlier_outcomes, read
from iad_policy.simulators.retrieval import RetrievalSimulator
from iad_policy.simulators.visible_state import outcome_at_end, require_other_task, visible
from iad_policy.trained.models import SIMULATOR, load_model
from iad_policy.trained.outcomes import outcome_state
from iad_policy.trained.rows import Row
from iad_policy.types import Outcome, State
from iad_policy.types.outcome_types import type_of
from iad_policy.world import World


class LearnedSimulator:
    """Predicts outcomes without asking the environment: `learned:<folder>`.

    Args:
        env: The environment.
        folder: Folder of the model.

    Attributes:
        identity: Everything its outcomes depend on.
        trained_on: What it was trained on.

    Raises:
        ModelFolderError: The folder has no simulator for this environment.
        SimulationError: It is a language model.
    """

    is_perfect = False
    uses_world = False

    def __init__(self, env: gym.Env[Any, Any], folder: str) -> None:
        self._model = load_model(folder, env=env_id(env), recipe=SIMULATOR)
        if self._model.facts["backend"].startswith("hf:"):
            raise SimulationError(
                f"expected a simulator that predicts types of outcomes, got a language model in {folder}; pass "
                f"--simulator llm:{folder}"
            )
        records = list(read(self._model.folder / OUTCOMES))
        self.trained_on = self._model.trained_on
        self._words = prompts_of(env).rendering
        self._by_type = {
            kind: RetrievalSimulator([one for one in records if type_of(one.info, one.done) == kind])
            for kind in sorted({type_of(one.info, one.done) for one in records})
        }
        self.identity = f"learned {self._model.identity} " + " ".join(one.identity for one in self._by_type.values())

    def begin(self, world: World, state: State) -> State:
        """Return the visible part of a state as a token.

        Raises:
            SimulationError: It was trained on this very task, so outcomes would be looked up, not predicted.
        """
        require_other_task(state, self.trained_on["tasks"])
        return visible(state)

    def simulate(self, world: World, token: State, action: Any, draw: int) -> Outcome:
        """Return the nearest recorded outcome of the most likely type. A later `draw` gives the next nearest."""
        if token.done:
            return outcome_at_end(token)
        return self._by_type[self.predicted(token, action)].simulate(world, token, action, draw)

    def predicted(self, token: State, action: Any) -> str:
        """Return the most likely type of an action's outcome."""
        instruction = str(token.info.get("instruction", ""))
        first = token.history[0] if token.history else token
        state = outcome_state(self._words.page(first), earlier_outcomes(token), token.observation, instruction, action)
        kinds = list(self._by_type)
        backend = self._model.backend
        likely = backend.outputs(backend.batch([Row(state, kind) for kind in kinds]))
        return kinds[int(likely.argmax())]
