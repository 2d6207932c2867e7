"""The proxy verifier of tool calls: documents, execution, and what was said. No gold, and no understanding of words.

Calls lose for what is found of them: in the functions' documents (no such function, a missing, unknown or wrongly typed
argument), in the preview (an error), and in the dialogue (an argument that nobody has said, a call that was made
before). They gain for values of the user's request that no call has used yet. A reply loses while nothing was done or
the last call has failed, more so if it claims work, and for values that no call has used.

Scores lie between 0 and 1 and rank the candidates of a state. They are no probabilities, not even those of answers to
single questions. Each candidate is judged by itself.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from iad_envs.toolcalls.policy.reading import Dialogue, asks_or_declines, claims_work
from iad_envs.toolcalls.responses import Response, read_response
from iad_policy.types import Candidate, State, Verdict
from iad_policy.types.information import Information

KEPT: Mapping[str, float] = {
    "unknown_function": 0.05,
    "withheld_function": 0.1,
    "missing_argument": 0.1,
    "unknown_argument": 0.1,
    "wrong_type": 0.25,
    "not_in_enum": 0.25,
    "tool_error": 0.4,
    "ungrounded_argument": 0.45,
    "repeated_call": 0.4,
}
"""Code of a finding -> share of its score that a response of calls keeps."""


class CallVerifier:
    """Scores responses of calls and replies: 0 to 1."""

    information: Information = "proxy"
    needs_preview = True
    reads_info = True

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        pass

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Score each candidate's preview."""
        at = Dialogue(state)
        return [_verdict(at, candidate) for candidate in candidates]


def _verdict(at: Dialogue, candidate: Candidate) -> Verdict:
    preview = candidate.preview
    if preview is None:
        raise ValueError(f"expected a preview of {candidate.action!r}, got none; a driver attaches it")
    facts = preview.info.get("facts") or {}
    if preview.info.get("invalid_action"):
        return Verdict(0.0, str(facts.get("complaint", "")))
    response = read_response(str(candidate.action), draft=True, dots=True)
    unused = at.unused(response.calls)
    if response.calls:
        score, said = _of_calls(at, response, unused), []
        for one in facts.get("findings") or ():
            if one.get("code") == "repeated_call" and all(map(at.is_worth_a_retry, response.calls)):
                continue
            score *= KEPT.get(one.get("code"), 1.0)
            said.append(str(one.get("message", "")))
        if unused and at.is_single:
            said.append(_listed(unused))
    else:
        score, said = _of_reply(at, candidate, preview)
        if unused and at.worked:
            said.append(_listed(unused))
    critique = " ".join(said) or "Nothing speaks against it."
    return Verdict(score, critique, passed=not said or None, details={"unused": float(len(unused))})


def _of_calls(at: Dialogue, response: Response, unused: Sequence[str]) -> float:
    """Return the score of calls before what is found of them: more for values of the request that were unused."""
    left = at.unused(())
    score = 0.5 + (0.4 * (1 - len(unused) / len(left)) if left else 0.1)
    return score * (0.95 if response.kind == "draft" else 1.0)  # a draft answers nothing


def _of_reply(at: Dialogue, candidate: Candidate, preview: State) -> tuple[float, list[str]]:
    """Return the score of a reply, and what speaks against it."""
    reply, in_vain, asked = str(candidate.action), 0.05, 0.4
    if at.is_single:
        return (asked, []) if asks_or_declines(reply) else (0.3, ["It answers without a call."])
    if not preview.done:
        return in_vain, ["Nobody answers here."]
    if reply in at.replies and not at.worked:
        return in_vain, ["It was said before, and nothing was done since."]
    if not at.worked:
        if candidate.is_terminal or claims_work(reply):
            return in_vain, ["No call has worked for this request, so nothing is done."]
        if asks_or_declines(reply):
            return asked, []
        return 0.2, ["No call has worked for this request yet."]
    if at.made[-1].has_failed:
        call = at.made[-1].call
        return (asked if asks_or_declines(reply) else 0.1), [f"The last call, {call.name}, has failed."]
    named = len(at.named)
    return 0.4 + 0.3 * (1 - len(at.unused(())) / named if named else 1.0), []


def _listed(unused: Sequence[str]) -> str:
    return f"The request also names {', '.join(unused[:5])}, which no call uses."
