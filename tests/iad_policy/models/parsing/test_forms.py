"""Where shell commands end, as in Bash; and an action that an answer gives in a form comes back as it was.

Every form carries every action, but for a script of several commands: behind `Action:` alone its first command counts,
so it needs a fence or an object.
"""

import json
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Mapping

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from iad_envs.sketch2code.policy.page_answers import read_page
from iad_policy.models.parsing import Grammar, read_action, read_integer
from iad_policy.models.parsing.shell_syntax import ends_of_commands, is_complete, is_inside_document
from iad_policy.models.parsing.words import unwrapped
from tests.iad_policy.models.answer_table import FOLDER

PIECES = (
    "ls", "echo", "a", "-x", "'q q'", '"d $(x) d"', '"d `y` d"', "`z`", "$(w)", "$((1+2))", "${v}", "${v#*}",
    "a\\\n", "\n", "|", "&&", "||", ";", "&", ">f", "2>&1", "<f", "# c'\n", "if", "then", "fi", "else", "for",
    "in", "do", "done", "while", "case", "esac", ";;", "a)", "(", ")", "{", "}", "!", "[[ -f a ]]",
    "( ls )", "[[ a =~ (x) ]]", "((1<<2))", "for ((;;))", "(b)", "f()", "function f", "if a; then b; fi", "x=(a b)",
    "<<E\nx y'\nE\n", "<<-E\n\tx\n\tE\n", "<<<s", "'", '"', "`", "$'a\\'b'", "time", "f() {",
)  # fmt: skip


def test_a_command_ends_with_the_line_at_which_nothing_is_open_and_a_fence_may_be_in_a_here_document() -> None:
    given = tomllib.loads((FOLDER.parent / "shell_commands.toml").read_text(encoding="utf-8"))
    for text, ends in given["ends"]:
        assert [text[:end] for end in ends_of_commands(text)] == ends
    for text, is_inside in given["inside"]:
        assert is_inside_document(text) is is_inside, text


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map(" ".join))
def test_bash_finds_the_same_commands_complete(text: str) -> None:
    checked = subprocess.run(["bash", "-n", "-c", text], capture_output=True, text=True, check=False)
    is_open = any(word in checked.stderr for word in ("end of file", "unexpected EOF", "here-document"))
    assume(is_open or checked.returncode == 0)  # what is wrong in another way is no command
    assume("`" not in text or not ("'" in text or '"' in text))  # bash reads what is in backquotes when it runs it
    assume(not text.endswith("\\\n"))  # an answer may end there, a command does not
    assume(any(line.strip() and not line.strip().startswith("#") for line in text.split("\n")))
    assert is_complete(text) is not is_open


SHELL = Grammar.of(("pwd", "ls -la", "cd ..", "submit"), "shell")
SQL = Grammar.of(("execute[...]", "submit[...]"), "sql")
ANSWER = Grammar.of(("submit[...]",), "sql")
Form = Callable[[str], str]
random = settings(deadline=None)


def is_within_a_turn(text: str) -> bool:
    """Whether a text has no token that ends an answer. Hypothesis draws the constants of the reader's own modules."""
    return "<|" not in text and not any(token in text for token in ("</s>", "<end_of_turn>", "<think>", "</think>"))


def fenced(text: str, language: str = "") -> str:
    """The text in a fence that is longer than any run of backticks in it."""
    marks = "```"
    while marks in text:
        marks += "`"
    return f"{marks}{language}\n{text}\n{marks}"


LINES: Mapping[str, Form] = {
    "line": lambda action: f"Action: {action}",
    "bold heading": lambda action: f"**Action:** {action}",
    "thought": lambda action: f"Thought: It's next, isn't it?\nAction: {action}",
    "reasoning": lambda action: f"<think>\nAction: `none`? That's wrong.\n</think>\n\nAction: {action}",
    "observation": lambda action: f"Action: {action}\nObservation: it's done.\nAction: none",
}
"""Forms of an action behind a heading."""
BLOCKS: Mapping[str, Form] = {
    "fence": fenced,
    "fence behind a heading": lambda action: f"Action:\n{fenced(action)}\n\nThat's it.",
    "fence behind a sentence": lambda action: f"I'd do this:\n\n{fenced(action)}\n",
    "object": lambda action: json.dumps({"thought": "It's next.", "action": action}),
    "object in a fence": lambda action: fenced(json.dumps({"action": action}, ensure_ascii=False, indent=1), "json"),
}
"""Forms of an action that show where it ends."""
FORMS = {**LINES, **BLOCKS}


def in_forms(action: str, forms: Mapping[str, Form] = FORMS) -> dict[str, str]:
    return {name: form(action) for name, form in forms.items()}


