"""Calls: what is read and refused, results as texts, states as values, and a copy of the official classes."""

import copy
import sys
import warnings
from collections.abc import Mapping, Sequence
from decimal import getcontext
from pathlib import Path
from typing import Any

import pytest

from iad_envs.errors import DataNotFound, Unavailable, UnknownTask
from iad_envs.toolcalls import executor
from iad_envs.toolcalls.bfcl.classes import OfficialClasses
from iad_envs.toolcalls.bfcl.decoding import decoded, runnable
from iad_envs.toolcalls.bfcl.precautions import OFFICIAL
from iad_envs.toolcalls.calls import FunctionCall, UnreadableCalls, key_of, read_calls
from iad_envs.toolcalls.copying import copied
from iad_envs.toolcalls.executor import MAX_INTEGER, MAX_TEXT, Precaution, Toolbox, text_of
from tests.effort import times
from tests.fidelity.attacks import fuzzed, watched
from tests.iad_envs.toolcalls.counter_desk import PlainSums, TicketDesk, toolbox

TWO = [FunctionCall("f", {"a": 1, "b": "x"}), FunctionCall("g", {})]
PYTHON = "[f(a=1, b='x'), g()]"
F_JSON, G_JSON = '{"name": "f", "arguments": {"a": 1, "b": "x"}}', '{"name": "g", "arguments": {}}'


def test_every_notation_gives_the_same_calls_and_key_which_ignores_nothing_that_counts() -> None:
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
    texts = (
        *("f(a=1, b=2)", "f(a=1, b=2), g()", "g(), f(a=1, b=2)", "f(a=1.0, b=2)", "f(a='1', b=2)", "f(a=True, b=2)"),
        *("f(a={1: 2})", "f(a={'1': 2})", "f(a=[1])", "f(a=(1,))", "f(a={1: 2, 'b': 3})", "f(a={})"),
    )
    assert len({key_of(read_calls(text)) for text in texts}) == len(texts)
    for one, other in (("f(a=1, b=2)", "f(b=2, a=1)"), ("f(a={1: 2, 'b': 3})", "f(a={'b': 3, 1: 2})")):
        assert key_of(read_calls(one)) == key_of(read_calls(other))


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


def test_the_official_reading_is_more_lenient_but_runs_nothing() -> None:
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
    read_calls("f(a='\\d')")  # what is imported on a first use
    n_read, refusals = 0, set[str]()
    with watched() as events:
        for text in fuzzed(
            [PYTHON, f"[{F_JSON}]", f"<tool_call>{G_JSON}</tool_call>", f"```\n{PYTHON}```"], times(20_000)
        ):
            for read in (read_calls, decoded):
                try:
                    key_of(runnable(read(text)))
                    n_read += 1
                except UnreadableCalls as refused:
                    refusals.add(str(refused))
    assert not events
    assert n_read > 10
    assert all("expected" in refusal for refusal in refusals)


OPEN = read_calls("open_ticket(title='broken lamp', tags=['light'])")


def ran(calls: Sequence[FunctionCall], tickets: Mapping[int, Any] = {}, **options: Any) -> tuple[str, ...]:
    """The results of calls, with these tickets at the start."""
    box = toolbox()
    return box.run(box.start({"TicketDesk": {"tickets": dict(tickets)}}), calls, **options).results


def test_results_have_the_official_texts() -> None:
    error = "Error during execution: "
    expected = {
        "describe()": "0 tickets", "list_tickets()": "[]", "total(numbers=[1, 2.5])": '{"result": 3.5}',
        "itself()": "{'object': <sums>}", "read_ticket(ticket=1)": f"{error}1",
        "total()": f"{error}PlainSums.total() missing 1 required positional argument: 'numbers'",
        "total(n=1)": f"{error}PlainSums.total() got an unexpected keyword argument 'n'",
        "no_such(a=1)": f"{error}name 'no_such' is not defined",
        "total(numbers=['a'])": f"{error}unsupported operand type(s) for +: 'int' and 'str'",
    }  # fmt: skip
    assert ran(read_calls(", ".join(expected))) == tuple(expected.values())
    circle: dict[str, Any] = {}
    circle["it"] = circle
    assert text_of(circle) == "{'it': {...}}"
    assert text_of({"a": 1 + 2j}) == "{'a': (1+2j)}"
    assert text_of(None) == "None"
    unknown = "Error during execution: name '{}' is not defined"
    assert ran(read_calls("describe(), list_tickets()"), withheld={"describe"}) == (unknown.format("describe"), "[]")
    calls = [FunctionCall("total", {"numbers": FunctionCall(name, {})}) for name in ("list_tickets", "no_such")]
    assert ran(calls, {4: {}, 5: {}}) == ('{"result": 9}', unknown.format("no_such"))


