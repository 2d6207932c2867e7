"""Responses of calls in numbers: a row of features for each, for models that read no text.

Features use what every agent may see. They say what a response is and how its words compare with the request's, and not
which response comes next.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iad_envs.toolcalls.policy.planning import RequestGoal, goals_of, is_unsure, match
from iad_envs.toolcalls.policy.reading import conversation, written_calls
from iad_envs.toolcalls.policy.responses import choices_of
from iad_policy.types import State

MANY = 4
"""Calls of a response, and of a turn, that count as many."""
FEATURES = (
    *("calls", "call:match", "call:best", "call:unasked", "call:plan", "call:values", "call:ungrounded"),
    *("call:missing", "call:unknown", "call:again", "call:failed", "call:looks", "call:several", "call:share"),
    *("reply", "reply:left", "reply:asks", "reply:lacking", "reply:unsure", "reply:worked", "reply:errors"),
    *("unsure", "late"),
)
PLACES = {name: place for place, name in enumerate(FEATURES)}


class CallFeatures:
    """Features of responses in a conversation.

    - `call`: how well the function's document matches a clause, whether it is the best for one, is asked for at all,
      and is the next call on the way; shares of its arguments that are as the reading takes them, and that nobody has
      said; what is missing, unknown, repeated or has failed; whether it only looks; several calls, and their share of
      the goals.
    - `reply`: how much is left to do, whether it asks, whether a value is lacking, no function fits, calls have worked
      or failed.
    """

    names = FEATURES
    identity = f"toolcalls {len(FEATURES)}"

    def actions(self, state: State) -> list[str]:
        """Return the responses to choose from, the likely ones first."""
        choices = choices_of(state)
        return sorted(choices, key=lambda action: -choices[action])

    def rows(self, state: State, actions: Sequence[Any]) -> NDArray[np.float64]:
        """Return the features of responses in a state, a row for each: shape (responses, features)."""
        page = _Responses(state)
        rows = np.zeros((len(actions), len(FEATURES)))
        for row, action in zip(rows, actions, strict=True):
            for name, value in page.features(str(action)).items():
                row[PLACES[name]] = value
        return rows


class _Responses:
    """What the features of responses in a state share."""

    def __init__(self, state: State) -> None:
        self._at = conversation(state)
        self._left: list[RequestGoal] = [goal for goal in goals_of(self._at) if not goal.is_served]
        self._is_unsure = float(is_unsure(self._at, self._left))
        self._said = {str(one.value) for one in self._at.mentions}

    def features(self, action: str) -> dict[str, float]:
        """Return the features of a response by name. Those that are not named are 0."""
        calls = written_calls(action) or ()
        shared = {"unsure": self._is_unsure, "late": min(1.0, len(self._at.now) / MANY)}
        if not calls:
            return {**shared, **self._replying(action)}
        rows = [self._calling(name, arguments) for name, arguments in calls]
        means = {name: sum(row.get(name, 0.0) for row in rows) / len(rows) for name in rows[0]}
        n_goals = max(1, len(self._left))
        return {
            **shared,
            **means,
            "calls": min(1.0, len(calls) / MANY),
            "call:several": float(len(calls) > 1),
            "call:share": min(1.0, len(calls) / n_goals),
        }

    def _replying(self, action: str) -> dict[str, float]:
        return {
            "reply": 1.0,
            "reply:left": min(1.0, len([goal for goal in self._left if goal.best.plan is not None]) / MANY),
            "reply:asks": float("?" in action),
            "reply:lacking": float(any(goal.best.plan is None for goal in self._left)),
            "reply:unsure": self._is_unsure,
            "reply:worked": float(bool(self._at.worked)),
            "reply:errors": min(1.0, sum(one.has_failed for one in self._at.now) / MANY),
        }

    def _calling(self, name: str, arguments: Mapping[str, Any]) -> dict[str, float]:
        tool = self._at.known.tools.get(name)
        if tool is None:
            return {"call:unknown": 1.0, **dict.fromkeys(("call:match", "call:best"), 0.0)}
        plans = [goal.best.plan for goal in self._left if goal.best.plan is not None and goal.best.plan.tool == tool]
        ways = [way for goal in self._left for wish in goal.wishes for way in (wish.plan, wish.binding) if way]
        same = [way.arguments for way in ways if way.tool.name == name]
        values = max((_same(arguments, other) for other in same), default=0.0)
        ungrounded = [value for value in arguments.values() if not self._is_said(value)]
        known = {one.name for one in tool.parameters}
        return {
            "call:match": min(1.0, max((match(self._at, clause, tool) for clause in self._at.clauses), default=0.0)),
            "call:best": float(any(goal.best.tool.name == name for goal in self._left)),
            "call:unasked": float(not same),
            "call:plan": float(any(dict(plan.arguments) == dict(arguments) for plan in plans)),
            "call:values": values,
            "call:ungrounded": len(ungrounded) / max(1, len(arguments)),
            "call:missing": float(any(one.name not in arguments for one in tool.required)),
            "call:unknown": float(not set(arguments) <= known),
            "call:again": float(any(one.name == name and one.arguments == arguments for one in self._at.now)),
            "call:failed": float(self._at.has_failed(name, arguments)),
            "call:looks": float(tool.only_looks),
        }

    def _is_said(self, value: Any) -> bool:
        """Whether a value stands in the request or in an earlier result."""
        written = str(value)
        if written in self._said or isinstance(value, bool) or written.removesuffix(".0") in self._said:
            return True
        if isinstance(value, list | tuple):
            return all(map(self._is_said, value))
        return written in self._at.request or any(written in one.result for one in self._at.made)


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    keys = {*one, *other}
    return sum(one.get(key) == other.get(key) for key in keys) / len(keys) if keys else 1.0
