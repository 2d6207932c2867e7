"""Reading of calls: what is accepted, what is refused and how, and that nothing is ever run."""

import random
import warnings
from typing import Any

import pytest

from iad_envs.toolcalls.bfcl.decoding import decoded, runnable
from iad_envs.toolcalls.calls import FunctionCall, UnreadableCalls, key_of, read_calls
from tests.effort import times
from tests.fidelity.attacks import watched

TWO = [FunctionCall("f", {"a": 1, "b": "x"}), FunctionCall("g", {})]
PIECES = [
    "[", "]", "(", ")", "{", "}", ",", "=", ":", "'", '"', "\\", "`", "```", "\n", " ", "f", "g", "a", "1", "-", "+",
    "**", "1e999", "None", "True", "lambda", "if", "else", "for", "in", "*", "f(a=1)", "[f()]", "f''", "b'x'", "...",
    "\x00", "\ud800", "<tool_call>", "</tool_call>", '{"name": "f", "arguments": {}}', "NaN", "#", ";", "é", "\\N{",
    "\\u12", "0x", "1_", "@", "~", "9" * 5000, "[" * 300, "-" * 3000, "'a'*", "(" * 120, "not ", "await ", ":=",
    "{'a':", '"name":', "__import__('os')",
]  # fmt: skip


PYTHON = "[f(a=1, b='x'), g()]"
F_JSON, G_JSON = '{"name": "f", "arguments": {"a": 1, "b": "x"}}', '{"name": "g", "arguments": {}}'


def test_every_notation_gives_the_same_calls() -> None:
    key = '[{"arguments":{"a":1,"b":"x"},"name":"f"},{"arguments":{},"name":"g"}]'
    for text in (
        PYTHON, PYTHON[1:-1], "  [f(\n    a=1,\n    b='x',\n), g()]\n", f"```\n{PYTHON}\n```",
        f"```python\n{PYTHON}\n```", f"`{PYTHON}`", PYTHON.replace("a=1", "a=2, a=1"), f"[{F_JSON}, {G_JSON}]",
        f'```json\n[{F_JSON}, {{"arguments": {{}}, "name": "g"}}]\n```', key,
        f"<tool_call>\n{F_JSON}\n</tool_call>\n<tool_call>{G_JSON}</tool_call>",
        '[{"name": "f", "arguments": "{\\"a\\": 1, \\"b\\": \\"x\\"}"}, {"name": "g", "arguments": "{}"}]',
    ):  # fmt: skip
        assert read_calls(text) == TWO, text
        assert key_of(read_calls(text)) == key, text


DEEP = "[" * 33 + "]" * 33
REFUSED = {
    "expected": ["I am done."],
    "an empty text": ["", "```\n```"],
    "every argument with its name": ["[f(1)]", "[f(**{'a': 1})]", "[f(*[1])]"],
    "a literal": [
        f"[f(a={value})]" for value in ("x", "g()", "1 + 1", "+1", "1e999", "{1, 2}", "{**{}}", "-True", "[b'x']")
    ],
    "without dots": ["[os.system(a=1)]"],
    "expected calls": ["[f()()]", "[f, g]", "[f(a=1)", "f(); g()", "[f(a='\x00')]"],
    "one list": ["[f()], [g()]", "[f() for f in g]"],
    "32 levels": [f"[f(a={DEEP})]", f'{{"name": "f", "arguments": {{"a": {DEEP}}}}}'],
    "64 calls": ["[" + "f()," * 65 + "]"],
    "100,000 characters": ["f(a='" + "x" * 100_000 + "')"],
    '{"name"': [f'{{"name": "f"{more}}}' for more in ("", ', "arguments": []', ', "arguments": {}, "more": 1')],
    "NaN": ['{"name": "f", "arguments": {"a": NaN}}'],
    "a float can hold": ['{"name": "f", "arguments": {"a": 1e999}}'],
    "JSON": ["<tool_call>f()</tool_call>"],
}


@pytest.mark.parametrize("said", REFUSED)
def test_anything_else_is_refused_with_what_was_expected(said: str) -> None:
    for text in REFUSED[said]:
        with pytest.raises(UnreadableCalls, match="got") as refused:
            read_calls(text)
        assert said in str(refused.value), text
        assert len(str(refused.value)) < 400


