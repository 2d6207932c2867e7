"""Manages the budget of one decision.

Counts are reserved before the work is done, and refunded if it is not done. Tokens, seconds and dollars are charged
afterwards, so one call may exceed such a limit. Cuts are logged, so that a replay is cut at the same place.
"""

from iad_policy.budget import Meter, count
from iad_policy.errors import BudgetExhausted
from iad_policy.ledger.answer_log import AnswerLine, EpisodeLog
from iad_policy.types import Usage


class Spending:
    """Reserves, refunds and charges the usage of one decision.

    Args:
        meter: The decision's meter, whose parents are the meters of the episode and the run.
        log: The episode's part of the answer log, if there is one.

    Attributes:
        cut: The limit that cut the decision last; "" for none.
        overdraft: The limit that the guaranteed proposal exceeded; "" for none.
        is_measured: Whether a limit is on tokens, seconds or dollars. Then calls are made one at a time.
    """

    def __init__(self, meter: Meter, log: EpisodeLog | None) -> None:
        self._meter = meter
        self._log = log
        self._has_guaranteed = True
        self.cut = ""
        self.overdraft = ""
        self.is_measured = meter.is_measured
        self.stopped = meter.stopped
        self.refuse_if_stopped = meter.refuse_if_stopped
        self.exhausted = meter.exhausted
        self.settle = meter.charge

    @property
    def by_role(self) -> dict[str, Usage]:
        """Usage by role."""
        return self._meter.spent

    def reserve(self, role: str, axis: str, n: int, *, item: str) -> None:
        """Reserve `n` on a counted axis, all or nothing.

        Raises:
            BudgetExhausted: A limit does not allow it.
        """
        granted, limit = self._grant(role, axis, n, item=item, whole=True)
        if not granted:
            raise BudgetExhausted(limit)

    def reserve_proposals(self, n: int, *, item: str, is_plain: bool) -> tuple[int, bool]:
        """Reserve up to `n` proposals.

        One plain proposal per decision (in the real state, without feedback) is guaranteed. Otherwise a limit per
        decision could end the episode.

        Returns:
            The number that was granted, and whether the first of them is the guaranteed one.

        Raises:
            BudgetExhausted: No proposal was granted.
        """
        granted, limit = self._grant("agent", "proposals", n, item=item)
        is_guaranteed = self._has_guaranteed and is_plain
        if is_guaranteed:
            self._has_guaranteed = False
            self.overdraft = self._meter.exhausted("agent") if granted else limit
            if not granted:
                self._meter.charge("agent", count("proposals", 1))
                granted = 1
        if not granted:
            raise BudgetExhausted(limit)
        return granted, is_guaranteed

    def refund(self, role: str, axis: str, n: int = 1, *, limit: str = "") -> None:
        """Return a reservation for work that was not done because `limit` cut it."""
        self.cut = limit or self.cut
        self._meter.charge(role, count(axis, -n))

    def step(self) -> None:
        """Charge the step of the real environment for a commit."""
        self._meter.charge("agent", count("env_steps", 1))

    def _grant(self, role: str, axis: str, n: int, *, item: str, whole: bool = False) -> tuple[int, str]:
        """Reserve from the meter, or repeat a cut that the log has."""
        record = None
        if self._log is not None:
            name, question = f"{item}.cut", f"{role}.{axis}:{n}"
            record = self._log.recorded(name, question)
        if record is not None:
            granted, limit = record["granted"], record["axis"]
            self._meter.charge(role, count(axis, granted))
        else:
            granted, limit = self._meter.grant(role, axis, n, whole=whole)
            if granted < n and self._log is not None:
                self._log.write(AnswerLine(name, question, {"kind": "cut", "axis": limit, "granted": granted}))
        if granted < n:
            self.cut = limit
        return granted, limit
