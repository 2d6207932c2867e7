"""`IAD/Booking-v0`: booking a table in a restaurant, as text."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from iad_envs.booking.actions import key_of, read_action
from iad_envs.booking.engine import BookingEngine, is_lasting, is_terminal, passed
from iad_envs.booking.moments import day_text
from iad_envs.booking.pages import UNASKED, is_unasked, page_of, public_page, render_text, window_of
from iad_envs.booking.scoring import (
    PARTS,
    Memory,
    counts,
    gold_actions,
    published_parts,
    reservation_parts,
    sees_restaurant,
    subgoals,
)
from iad_envs.booking.state import BookingState, Exchanged
from iad_envs.booking.tasks import FILE as TASKS_FILE
from iad_envs.booking.tasks import BookingTask, load_tasks
from iad_envs.booking.user import answer_of, topics_of
from iad_envs.booking.world import FILE as WORLD_FILE
from iad_envs.booking.world import load_world
from iad_envs.core import Effect, IADEnv, Score, Snapshot, Transition, View
from iad_envs.data import DataVersion, data_folder, data_version
from iad_envs.spaces import UnicodeText

OPEN_SEATING = "Several kinds of seating are left, and neither the instruction nor the user has named one."
SEVERITIES: Mapping[str, str] = {
    "slot_taken": "error",
    "hold_expired": "error",
    "form_incomplete": "error",
    "double_booking": "error",
    "hold_released": "warning",
    "no_table": "warning",
    "cancelled": "note",
    UNASKED: "note",
}
"""Code of a finding -> severity, as in the other environments."""


@lru_cache(maxsize=8)
def load_engine(folder: Path) -> BookingEngine:
    """Return the engine of a data folder's world, one per process."""
    return BookingEngine(load_world(folder))


