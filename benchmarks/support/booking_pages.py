"""Final pages of the booking site: of gold, and of reservations that are wrong in exactly one part."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from iad_envs.booking.scoring import PARTS, gold_actions
from iad_envs.booking.tasks import BookingTask
from iad_policy.types import State, Turn

WRONG = ("restaurant", "day", "time", "party", "seating", "first_name", "last_name", "phone", "email")


class FinalPage(NamedTuple):
    """The last state of an episode, what was made wrong ("" for nothing), and the parts by the site's data."""

    state: State
    wrong: str
    parts: Mapping[str, float]

    @property
    def wrong_parts(self) -> list[str]:
        """The parts that the site's data call wrong."""
        return [name for name in PARTS if not self.parts[name]]


def final_pages(env: Any, n: int, *, seed: int = 0) -> Iterator[FinalPage]:
    """Yield n right final pages, and n that are wrong in exactly one part, over the environment's tasks.

    Args:
        env: The environment.
        n: Number of each.
        seed: Seed of tasks and changes.
    """
    inner, rng = env.unwrapped, Random(seed)
    for number in range(n):
        task = inner._task(rng.choice(inner.task_ids))
        yield _played(inner, task, gold_actions(inner.engine, task), "")
        yield next(_wrong_pages(inner, WRONG[number % len(WRONG)], rng))


def _wrong_pages(inner: Any, what: str, rng: Random) -> Iterator[FinalPage]:
    """Yield final pages that are wrong in exactly one part, of tasks that allow it."""
    while True:
        task = inner._task(rng.choice(inner.task_ids))
        actions = _wrong_actions(inner, task, what, rng)
        if actions:
            found = _played(inner, task, actions, what)
            if len(found.wrong_parts) == 1:
                yield found


def _wrong_actions(inner: Any, task: BookingTask, what: str, rng: Random) -> list[str]:
    """Return the gold actions of a task that differs in one part, or nothing if it has none."""
    other = _other(inner, task, what, rng)
    if other is None:
        return []
    try:
        return gold_actions(inner.engine, other)
    except (StopIteration, RuntimeError):
        return []


def _other(inner: Any, task: BookingTask, what: str, rng: Random) -> BookingTask | None:
    world = inner.engine.world
    if what == "restaurant":
        city = world.restaurants[task.restaurant].city
        near = [
            one.slug for one in world.search("", city) if task.minute in world.tables(one.slug, task.day, task.party)
        ]
        near = [slug for slug in near if slug != task.restaurant]
        return task._replace(restaurant=rng.choice(near), gold_slots=(task.minute,), seating="") if near else None
    if what == "day":
        day = task.day + rng.choice((-1, 1, 7))
        is_free = 0 <= day < 119 and task.minute in world.tables(task.restaurant, day, task.party)
        return task._replace(day=day, gold_slots=(task.minute,), seating="") if is_free else None
    if what == "time":
        free = world.tables(task.restaurant, task.day, task.party)
        near = [one for one in free if one not in task.gold_slots and abs(one - task.minute) <= 60]
        return task._replace(gold_slots=(rng.choice(near),)) if near else None
    if what == "party":
        party = task.party + rng.choice((-1, 1))
        is_free = 1 <= party <= 8 and set(task.gold_slots) & set(world.tables(task.restaurant, task.day, party))
        return task._replace(party=party) if is_free else None
    if what == "seating":
        free = world.tables(task.restaurant, task.day, task.party)
        others = [one for one in free.get(task.gold_slots[0], ()) if one != task.seating]
        return task._replace(seating=rng.choice(others)) if task.seating and others else None
    value = getattr(task.user, what)
    changed = value[:-1] + ("7" if value[-1] != "7" else "1") if what == "phone" else f"x{value}"
    return task._replace(user=task.user._replace(**{what: changed}))


def _played(inner: Any, task: BookingTask, actions: Sequence[str], wrong: str) -> FinalPage:
    """Play actions in a task and return the last state."""
    observation, info = inner.reset(options={"task_id": task.task_id})
    turns: list[Turn] = []
    for action in actions:
        turns.append(Turn(observation, action, _public(inner, info)))
        observation, _, terminated, truncated, info = inner.step(action)
        if terminated or truncated:
            break
    state = State(observation, _public(inner, info), history=tuple(turns), done=True)
    return FinalPage(state, wrong, info["reward_parts"])


def _public(inner: Any, info: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in info.items() if name not in inner.GOLD_INFO}
