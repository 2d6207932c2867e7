"""What an agent sees of a moment: a page as data, and its text."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.offers import FunctionOffer

PageKind = Literal["turn", "results", "single", "draft", "done"]
MAX_OBSERVATION = 1 << 20
"""Characters."""
AWAITED = "The turn is over. The user answers after it."
HANDED_IN = "The answer is handed in."
OVER = "The conversation is over."


class ToolPage(NamedTuple):
    """What is seen.

    Attributes:
        kind: `turn` as a user's turn begins, `results` after calls, `single` for a question, `draft` after a draft of
            its answer, `done` when nothing can be done.
        offer: The offered functions.
        messages: The user's messages of this turn, with their roles.
        calls: Of the last response.
        results: Their texts.
        end: What is shown in place of all this when the turn, or the episode, is over.
    """

    kind: PageKind
    offer: FunctionOffer
    messages: Sequence[Mapping[str, str]]
    calls: Sequence[FunctionCall] = ()
    results: Sequence[str] = ()
    end: str = ""

    def as_data(self) -> dict[str, Any]:
        """Return it as in `info["page"]`."""
        return {
            "kind": self.kind,
            "messages": [dict(one) for one in self.messages],
            "tools": list(self.offer.tools),
            "calls": [{"name": one.name, "arguments": dict(one.arguments)} for one in self.calls],
            "results": list(self.results),
        }

    def text(self, complaint: str = "", findings: Sequence[str] = ()) -> str:
        """Return it as an agent reads it.

        Args:
            complaint: What was wrong with the last action.
            findings: Sentences about a draft.
        """
        parts = []
        if complaint:
            parts.append(f"Invalid action: {complaint}")
        if self.kind in ("turn", "single"):
            parts.append(f"Functions:\n{self.offer.lines}" if self.offer.documents else "Functions: none")
        if self.results:
            # Text that looked like calls, and was none, has a result without a call.
            pairs = zip(self.calls, self.results, strict=False)
            rows = [f"{_shown(call)}: {result}" for call, result in pairs] if self.calls else self.results
            parts.append("Results:\n" + "\n".join(rows))
        elif self.kind == "draft":
            parts.append("Draft:\n" + "\n".join(_shown(call) for call in self.calls))
            parts.append("Checked: " + (" ".join(findings) or "nothing is wrong by the functions' documents."))
        if self.end:
            parts.append(self.end)
            return "\n\n".join(parts)[:MAX_OBSERVATION]
        parts.extend(f"{one['role'].capitalize()}: {one['content']}" for one in self.messages)
        if self.kind in ("results", "draft"):
            parts.append(f"Functions: {self.offer.names or 'none'}")
        return "\n\n".join(parts)[:MAX_OBSERVATION]


def _shown(call: FunctionCall) -> str:
    """Return a call as it is written above its result."""
    text = str(call)
    return text if len(text) <= 400 else f"{text[:397]}..."