def test_a_state_is_a_value_only_what_is_called_is_copied_and_the_call_and_scenario_stay() -> None:
    box = toolbox()
    start = box.start({"TicketDesk": {"random_seed": 3}})
    once, again = box.run(start, OPEN), box.run(start, OPEN)
    assert once.results == again.results
    assert vars(start.instances["TicketDesk"])["tickets"] == {}
    assert once.state.instances["PlainSums"] is start.instances["PlainSums"]
    assert once.state.instances["TicketDesk"] is not again.state.instances["TicketDesk"]
    more = box.run(once.state, OPEN)
    assert more.results != once.results, "the generator goes on from where it was"
    assert box.run(start, read_calls("no_such()")).state is start
    number = next(iter(once.state.instances["TicketDesk"].tickets))
    tagged = box.run(once.state, [FunctionCall("tag_ticket", {"ticket": number, "tag": "urgent"})])
    assert tagged.state.instances["TicketDesk"].tickets[number]["tags"] == ["light", "urgent"]
    assert once.state.instances["TicketDesk"].tickets[number]["tags"] == OPEN[0].arguments["tags"] == ["light"]
    config: dict[str, Any] = {"TicketDesk": {"tickets": {1: {"title": "x", "tags": []}}}}
    before = copy.deepcopy(config)
    state = box.start(config, long_context=True)
    box.run(state, read_calls("tag_ticket(ticket=1, tag='y')"))
    assert config == before
    public = executor.public_attributes(state.instances["TicketDesk"])
    assert (set(public), len(public["log"])) == ({"tickets", "log"}, 100)


def test_arguments_that_are_too_large_fail_as_a_call_does_and_precautions_stand_around_it() -> None:
    values: tuple[tuple[Any, str], ...] = (
        ("x" * (MAX_TEXT + 1), "at most 65536 characters"), (MAX_INTEGER + 1, "must be between"),
        ([1, -MAX_INTEGER - 1], "must be between"), ({"a": float("inf")}, "name 'inf'"), (float("nan"), "name 'nan'"),
    )  # fmt: skip
    for value, said in values:
        (result,) = ran([FunctionCall("open_ticket", {"title": value})])
        assert (result.startswith("Error during execution: "), said in result) == (True, True), said
    for value in ("x" * MAX_TEXT, MAX_INTEGER, -MAX_INTEGER):
        assert ran([FunctionCall("open_ticket", {"title": value})])[0].startswith('{"ticket": ')

    def at_most_two(arguments: dict[str, Any]) -> dict[str, Any]:
        if len(arguments["numbers"]) > 2:
            raise executor.ToolLimit("at most two numbers")
        return {"numbers": [10 * number for number in arguments["numbers"]]}

    around = {"total": Precaution(arguments=at_most_two, result=lambda result: {**result, "checked": True})}
    box = Toolbox({"PlainSums": PlainSums}, precautions=around)
    done = box.run(box.start({}), read_calls("total(numbers=[1, 2]), total(numbers=[1, 2, 3])"))
    assert done.results == ('{"result": 30, "checked": true}', "Error during execution: at most two numbers")


def test_a_copy_has_the_same_shape_shares_nothing_that_changes_and_may_be_deep() -> None:
    desk, shared = TicketDesk(), ["x"]
    desk.tickets = {1: {"tags": shared}, 2: {"tags": shared, "pair": (shared, 1), "set": {1}, "itself": desk}}
    desk.tickets[1]["circle"] = desk.tickets
    new = copied(desk)
    first, second = new.tickets[1], new.tickets[2]
    assert (first["tags"], first["tags"] is shared) == (["x"], False)
    assert first["tags"] is second["tags"] is second["pair"][0]
    assert second["itself"] is new
    assert first["circle"] is new.tickets
    assert (second["set"], second["set"] is desk.tickets[2]["set"]) == ({1}, False)
    assert new._random is not desk._random
    assert new._random.random() == desk._random.random()
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    depth, inner = 0, copied(deep)
    while inner:
        depth, inner = depth + 1, inner[0]
    assert depth == 100_000
    while deep:  # taken apart here: freeing it all at once would be deep as well
        deep = deep[0]