def test_a_style_accepts_only_its_notation_and_dots_are_read_where_they_are_asked_for() -> None:
    as_json = '[{"name": "g", "arguments": {}}]'
    one = [FunctionCall("g", {})]
    assert read_calls("g()") == read_calls(as_json[1:-1]) == read_calls("[g()]", "python") == one
    assert read_calls(as_json, "json") == read_calls("[g()]".ljust(100_000)) == one
    assert read_calls("[]") == read_calls("```\n[]\n```") == []
    styles: tuple[tuple[str, Any], ...] = (("[g()]", "json"), (as_json, "python"))
    for text, style in styles:
        with pytest.raises(UnreadableCalls):
            read_calls(text, style)
    for text in ("math.gcd(a=1)", '{"name": "math.gcd", "arguments": {"a": 1}}'):
        assert read_calls(text, dots=True) == [FunctionCall("math.gcd", {"a": 1})]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (call,) = read_calls("f(a=-1.5, b=[1, (2, None)], c={'k': {'l': True}, 3: -4}, d='\\d')")
        assert decoded(r"[f(a='\d')]") == [FunctionCall("f", {"a": r"\d"})]
    assert call.arguments == {"a": -1.5, "b": [1, (2, None)], "c": {"k": {"l": True}, 3: -4}, "d": "\\d"}


def test_the_key_ignores_notation_and_nothing_that_counts() -> None:
    texts = (
        *("f(a=1, b=2)", "f(a=1, b=2), g()", "g(), f(a=1, b=2)", "f(a=1.0, b=2)", "f(a='1', b=2)", "f(a=True, b=2)"),
        *("f(a={1: 2})", "f(a={'1': 2})", "f(a=[1])", "f(a=(1,))", "f(a={1: 2, 'b': 3})", "f(a={})"),
    )
    assert len({key_of(read_calls(text)) for text in texts}) == len(texts)
    for one, other in (("f(a=1, b=2)", "f(b=2, a=1)"), ("f(a={1: 2, 'b': 3})", "f(a={'b': 3, 1: 2})")):
        assert key_of(read_calls(one)) == key_of(read_calls(other))


def test_the_official_reading_is_more_lenient() -> None:
    for text, arguments in {
        "a=name": {"a": "name"}, "a=+5, b=~5, c=not True": {"a": -5, "b": -5, "c": -1}, "'dropped', b=1": {"b": 1},
        "a=2 ** 3 + 1": {"a": 9}, "a='x' + 'y'": {"a": "xy"}, "a=[0] * 3": {"a": [0, 0, 0]},
        "a=g(b=1)": {"a": {"g": {"b": 1}}}, "a=g(1)": {"a": "g(1)"}, "a=x[0]": {"a": "x[0]"}, "a=...": {"a": "..."},
    }.items():  # fmt: skip
        assert decoded(f"[f({text})]") == [FunctionCall("f", arguments)], text
        with pytest.raises(UnreadableCalls):
            read_calls(f"[f({text})]")
    assert decoded("[f(a=1, a=2)]") == [FunctionCall("f", {"a": 2})]
    (call,) = runnable(decoded("[f(a=g(b=1), c={'k': 1})]"))
    assert call.arguments == {"a": FunctionCall("g", {"b": 1}), "c": {"k": 1}}
    with pytest.raises(UnreadableCalls):
        runnable(decoded("[f(a={})]"))


def test_the_official_reading_refuses_what_it_would_have_to_run_or_takes_long() -> None:
    for value in (
        "10 ** 10 ** 10", "'x' * 10 ** 9", "[[0] * 1000] * 1000", "1 << 10 ** 9", "'%999999999d' % 1", "1 / 0", "-'x'",
        "2 * pi", "{[]: 1}", "lambda: 1", "os.path", "f'{1}'", "{1, 2}", "a if b else c",
    ):  # fmt: skip
        with pytest.raises(UnreadableCalls):
            decoded(f"[f(a={value})]")
    for text in ("```python\n[f()]\n```", "none"):
        with pytest.raises(UnreadableCalls):
            decoded(text)


def test_random_texts_are_read_or_refused_and_nothing_happens() -> None:
    chooser = random.Random(5)
    texts = ["".join(chooser.choices(PIECES, k=chooser.randint(1, 14))) for _ in range(times(20_000))]
    read_calls("f(a='\\d')")  # what is imported on a first use
    n_read = 0
    refusals = set()
    with watched() as events:
        for text in texts:
            for read in (read_calls, decoded):
                try:
                    key_of(runnable(read(text)))
                    n_read += 1
                except UnreadableCalls as refused:
                    refusals.add(str(refused))
    assert not events
    assert n_read > 10
    assert all("expected" in refusal for refusal in refusals)