def called(name: str, **given: str) -> Mapping[str, str]:
    """Forms of an action that has arguments."""
    call = json.dumps({"name": name, "arguments": given})
    parameters = "\n".join(f"<parameter={name}>\n{value}\n</parameter>" for name, value in given.items())
    return {
        "call": call,
        "call in a tag": f"I go on.\n<tool_call>\n{call}\n</tool_call>",
        "function": f"<function={name}>{json.dumps(given)}</function>",
        "parameters": f"<function={name}>\n{parameters}\n</function>\n",
        "flat": json.dumps({"thought": "It's next.", "action": name, **given}),
    }


def assert_read(answers: Mapping[str, str], grammar: Grammar, action: str) -> None:
    for form, answer in answers.items():
        for bare in (True, False):
            reading = read_action(answer, grammar, bare=bare)
            assert (form, reading.action) == (form, action), (answer, reading.got)


PROGRAMS = st.sampled_from(
    ["ls", "grep -c", "awk", "echo", "find . -name", "sed -n", "rm", "xargs", "python3 -c", "./run.sh", "A=1 env"]
)
WORDS = st.one_of(
    st.sampled_from(["*", "/a/*", "**", "x*", "~", "> f", "2>&1", "| sort", "&& ls", "; pwd", "-la", "{}", "{a,b}"]),
    st.sampled_from(["\\;", "a\\ b", "it\\'s", "$HOME", "$(ls *)", "`date`", "$((1 << 2))", "${x#*/}", "<<< x", "!"]),
    st.sampled_from(
        ["[0-9]", "=", "a#x", "%", "^", "action", "Observation:", "a:b", "'```'", "$'a\\'b'", "\"$(echo 'a')\""]
    ),
    st.text("abcXYZ019._-/äß界", min_size=1, max_size=6),
    st.text('ab *"`$(){}[]|;&<>#\\:!?é', max_size=12).map(lambda text: f"'{text}'"),
    st.text("ab *'(){}[]|;&<>#:!?é", max_size=12).map(lambda text: f'"{text}"'),
)
LINE = st.builds(lambda program, words: " ".join([program, *words]), PROGRAMS, st.lists(WORDS, max_size=6))
COMMAND = st.one_of(
    LINE,
    LINE.map("{}  # it's for (all) `files`".format),
    st.builds("{} \\\n  {}".format, LINE, LINE),
    st.builds("{} |\n{}".format, LINE, LINE),
    st.builds("for f in *; do\n  {}\n  {}\ndone".format, LINE, LINE),
    st.builds("if [ -f a ]; then\n  {}\nelse\n  {}\nfi".format, LINE, LINE),
    st.builds("{} '{}\n{}'".format, LINE, st.text('ab *"`$|\n', max_size=9), st.text('ab *"`$|\n', max_size=9)),
    st.builds("{} <<'E_O'\n{}\nE_O".format, LINE, st.text("ab '\"*`$(){}[]|;&\n:!?", max_size=30)),
)
"""One command: it is complete at its end and not before."""
SCRIPT = st.one_of(
    st.lists(COMMAND, min_size=1, max_size=3).map("\n".join),
    st.builds(
        lambda program, rest: f"{program} {rest}".strip(),
        PROGRAMS,
        st.text(max_size=60) | st.text("ab '\"*`$(){}[]|;&<>#\\\n:!?", max_size=60),
    ),
)
"""Any text that begins with the name of a program, whether it is valid or not."""


@random
@example("ls -la ; pwd", "ls")
@example("ls -la . a", "ls")
@given(COMMAND, SCRIPT)
def test_a_command_comes_back_from_every_form_and_a_script_from_those_that_show_its_end(
    command: str, script: str
) -> None:
    assert_read(in_forms(command), SHELL, command)
    assume(is_within_a_turn(script) and "\r" not in script and not script.endswith("submit"))
    answers = {**in_forms(script, BLOCKS), **called("bash", command=script), "bash": fenced(script, "bash")}
    assert_read(answers, SHELL, script)


NAMES = st.text("abN_ äé-()'\"", min_size=1, max_size=8)
PLAIN = ["FROM", "t", "WHERE", "a.b", "=", "<>", "*", "1.5", "(", ")", ",", "AND", "'%[%'", "LIKE", "JOIN", "||"]
TOKENS = st.one_of(
    st.sampled_from(PLAIN),
    st.text("ab']\"[`%;\n-", max_size=10).map(lambda text: "'" + text.replace("'", "''") + "'"),
    NAMES.map(lambda name: f"[{name}]"),
    NAMES.map(lambda name: '"' + name.replace('"', '""') + '"'),
    st.text("ab ]['\"", min_size=1, max_size=8).map(lambda name: f"`{name}`"),
    st.text("ab ]['\"`;", max_size=8).map(lambda remark: f"/* {remark} */"),
    st.text("ab ]['\"`;", max_size=8).map(lambda remark: f"-- {remark}\n"),
)
QUERY = st.lists(TOKENS, max_size=12).map(lambda tokens: " ".join(["SELECT a", *tokens]).strip())


