"""What goes to a model's API and comes back: functions, calls, reasoning and tokens. An answer becomes one text.

The first message of a prompt may have a key `tools`, a list of functions in OpenAI's form. They are part of the
messages, so logs, caches and digests have them. An answer's calls are written after its text, one a line:
`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.
"""

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from iad_policy.errors import ModelError
from iad_policy.models import Message, Messages, text_of


class RequestedCall(NamedTuple):
    """A call that a model asks for.

    Attributes:
        name: Name of the function.
        arguments: Its arguments as the model wrote them, which should be a JSON object.
    """

    name: str
    arguments: str

    @property
    def text(self) -> str:
        """The call in one line. Arguments that are no JSON object are there as the text that they are."""
        given = _object_in(self.arguments)
        call = {"name": self.name, "arguments": self.arguments if given is None else given}
        # An argument may hold the closing tag. This is the same text in JSON.
        inside = json.dumps(call, ensure_ascii=False).replace("</tool_call>", "<\\/tool_call>")
        return f"<tool_call>{inside}</tool_call>"


class CallFragments:
    """Puts calls together of which each part of a stream has a fragment. Whole calls are fragments, too."""

    def __init__(self) -> None:
        self._begun: list[dict[str, str]] = []
        self._by_index: dict[int | None, dict[str, str]] = {}

    def add(self, fragments: Any) -> None:
        """Add the `tool_calls` of a part of an answer, as objects or mappings."""
        for fragment in _listed(fragments):
            function = _field(fragment, "function")
            name, arguments = str(_field(function, "name") or ""), _arguments_text(_field(function, "arguments"))
            if not name and not arguments:
                continue
            given, id = _field(fragment, "index"), str(_field(fragment, "id") or "")
            index = given if isinstance(given, int) else None
            call = self._by_index.get(index)
            # Some servers give all calls one index, or none. Then a name with another id begins another call.
            if call is None or (name and (index is None or (id and call["id"] and id != call["id"]))):
                call = self._by_index[index] = {"id": id, "name": "", "arguments": ""}
                self._begun.append(call)
            if name != call["name"] and not call["arguments"]:  # some servers repeat the name with each fragment
                call["name"] += name
            call["arguments"] += arguments

    @property
    def calls(self) -> list[RequestedCall]:
        """The calls so far, in the order in which they began."""
        return [RequestedCall(one["name"], one["arguments"]) for one in self._begun]


def say_something(fragments: Any) -> bool:
    """Return whether fragments of calls have a part of a name or of arguments."""
    functions = [_field(fragment, "function") for fragment in _listed(fragments)]
    return any(_field(function, "name") or _field(function, "arguments") for function in functions)


def reasoning_of(message: Any) -> str:
    """Return the reasoning that a message, or a part of one, has in a field of its own; "" for none."""
    found = (_field(message, name) for name in ("reasoning_content", "reasoning"))
    return next((one for one in found if isinstance(one, str) and one), "")


def answer_text(content: str, calls: Sequence[RequestedCall] = (), reasoning: str = "") -> str:
    """Return an answer as one text: its reasoning in tags, its content, and its calls.

    Args:
        content: The answer's content.
        calls: Its calls.
        reasoning: Reasoning that is not in the content. Some servers return it twice; then it stays where it is.
    """
    said = content
    if calls:
        before = [content.rstrip("\n")] if content.strip() else []
        said = "\n".join([*before, *(call.text for call in calls)])
    is_apart = reasoning.strip() and not content.lstrip().startswith("<think>")
    return f"<think>\n{reasoning.strip()}\n</think>\n{said}" if is_apart else said


def tools_of(messages: Messages) -> list[Any]:
    """Return the functions that a prompt offers."""
    return list(messages[0].get("tools") or ()) if messages else []