class BookingEnv(IADEnv[str, BookingState]):
    """The agent reads an instruction, finds a restaurant on a booking site, and reserves the right table.

    ## Description
    The restaurant task of Agent Q (Putta et al., 2024), on a site of our own: a search page, results, a restaurant's
    page with free times, seating, details and confirmation. Choosing a time holds the table for ten more actions.
    Others take tables, too. A reservation within two hours of an own one is refused. docs/booking.md says what is as in
    the paper and what is not.

    ## Action Space
    Text. `CLICK [id]`, `TYPE [id] [text]`, `CLEAR [id]`, `SUBMIT [id]`, `GOTO [url]`, `SCROLL [UP]`, `SCROLL [DOWN]`,
    `ASK USER HELP [text]`. Any other text changes nothing and counts as a step, and the observation says why it is
    invalid.

    ## Observation Space
    Text of at most 1,800 characters: title, address, the day, answers of the user, notices, and the 14 elements in the
    window with their ids and values.

    ## Rewards
    0, then 1 if the completed reservation is right in restaurant, date and time, party, seating and the user's details.
    Success is a reward of 1.

    ## Starting State
    The search page, with an instruction. The site may be set to another city.

    ## Episode End
    Terminated by `CLICK [complete]`, or SUBMIT of a field of the details, if the site accepts it. Truncated after
    `max_steps` actions.

    ## Information
    docs/booking.md lists all keys. `page` is the page as data. Gold keys, from `step` and `reset` only: `progress` (the
    largest share of subgoals so far), `success`, `reward_parts`.

    ## Arguments
        data_dir: Folder with `world.json` and `tasks.jsonl`. Default: `$IAD_DATA/booking`, else the bundled data.
        split: Name of the split: `test`, `dev` or `train`. None means all tasks.
        max_steps: Actions per episode.
        published: Whether success is the paper's: four parts, and any seating.
        render_mode: `ansi` or None.

    ## Version History
    * v0: First version.
    """

    domain = "iad_envs.booking.policy:DOMAIN"

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        split: str | None = "test",
        max_steps: int = 30,
        published: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self._folder = data_folder("booking", data_dir).resolve()
        self.engine = load_engine(self._folder)
        super().__init__(load_tasks(self._folder), max_steps=max_steps, split=split, render_mode=render_mode)
        self._published = published
        self.action_space = UnicodeText(1 << 20)
        self.observation_space: Any = UnicodeText(1 << 20)

    @property
    def data(self) -> DataVersion:
        """Version of the data this environment runs on."""
        return data_version(self._folder, (WORLD_FILE, TASKS_FILE))

    def action_key(self, action: str) -> str:
        """Return the action with its verb in capitals and its parts in brackets, and dates and times in one form."""
        read = read_action(action)
        return key_of(read) if read.verb else action.strip()

    def terminal(self, action: str) -> bool:
        """Whether the action completes a reservation, if the site accepts it."""
        return is_terminal(read_action(action))

    def irreversible(self, action: str) -> bool:
        """Whether the action cancels a reservation, or holds a table, which gives up another."""
        return is_lasting(read_action(action))

    def subject_of(self, task_id: str) -> str:
        """Return a hash of the restaurant that a task is about."""
        return sha256(self._task(task_id).restaurant.encode()).hexdigest()[:16]

    def _start(self, task: BookingTask) -> BookingState:
        return self.engine.start(task.scene, task.city, task.reservations)

    def _transition(self, state: BookingState, action: str, rng: np.random.Generator | None) -> Transition:
        return self.engine.act(state, action)

    def _passed(self, state: BookingState) -> BookingState:
        return passed(state)

    def _committed(self, after: Snapshot) -> Snapshot:
        has_question = bool(after.state.asked) and not after.state.asked[-1].answer  # as after the last step
        if not after.is_awaiting and not has_question:
            return after
        *before, last = after.state.asked
        answered = Exchanged(last.question, answer_of(after.task.answers, last.question), topics_of(last.question))
        return replace(after, state=after.state._replace(asked=(*before, answered)))

    def _view(self, state: BookingState, complaint: str) -> View:
        world = self.engine.world
        page = page_of(world, state)
        codes = [*state.findings, *([UNASKED] if is_unasked(state, page.seatings) else [])]
        facts = {
            "complaint": complaint,
            "findings": [
                {
                    "code": code,
                    "severity": SEVERITIES[code],
                    "message": OPEN_SEATING if code == UNASKED else state.notice,
                }
                for code in codes
            ],
            "today": day_text(0),
            "city": world.cities[state.city],
        }
        seen = window_of(state, page)
        fields = [one.id for one in seen if one.kind == "field"]
        settable = [*fields, *(one.id for one in seen if one.kind == "list")]
        typed = [name for name in fields if state.form.get(name)]
        actions = (  # clicks first, and last those that take a text
            *(f"CLICK [{one.id}]" for one in seen if one.kind != "field"),
            *(f"CLEAR [{name}]" for name in typed),
            *(f"SUBMIT [{name}]" for name in fields[:1]),
            *(["SCROLL [UP]"] if state.scroll else []),
            *(["SCROLL [DOWN]"] if len(page.elements) > state.scroll + len(seen) else []),
            "GOTO [home]",
            *(f"TYPE [{name}] [...]" for name in settable),
            "ASK USER HELP [...]",
        )
        text, data = render_text(world, state, page, complaint), public_page(world, state, page)
        return View(text, () if page.kind == "confirmation" else actions, facts, data)

    def _score(self, task: BookingTask, now: Snapshot, memory: Memory | None) -> Score:
        before = memory or Memory()
        state: BookingState = now.state
        is_booked = state.place.kind == "confirmation"
        parts = reservation_parts(task, state) if is_booked else dict.fromkeys(PARTS, 0.0)
        if self._published:
            parts = published_parts(parts)
        success = all(parts.values())
        has_seen = before.has_seen or sees_restaurant(task, state)
        goals = subgoals(task, state, has_seen=has_seen, success=success)
        best = max(before.best, sum(goals.values()) / len(goals))
        if success:  # the published rule lets a reservation pass whose seating is wrong
            best = 1.0
        parts |= counts(task, state, is_over=now.done, is_booked=is_booked)
        return Score(float(success), best, success, parts, Memory(best, has_seen))

    def _why(self, now: Snapshot, score: Score) -> str:
        """Return the parts of the reservation that are wrong."""
        if now.state.place.kind != "confirmation":
            return "no reservation was made"
        return f"wrong: {', '.join(name for name in PARTS if score.parts.get(name, 1.0) < 1.0)}"

    def _solution(self, task: BookingTask) -> list[str]:
        return gold_actions(self.engine, task)

    def _effect(self, before: BookingState, after: BookingState) -> Effect:
        """Tell what the site refused. Time passes with every action, which alone is no change."""
        failed = any(SEVERITIES[code] == "error" for code in after.findings)
        now = before._replace(steps=after.steps, notice=after.notice, findings=after.findings)
        return Effect(after.notice if failed else "", now != after)

    def _result_key(self, state: BookingState, view: View) -> Hashable:
        seen = (state.place, state.typed, state.scroll, state.opened)
        return (*seen, state.hold, state.reservations, state.lost, state.asked)
