"""Reading takes linear time: an answer that is four times as long takes about four times as long, whatever it holds."""

import time
from collections.abc import Callable, Mapping

import pytest
from hypothesis import settings

from iad_envs.sketch2code.policy.page_answers import read_page
from iad_policy.models.parsing import Grammar, read_action, read_integer
from iad_policy.models.parsing.function_calls import read_function_calls

SHOP = Grammar.of((*(f"click[option {number}]" for number in range(100)), "search[...]"))
SHELL = Grammar.of(("pwd", "ls -la", "cd ..", "submit"), "shell")
SQL = Grammar.of(("execute[...]", "submit[...]"), "sql")
BOOKING = Grammar.of((*(f"CLICK [slot-{number}]" for number in range(100)), "TYPE [q] [...]"), "page")
READERS: Mapping[str, Callable[[str], object]] = {
    "shop": lambda text: read_action(text, SHOP),
    "shell": lambda text: read_action(text, SHELL),
    "SQL": lambda text: read_action(text, SQL),
    "booking": lambda text: read_action(text, BOOKING),
    "page": read_page,
    "number": read_integer,
    "calls": read_function_calls,
}
PIECES = (
    "a", " ", "\n", "\t\n", "*", "`", "```\n", "```bash\nls\n", "~~~\n", "'", '"', "\\", "\\\n", "(", ")", "[",
    "]", "[]", "{", '{"', "<", "a[", "click[", "search[a]", "click [a ", "submit[SELECT [", "submit[```\n",
    "SELECT '", "-- ]\n", "/*", "Action:", "Action:\n", "**Action** ", "Action: search\nAction Input: ",
    "Action: `", "Answer: ", ". Action: ", "1. ", "- ", "> ", "$ ", "<think>", "<think>\n", "</think>",
    "</think>\n", "<think></think>\n", "<action>", "<action>\n", "<tool_call>",
    "<arg_key>a</arg_key>\n<arg_value>", "<parameter=a>", "<|channel|>", "[TOOL_CALLS]", '{"a": ', '{"a": "b"}\n',
    "[[", "f(", "a=(", "$(", "`$(", '"$(', "${", "<<E\n", "<<E ", "if ", "for a in b; do\n", "case a in\n", "{ ",
    "#", "# '\n", "it's\n", "<html>", "<!-- ", "<p>\n\n", "<html>\n```\n", "1", "1 ", "-1,", "ask[", "\r\n", "：",
    "思考：", "é", "Thought: ", "submit", "submit;", "(a b) ", " (a", "...", "<!DOCTYPE html> ...",
    "TYPE [q] [", "TYPE [q] [a] ", "TYPE [", "CLICK [a]\n", "CLICK [", "ASK USER HELP [a ", "type(", "type q ",
    "click ", "TYPE 'a' into [", "] into ", "go to ", "Action: TYPE\nAction Input: {", "Action Input: [q] [",
)  # fmt: skip
SHORT, FACTOR = 3_000, 4
ALLOWED = 9.0
"""Allowed growth of the time. Linear reading grows by 4, quadratic reading by 16."""
FLOOR_S = 0.003
"""Times below this are no sign of anything."""
N_TRIES = 5
"""Number of measurements before a growth counts, as other work on the machine slows single ones down."""


def cpu_s(read: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    read(text)
    return time.thread_time() - start


@pytest.mark.parametrize("reader", READERS)
def test_no_answer_takes_more_than_linear_time(reader: str) -> None:
    read = READERS[reader]
    # A part of the pieces for each reader; all of them with many examples.
    stride = 1 if settings.default.max_examples >= 100 else 4
    for piece in PIECES[list(READERS).index(reader) % stride :: stride]:
        for before in ("", "Action: "):
            short, long = (before + piece * (length // len(piece)) for length in (SHORT, SHORT * FACTOR))
            growths = (cpu_s(read, long) / max(cpu_s(read, short), FLOOR_S) for _ in range(N_TRIES))
            assert any(growth < ALLOWED for growth in growths), before + piece
