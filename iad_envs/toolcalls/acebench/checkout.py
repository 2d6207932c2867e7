"""Reads a user's checkout of ACEBench: tasks, gold, simulated classes. Nothing of it is part of this project."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from iad_envs.errors import DataNotFound, require_known
from iad_envs.toolcalls.user_code import UserModules

Loop = Literal["multi_step", "multi_turn"]
DATA = Path("data_all") / "data_en"
CODE = "model_inference"
HOW_TO_GET = "git clone https://github.com/chenchen0103/ACEBench, git checkout 56dd66c, give the folder as data_dir"

NORMAL = (
    "normal_single_turn_single_function",
    "normal_single_turn_parallel_function",
    "normal_multi_turn_user_switch",
    "normal_multi_turn_user_adjust",
    "normal_similar_api",
    "normal_preference",
    "normal_atom_bool",
    "normal_atom_enum",
    "normal_atom_number",
    "normal_atom_list",
    "normal_atom_object_deep",
    "normal_atom_object_short",
)
SPECIAL = ("special_incomplete", "special_error_param", "special_irrelevant")
AGENT = ("agent_multi_step", "agent_multi_turn")
CATEGORIES = (*NORMAL, *SPECIAL, *AGENT)

CLASS_FILES: Mapping[str, str] = {
    "BaseApi": "phone_platform/base_api.py",
    "MessageApi": "phone_platform/message.py",
    "ReminderApi": "phone_platform/reminder.py",
    "FoodPlatform": "phone_platform/food_services.py",
    "Travel": "travel.py",
}
"""Where the simulated classes stand below `scenariosen`."""


class AceTask(NamedTuple):
    """A task, without gold.

    Attributes:
        task_id: Official id: its category and a number, for a multi-turn task those of the dialogue and of the turn.
        category: One of `CATEGORIES`.
        question: Of normal and special tasks the dialogue so far, of agent tasks what the user is told to want.
        functions: Documents of the offered functions.
        time: The time of the question, or "".
        profile: What is known of the user, of preference tasks, or "".
        initial_config: State at the start, by class. Of agent tasks only.
        involved_classes: Classes of an agent task, in the official order.
        split: `train`, `dev` or `test` of a bundled task, else "".
        difficulty: `easy`, `medium` or `hard` of a bundled task, else "".
        script: The user of a bundled agent task with one. `UserScript.from_record` reads it.
    """

    task_id: str
    category: str
    question: str
    functions: tuple[Mapping[str, Any], ...]
    time: str = ""
    profile: str = ""
    initial_config: Mapping[str, Mapping[str, Any]] = {}
    involved_classes: tuple[str, ...] = ()
    split: str = ""
    difficulty: str = ""
    script: Mapping[str, Any] = {}

    @property
    def multi_turn(self) -> bool:
        """Whether it is a turn of a dialogue or an agent task with a user."""
        return "multi_turn" in self.category


class AceGold(NamedTuple):
    """The gold of a task.

    Attributes:
        answer: `ground_truth` as in the file: calls by name, or a list of alternatives; names; states of classes.
        milestones: Alternatives of `mile_stone`, each messages in order. Of agent tasks only.
    """

    answer: Any
    milestones: tuple[tuple[str, ...], ...] = ()

    @property
    def listed(self) -> Sequence[Mapping[str, Any]]:
        """The answer as a list: alternatives of calls, or the states of classes, a class each."""
        return self.answer if isinstance(self.answer, list) else [self.answer]


class AceCheckout:
    """A checkout of ACEBench. Everything is read when it is asked for.

    Args:
        folder: The checkout.

    Raises:
        DataNotFound: It is no checkout.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / DATA).is_dir():
            raise DataNotFound(f"expected a checkout of ACEBench with {DATA}, got {folder}; {HOW_TO_GET}")
        self.folder = folder
        self._modules = UserModules(self.folder / CODE, CODE, how_to_get=HOW_TO_GET)

    def tasks(self, category: str) -> tuple[AceTask, ...]:
        """Return the tasks of a category, in the order of the file."""
        require_known("category", category, CATEGORIES)
        return tuple(
            AceTask(
                record["id"],
                category,
                record["question"],
                tuple(record["function"]),
                record.get("time", ""),
                record.get("profile", ""),
                record.get("initial_config", {}),
                tuple(record.get("involved_classes", ())),
                record.get("split", ""),
                record.get("difficulty", ""),
                record.get("script", {}),
            )
            for record in self._records(f"data_{category}.json")
        )

    def gold(self, category: str) -> dict[str, AceGold]:
        """Return the gold of a category, by task id."""
        require_known("category", category, CATEGORIES)
        found = {}
        for record in self._records(f"possible_answer/data_{category}.json"):
            stones = record.get("mile_stone", [])
            alternatives = [stones] if stones and isinstance(stones[0], str) else stones
            found[record["id"]] = AceGold(record["ground_truth"], tuple(map(tuple, alternatives)))
        return found

    def classes(self, loop: Loop = "multi_step") -> "ScenarioClasses":
        """Return the simulated classes of one of the two agent loops, by name."""
        return ScenarioClasses(self._modules, loop)

    def _records(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / DATA / name
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            raise DataNotFound(f"expected {path}, found none; {HOW_TO_GET}") from None
        return [json.loads(line) for line in lines if line.strip()]


class ScenarioClasses(Mapping[str, type]):
    """The simulated classes of one agent loop, by name. A file is run when its class is asked for."""

    def __init__(self, modules: UserModules, loop: Loop) -> None:
        self._modules = modules
        self._loop = loop

    def __getitem__(self, name: str) -> type:
        found: type = getattr(self._modules[Path(self._loop, "scenariosen", CLASS_FILES[name])], name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(CLASS_FILES)

    def __len__(self) -> int:
        return len(CLASS_FILES)
