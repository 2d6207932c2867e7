"""Limits the cost of a decision, an episode or a run, in total or for one role.

A limit is named `scope[.role].axis`, such as `decision.proposals`, `episode.judge.prompt_tokens` or `run.usd`. Counts
are reserved before the work is done. Tokens, seconds and dollars are known only afterwards, so one call may exceed such
a limit.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import compress
from threading import Event, RLock
from typing import Literal

from iad_policy.errors import BudgetExhausted, Interrupted
from iad_policy.types import NOTHING, Usage
from iad_policy.types.names import ROLES, SIMULATOR

Scope = Literal["decision", "episode", "run"]
SCOPES: tuple[Scope, ...] = ("decision", "episode", "run")
COUNTED = ("proposals", "verifications", "simulations", "asks", "env_steps")
MEASURED = ("prompt_tokens", "completion_tokens", "tokens", "seconds", "usd")
SPENDERS = ("agent", "verifier", *ROLES, SIMULATOR)


@dataclass(frozen=True)
class Budget:
    """Limits by name, such as `Budget({"decision.proposals": 3, "run.tokens": 1_000_000})`.

    Raises:
        ValueError: A name is not the name of a limit, or a value is negative or not a number.
    """

    limits: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, limit in self.limits.items():
            scope, *role, axis = name.split(".") if "." in name else ("", name)
            is_role_known = len(role) <= 1 and all(one in SPENDERS for one in role)
            if scope not in SCOPES or axis not in (*COUNTED, *MEASURED) or not is_role_known:
                raise ValueError(
                    f"expected a limit named scope[.role].axis, got {name!r}; scopes: {', '.join(SCOPES)}; "
                    f"roles: {', '.join(SPENDERS)}; axes: {', '.join((*COUNTED, *MEASURED))}"
                )
            if not isinstance(limit, int | float) or math.isnan(limit) or limit < 0:
                raise ValueError(f"expected a limit of 0 or more for {name}, got {limit!r}; leave it out for no limit")

    def of(self, scope: Scope) -> "tuple[Limit, ...]":
        """Return the limits of one scope."""
        found = []
        for name, limit in self.limits.items():
            where, *role, axis = name.split(".")
            if where == scope:
                found.append(Limit(name, role[0] if role else "", axis, limit))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: its full name, its role ("" for all), its axis and its value."""

    name: str
    role: str
    axis: str
    value: float


class Meter:
    """Counts the usage of one scope by role, and passes every charge on to the enclosing scope.

    Args:
        limits: The limits of this scope.
        parent: The meter of the enclosing scope, if any.
    """

    def __init__(self, limits: tuple[Limit, ...] = (), parent: "Meter | None" = None) -> None:
        self._limits = limits
        self._parent = parent
        # One lock for the whole chain: a grant checks and charges all scopes atomically.
        self._lock: RLock = RLock() if parent is None else parent._lock
        # One event for the whole chain: stopping any scope stops the whole run.
        self.stopped: Event = Event() if parent is None else parent.stopped
        self._spent: dict[str, list[float]] = {}
        self.is_measured: bool = any(limit.axis in MEASURED for limit in limits) or (
            parent is not None and parent.is_measured
        )
        self._is_limited: bool = bool(limits) or (parent is not None and parent._is_limited)

    @property
    def spent(self) -> dict[str, Usage]:
        """Usage by role."""
        with self._lock:
            return {role: Usage(*values) for role, values in self._spent.items()}  # type: ignore[arg-type]

    @property
    def total(self) -> Usage:
        """Total usage of all roles."""
        return sum(self.spent.values(), NOTHING)

    def forget(self) -> None:
        """Begin to count anew, in this scope only."""
        with self._lock:
            self._spent.clear()

    def charge(self, role: str, usage: Usage) -> None:
        """Add the usage of a role, here and in all enclosing scopes."""
        # Every call is charged in three scopes, and most of its axes are 0.
        parts = list(compress(enumerate(usage), usage))
        with self._lock:
            meter: Meter | None = self
            while meter is not None:
                spent = meter._spent.get(role)
                if spent is None:
                    spent = meter._spent[role] = list(NOTHING)
                for place, value in parts:
                    spent[place] += value
                meter = meter._parent

    def charge_all(self, spent: Mapping[str, Usage]) -> None:
        """Add the usage of an episode that ran elsewhere or earlier, by role."""
        for role, usage in spent.items():
            self.charge(role, usage)

    def grant(self, role: str, axis: str, n: int, *, whole: bool = False) -> tuple[int, str]:
        """Reserve up to `n` on a counted axis; with `whole`, all of them or none.

        Returns:
            The number that was granted (and charged), and the name of the limit that reduced it ("" for none).
        """
        with self._lock:
            room, name = self._room(role, axis) if self._is_limited else (math.inf, "")
            granted = n if room >= n else 0 if whole else max(0, int(room))
            if granted:
                self.charge(role, count(axis, granted))
        return granted, name if granted < n else ""

    def refuse_if_stopped(self) -> None:
        """Raise `Interrupted` if the run was asked to stop."""
        if self.stopped.is_set():
            raise Interrupted

    def exhausted(self, role: str) -> str:
        """Return the name of a measured limit that is reached already, or ""."""
        return self._first_met(role, MEASURED) if self.is_measured else ""

    def refuse_if_spent(self, role: str) -> None:
        """Raise `BudgetExhausted` if the role has no budget left for a proposal."""
        name = self._first_met(role, (*MEASURED, "proposals", "env_steps")) if self._is_limited else ""
        if name:
            raise BudgetExhausted(name)

    def _room(self, role: str, axis: str) -> tuple[float, str]:
        room, name = (math.inf, "") if self._parent is None else self._parent._room(role, axis)
        for limit in self._limits:
            if limit.axis == axis and limit.role in ("", role):
                left = limit.value - self._spent_on(limit)
                if left < room:
                    room, name = left, limit.name
        return room, name

    def _first_met(self, role: str, axes: tuple[str, ...]) -> str:
        for limit in self._limits:
            if limit.axis in axes and limit.role in ("", role) and self._spent_on(limit) >= limit.value:
                return limit.name
        return "" if self._parent is None else self._parent._first_met(role, axes)

    def _spent_on(self, limit: Limit) -> float:
        spent = self.spent.get(limit.role, NOTHING) if limit.role else self.total
        return float(getattr(spent, limit.axis))


@cache
def count(axis: str, n: int) -> Usage:
    """Return a usage of `n` on one counted axis."""
    return Usage(**{axis: n})
