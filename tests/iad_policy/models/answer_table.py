"""The answers in `tests/fixtures/answers`, and whether each of them is read as it should be."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np

from iad_envs.sketch2code.policy.language_agent import Sketch2CodeLanguageAgent
from iad_policy.agents.language import LanguageAgent
from iad_policy.models import Completion
from iad_policy.models.parsing import UNREADABLE
from iad_policy.models.scripted import ScriptedModel
from iad_policy.types import Candidate, State
from iad_policy.types.call_context import Call, use_call

FOLDER = Path(__file__).parents[2] / "fixtures" / "answers"
TABLES = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


@dataclass(frozen=True)
class TableRow:
    """An answer, and what is to be read from it. `tests/fixtures/README.md` explains the fields."""

    table: str
    name: str
    text: str
    action: Any = None
    error: str = ""
    thought: str | None = None
    reask: bool = False
    finish: str = "stop"
    style: str = "direct"
    syntax: str = "text"
    available: tuple[str, ...] = ()
    numbers: tuple[int, ...] = field(default=())

    def read(self) -> tuple[Candidate, bool]:
        """Return the candidate that an agent proposes when its model gives this answer, and whether it was asked again.

        Then the model says the action in the form that it was asked for, or if there is none the same again.
        """
        sketch = np.full((8, 8, 3), 255, dtype=np.uint8)
        info = {"available_actions": self.available, "facts": {"sketch_size": [8, 8]}, "page": {}}
        state = State({"sketch": sketch, "text": "a page"} if self.table == "sketch2code" else "a page", info)
        first, form = (
            Completion(self.text, finish_reason=self.finish),
            "" if self.table == "sketch2code" else "Action: ",
        )
        model = ScriptedModel(repeat(first) if self.error else chain([first], repeat(f"{form}{self.action}")))
        with use_call(Call()) as call:
            candidate = self._agent(model).propose(state, feedback=None, temperature=None, rng=Random(0))
        return candidate, len(call.exchanges) > 1

    def is_read_right(self) -> bool:
        """Whether the candidate has the row's action or error, and was asked again only if the row says so."""
        candidate, is_asked = self.read()
        if self.error:
            return candidate.action is None and candidate.error.startswith(UNREADABLE) and self.error in candidate.error
        is_thought = self.thought is None or candidate.thought == self.thought
        return bool(candidate.action == self.action and is_thought and is_asked == self.reask)

    def _agent(self, model: ScriptedModel) -> LanguageAgent:
        if self.table == "sketch2code":
            return Sketch2CodeLanguageAgent(model)
        style, syntax, numbers = self.style, self.syntax, self.numbers
        space = gym.spaces.Discrete(numbers[1] - numbers[0] + 1, start=numbers[0]) if numbers else None
        return LanguageAgent(model, style=style, syntax=syntax, space=space)  # type: ignore[arg-type]


def rows(table: str) -> Iterator[TableRow]:
    """Yield the rows of one table."""
    given = tomllib.loads((FOLDER / f"{table}.toml").read_text(encoding="utf-8"))
    for row in given.pop("answer"):
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in {**given, **row}.items()}
        yield TableRow(table, **values)
