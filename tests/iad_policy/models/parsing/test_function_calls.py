"""Answers of function calls as models write them, and answers of words."""

import json

import pytest

from iad_policy.models.parsing.function_calls import read_function_calls

ONE = "[find(words='a b', n=2)]"
AS_JSON = json.dumps([{"name": "find", "arguments": {"words": "a b", "n": 2}}])
TWO = json.dumps([{"name": "find", "arguments": {"n": 2}}, {"name": "stop", "arguments": {}}])
OBJECT = '{"name": "find", "arguments": {"words": "a b", "n": 2}}'

READ = [
    # Python
    (ONE, ONE, ""),
    ("find(words='a b', n=2)", ONE, ""),
    ("[find(words='a b', n=2), stop()]", "[find(words='a b', n=2), stop()]", ""),
    (f"```python\n{ONE}\n```", ONE, ""),
    (f"```\n{ONE}\n```", ONE, ""),
    (f"`{ONE}`", ONE, "`"),
    (f"Action: {ONE}", ONE, ""),
    (f"**Action:** {ONE}", ONE, ""),
    (f"Thought: I look for it.\nAction: {ONE}", ONE, "I look for it."),
    (f"Thought: I look for it.\nAction:\n```python\n{ONE}\n```", ONE, "I look for it."),
    (f"I will look for it.\n{ONE}", ONE, "I will look for it."),
    (f"{ONE}\nThis looks for it.", ONE, ""),
    ("find(n=2)\nstop()", "[find(n=2), stop()]", ""),
    ("1. find(n=2)\n2. stop()", "[find(n=2), stop()]", ""),
    ("- find(n=2)\n- stop()", "[find(n=2), stop()]", ""),
    ("[functions.find(n=2)]", "[find(n=2)]", ""),
    ("functions.find(n=2)", "[find(n=2)]", ""),
    ("[find(words='it is [done] (now)')]", "[find(words='it is [done] (now)')]", ""),
    ("[find(words=\"Jo's\")]", "[find(words=\"Jo's\")]", ""),
    ("[find(words='''two\nlines''')]", "[find(words='''two\nlines''')]", ""),
    ("[find(words=['a', 'b'], where={'x': 1})]", "[find(words=['a', 'b'], where={'x': 1})]", ""),
    ("[shop.find(n=2)]", "[shop.find(n=2)]", ""),
    ("[find('a b')]", "[find('a b')]", ""),  # the environment says what is wrong with it
    # JSON and tags
    (OBJECT, AS_JSON, ""),
    (f"[{OBJECT}]", AS_JSON, ""),
    (f"```json\n{OBJECT}\n```", AS_JSON, ""),
    ('{"name": "find", "parameters": {"words": "a b", "n": 2}}', AS_JSON, ""),
    ('{"type": "function", "function": {"name": "find", "arguments": {"words": "a b", "n": 2}}}', AS_JSON, ""),
    (
        '{"type": "function", "function": {"name": "find", "arguments": "{\\"words\\": \\"a b\\", \\"n\\": 2}"}}',
        AS_JSON,
        "",
    ),
    (f"<tool_call>\n{OBJECT}\n</tool_call>", AS_JSON, ""),
    (f"<tool_call>{OBJECT}", AS_JSON, ""),
    (f"I look for it.\n<tool_call>\n{OBJECT}\n</tool_call>", AS_JSON, "I look for it."),
    (
        '<tool_call>{"name": "find", "arguments": {"n": 2}}</tool_call>\n<tool_call>{"name": "stop", "arguments": {}}'
        "</tool_call>",
        TWO,
        "",
    ),
    ('{"name": "find", "arguments": {"n": 2}}\n{"name": "stop", "arguments": {}}', TWO, ""),
    (f"{{{OBJECT}}}", AS_JSON, ""),
    ('{{"name": "find", "arguments": {"n": 2}}}\n{"name": "stop", "arguments": {}}}', TWO, ""),
    (f"<tool_call>\n{{{OBJECT}}}\n</tool_call>", AS_JSON, ""),
    ('<function=find>{"words": "a b", "n": 2}</function>', AS_JSON, ""),
    (
        "<tool_call>\n<function=find>\n<parameter=words>\na b\n</parameter>\n<parameter=n>\n2\n</parameter>\n"
        "</function>\n</tool_call>",
        AS_JSON,
        "",
    ),
    (f"<tool_call>{ONE}</tool_call>", ONE, ""),
    (f"{OBJECT}<|im_end|>", AS_JSON, ""),
    # thinking
    (f"<think>\nHm.\n</think>\n{ONE}", ONE, "Hm."),
    (f"<think>\n[stop()]\n</think>\n\n{ONE}", ONE, "[stop()]"),
    (f"Hm.\n</think>\n{ONE}", ONE, "Hm."),
    # words
    ("Which one do you mean?", "reply[Which one do you mean?]", ""),
    ("reply[Which one?]", "reply[Which one?]", ""),
    ("Reply[Done.]", "reply[Done.]", ""),
    ("Action: reply[Done.]", "reply[Done.]", ""),
    ("Action: Done.", "reply[Done.]", ""),
    ("Thought: All is done.\nAction: reply[It is [done].]", "reply[It is [done].]", "All is done."),
    ("[]", "[]", ""),
    ("<think>\nHm.\n</think>\nDone.", "reply[Done.]", "Hm."),
    ("find() is what I would call.", "reply[find() is what I would call.]", ""),
    # drafts
    ("draft[find(n=2)]", "draft[find(n=2)]", ""),
    ("draft[[find(n=2), stop()]]", "draft[find(n=2), stop()]", ""),
]  # fmt: skip

UNREADABLE = [
    ("", "an empty answer"),
    ("<think>\nI still think", "reasoning without an end"),
    ("[find(words='a b'", "a list of calls that can't be read"),
    ("[find(words='a b' n=2)]", "a list of calls that can't be read"),
    ('<tool_call>{"name": "find", "arguments": {"n": </tool_call>', "a list that can't be read"),
    ("[{'type': 'dict', 'properties': {}}]", "a list that can't be read"),
    ("Thought: I should look for it.", "a thought without an action"),
]


@pytest.mark.parametrize(("text", "action", "thought"), READ)
def test_an_answer_is_read(text: str, action: str, thought: str) -> None:
    assert read_function_calls(text)[:2] == (action, thought)


@pytest.mark.parametrize(("text", "got"), UNREADABLE)
def test_what_can_t_be_read_says_why(text: str, got: str) -> None:
    reading = read_function_calls(text)
    assert reading.action is None
    assert reading.got.startswith(got)


@pytest.mark.parametrize(
    ("text", "action"), [(ONE, ONE), (f"{ONE} and th", ONE), ("[find(n=2", None), ("I will lo", None)]
)
def test_of_an_answer_that_was_cut_off_only_whole_calls_count(text: str, action: str | None) -> None:
    reading = read_function_calls(text, is_cut=True)
    assert reading.action == action
    assert action or reading.got == "half an answer, which was cut off at max_tokens"


def test_names_that_a_model_could_not_write_are_put_back() -> None:
    names = {"shop_find": "shop.find", "stop": "stop"}
    assert read_function_calls("[shop_find(n=2), stop()]", names=names).action == "[shop.find(n=2), stop()]"
    found = read_function_calls('<tool_call>{"name": "shop_find", "arguments": {}}</tool_call>', names=names)
    assert json.loads(found.action) == [{"name": "shop.find", "arguments": {}}]
