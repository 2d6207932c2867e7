"""Visits to the booking site for tests: ways through it, and data folders of a few tasks."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from iad_envs.booking.engine import BookingEngine
from iad_envs.booking.env import BookingEnv, load_engine
from iad_envs.booking.moments import clock, iso
from iad_envs.booking.pages import GUEST_FIELDS, slot_id
from iad_envs.booking.state import BookingState
from iad_envs.booking.tasks import BookingTask, load_tasks
from iad_envs.data import data_folder
from tests.contract.environments import same

FOLDER = data_folder("booking", None).resolve()
TASKS: Mapping[str, BookingTask] = load_tasks(FOLDER)
ENGINE = load_engine(FOLDER)
WORLD = ENGINE.world
TEST = [task for task in TASKS.values() if task.split == "test"]


def tasks_with(kind: str, split: str = "test") -> list[BookingTask]:
    return [task for task in TASKS.values() if kind in task.kinds and task.split == split]


def play(env: BookingEnv, actions: Iterable[str]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """Step through actions; the last step."""
    observation, reward, terminated, truncated, info = [env.step(action) for action in actions][-1]
    return observation, float(reward), terminated, truncated, info


def started(task: BookingTask, **options: Any) -> BookingEnv:
    env = BookingEnv(split=None, **options)
    env.reset(options={"task_id": task.task_id})
    return env


def start_of(task: BookingTask) -> BookingState:
    return ENGINE.start(task.scene, task.city, task.reservations)


def walked(state: BookingState, actions: Iterable[str], engine: BookingEngine = ENGINE) -> BookingState:
    """The state after actions; after the end of the episode nothing changes."""
    for action in actions:
        state, _, done, _ = engine.act(state, action)
        if done:
            break
    return state


def address(slug: str, day: int, minute: int, party: int) -> str:
    return f"GOTO [/r/{slug}?date={iso(day)}&time={clock(minute)}&party={party}]"


def to_table(task: BookingTask, minute: int = -1) -> list[str]:
    """Actions that hold a table of a task, the first right one unless a time is given, but not its seating."""
    minute = task.gold_slots[0] if minute < 0 else minute
    return [address(task.restaurant, task.day, minute, task.party), f"CLICK [{slot_id(minute)}]"]


def booking(task: BookingTask, minute: int = -1, *, keeps_old: bool = False) -> list[str]:
    """Actions that book what a task says by its address. It may be a task that was changed."""
    minute = task.gold_slots[0] if minute < 0 else minute
    seatings = WORLD.tables(task.restaurant, task.day, task.party)[minute]
    actions = to_table(task, minute)
    if len(seatings) > 1:
        actions.append(f"CLICK [seat-{task.seating or seatings[0]}]")
    known = dict.fromkeys(GUEST_FIELDS, "")
    if task.own is not None:
        known = dict(zip(GUEST_FIELDS, task.own.guest, strict=True))
        if not keeps_old:
            actions += [f"CLICK [{name}]" for name in ("mine", "cancel", "cancel-yes", "hold")]
    return [*actions, *filled(dict(zip(GUEST_FIELDS, task.user, strict=True)), known), "CLICK [complete]"]


def filled(details: Mapping[str, str], known: Mapping[str, str]) -> list[str]:
    new = {name: value for name, value in details.items() if value != known[name]}
    pairs = [([f"CLEAR [{name}]"] if known[name] else [], f"TYPE [{name}] [{value}]") for name, value in new.items()]
    return [action for clearing, typing in pairs for action in (*clearing, typing)]


def folder_of(folder: Path, *tasks: BookingTask) -> Path:
    folder.mkdir(parents=True)
    shutil.copy(FOLDER / "world.json", folder)
    lines = [json.dumps(task.as_record()) for task in tasks]
    (folder / "tasks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def alone(folder: Path, task: BookingTask) -> BookingEnv:
    """An environment at the start of a task that may be no bundled one."""
    env = BookingEnv(data_dir=folder_of(folder, task), split=None)
    env.reset(options={"task_id": task.task_id})
    return env


def public(info: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in info.items() if key not in BookingEnv.GOLD_INFO}


def assert_alike(envs: Sequence[BookingEnv], actions: Sequence[str], *tried: str) -> None:
    """Whatever an agent sees along actions, and of other actions tried on the way, is the same in both environments."""
    first, second = envs
    for action in actions:
        for ahead in (action, *tried):
            simulated = [env.simulate(env.snapshot(), ahead)[1:] for env in envs]
            assert same(*simulated), (action, ahead)
        one, other = first.step(action), second.step(action)
        assert same((one[0], one[2:4], public(one[4])), (other[0], other[2:4], public(other[4]))), action