def sent_messages(messages: Messages, *, parsed: bool = False) -> list[dict[str, Any]]:
    """Return messages as a server or a chat template takes them: the tools go beside them.

    Servers and templates read the arguments of earlier calls, and fail if they are no JSON object. Such arguments are
    put into one.

    Args:
        messages: The messages.
        parsed: Whether arguments are objects instead of their text.
    """
    sent = [{name: value for name, value in message.items() if name != "tools"} for message in messages]
    for message in sent:
        calls = []
        for call in message.get("tool_calls") or ():
            text = _arguments_text(call["function"].get("arguments"))
            given = _object_in(text)
            if given is None:  # under a name of its own
                given = {"unreadable": text}
                text = json.dumps(given, ensure_ascii=False)
            calls.append({**call, "function": {**call["function"], "arguments": given if parsed else text or "{}"}})
        if calls:
            message["tool_calls"] = calls
    return sent


def message_text(message: Message) -> str:
    """Return all that a message says, for those who read it: its text, the functions it offers, and its calls."""
    said = [text_of(message.get("content"))]
    if offered := message.get("tools"):
        said += ["<tools>", *(json.dumps(tool, ensure_ascii=False) for tool in offered), "</tools>"]
    calls = CallFragments()
    calls.add([{**call, "index": place} for place, call in enumerate(message.get("tool_calls") or ())])
    return "\n".join(filter(None, [*said, *(call.text for call in calls.calls)]))


def refuse_without_place(template: object, model: str) -> None:
    """Refuse to offer functions to a model that would not see them.

    Args:
        template: Its chat template, or several by name.
        model: Its name.

    Raises:
        ModelError: The template has no place for them.
    """
    templates = template.values() if isinstance(template, Mapping) else [template]
    if not any(re.search(r"\btools\b", str(one)) for one in templates):
        raise ModelError(
            f"expected a model whose chat template has a place for tools, got {model}, whose template would drop them; "
            "take a style that describes the functions in the prompt, or a model that was trained to call functions",
            kind="other",
        )


def rendered(tokenizer: Any, name: str, messages: Messages, thinking: bool | None = None) -> str:
    """Return the text that a chat template makes of a prompt, up to where the answer begins.

    Args:
        tokenizer: A tokenizer of transformers.
        name: The model's name in an error.
        messages: The prompt.
        thinking: Whether the model thinks before it answers. None leaves it to the chat template.

    Raises:
        ModelError: The prompt has tools, and the chat template has no place for them.
    """
    given: dict[str, Any] = dict(template_options(thinking))
    if tools := tools_of(messages):
        refuse_without_place(tokenizer.chat_template, f"hf:{name}")
        given["tools"] = tools
    sent = sent_messages(messages, parsed=True)
    return str(tokenizer.apply_chat_template(sent, add_generation_prompt=True, tokenize=False, **given))


def starts_of(spelled: Sequence[bytes], text: str) -> tuple[int, ...] | None:
    """Return the position of each token in an answer's text, in characters; None if the tokens don't spell it.

    A token after the text, such as an end mark, begins at its end. A token may hold only a part of a character.

    Args:
        spelled: The bytes of each token; "?" for a lone surrogate.
        text: The answer's text.
    """
    if not spelled or not b"".join(spelled).startswith(text.encode(errors="replace")):
        return None
    decoder = getincrementaldecoder("utf-8")("replace")
    starts = accumulate((len(decoder.decode(one)) for one in spelled[:-1]), initial=0)
    return tuple(min(start, len(text)) for start in starts)


def template_options(thinking: bool | None) -> dict[str, bool]:
    """Return the options of a chat template that turn thinking on or off. None leaves it to the model."""
    return {} if thinking is None else {"enable_thinking": thinking}


def _object_in(text: str) -> dict[str, Any] | None:
    """Return the object that a JSON text is; none at all is an empty one. None if it is something else."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _arguments_text(given: Any) -> str:
    """Return arguments as a text, which they are in OpenAI's form. Some servers return an object."""
    if given is None:
        return ""
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _listed(fragments: Any) -> Sequence[Any]:
    return fragments if isinstance(fragments, list | tuple) else ()


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
