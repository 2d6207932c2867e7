"""An action that an answer gives in a form comes back as it was, whatever it holds.

Every form carries every action, but for a script of several commands: behind `Action:` alone its first command counts,
so it needs a fence, an object or a tag.
"""

import json
from collections.abc import Callable, Mapping

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from iad_envs.sketch2code.policy.page_answers import read_page
from iad_policy.models.parsing import Grammar, read_action, read_integer
from iad_policy.models.parsing.wrapping import unwrapped
from iad_policy.types.answers.headings import STOP_TOKENS

SHELL = Grammar.of(("pwd", "ls -la", "cd ..", "submit"), "shell")
SQL = Grammar.of(("execute[...]", "submit[...]"), "sql")
ANSWER = Grammar.of(("submit[...]",), "sql")
Form = Callable[[str], str]


def is_within_a_turn(text: str) -> bool:
    """Whether a text has no token that ends an answer. Hypothesis draws the constants of the reader's own modules."""
    return not any(token in text for token in (*STOP_TOKENS, "</s>", "<think>", "</think>"))


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
    "Chinese": lambda action: f"思考：下一步。\n动作：{action}",
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
    "tag": lambda action: f"<thought>It's next.</thought>\n<action>\n{action}\n</action>",
}
"""Forms of an action that show where it ends."""
FORMS = {**LINES, **BLOCKS}


def called(name: str, argument: str, parameter: str) -> Mapping[str, str]:
    """Forms of an action that has an argument."""
    call = json.dumps({"name": name, "arguments": {parameter: argument}})
    return {
        "call": call,
        "call in a tag": f"I go on.\n<tool_call>\n{call}\n</tool_call>",
        "function": f"<function={name}>{json.dumps({parameter: argument})}</function>",
        "parameter": f"<function={name}>\n<parameter={parameter}>\n{argument}\n</parameter>\n</function>\n",
        "LangChain": f"Action: {name}\nAction Input: {json.dumps({parameter: argument})}",
    }


def assert_read(answers: Mapping[str, str], grammar: Grammar, action: str) -> None:
    for form, answer in answers.items():
        for bare in (True, False):
            reading = read_action(answer, grammar, bare=bare)
            assert (form, reading.action) == (form, action), (answer, reading.got)


# --- shell

PROGRAMS = st.sampled_from(
    [
        "ls",
        "grep -c",
        "awk",
        "echo",
        "find . -name",
        "sed -n",
        "rm",
        "cat",
        "xargs",
        "python3 -c",
        "./run.sh",
        "A=1 env",
    ]
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
    st.builds("{} &&\n{}".format, LINE, LINE),
    st.builds("for f in *; do\n  {}\n  {}\ndone".format, LINE, LINE),
    st.builds("if [ -f a ]; then\n  {}\nelse\n  {}\nfi".format, LINE, LINE),
    st.builds("{} '{}\n{}'".format, LINE, st.text('ab *"`$|\n', max_size=9), st.text('ab *"`$|\n', max_size=9)),
    st.builds("{} <<'E_O'\n{}\nE_O".format, LINE, st.text("ab '\"*`$(){}[]|;&\n:!?", max_size=30)),
)
"""One command: it is complete at its end and not before."""
SCRIPT = st.one_of(
    st.lists(COMMAND, min_size=1, max_size=3).map("\n".join),
    st.builds(lambda program, rest: f"{program} {rest}".strip(), PROGRAMS, st.text(max_size=60)),
    st.builds(
        lambda program, rest: f"{program} {rest}".strip(),
        PROGRAMS,
        st.text("ab '\"*`$(){}[]|;&<>#\\\n:!?", max_size=60),
    ),
)
"""Any text that begins with the name of a program, whether it is valid or not."""


@settings(max_examples=150, deadline=None)
@given(COMMAND)
def test_a_command_comes_back_from_every_form(command: str) -> None:
    answers = {name: form(command) for name, form in FORMS.items()}
    assert_read({**answers, **called("bash", command, "command")}, SHELL, command)


@settings(max_examples=150, deadline=None)
@given(SCRIPT)
def test_a_script_comes_back_from_every_form_that_shows_its_end(script: str) -> None:
    assume(is_within_a_turn(script) and "\r" not in script and not script.endswith("submit"))
    answers = {name: form(script) for name, form in BLOCKS.items()}
    assert_read({**answers, **called("bash", script, "command"), "bash": fenced(script, "bash")}, SHELL, script)


