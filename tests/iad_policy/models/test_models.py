"""The scripted model, the cache, and functions that models call through their APIs."""

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import pytest

from iad_policy.errors import ModelError
from iad_policy.models import Completion, Messages
from iad_policy.models.cache import CachedModel
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
from iad_policy.types import Usage
from iad_policy.types.call_context import Call, use_call

HELLO = ({"role": "user", "content": "hello"},)


class Counter:
    """A priced model that numbers its answers."""

    name = "counter"

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.n_calls = 0
        self._lock = threading.Lock()

    def complete(self, messages: Messages, **sampling: Any) -> Completion:
        with self._lock:
            self.n_calls += 1
            return Completion(f"answer {self.n_calls}", Usage(prompt_tokens=3, completion_tokens=2, usd=0.5), (-0.25,))


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.fixture
def cached(counter: Counter, tmp_path: Path) -> Iterator[CachedModel]:
    with CachedModel(counter, tmp_path / "deep" / "cache.sqlite") as model:
        yield model


def asked(model: Any, *, stream: str = "task:0", index: int = 0, messages: Messages = HELLO, **sampling: Any) -> str:
    with use_call(Call(stream, index)):
        return model.complete(messages, **sampling).text


def test_a_script_is_read_in_order_or_called_and_may_fail_and_counts_a_token_for_four_characters() -> None:
    model = ScriptedModel(["one", "two", ModelError("down", kind="server")])
    assert [model.complete(HELLO).text for _ in range(2)] == ["one", "two"]
    for said in ("down", "end of its script"):
        with pytest.raises(ModelError, match=said):
            model.complete(HELLO)
    assert ScriptedModel(text for text in ["made"]).complete(HELLO).text == "made"
    assert ScriptedModel(lambda messages: messages[-1]["content"].upper()).complete(HELLO).text == "HELLO"
    parts = {"role": "user", "content": [{"type": "text", "text": "12345"}, {"type": "image_url", "image_url": {}}]}
    with use_call(Call()) as call:
        answer = ScriptedModel(["123456789"]).complete([*HELLO, parts])
    assert answer.usage == call.usage == Usage(prompt_tokens=2 + 2, completion_tokens=3)


def test_a_hit_is_charged_to_the_budget_and_not_to_the_bill(cached: CachedModel, counter: Counter) -> None:
    first = asked(cached)
    with use_call(Call("task:0", 0)) as call:
        again = cached.complete(HELLO)
    assert (again.text, again.logprobs, counter.n_calls) == (first, (-0.25,), 1)
    assert call.usage == again.usage
    assert call.usage._replace(seconds=0.0) == Usage(prompt_tokens=3, completion_tokens=2, n_cached=1)


def test_a_hit_counts_with_the_seconds_that_the_answer_took_at_first(tmp_path: Path) -> None:
    def slow(messages: Messages) -> str:
        start = perf_counter()
        while perf_counter() - start < 0.05:
            pass
        return "late"

    for n_cached in (0, 1, 1):
        with CachedModel(ScriptedModel(slow), tmp_path / "cache.sqlite") as model, use_call(Call("task:0", 0)) as call:
            start = perf_counter()
            model.complete(HELLO)
            took = perf_counter() - start
        assert call.usage.n_cached == n_cached
        assert not n_cached or call.usage.seconds >= 0.05 > took


def test_every_part_of_the_key_makes_a_sample_of_its_own(cached: CachedModel, counter: Counter) -> None:
    hullo = ({"role": "user", "content": "hullo"},)
    changes: list[dict[str, Any]] = [
        *({}, {"stream": "task:1"}, {"index": 1}, {"temperature": 0.5}, {"max_tokens": 9}, {"messages": hullo}),
        *({"temperature": 0}, {"temperature": 0, "max_tokens": 9}, {"temperature": 0, "messages": hullo}),
        *({"messages": asking(*tools)} for tools in ([TOOL], [OTHER], [TOOL, OTHER], [])),
    ]
    texts = [asked(cached, **one) for one in changes]
    assert [asked(cached, **one) for one in changes] == texts
    counter.settings["api_base"] = "elsewhere"
    asked(cached)
    assert counter.n_calls == len({*texts}) + 1 == 14


