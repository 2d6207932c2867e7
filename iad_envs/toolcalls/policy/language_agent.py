"""A language model as the agent of a conversation with function calls: it reads a chat and answers by calls or words.

Two styles of their own, as in the papers: `prompting` writes the functions' documents into the system text and results
into messages of the user; `fc` gives functions, calls and results through the model's own interface for them.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from iad_envs.toolcalls.policy.rendering import RESULT_CHARS, documents, offered, page_of
from iad_policy.agents.language import SAID_ONCE, LanguageAgent, Style
from iad_policy.models import Completion
from iad_policy.models.parsing import Reading
from iad_policy.models.parsing.function_calls import read_function_calls
from iad_policy.prompts.rendering import facts_of
from iad_policy.types import Feedback, State, Turn
from iad_policy.types.names import CUT_OFF
from iad_policy.types.texts import shortened

CHATS = ("prompting", "fc")
MORE = "More functions can be called now."
Message = dict[str, Any]


class ToolCallLanguageAgent(LanguageAgent):
    """Asks a language model for calls. See `LanguageAgent`.

    An answer without calls is what the model says to the user: `reply[text]`. What it thinks before `</think>` is the
    candidate's thought, and no later message has it.
    """

    default_style = cast(Style, "prompting")
    styles = (*LanguageAgent.styles, *CHATS)

    @property
    def is_chat(self) -> bool:
        """Whether the model reads a chat, and answers with the action alone."""
        return self.kind in CHATS

    @property
    def heading(self) -> str:  # type: ignore[override]
        """The word before the action; "" in a chat."""
        return "" if self.is_chat else "Action"

    def messages(self, state: State, feedback: Feedback | None = None) -> tuple[Mapping[str, Any], ...]:
        """Return the messages that ask for an action in a state."""
        if not self.is_chat:
            return super().messages(state, feedback)
        seen: list[State | Turn] = [*state.history, state]
        first = page_of(seen[0])
        prompt = self.prompt(self.roles[0], state, feedback, environment=documents(first.get("tools", ())))
        known = [one["content"] for one in first.get("messages", ()) if one["role"] == "system"]
        system: Message = {"role": "system", "content": "\n\n".join([prompt.system, *known])}
        if self.kind == "fc":
            system["tools"] = [as_tool(one) for one in offered(seen)]
        chat = [system]
        for place, one in enumerate(seen):
            chat += self._heard(seen[place - 1] if place else None, one)
            if place + 1 < len(seen):
                chat.append(self._answered(str(cast(Turn, one).action), seen[place + 1]))
        messages = _merged(chat)
        if prompt.user and messages[-1]["role"] == "user":
            messages[-1] = {**messages[-1], "content": f"{messages[-1]['content']}\n\n{prompt.user}"}
        elif prompt.user:
            messages.append({"role": "user", "content": prompt.user})
        return tuple(messages)

    def next_turn(self, state: State) -> str:
        """Return what a chat tells the model after its last action: what functions returned, or the user said."""
        if not self.is_chat:
            new = _new_tools(state.history[-1], page_of(state))
            values = {**dict.fromkeys(SAID_ONCE, ""), "environment": f"{MORE}\n{new}" if new else ""}
            return self.prompt(self.roles[0], state, None, **values).user
        messages = self.messages(state)
        answered = max(place for place, one in enumerate(messages) if one["role"] == "assistant")
        return "\n\n".join(one["content"] for one in messages[answered + 1 :])

    def _heard(self, before: State | Turn | None, now: State | Turn) -> Iterator[Message]:
        """Yield what answers the agent's last message."""
        page = page_of(now)
        if not page:  # a simulator has predicted a text
            yield {"role": "user", "content": shortened(str(now.observation), RESULT_CHARS)}
        elif now.info.get("invalid_action"):
            yield {"role": "user", "content": f"That is no action here: {facts_of(now).get('complaint', '')}"}
        elif before is not None and page["results"] and _turn(before) == _turn(now):
            yield from self._results(page, before)
        elif page["kind"] == "draft":
            yield {"role": "user", "content": str(now.observation)}
        else:
            said = [dict(one) for one in page["messages"] if one["role"] != "system"]
            new = _new_tools(before, page) if self.kind == "prompting" else ""
            if new and said:
                said[-1]["content"] += f"\n\n{MORE}\n{new}"
            yield from said

    def _results(self, page: Mapping[str, Any], before: State | Turn) -> Iterator[Message]:
        rows = [
            {"role": "tool", "name": _written(call["name"], self.kind), "content": shortened(result, RESULT_CHARS)}
            for call, result in zip(page["calls"], page["results"], strict=False)
        ]
        if self.kind == "prompting":
            yield {"role": "user", "content": repr(rows)}
            return
        step = int(before.info.get("step", 0))
        yield from ({**row, "tool_call_id": _id(step, place)} for place, row in enumerate(rows))

    def _answered(self, action: str, after: State | Turn) -> Message:
        """Return what the agent answered, without its thought."""
        page = page_of(after)
        said = action.removeprefix("reply[").removesuffix("]") if action.startswith("reply[") else action
        has_run = bool(page) and bool(page["results"]) and not after.info.get("invalid_action")
        if self.kind != "fc":
            return {"role": "assistant", "content": action}
        if not has_run or said is not action:
            return {"role": "assistant", "content": said or "Done."}
        step = int(after.info.get("step", 1)) - 1
        calls = [
            {
                "id": _id(step, number),
                "type": "function",
                "function": {
                    "name": _written(call["name"], "fc"),
                    "arguments": json.dumps(call["arguments"], ensure_ascii=False),
                },
            }
            for number, call in enumerate(page["calls"])
        ]
        return {"role": "assistant", "content": "", "tool_calls": calls}

    def _read(self, answer: Completion, state: State) -> Reading:
        tools = offered([*state.history, state])
        names = {_written(one["name"], self.kind): one["name"] for one in tools}
        return read_function_calls(answer.text, is_cut=answer.finish_reason == CUT_OFF, names=names)