@random
@given(st.sampled_from(["execute", "submit"]), QUERY)
def test_a_query_comes_back_from_every_form(name: str, query: str) -> None:
    action = f"{name}[{query}]"
    assert_read({**in_forms(action), **called(name, sql=query), "SQL": fenced(action, "sql")}, SQL, action)
    alone = f"It's this:\n{fenced(query, 'sql')}\nIt isn't."  # only one action takes a query here
    assert_read({**in_forms(query, BLOCKS), "SQL": alone}, ANSWER, f"submit[{query}]")


PRINTED = st.characters(codec="utf-8", exclude_categories=["C", "Z"], include_characters=" ")
LABELS = st.lists(
    st.text(PRINTED, min_size=1, max_size=20).map(lambda text: " ".join(text.split()).lower()).filter(bool), min_size=1
)


@random
@example(["0e0"], False, "")
@example(["1.50"], False, "")
@given(LABELS, st.booleans(), st.text(PRINTED.filter(lambda one: one not in "[]")))
def test_a_click_and_a_search_come_back_whatever_their_words(labels: list[str], is_upper: bool, words: str) -> None:
    listed = tuple(dict.fromkeys(f"click[{label}]" for label in labels if label != "..." and is_within_a_turn(label)))
    assume(listed and is_within_a_turn(words))
    action = listed[0]
    shop = Grammar.of((*listed, "click[buy now]", "search[...]"))
    label = action.removeprefix("click[").removesuffix("]")
    written = label.upper() if is_upper and label.upper().lower() == label else label
    assert_read({**in_forms(f"click[{written}]"), **called("click", button=written)}, shop, action)
    words = " ".join(["red", *words.split()])
    assert_read({**in_forms(f"search[{words}]"), **called("search", query=words)}, shop, f"search[{words}]")


IDS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,12}", fullmatch=True).filter(lambda name: name not in ("id", "text"))
TYPED = st.recursive(
    st.text(PRINTED.filter(lambda one: one not in "[]"), max_size=20),
    lambda inner: st.builds("{} [{}] {}".format, inner, inner, inner),
    max_leaves=4,
).map(lambda text: f"x {' '.join(text.split())} y")
"""Texts whose brackets match, without marks around them."""


@random
@given(IDS, st.sampled_from(["CLICK", "CLEAR", "SUBMIT"]), TYPED, st.data())
def test_an_action_on_a_page_comes_back_whatever_it_types(name: str, verb: str, text: str, data: st.DataObject) -> None:
    assume(is_within_a_turn(text) and "</" not in text and unwrapped(text) == text)
    page = Grammar.of((f"CLICK [{name}]", "CLICK [home]", f"TYPE [{name}] [...]", "ASK USER HELP [...]"), "page")
    action, asked = f"TYPE [{name}] [{text}]", f"ASK USER HELP [{text}]"
    for one, call in (
        (f"{verb} [{name}]", called(verb.lower(), id=name)),
        (action, called("type", id=name, text=text)),
        (asked, called("ask_user_help", text=text)),
    ):
        assert_read({**in_forms(one), **call}, page, one)
    whole = f"Action: {action}"
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    assert read_action(cut, page, is_cut=True).action == (action if cut == whole else None)


@random
@given(
    st.text(st.one_of(st.sampled_from("ab <>/=\"'`\n[]&;#"), st.characters(codec="utf-8", exclude_categories=["C"]))),
    st.integers(-1000, 1000),
)
def test_a_page_comes_back_with_its_fence_or_alone_and_a_number_from_every_form(body: str, number: int) -> None:
    answers = {**{name: form(str(number)) for name, form in FORMS.items()}, **called("step", value=str(number))}
    assert {name: read_integer(answer).action for name, answer in answers.items()} == dict.fromkeys(answers, number)
    assume("```" not in body and is_within_a_turn(body))
    page = f"<!DOCTYPE html>\n<html><body>{body}</body></html>"
    for action in (page, f"```html\n{page}\n```"):
        for around in ("{}", "First the <nav>.\n\n{}\n\nIt's done.", "<think>\nA <nav>?\n</think>\n{}"):
            assert read_page(around.replace("{}", action)).action == action
    assert read_page(json.dumps({"html": page})).action == page
