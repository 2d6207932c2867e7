"""What can be said of calls without gold: findings, each with a code, a severity and a sentence."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from iad_envs.toolcalls.calls import FunctionCall, key_of
from iad_envs.toolcalls.executor import FAILED
from iad_envs.toolcalls.grounding import Known, ungrounded
from iad_envs.toolcalls.schemas import complaints

SEVERITIES: Mapping[str, str] = {
    "unknown_function": "error",
    "missing_argument": "error",
    "unknown_argument": "error",
    "wrong_type": "error",
    "not_in_enum": "error",
    "tool_error": "error",
    "withheld_function": "warning",
    "ungrounded_argument": "warning",
    "repeated_call": "warning",
}
"""Code of a finding -> severity, as in the other environments."""


class CallFinding(NamedTuple):
    """A finding about a call.

    Attributes:
        code: One of `SEVERITIES`.
        message: A sentence.
        call: Number of the call in its response, from 0.
    """

    code: str
    message: str
    call: int

    def as_data(self) -> dict[str, Any]:
        """Return it as in `info["facts"]["findings"]`."""
        return {"code": self.code, "severity": SEVERITIES[self.code], "message": self.message, "call": self.call}


def findings_of(
    calls: Sequence[FunctionCall],
    documents: Mapping[str, Mapping[str, Any]],
    known: Known,
    *,
    results: Sequence[str] = (),
    failed: Sequence[bool] | None = None,
    earlier: Sequence[FunctionCall] = (),
) -> tuple[CallFinding, ...]:
    """Return the findings about the calls of a response.

    Args:
        calls: The calls.
        documents: Documents of the offered functions, by name.
        known: What was said and returned before. What an earlier call of the response returns counts for a later one.
        results: Texts of their results; none of calls that were not run.
        failed: Whether each call failed. Default: what the texts say.
        earlier: Calls of the same turn, in which a repeated one is looked for.
    """
    found = []
    failed = [is_error(result) for result in results] if failed is None else failed
    made = {key_of([call]) for call in earlier}
    for place, call in enumerate(calls):
        result = results[place] if place < len(results) else ""
        has_failed = place < len(failed) and failed[place]
        document = documents.get(call.name)
        if document is None:
            found.append(_unknown(call, documents, place, ran=bool(result) and not has_failed))
        else:
            found += [CallFinding(code, message, place) for code, message in complaints(call, document)]
            names = ungrounded(call, document, known)
            if names:
                message = f"Nobody has said {' or '.join(names)} of {call.name}, and no result has it."
                found.append(CallFinding("ungrounded_argument", message, place))
            if has_failed:
                found.append(CallFinding("tool_error", f"{call.name}: {result[:300]}", place))
        key = key_of([call])
        if key in made:
            found.append(CallFinding("repeated_call", f"{str(call)[:80]} was called in this turn before.", place))
        made.add(key)
        if result and len(calls) > 1:
            known = known.with_text(result)
    return tuple(found)


def failure_of(findings: Sequence[CallFinding]) -> str:
    """Return what was wrong with the calls of a response; "" if nothing was."""
    return "; ".join(one.message for one in findings if SEVERITIES[one.code] == "error")


def is_error(result: str) -> bool:
    """Whether a result's text says that the call failed."""
    return result.startswith((FAILED, '{"error"', "{'error'"))


def _unknown(call: FunctionCall, documents: Mapping[str, Any], place: int, *, ran: bool) -> CallFinding:
    if ran:
        return CallFinding("withheld_function", f"{call.name} is not offered here, though it worked.", place)
    return CallFinding("unknown_function", f"There is no function {call.name}; expected {', '.join(documents)}.", place)