def as_tool(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function's document as models' interfaces take it. They allow no dots in names."""
    parameters = document.get("parameters") or {}
    return {
        "type": "function",
        "function": {
            "name": _written(document["name"], "fc"),
            "description": document.get("description", ""),
            "parameters": _schema({"type": "object", "properties": {}, **parameters}),
        },
    }


def _schema(schema: Any) -> Any:
    """Return a schema with the types of JSON Schema."""
    if isinstance(schema, list | tuple):
        return [_schema(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {key: _schema(value) for key, value in schema.items()}
    kind = schema.get("type")
    # The type of JSON Schema where it differs; "" for none.
    types = {"dict": "object", "float": "number", "double": "number", "tuple": "array", "list": "array", "any": ""}
    if isinstance(kind, str) and kind in types:
        made.pop("type")
        if types[kind]:
            made["type"] = types[kind]
    return made


def _merged(messages: list[Message]) -> list[Message]:
    """Return messages of which no two neighbours are of one side: many templates of chats refuse those."""
    merged: list[Message] = []
    for one in messages:
        last = merged[-1] if merged else {}
        if one["role"] in ("user", "assistant") and last.get("role") == one["role"] and "tool_calls" not in last:
            merged[-1] = {**one, "content": "\n".join(part for part in (last["content"], one["content"]) if part)}
        else:
            merged.append(one)
    return merged


def _new_tools(before: State | Turn | None, page: Mapping[str, Any]) -> str:
    """Return the documents of the functions that were not offered before."""
    if before is None:
        return ""
    known = {one["name"] for one in page_of(before).get("tools", ())}
    new = [one for one in page["tools"] if one["name"] not in known]
    return documents(new) if new else ""


def _turn(seen: State | Turn) -> Any:
    return facts_of(seen).get("turn")


def _written(name: str, style: str) -> str:
    return name.replace(".", "_") if style == "fc" else name


def _id(step: int, place: int) -> str:
    return f"call_{step}_{place}"
