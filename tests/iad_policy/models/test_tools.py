"""Functions that models call through their APIs: how calls are collected, written, sent back and kept."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from iad_policy.errors import ModelError
from iad_policy.models import Messages, question_of
from iad_policy.models.cache import CachedModel
from iad_policy.models.parsing import Grammar, read_action
from iad_policy.models.parsing.calls import call_at
from iad_policy.models.scripted import ScriptedModel
from iad_policy.models.tools import (
    CallFragments,
    RequestedCall,
    answer_text,
    message_text,
    reasoning_of,
    refuse_without_place,
    rendered,
    say_something,
    sent_messages,
    starts_of,
    tools_of,
)

TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}
OTHER = {"type": "function", "function": {"name": "end", "parameters": {"type": "object", "properties": {}}}}


def asking(*tools: Mapping[str, Any]) -> Messages:
    return ({"role": "system", "content": "Act.", "tools": list(tools)}, {"role": "user", "content": "Go."})


def fragment(index: int | None, name: str | None = None, arguments: Any = None, id: str | None = None) -> Any:
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}


def collected(parts: Sequence[Any]) -> list[tuple[str, str]]:
    fragments = CallFragments()
    for part in parts:
        fragments.add([part])
    return [tuple(call) for call in fragments.calls]


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ('{"b": [1, null], "a": "ü\\n"}', r'{"b": [1, null], "a": "ü\n"}'),
        ("", "{}"),
        (" \n", "{}"),
        ('{"a": ', r'"{\"a\": "'),
        ("[1]", '"[1]"'),
        ("null", '"null"'),
        ("a=1", '"a=1"'),
        ('{"a": ' * 5000, json.dumps('{"a": ' * 5000)),
        ('{"a": "</tool_call>"}', r'{"a": "<\/tool_call>"}'),
    ],
)
def test_a_call_is_one_line_and_loses_nothing(arguments: str, written: str) -> None:
    text = RequestedCall("find", arguments).text
    assert text == f'<tool_call>{{"name": "find", "arguments": {written}}}</tool_call>'
    assert text.count("</tool_call>") == len(text.splitlines()) == 1
    found = json.loads(text.removeprefix("<tool_call>").removesuffix("</tool_call>"))["arguments"]
    assert found == arguments or found == json.loads(arguments.strip() or "{}")
    read = call_at(text)
    assert read is None or read.name == "find"


@pytest.mark.parametrize(
    ("parts", "calls"),
    [
        ([fragment(0, "find", '{"a"', "x"), fragment(0, None, ": 1}")], [("find", '{"a": 1}')]),
        ([fragment(0, "fi", "", "x"), fragment(0, "nd", ""), fragment(0, None, "{}")], [("find", "{}")]),
        (
            [*(fragment(0, "a"), fragment(1, "b")), *map(fragment, (0, 1, 0), [None] * 3, "{[}")],
            [("a", "{}"), ("b", "[")],
        ),
        # Servers that repeat the name, give all calls one index or none, or arguments as an object.
        ([fragment(0, "a", "{", "x"), fragment(0, "a", "}", "x")], [("a", "{}")]),
        ([fragment(0, "a", ""), fragment(0, "a", "{}")], [("a", "{}")]),
        ([fragment(0, "a", "{}", "x"), fragment(0, "a", "{}", "y")], [("a", "{}"), ("a", "{}")]),
        ([fragment(None, "a", "{}"), fragment(None, "b", "{"), fragment(None, None, "}")], [("a", "{}"), ("b", "{}")]),
        ([fragment(0, "a", {"x": "é"})], [("a", '{"x": "é"}')]),
        ([fragment(0, None, None, "x"), {"index": 0}, {"index": 0, "function": None}, "a", None], []),
    ],
)
def test_fragments_make_up_calls(parts: list[Any], calls: list[tuple[str, str]]) -> None:
    assert collected(parts) == calls
    as_objects = [
        SimpleNamespace(**{**part, "function": SimpleNamespace(**part["function"])})
        for part in parts
        if isinstance(part, dict) and part.get("function")
    ]
    assert collected(as_objects) == calls


def test_only_names_and_arguments_say_something_and_reasoning_is_taken_from_either_field_once() -> None:
    said: list[Any] = [[fragment(0, "a")], [fragment(0, None, "{")]]
    nothing: list[Any] = [[fragment(0, "", "", "x")], [{"index": 0}], [], None, 7]
    assert [say_something(one) for one in (*said, *nothing)] == [True] * 2 + [False] * 5
    assert reasoning_of({"reasoning": "a", "reasoning_content": "b"}) == "b"
    assert reasoning_of(SimpleNamespace(reasoning="a", reasoning_content=None)) == "a"
    assert reasoning_of({"reasoning": {"effort": "low"}}) == ""
    assert answer_text("<think>\nHm.\n</think>\nx", reasoning="Hm.") == "<think>\nHm.\n</think>\nx"
    # Tokens have a place in the text that they spell, and marks of the end stand at its end.
    assert starts_of([b"a\xc3", b"\xa9b", b"<end>"], "a\u00e9b") == (0, 1, 3)
    assert starts_of([b"not shown"], "ab") is starts_of([], "ab") is None


@pytest.mark.parametrize("is_cut", [True, False])
def test_what_a_model_only_thought_of_is_no_answer(is_cut: bool) -> None:
    grammar = Grammar.of(["search[...]"], "text")
    thought = "I could write\nAction: search[chair]\n"
    assert read_action(answer_text("", reasoning=thought), grammar, is_cut=is_cut).action is None
    assert read_action("<think>\nI could search for a chair", grammar, is_cut=is_cut).action is None
    read = read_action(answer_text("Action: search[sofa]", reasoning=thought), grammar)
    assert (read.action, "search[chair]" in read.thought) == ("search[sofa]", True)


def test_tools_are_taken_out_of_the_messages_and_all_that_a_message_says_can_be_read() -> None:
    messages = asking(TOOL)
    assert tools_of(messages) == [TOOL]
    assert sent_messages(messages) == [{"role": "system", "content": "Act."}, {"role": "user", "content": "Go."}]
    assert "tools" in messages[0]
    assert tools_of(asking()) == tools_of(()) == []
    assert message_text(messages[1]) == "Go."
    assert message_text(messages[0]) == f"Act.\n<tools>\n{json.dumps(TOOL)}\n</tools>"
    called = {"function": {"name": "find", "arguments": "{}"}}
    line = '<tool_call>{"name": "find", "arguments": {}}</tool_call>'
    assert message_text({"role": "assistant", "content": "", "tool_calls": [called, called]}) == f"{line}\n{line}"


@pytest.mark.parametrize(
    ("arguments", "text", "parsed"),
    [
        *(('{"a":1}', '{"a":1}', {"a": 1}), ("", "{}", {})),
        ('{"a": ', r'{"unreadable": "{\"a\": "}', {"unreadable": '{"a": '}),
        ('"a"', r'{"unreadable": "\"a\""}', {"unreadable": '"a"'}),
    ],
)
def test_arguments_of_earlier_calls_are_always_an_object(arguments: str, text: str, parsed: dict[str, Any]) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "find", "arguments": arguments}}
    messages = [*asking(TOOL), {"role": "assistant", "content": "", "tool_calls": [call]}]
    for sent, expected in ((sent_messages(messages), text), (sent_messages(messages, parsed=True), parsed)):
        assert sent[2]["tool_calls"] == [{**call, "function": {"name": "find", "arguments": expected}}]
    assert call["function"]["arguments"] == arguments  # type: ignore[index]


def test_a_template_has_a_place_for_tools_or_is_refused() -> None:
    for template in ("{% if tools %}{{ tools }}{% endif %}", {"default": "{{ messages }}", "tool_use": "{{ tools }}"}):
        refuse_without_place(template, "toy")
    for other in ("{{ messages }}", "{{ toolset }}", {"default": "{{ messages }}"}, None):
        with pytest.raises(ModelError, match="got toy, whose template would drop them; take a style") as caught:
            refuse_without_place(other, "toy")
        assert caught.value.kind == "other"


class TemplateSpy:
    """A tokenizer whose chat template writes down what it is given."""

    chat_template = "{{ tools }}"

    def apply_chat_template(self, messages: list[Any], **options: Any) -> str:
        return json.dumps([messages, options])


def test_transformers_gets_tools_beside_the_messages_and_arguments_as_objects() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"a": 1}'}}
    asked, spy = [*asking(TOOL), {"role": "assistant", "content": "", "tool_calls": [call]}], TemplateSpy()
    messages, options = json.loads(rendered(spy, "toy", asked, thinking=False))
    assert messages[2]["tool_calls"][0]["function"]["arguments"] == {"a": 1}
    plain = {"add_generation_prompt": True, "tokenize": False}
    assert options == {"tools": [TOOL], "enable_thinking": False, **plain}
    assert "tools" not in messages[0]
    assert json.loads(rendered(spy, "toy", asking()))[1] == plain
    spy.chat_template = "{{ messages }}"
    with pytest.raises(ModelError, match="got hf:toy"):
        rendered(spy, "toy", asked)


def test_a_cache_tells_tools_apart(tmp_path: Path) -> None:
    script = ScriptedModel(map(str, range(9)))
    assert question_of(script, asking(TOOL), 0.0, 9) != question_of(script, asking(OTHER), 0.0, 9)
    with CachedModel(script, tmp_path / "cache") as model:
        asked = [asking(*tools) for tools in ([TOOL], [OTHER], [TOOL, OTHER], [], [TOOL])]
        assert [model.complete(one, temperature=0.0).text for one in asked] == list("01230")