# --- SQL

NAMES = st.text("abN_ äé-()'\"", min_size=1, max_size=8)
TOKENS = st.one_of(
    st.sampled_from(
        ["FROM", "t", "WHERE", "a.b", "=", "<>", "*", "1.5", "(", ")", ",", "AND", "'%[%'", "LIKE", "JOIN", "||"]
    ),
    st.text("ab']\"[`%;\n-", max_size=10).map(lambda text: "'" + text.replace("'", "''") + "'"),
    NAMES.map(lambda name: f"[{name}]"),
    NAMES.map(lambda name: '"' + name.replace('"', '""') + '"'),
    st.text("ab ]['\"", min_size=1, max_size=8).map(lambda name: f"`{name}`"),
    st.text("ab ]['\"`;", max_size=8).map(lambda remark: f"/* {remark} */"),
    st.text("ab ]['\"`;", max_size=8).map(lambda remark: f"-- {remark}\n"),
)
QUERY = st.lists(TOKENS, max_size=12).map(lambda tokens: " ".join(["SELECT a", *tokens]).strip())


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["execute", "submit"]), QUERY)
def test_a_query_comes_back_from_every_form(name: str, query: str) -> None:
    action = f"{name}[{query}]"
    answers = {form: make(action) for form, make in FORMS.items()}
    assert_read({**answers, **called(name, query, "sql"), "SQL": fenced(action, "sql")}, SQL, action)


@settings(max_examples=150, deadline=None)
@given(QUERY)
def test_where_one_action_takes_a_query_the_query_alone_is_that_action(query: str) -> None:
    action = f"submit[{query}]"
    answers = {form: make(query) for form, make in BLOCKS.items()}
    assert_read({**answers, "SQL": f"It's this:\n{fenced(query, 'sql')}\nIt isn't more."}, ANSWER, action)


# --- the shop

LABEL = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], include_characters=" "), min_size=1, max_size=20
)
LABELS = st.lists(LABEL.map(lambda text: " ".join(text.split()).lower()).filter(bool), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(LABELS, st.booleans())
def test_a_click_comes_back_whatever_the_option_s_text(labels: list[str], is_upper: bool) -> None:
    listed = tuple(dict.fromkeys(f"click[{label}]" for label in labels if label != "..." and is_within_a_turn(label)))
    assume(listed)
    action = listed[0]
    shop = Grammar.of((*listed, "click[buy now]", "search[...]"))
    label = action.removeprefix("click[").removesuffix("]")
    written = label.upper() if is_upper and label.upper().lower() == label else label
    answers = {form: make(f"click[{written}]") for form, make in FORMS.items()}
    assert_read({**answers, **called("click", written, "button")}, shop, action)


@settings(max_examples=150, deadline=None)
@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="[]", include_characters=" ")
    )
)
def test_a_search_comes_back_whatever_its_words(words: str) -> None:
    assume(is_within_a_turn(words))
    words = " ".join(["red", *words.split()])
    shop = Grammar.of(("click[buy now]", "search[...]"))
    action = f"search[{words}]"
    answers = {form: make(action) for form, make in FORMS.items()}
    assert_read({**answers, **called("search", words, "query")}, shop, action)


# --- a browser's actions

IDS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,12}", fullmatch=True).filter(lambda name: name not in ("id", "text"))
TYPED = st.recursive(
    st.text(
        st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="[]", include_characters=" "),
        max_size=20,
    ),
    lambda inner: st.builds("{} [{}] {}".format, inner, inner, inner),
    max_leaves=4,
).map(lambda text: f"x {' '.join(text.split())} y")
"""Texts whose brackets match, without marks around them."""


def page_calls(verb: str, **given: str) -> Mapping[str, str]:
    """Forms of a browser's action as a call."""
    call = json.dumps({"name": verb, "arguments": given})
    parameters = "\n".join(f"<parameter={name}>\n{value}\n</parameter>" for name, value in given.items())
    return {
        "call": call,
        "flat": json.dumps({"thought": "It's next.", "action": verb, **given}),
        "call in a tag": f"I go on.\n<tool_call>\n{call}\n</tool_call>",
        "parameters": f"<function={verb}>\n{parameters}\n</function>\n",
        "LangChain": f"Action: {verb}\nAction Input: {json.dumps(given)}",
        "Python": f"Action: {verb}({', '.join(map(json.dumps, given.values()))})",
        "Python with names": fenced(f"{verb}({', '.join(f'{a}={json.dumps(b)}' for a, b in given.items())})", "python"),
    }


