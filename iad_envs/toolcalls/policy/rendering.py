"""Puts conversations with function calls into words: what was said, what was called, and what came back."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from iad_envs.toolcalls.calls import FunctionCall
from iad_policy.prompts.rendering import Rendering, Seen, complaint_of, facts_of
from iad_policy.prompts.rendering import page_of as page_as_given
from iad_policy.types import State, Turn
from iad_policy.types.texts import clipped, shortened, shown

RESULT_CHARS = 6_000


class ToolCallRendering(Rendering):
    """The words for `IAD/BFCL-v0` and `IAD/ACEBench-v0`."""

    def task(self, state: State) -> str:
        """Return "", as what the user says is seen now, or in the history."""
        return "" if page_of(state) else super().task(state)

    def environment(self, state: State) -> str:
        """Return the documents of the functions that are offered now."""
        return documents(page_of(state).get("tools", ()))

    def environment_of(self, state: State, action: Any) -> str:
        """Return the names of the functions, and the documents of those that an action calls."""
        tools = offered([*state.history, state])
        called = set(re.findall(r"[\w.]+", shown(action)))
        names = f"Functions: {', '.join(one['name'] for one in tools) or 'none'}"
        lines = [json.dumps(one, ensure_ascii=False) for one in tools if one["name"] in called]
        return "\n".join([names, *lines])

    def page(self, seen: Seen) -> str:
        """Return results, a draft, or what the user says, without the documents."""
        page = page_of(seen)
        if not page or complaint_of(seen):
            return super().page(seen) if not page else _said(page["messages"])
        if page["kind"] == "draft":
            return str(seen.observation)
        parts = [_results(page, RESULT_CHARS)] if page["results"] else []
        if page["kind"] == "done" and not page["results"]:
            is_awaiting = seen.info.get("stop_reason") == "awaiting"
            answers = "The turn is over here, and the user answers after it."
            parts.append(answers if is_awaiting else "This was the last action.")
        elif page["kind"] != "done":
            parts.append(_said(page["messages"]))
        return "\n".join(part for part in parts if part)

    def result(self, before: Seen, action: Any, after: Seen) -> str:
        """Return what an action led to: results, or what the user says next."""
        page = page_of(after)
        complaint = complaint_of(after)
        if complaint or not page:
            return complaint or super().result(before, action, after)
        if page["results"]:
            return _results(page, 400)
        if page["kind"] == "draft":
            return clipped(str(after.observation), 400)
        return _said(page["messages"]) if page["kind"] != "done" else ""

    def actions(self, state: State) -> str:
        """Return "", as the documents say what can be called."""
        return "" if page_of(state) else super().actions(state)

    def facts(self, seen: Seen) -> str:
        """Return the findings about the last calls that their results don't show."""
        complaint = complaint_of(seen)
        findings = facts_of(seen).get("findings", ())
        told = [one["message"] for one in findings if one["code"] != "tool_error"]
        return "\n".join([*([complaint] if complaint else []), *told])

    def changes(self, before: Turn | None, after: State) -> list[str]:
        """Return which attributes of objects the calls changed."""
        names = facts_of(after).get("changed") or ()
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        return [f"Changed: {', '.join(names[:8])}{more}"] if names else []

    def beginning(self, first: Turn) -> list[str]:
        """Return what the user said first."""
        page = page_of(first)
        return [_said(page["messages"])] if page else super().beginning(first)

    def steps_left(self, state: State) -> str:
        """Return "": no conversation is limited by the number of actions."""
        return ""


def page_of(seen: Seen) -> Mapping[str, Any]:
    """Return the page with all its keys, as a simulator may have predicted only some; nothing where there is none."""
    page = page_as_given(seen)
    keys = ("messages", "tools", "calls", "results")
    return {"kind": "", **dict.fromkeys(keys, ()), **page} if page else page


def offered(seen: Sequence[Seen]) -> Sequence[Mapping[str, Any]]:
    """Return the documents of the functions that are offered now, as far as is known where a simulator predicts."""
    pages = (page_of(one) for one in reversed(seen))
    return next((page["tools"] for page in pages if page), ())


def documents(tools: Iterable[Mapping[str, Any]]) -> str:
    """Return documents of functions as JSON, one a line."""
    lines = "\n".join(json.dumps(one, ensure_ascii=False) for one in tools)
    return shortened(f"Functions:\n{lines}" if lines else "Functions: none", 60_000)


def _results(page: Mapping[str, Any], limit: int) -> str:
    calls = (str(FunctionCall(one["name"], one["arguments"])) for one in page["calls"])
    rows = zip(calls, page["results"], strict=False)
    return "\n".join(f"{clipped(call, limit)} gave {shortened(result, limit)}" for call, result in rows)


def _said(messages: Sequence[Mapping[str, str]]) -> str:
    return "\n".join(f"{one['role'].capitalize()}: {one['content']}" for one in messages)
