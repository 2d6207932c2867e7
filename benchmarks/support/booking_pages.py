"""Final pages of the booking site: of gold, and of reservations that are wrong in exactly one part."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
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
    """Yield n right final pages, and n that are wrong in exactly one part, over the environment's tasks."""
    inner, rng = env.unwrapped, Random(seed)
    for number in range(n):
        task = inner._task(rng.choice(inner.task_ids))
        yield _played(inner, task, gold_actions(inner.engine, task), "")
        what, found = WRONG[number % len(WRONG)], None
        while found is None or len(found.wrong_parts) != 1:  # not every task allows it
            task = inner._task(rng.choice(inner.task_ids))
            other = _other(inner.engine.world, task, what, rng)
            if other is not None:
                with suppress(StopIteration, RuntimeError):
                    found = _played(inner, task, gold_actions(inner.engine, other), what)
        yield found


def _other(world: Any, task: BookingTask, what: str, rng: Random) -> BookingTask | None:
    """Return a task that differs in one part, or nothing if it has none."""
    free = world.tables(task.restaurant, task.day, task.party)
    if what == "restaurant":
        there = [one.slug for one in world.search("", world.restaurants[task.restaurant].city)]
        near = [slug for slug in there if task.minute in world.tables(slug, task.day, task.party)]
        near = [slug for slug in near if slug != task.restaurant]
        return task._replace(restaurant=rng.choice(near), gold_slots=(task.minute,), seating="") if near else None
    if what == "day":
        day = task.day + rng.choice((-1, 1, 7))
        is_free = 0 <= day < 119 and task.minute in world.tables(task.restaurant, day, task.party)
        return task._replace(day=day, gold_slots=(task.minute,), seating="") if is_free else None
    if what == "time":
        others = [one for one in free if one not in task.gold_slots and abs(one - task.minute) <= 60]
        return task._replace(gold_slots=(rng.choice(others),)) if others else None
    if what == "party":
        party = task.party + rng.choice((-1, 1))
        is_free = 1 <= party <= 8 and set(task.gold_slots) & set(world.tables(task.restaurant, task.day, party))
        return task._replace(party=party) if is_free else None
    if what == "seating":
        seatings = [one for one in free.get(task.gold_slots[0], ()) if one != task.seating]
        return task._replace(seating=rng.choice(seatings)) if task.seating and seatings else None
    value = getattr(task.user, what)
    changed = value[:-1] + ("7" if value[-1] != "7" else "1") if what == "phone" else f"x{value}"
    return task._replace(user=task.user._replace(**{what: changed}))


def _played(inner: Any, task: BookingTask, actions: Sequence[str], wrong: str) -> FinalPage:
    """Play actions in a task and return the last state."""
    turns: list[Turn] = []
    observation, info = inner.reset(options={"task_id": task.task_id})
    public = {name: value for name, value in info.items() if name not in inner.GOLD_INFO}
    for action in actions:
        turns.append(Turn(observation, action, public))
        observation, _, terminated, truncated, info = inner.step(action)
        public = {name: value for name, value in info.items() if name not in inner.GOLD_INFO}
        if terminated or truncated:
            break
    return FinalPage(State(observation, public, history=tuple(turns), done=True), wrong, info["reward_parts"])
