"""What is wrong with a task: its gold must score 1 with time to spare, and paths that ignore its trap must not."""

from collections.abc import Iterator, Sequence

from iad_envs.booking.engine import BookingEngine
from iad_envs.booking.pages import offered_slots, steps_held
from iad_envs.booking.scoring import gold_actions, reservation_parts
from iad_envs.booking.state import BookingState
from iad_envs.booking.tasks import BookingTask

SPARE = 2
"""Actions that gold must have to spare."""
MAX_GOLD = 26
DETOUR = ("CLICK [mine]", "CLICK [home]", "CLICK [mine]", "CLICK [home]")


def faults(engine: BookingEngine, task: BookingTask) -> list[str]:
    """Return what is wrong with a task, in words."""
    try:
        gold = gold_actions(engine, task)
    except (StopIteration, RuntimeError):
        return ["gold can't be done"]
    return list(_faults(engine, task, gold))


def _faults(engine: BookingEngine, task: BookingTask, gold: Sequence[str]) -> Iterator[str]:
    if len(gold) > MAX_GOLD:
        yield "gold is too long"
    if not succeeds(engine, task, gold):
        yield "gold fails"
    *before, last = walked(engine, task, gold[:-1])
    if steps_held(last) <= SPARE:
        yield "gold has too little time to complete"
    if not succeeds(engine, task, [*DETOUR[:SPARE], *gold]):
        yield "gold has too little time to hold the table"
    held = next(place for place, action in enumerate(gold) if action.startswith("CLICK [slot-"))
    if "nearest" in task.kinds:
        offered = offered_slots(engine.world, [engine.start(task.scene, task.city), *before][held])
        if offered[0] in task.gold_slots:
            yield "the first time that is offered is right"
    if "contested" in task.kinds:
        if succeeds(engine, task, [*DETOUR, *gold]):
            yield "a detour does no harm"
        again = [*gold[: held + 1], "CLICK [home]", *gold[:held][-_n_back(gold, held) :], *gold[held:]]
        if succeeds(engine, task, again):
            yield "to let the table go does no harm"
    if "move" in task.kinds:
        at = gold.index("CLICK [mine]")
        if succeeds(engine, task, [*gold[:at], *gold[at + 4 :]]):
            yield "the old reservation does no harm"
        cancelling = gold[at : at + 3]
        if succeeds(engine, task, [*cancelling, "CLICK [home]", *gold[:at], *gold[at + 4 :]]):
            yield "to cancel first does no harm"


def _n_back(gold: Sequence[str], held: int) -> int:
    """Return how many actions before the hold lead from the search page to the times."""
    start = next(place for place, action in enumerate(gold) if action.startswith("TYPE [q]"))
    return held - start


def walked(engine: BookingEngine, task: BookingTask, actions: Sequence[str]) -> list[BookingState]:
    """Return the states after each action."""
    state = engine.start(task.scene, task.city, task.reservations)
    states = []
    for action in actions:
        state = engine.act(state, action).state
        states.append(state)
    return states


def succeeds(engine: BookingEngine, task: BookingTask, actions: Sequence[str]) -> bool:
    """Whether actions solve a task."""
    state = walked(engine, task, actions)[-1]
    return state.place.kind == "confirmation" and all(reservation_parts(task, state).values())