@settings(max_examples=150, deadline=None)
@given(IDS, st.sampled_from(["CLICK", "CLEAR", "SUBMIT"]))
def test_a_click_on_a_page_comes_back_from_every_form(name: str, verb: str) -> None:
    page = Grammar.of((f"CLICK [{name}]", "CLICK [home]", "TYPE [q] [...]"), "page")
    written = {form: make(f"{verb} [{name}]") for form, make in FORMS.items()}
    loose = {f"loose {form}": make(f"{verb.lower()} {name}") for form, make in LINES.items()}
    assert_read({**written, **loose, **page_calls(verb.lower(), id=name)}, page, f"{verb} [{name}]")


@settings(max_examples=150, deadline=None)
@given(IDS, TYPED)
def test_a_typed_text_comes_back_whatever_it_says(name: str, text: str) -> None:
    assume(is_within_a_turn(text) and "</" not in text and unwrapped(text) == text)
    page = Grammar.of(("CLICK [home]", f"TYPE [{name}] [...]", "ASK USER HELP [...]"), "page")
    typed = {form: make(f"TYPE [{name}] [{text}]") for form, make in FORMS.items()}
    assert_read({**typed, **page_calls("type", id=name, text=text)}, page, f"TYPE [{name}] [{text}]")
    asked = {form: make(f"ASK USER HELP [{text}]") for form, make in FORMS.items()}
    assert_read({**asked, **page_calls("ask_user_help", text=text)}, page, f"ASK USER HELP [{text}]")


@settings(max_examples=150, deadline=None)
@given(IDS, TYPED, st.data())
def test_a_cut_answer_is_never_half_a_text(name: str, text: str, data: st.DataObject) -> None:
    assume(is_within_a_turn(text))
    page = Grammar.of(("CLICK [home]", f"TYPE [{name}] [...]"), "page")
    whole = f"Action: TYPE [{name}] [{text}]"
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    assert read_action(cut, page, is_cut=True).action == (whole.removeprefix("Action: ") if cut == whole else None)


@settings(max_examples=300, deadline=None)
@given(st.text(st.one_of(st.sampled_from("[]()\"'`{}:=,.\n CLIKTYPEASUH"), st.characters(codec="utf-8")), max_size=60))
def test_no_text_makes_the_reader_of_pages_raise(text: str) -> None:
    page = Grammar.of(("CLICK [home]", "CLICK [go]", "TYPE [q] [...]", "ASK USER HELP [...]"), "page")
    for before in ("", "Action: ", "CLICK ", "TYPE [q] ", "ASK USER HELP", "TYPE(", "Action: TYPE\nAction Input: "):
        read = read_action(before + text, page)
        assert read.action is None or read.action.partition(" ")[0] in (
            *("CLICK", "TYPE", "CLEAR", "SUBMIT", "GOTO", "SCROLL", "ASK"),
        )


# --- pages and numbers


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.one_of(st.sampled_from("ab <>/=\"'`\n[]&;#"), st.characters(codec="utf-8", exclude_categories=["C"])))
)
def test_a_page_comes_back_with_its_fence_or_alone(body: str) -> None:
    assume("```" not in body and is_within_a_turn(body))
    page = f"<!DOCTYPE html>\n<html><body>{body}</body></html>"
    in_fence = f"```html\n{page}\n```"
    for answer, action in (
        (in_fence, in_fence),
        (f"First the <nav>.\n\n{in_fence}\nIt's done.", in_fence),
        (f"<think>\nA <nav>?\n</think>\n{in_fence}", in_fence),
        (page, page),
        (f"Here it is:\n{page}\n\nIt's done.", page),
        (f"<think>\nA <nav>?\n</think>\n{page}", page),
        (json.dumps({"html": page}), page),
    ):
        assert read_page(answer).action == action


@settings(max_examples=150, deadline=None)
@given(st.integers(-1000, 1000))
def test_a_number_comes_back_from_every_form(number: int) -> None:
    for name, form in FORMS.items():
        assert (name, read_integer(form(str(number))).action) == (name, number)
    for name, answer in called("step", str(number), "action").items():
        assert (name, read_integer(answer).action) == (name, number)
