"""Responses in numbers: a row of features for each, for value models and evaluators that read no text.

Features use what every agent may see: documents, what was said and returned, and the calls of the turn. They propose no
calls, so a policy that chooses among proposals can't use them: policies for function calls are language models.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iad_envs.toolcalls.findings import SEVERITIES, findings_of
from iad_envs.toolcalls.policy.reading import Dialogue, asks_or_declines, claims_work
from iad_envs.toolcalls.responses import read_response
from iad_policy.types import State

FOUND = tuple(code for code in SEVERITIES if code not in ("tool_error", "withheld_function"))
"""Findings that need no execution."""
FEATURES = (
    *("calls", "several", *FOUND, "used", "reply", "asks", "claims", "unreadable"),
    *("made", "worked", "failed", "last failed", "unused", "single"),
)


class CallFeatures:
    """Features of responses in a conversation.

    - Of calls: how many, what is found of them, and the share of the request's unused values that they use.
    - Of a reply: whether it asks or declines, and whether it claims work.
    - Of the turn: calls made, worked and failed, whether the last one failed, the share of the request's values that no
      call has used, and whether it is a single question.
    """

    names = FEATURES
    identity = f"toolcalls by documents {len(FEATURES)}"
    offers = False

    def actions(self, state: State) -> list[str]:
        """Return one response, as nothing is proposed."""
        return ["reply[]"]

    def rows(self, state: State, actions: Sequence[Any]) -> NDArray[np.float64]:
        """Return the features of responses in a state, a row for each: shape (responses, features)."""
        at = Dialogue(state)
        made = [one.call for one in at.made]
        left, many = at.unused(()), 4
        shared = {
            "made": min(1.0, len(made) / many),
            "worked": min(1.0, len(at.worked) / many),
            "failed": min(1.0, (len(made) - len(at.worked)) / many),
            "last failed": float(bool(at.made) and at.made[-1].has_failed),
            "unused": len(left) / max(1, len(at.named)),
            "single": float(at.is_single),
        }
        rows = np.zeros((len(actions), len(FEATURES)))
        for row, action in zip(rows, actions, strict=True):
            response = read_response(str(action), draft=True, dots=True)
            found = dict(shared)
            if response.calls:
                codes = [one.code for one in findings_of(response.calls, at.documents, at.known, earlier=made)]
                found |= {code: min(1.0, codes.count(code) / len(response.calls)) for code in FOUND}
                found["calls"] = min(1.0, len(response.calls) / many)
                found["several"] = float(len(response.calls) > 1)
                found["used"] = 1.0 - len(at.unused(response.calls)) / max(1, len(left))
            elif response.kind == "reply":
                found |= {"reply": 1.0, "asks": float(asks_or_declines(action)), "claims": float(claims_work(action))}
            else:
                found["unreadable"] = 1.0
            row[:] = [found.get(name, 0.0) for name in FEATURES]
        return rows
