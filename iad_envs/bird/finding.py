"""A finding about a query."""

from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "note"]


class QueryFinding(NamedTuple):
    """A finding about a query.

    Attributes:
        code: Kind of finding.
        severity: `error` (there is no result), `warning` (often a sign of a wrong query) or `note`.
        message: Explanation for the agent.
    """

    code: str
    severity: Severity
    message: str