FOLDER = "eval_checker/multi_turn_eval/func_source_code"
TABLES = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code.long_context"
DESK = f"""
from copy import deepcopy
from {TABLES} import TABLE

class TicketAPI:
    def __init__(self):
        self.tickets: dict

    def _load_scenario(self, scenario, long_context=False):
        self.tickets = scenario.get("tickets", TABLE)

    def close_ticket(self, ticket):
        self.tickets[ticket] = "closed"
        return {{"closed": ticket}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "bfcl_eval"
    source = package / FOLDER
    source.mkdir(parents=True)
    (source / "long_context.py").write_text("TABLE = {1: 'open'}\n")
    (source / "ticket_api.py").write_text(DESK)
    (source / "math_api.py").write_text("import no_such_package_at_all\nclass MathAPI: pass\n")
    (source / "posting_api.py").write_text("1 / 0\n")
    return package


def test_a_class_is_loaded_with_what_it_imports_for_one_state_or_named_as_missing(folder: Path, tmp_path: Path) -> None:
    classes = OfficialClasses(folder)
    assert classes["TicketAPI"] is OfficialClasses(folder)["TicketAPI"], "once"
    assert classes["TicketAPI"].__name__ == "TicketAPI"
    assert not [name for name in sys.modules if name.startswith("bfcl_eval")]
    assert not list(folder.rglob("__pycache__")), "the folder is the user's"
    box = OfficialClasses(folder).toolbox(["TicketAPI"])
    start = box.start({})
    closed = box.run(start, read_calls("close_ticket(ticket=1)")).state
    assert closed.instances["TicketAPI"].tickets == {1: "closed"}
    assert start.instances["TicketAPI"].tickets == box.start({}).instances["TicketAPI"].tickets == {1: "open"}
    loaded, classes = set(sys.modules), OfficialClasses(folder)
    command = r"--no-deps bfcl-eval==2026\.3\.23"
    for call, error, said in (
        (lambda: classes["MathAPI"], Unavailable, rf"no_such_package_at_all.*iad\[bfcl\].*{command}"),
        (lambda: OfficialClasses(tmp_path / "elsewhere"), DataNotFound, command),
        (lambda: classes["TravelAPI"], DataNotFound, r"travel_booking\.py"),
        (lambda: classes["TicketApi"], UnknownTask, "known simulated class"),
        (lambda: classes["TwitterAPI"], ZeroDivisionError, "zero"),
    ):
        with pytest.raises(error, match=said):
            call()
    assert set(sys.modules) == loaded, "nothing that is half loaded stays"


class ArithmeticDesk:
    """Has functions with the names and parameters of the official ones."""

    def power(self, base: float, exponent: float) -> dict[str, float]:
        return {"result": base**exponent}

    def square_root(self, number: float, precision: int) -> dict[str, float]:
        getcontext().prec = precision
        return {"result": number**0.5}

    def round_number(self, number: float, decimal_places: int = 0) -> dict[str, float]:
        return {"result": round(number, decimal_places)}

    def book_flight(self, travel_class: str) -> dict[str, object]:
        return {"booking_status": False, "error": f"Must be one of { {'first', 'economy', 'business'} }"}


TOO_LONG = "Error during execution: Exceeds the limit (4300 digits) for integer string conversion"
PRECISION = "precision must be at most 1000"
ARITHMETIC = {
    "power(base=2, exponent=10)": '{"result": 1024}', "power(base=10, exponent=999999999)": TOO_LONG,
    "power(base=10, exponent=4300)": TOO_LONG, "power(base=2, exponent=-3)": '{"result": 0.125}',
    "power(base=-1, exponent=999999999)": '{"result": -1}', "power(base=0, exponent=5)": '{"result": 0}',
    "square_root(number=4, precision=1000000)": PRECISION, "square_root(number=4, precision='1000000')": PRECISION,
    "square_root(number=4, precision=7)": '{"result": 2.0}', "square_root(number=4, precision=0)": "valid range",
    "round_number(number=7, decimal_places=-999999999)": '{"result": 0}',
    "round_number(number=1234, decimal_places=-2)": '{"result": 1200}',
    "book_flight(travel_class='x')": "{'first', 'economy', 'business'}",
}  # fmt: skip


@pytest.mark.timeout(10)
def test_heavy_arithmetic_is_refused_or_avoided() -> None:
    box = Toolbox({"ArithmeticDesk": ArithmeticDesk}, precautions=OFFICIAL)
    before = getcontext().prec
    ran = box.run(box.start({}), read_calls(", ".join(ARITHMETIC)))
    for call, result in zip(ARITHMETIC, ran.results, strict=True):
        assert ARITHMETIC[call] in result, call
    assert getcontext().prec == before
