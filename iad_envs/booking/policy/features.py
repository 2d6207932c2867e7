"""The booking site's pages in numbers: a row of features for each action, for models that read no text.

Features use what every agent may see: the instruction, the page, what it offers, and the number of the step. They say
what an action is about and how its words compare with the instruction's, and not which action comes next.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iad_envs.booking.policy.agent import QUESTION
from iad_envs.booking.policy.instruction import (
    FIELDS,
    has_reservation,
    instruction_of,
    is_detail,
    listed,
    looked_for,
    minute_of,
    same_words,
    wanted_seating,
    wish_of,
)
from iad_policy.prompts.rendering import page_of
from iad_policy.types import State

FEATURES = (
    *("query", "query:words", "query:again"),
    *("city", "city:named", "city:set"),
    *("go", "go:empty", "go:elsewhere"),
    *("open", "open:words", "open:first", "open:unasked", "next", "prev"),
    *("date", "time", "party", "wish:named", "wish:set"),
    *("find", "find:differs", "find:done"),
    *("slot", "slot:off", "slot:exact", "slot:nearest", "slot:differs", "slot:held"),
    *("seat", "seat:named", "seat:unnamed", "ask", "ask:unnamed", "ask:again", "ask:elsewhere"),
    *("detail", "detail:named", "detail:set"),
    *("complete", "complete:empty", "complete:own"),
    *("mine", "mine:own", "mine:held"),
    *("cancel", "cancel:held", "cancel-yes", "cancel-yes:held", "keep", "keep:held"),
    *("hold", "hold:own", "home", "home:held", "scroll", "late"),
)


class BookingFeatures:
    """Features of actions on the booking site.

    - `query`, `city`, `date`, `time`, `party`, `detail`: a text that is typed, whether it is what the instruction says
      of the field, and whether the field has it already.
    - `open`: a restaurant of the results: the share of the wanted name's words in its name, and whether it is listed
      first, or before the wanted name was searched for.
    - `slot`: a time: hours between it and the wanted one, whether it is that or the nearest, and whether the page looks
      for another day, time or party.
    - `seat`, `ask`: whether the instruction or the user names a kind of seating.
    - `complete`, `mine`, `cancel`, `hold`, `home`: with what is empty, own, or held.
    """

    names = FEATURES
    identity = f"booking {len(FEATURES)}"

    def actions(self, state: State) -> list[str]:
        """Return the actions to choose from: clicks of the page, texts of the instruction to type, and a question."""
        found = [
            action
            for action in state.info["available_actions"]
            if action.startswith(("CLICK", "SCROLL", "GOTO")) and action != "CLICK [city]"
        ]
        page, wanted = page_of(state), instruction_of(state)
        fields = {one["id"] for one in page["elements"] if one["kind"] in ("field", "list")}
        typed: list[tuple[str, str]] = []  # fields, and texts of the instruction that may belong there
        if wanted.restaurant:
            words = wanted.restaurant.split()
            typed += [("q", text) for text in dict.fromkeys((wanted.restaurant, words[0], words[-1]))]
        if wanted.city:
            typed.append(("city", wanted.city))
        typed += wish_of(wanted).items()
        typed += [(name, value) for name in FIELDS for value in dict.fromkeys(wanted.details.values())]
        found += [f"TYPE [{name}] [{text}]" for name, text in typed if name in fields]
        return [*found, QUESTION]

    def rows(self, state: State, actions: Sequence[Any]) -> NDArray[np.float64]:
        """Return the features of actions in a state, a row for each: shape (actions, features)."""
        page = _BookingPage(state)
        rows = np.zeros((len(actions), len(FEATURES)))
        for row, action in zip(rows, actions, strict=True):
            for name, value in page.features(str(action)).items():
                row[FEATURES.index(name)] = value
        return rows


class _BookingPage:
    """What the features of a page's actions share."""

    def __init__(self, state: State) -> None:
        self._wanted = instruction_of(state)
        self._page = page_of(state)
        self._form = self._page["form"]
        self._values = {one["id"]: one["value"] for one in self._page["elements"]}
        self._restaurants = listed(self._page)
        self._own = float(has_reservation(self._page)) * self._wanted.moves
        self._held = float(bool(self._page["hold"]))
        self._seating = wanted_seating(state, self._page["seatings"])
        self._was_asked = float(any(str(turn.action).startswith("ASK") for turn in state.history))
        self._late = state.info["step"] / 30
        self._wish = wish_of(self._wanted)
        self._differs = sum(self._form.get(name) != value for name, value in self._wish.items())

    def features(self, action: str) -> dict[str, float]:
        """Return the features of an action by name. Those that are not named are 0."""
        verb, _, rest = action.partition(" ")
        target, _, text = rest.partition("] [")
        target, text = target.strip("[]"), text.removesuffix("]")
        page, wanted, form = self._page, self._wanted, self._form
        if verb == "TYPE":
            return self._typing(target, text)
        if verb == "ASK":
            return {
                "ask": 1.0,
                "ask:unnamed": float(bool(page["seatings"]) and not self._seating),
                "ask:again": self._was_asked,
                "ask:elsewhere": float(not page["seatings"]),
            }
        if verb == "SCROLL":
            return {"scroll": 1.0}
        if verb == "GOTO":
            return {"home": 1.0, "home:held": self._held}
        head, _, rest = target.partition("-")
        if head == "r":
            words = set(wanted.restaurant.casefold().split())
            label = set(self._restaurants.get(target, "").casefold().split())
            return {
                "open": 1.0,
                "open:words": len(words & label) / max(1, len(words | label)),
                "open:first": float([*self._restaurants][:1] == [target]),
                "open:unasked": float(not same_words(form.get("q", ""), wanted.restaurant)),
            }
        if head == "slot":
            off = abs(minute_of(rest) - wanted.minute)
            least = min((abs(minute_of(one) - wanted.minute) for one in page["slots"]), default=0)
            asked = looked_for(page)
            return {
                "slot": 1.0,
                "slot:off": min(2.0, off / 60),
                "slot:exact": float(off == 0),
                "slot:nearest": float(off == least),
                "slot:differs": sum(asked.get(field) != value for field, value in self._wish.items()) / 3,
                "slot:held": self._held,
            }
        if head == "seat":
            is_named = float(rest == self._seating)
            return {"seat": 1.0, "seat:named": is_named, "seat:unnamed": float(not self._seating)}
        if target == "go":
            is_there = same_words(self._values.get("city", ""), wanted.city)
            is_empty = not self._values.get("q")
            return {"go": 1.0, "go:empty": float(is_empty), "go:elsewhere": float(not is_there)}
        if target == "find":
            asked = looked_for(page)
            is_done = all(asked.get(field) == form.get(field) for field in ("date", "time", "party"))
            return {"find": 1.0, "find:differs": self._differs / 3, "find:done": float(is_done)}
        if target == "complete":
            wrong = sum(not is_detail(name, form.get(name, ""), value) for name, value in wanted.details.items())
            return {"complete": 1.0, "complete:empty": wrong / 4, "complete:own": self._own}
        found = {target: 1.0, f"{target}:own": self._own, f"{target}:held": self._held, "late": self._late}
        return {feature: value for feature, value in found.items() if feature in FEATURES}

    def _typing(self, field: str, text: str) -> dict[str, float]:
        if field == "q":
            again = float(bool(self._values.get("q")))
            return {"query": 1.0, "query:words": float(same_words(text, self._wanted.restaurant)), "query:again": again}
        if field == "city":
            is_set = same_words(self._values.get("city", ""), text)
            return {"city": 1.0, "city:named": float(same_words(text, self._wanted.city)), "city:set": float(is_set)}
        if field in self._wish:
            is_set = self._form.get(field) == text
            return {field: 1.0, "wish:named": float(self._wish[field] == text), "wish:set": float(is_set)}
        given = self._form.get(field, "")
        is_named = self._wanted.details.get(field, "") == text
        return {"detail": 1.0, "detail:named": float(is_named), "detail:set": float(bool(given))}
