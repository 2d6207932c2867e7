"""Tasks with gold and, where there is one, the script of their user. Read from a checkout or the bundled files."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, get_args

from iad_envs.toolcalls.acebench.checkout import CODE, AceCheckout, AceGold, AceTask, Loop
from iad_envs.toolcalls.acebench.executor import SAVED
from iad_envs.toolcalls.acebench.gold_classes import gold_by_class
from iad_envs.toolcalls.acebench.user import UserScript, first_message, script_of_instruction
from iad_envs.toolcalls.bfcl.data import spoken
from iad_envs.toolcalls.worlds import ACE_WORLD_NAMES, class_of, world

Messages = tuple[Mapping[str, str], ...]


class AceEntry(NamedTuple):
    """A task with gold.

    Attributes:
        task: The task.
        gold: Its gold.
        messages: What is said before the agent's first response.
        instruction: What the user says of it.
        script: What its user wants and knows. Of multi-turn agent tasks only; made from gold where the file has none.
    """

    task: AceTask
    gold: AceGold
    messages: Messages
    instruction: str
    script: UserScript | None = None

    @property
    def task_id(self) -> str:
        """Id of the task."""
        return self.task.task_id

    @property
    def split(self) -> str:
        """Split of a bundled task."""
        return self.task.split

    @property
    def difficulty(self) -> str:
        """Difficulty of a bundled task."""
        return self.task.difficulty


class AceData(NamedTuple):
    """The simulated classes of a folder.

    Attributes:
        classes: The classes of each agent loop, by name.
        saved: Attributes that are compared with gold, by class.
        lasting: Functions whose effect can't be taken back.
        base: The part of a configuration that every class reads.
        is_official: Whether the classes, and so the tasks, are the official ones.
    """

    classes: Mapping[Loop, Mapping[str, type]]
    saved: Mapping[str, Sequence[str]]
    lasting: frozenset[str]
    base: str
    is_official: bool


UNREACHABLE: Mapping[str, str] = dict.fromkeys(
    ("agent_multi_step_0", "agent_multi_step_1"),
    "gold has a new reminder as number 3, and the class gives numbers from 4",
)
"""Official agent tasks whose gold state no calls lead to, with the reason."""
WRONG_MILESTONES: Mapping[str, str] = {
    **dict.fromkeys(("agent_multi_step_12", "agent_multi_step_13"), "an order without the log-in that it needs"),
    **dict.fromkeys(
        ("agent_multi_step_14", "agent_multi_step_15", "agent_multi_step_17"),
        "the earliest message is deleted, and gold lacks the latest",
    ),
    **dict.fromkeys(("agent_multi_step_16", "agent_multi_turn_6"), "the device is not logged in"),
}
"""Official agent tasks whose milestones, carried out, do not lead to the gold state, with the reason."""


@lru_cache(maxsize=4)
def load_ace_data(folder: Path) -> AceData:
    """Return a folder's simulated classes: those of a checkout, else the bundled worlds."""
    if (folder / CODE).is_dir():
        checkout = AceCheckout(folder)
        official: dict[Loop, Mapping[str, type]] = {loop: checkout.classes(loop) for loop in get_args(Loop)}
        lasting = frozenset(
            (
                *("send_message", "delete_message", "delete_reminder", "add_food_delivery_order", "reserve_flight"),
                *("cancel_reservation", "modify_flight"),
            )
        )
        return AceData(official, SAVED, lasting, "BaseApi", is_official=True)
    worlds = {name: world(name) for name in ACE_WORLD_NAMES}
    classes = {name: class_of(name) for name in worlds}
    saved = {name: tuple(one.public(one.load({}))) for name, one in worlds.items()}
    last = frozenset[str]().union(*(one.lasting for one in worlds.values()))
    return AceData({"multi_step": classes, "multi_turn": classes}, saved, last, "Phone", is_official=False)


@lru_cache(maxsize=32)
def load_entries(folder: Path, categories: tuple[str, ...]) -> dict[str, AceEntry]:
    """Return the tasks of some categories with gold, by id.

    Raises:
        DataNotFound: A file is missing.
    """
    checkout = AceCheckout(folder)
    found = {}
    for category in categories:
        golds = checkout.gold(category)
        for task in checkout.tasks(category):
            gold, script = golds[task.task_id], None
            opening = messages_of(task)
            if task.category == "agent_multi_turn":
                wanted = gold_by_class(gold, task.involved_classes)
                script = (
                    UserScript.from_record(task.script) if task.script else script_of_instruction(task.question, wanted)
                )
                opening = ({"role": "user", "content": first_message(script).text},)
            found[task.task_id] = AceEntry(task, gold, opening, spoken(opening), script)
    return found


def messages_of(task: AceTask) -> Messages:
    """Return the dialogue of a task as messages. Its time and what is known of the user stand before it."""
    known = [f"{label}: {text}" for label, text in (("Time", task.time), ("User", task.profile)) if text]
    messages = [{"role": "system", "content": "\n".join(known)}] if known else []
    parts = re.split(r"^(user|system): ?", task.question, flags=re.MULTILINE)
    if len(parts) == 1:
        return (*messages, {"role": "user", "content": task.question.strip()})
    said = zip(parts[1::2], parts[2::2], strict=True)
    return (
        *messages,
        *({"role": "user" if who == "user" else "assistant", "content": text.strip()} for who, text in said),
    )
