"""What the proxy verifier and the features read of a conversation: what was said, called and returned. No gold."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.findings import is_error
from iad_envs.toolcalls.grounding import Known, is_known
from iad_policy.prompts.rendering import facts_of, page_of
from iad_policy.types import State, Turn


class MadeCall(NamedTuple):
    """A call of this turn, and whether it failed."""

    call: FunctionCall
    has_failed: bool


class Dialogue:
    """A moment of a conversation, as far as everybody may see it. Pages that a simulator predicted may lack anything.

    Args:
        state: The state.

    Attributes:
        is_single: Whether it is a question that is answered at once, in calls or in words.
        documents: Documents of the offered functions, by name.
        known: What was said and returned so far.
        request: What the user wants now: the message of this turn, after those of turns in which no call has worked.
        made: The calls of this turn.
        replies: What the agent has said in this turn and, if no call has worked since, before.
    """

    def __init__(self, state: State) -> None:
        page = page_of(state)
        self.is_single = page.get("kind") in ("single", "draft")
        self.documents: Mapping[str, Mapping[str, Any]] = {one["name"]: one for one in page.get("tools") or ()}
        self.known = Known()
        self.made: tuple[MadeCall, ...] = ()
        self.replies: tuple[str, ...] = ()
        said: dict[Any, str] = {}
        has_worked, turn = False, None
        moments: list[State | Turn] = [*state.history, state]
        for seen in moments:
            facts, page = facts_of(seen), page_of(seen)
            if facts.get("turn", 0) != turn:
                turn = facts.get("turn", 0)
                self.made = ()
                if has_worked:
                    said, self.replies, has_worked = {}, (), False
            messages = page.get("messages") or ()
            if messages and turn not in said:
                self.known = self.known.with_text("\n".join(str(one.get("content", "")) for one in messages))
                texts = [str(one.get("content", "")) for one in messages if one.get("role", "user") == "user"]
                said[turn] = "\n".join(texts[-1:] if self.is_single else texts)
            if not seen.info.get("invalid_action"):  # after one the page still has the calls before it
                made = tuple(_made(page, facts))
                self.made += made
                has_worked = has_worked or not all(one.has_failed for one in made)
                for result in page.get("results") or ():
                    self.known = self.known.with_text(str(result))
            if isinstance(seen, Turn) and str(seen.action).startswith("reply["):
                self.replies += (str(seen.action),)
        self.request = "\n".join(said.values())

    @property
    def worked(self) -> list[FunctionCall]:
        """The calls of this turn that have not failed."""
        return [one.call for one in self.made if not one.has_failed]

    def is_worth_a_retry(self, call: FunctionCall) -> bool:
        """Whether a call has failed in this turn, and another one has worked since."""
        worked = False
        for one in reversed(self.made):
            if one.call == call:
                return one.has_failed and worked
            worked = worked or not one.has_failed
        return False

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The values in the request: quoted texts, what has digits or signs in it, and names."""
        quoted = r"(?<!\w)'([^']+)'(?!\w)|\"([^\"]+)\""
        found = [one or other for one, other in re.findall(quoted, self.request)]
        begins = True
        for word in re.sub(quoted, " ", self.request).split():
            bare = word.strip(".,;:!?()[]").removesuffix("'s")
            is_name = bare[:1].isupper() and len(bare) > 1 and not begins
            is_value = re.search(r"[\d@_/\\]|\w\.\w", bare) is not None  # what words don't have in them
            if is_value or is_name or (len(bare) > 1 and bare.isupper()):
                found.append(bare)
            begins = word[-1] in ".!?:"
        return tuple(dict.fromkeys(found))

    def unused(self, calls: Sequence[FunctionCall]) -> list[str]:
        """Return the values in the request that neither a call of this turn that worked nor one of these has."""
        used = Known().with_text(" ".join(str(one.arguments) for one in (*self.worked, *calls)))
        return [value for value in self.named if not is_known(value, used)]


def claims_work(reply: str) -> bool:
    """Whether a reply says that something was done."""
    claims = r"i have|i've|has been|have been|successfully|is (?:now )?(?:done|set|sent|booked)|all done|completed"
    return re.search(rf"\b(?:{claims})\b", reply, re.IGNORECASE) is not None


def asks_or_declines(reply: str) -> bool:
    """Whether a reply asks for something, or says what can't be done."""
    unable = r"can(?:no|')t|could ?n[o']t|unable|missing|limitations?|incorrect|need to know|please (?:provide|tell)"
    return re.search(rf"\?|\b(?:{unable})\b", reply, re.IGNORECASE) is not None


def _made(page: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[MadeCall]:
    codes = [(one.get("code"), one.get("call")) for one in facts.get("findings") or ()]
    failed = {place for code, place in codes if code in ("tool_error", "unknown_function")}
    for place, (call, result) in enumerate(zip(page.get("calls") or (), page.get("results") or (), strict=False)):
        yield MadeCall(FunctionCall(call["name"], call["arguments"]), place in failed or is_error(str(result)))