def test_several_draws_within_one_item_differ_and_are_found_again(cached: CachedModel, counter: Counter) -> None:
    for _ in range(2):
        with use_call(Call("task:0", 0)):
            assert [cached.complete(HELLO).text for _ in range(3)] == ["answer 1", "answer 2", "answer 3"]


def test_an_identical_question_at_temperature_0_is_asked_once(cached: CachedModel, counter: Counter) -> None:
    spent = []
    for stream, index in (("task:0", 0), ("task:0", 1), ("task:0", 1), ("task:1", 0), ("other task:0", 0)):
        with use_call(Call(stream, index)) as call:
            assert {cached.complete(HELLO, temperature=0).text for _ in range(2)} == {"answer 1"}
            spent.append(call.usage)
    # The model itself reports what it costs, so a hit is all that is reported here: tokens without dollars.
    assert [one._replace(seconds=0.0) for one in spent] == [
        Usage(prompt_tokens=3 * n, completion_tokens=2 * n, n_cached=n) for n in (1, 2, 2, 2, 2)
    ]


def test_errors_are_not_kept_and_a_model_that_varies_at_temperature_0_can_be_asked_for_every_sample(
    counter: Counter, tmp_path: Path
) -> None:
    with CachedModel(ScriptedModel([ModelError("busy", kind="server"), "fine"]), tmp_path / "cache") as model:
        with pytest.raises(ModelError):
            asked(model)
        assert [asked(model), asked(model)] == ["fine"] * 2
    with CachedModel(counter, tmp_path / "other", asks_greedy_once=False) as varying:
        answers = [asked(varying, index=index, temperature=0) for index in (0, 1, 1)]
    assert answers == ["answer 1", "answer 2", "answer 2"]


def test_a_cache_that_breaks_later_warns_once_and_goes_on_without(cached: CachedModel, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "deep" / "cache.sqlite")
    other.execute("DROP TABLE completions")
    other.close()
    with pytest.warns(RuntimeWarning, match="going on without it"):
        assert asked(cached) == "answer 1"
    assert asked(cached) == "answer 2"


ROW = '{"text": "t", "prompt_tokens": 1, "completion_tokens": 1, "logprobs": null, "finish_reason": "stop"}'


@pytest.mark.parametrize(
    "row",
    [
        *("{", "[1]", "null", "{}", ROW[:40], ROW + ROW, "[" * 100_000, '{"text":' * 100_000),
        *(ROW.replace('tokens": 1', f'tokens": {n}') for n in ("1e400", "NaN", '"x"', "null", "[1]")),
        *(ROW.replace('"logprobs": null', f'"logprobs": {value}') for value in ('["x"]', "7", "[[1]]")),
        *(
            ROW.replace('"t"', "7"),
            ROW.replace("}", ', "starts": [1e400]}'),
            ROW.replace("}", ', "cached_tokens": [1]}'),
        ),
        *(ROW.replace("stop", "déjà").encode("latin-1"), ROW.encode() + b"\0", bytes(100), b"\xff\xfe", 7, 1.5),
    ],
)
def test_a_damaged_row_is_asked_for_again(row: Any, cached: CachedModel, tmp_path: Path) -> None:
    asked(cached)
    other = sqlite3.connect(tmp_path / "deep" / "cache.sqlite")
    is_text = isinstance(row, bytes)
    other.execute(f"UPDATE completions SET answer = {'CAST(? AS TEXT)' if is_text else '?'}", (row,))
    other.commit()
    other.close()
    assert [asked(cached), asked(cached)] == ["answer 2", "answer 2"]


NO_FIFO = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs on Windows")


@pytest.mark.parametrize(
    "path",
    ["folder", "file/cache", "file/deep/cache", pytest.param("fifo", marks=NO_FIFO), "long" * 100, "no database"],
)
def test_what_is_no_cache_is_one_sentence_that_says_how_to_go_on(path: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "no database").write_bytes(b"not a database, and long enough to be taken for one" * 99)
    if path == "fifo":
        os.mkfifo(tmp_path / path)
    with pytest.raises(ValueError, match=r"expected a language-model cache in .*name another path") as caught:
        CachedModel(Counter(), tmp_path / path)
    assert "\n" not in str(caught.value)
    assert path != "no database" or "delete it, or name another path" in str(caught.value)


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
