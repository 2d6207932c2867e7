"""BFCL against recorded outputs of the official scripts: verdicts, states and results."""

import json
from collections import Counter
from collections.abc import Callable
from decimal import getcontext
from pathlib import Path
from typing import Any

import pytest

from iad_envs.toolcalls.bfcl.classes import OfficialClasses
from iad_envs.toolcalls.bfcl.data import MULTI_TURN, SINGLE_TURN, Conversation, OfficialFiles, SingleQuestion
from iad_envs.toolcalls.bfcl.decoding import decoded
from iad_envs.toolcalls.bfcl.scoring.multi_turn import TurnsJudge
from iad_envs.toolcalls.bfcl.scoring.single_turn import check_calls
from iad_envs.toolcalls.calls import FunctionCall, UnreadableCalls, read_calls
from tests.iad_envs.toolcalls import official_answers as official

mpmath = pytest.importorskip("mpmath", reason="an official class needs mpmath: pip install 'iad[bfcl]'")


@pytest.fixture(scope="module")
def classes(real_data: Path) -> OfficialClasses:
    return OfficialClasses(real_data / "bfcl" / "bfcl_eval")


@pytest.fixture(scope="module")
def conversations(real_data: Path) -> dict[str, Conversation]:
    files = OfficialFiles(real_data / "bfcl" / "bfcl_eval")
    return {key: one for category in MULTI_TURN for key, one in files.conversations(category).items()}


@pytest.fixture(scope="module")
def questions(real_data: Path) -> dict[str, SingleQuestion]:
    files = OfficialFiles(real_data / "bfcl" / "bfcl_eval")
    return {key: one for category in SINGLE_TURN for key, one in files.questions(category).items()}


def without_dots(question: SingleQuestion) -> SingleQuestion:
    """As a model is asked that can't write dots in names."""
    functions = tuple({**one, "name": one["name"].replace(".", "_")} for one in question.functions)
    gold = tuple({name.replace(".", "_"): arguments for name, arguments in one.items()} for one in question.gold)
    return question._replace(functions=functions, gold=gold)


def calls_of(answer: Any, read: Callable[[Any], list[FunctionCall]]) -> list[FunctionCall] | None:
    try:
        return read(answer)
    except UnreadableCalls:
        return None


def test_every_recorded_conversation(vectors: Any, conversations: Any, classes: OfficialClasses) -> None:
    judges: dict[str, TurnsJudge] = {}
    wrong: Counter[tuple[str, str]] = Counter()
    rows = vectors("bfcl_multi_turn.json")["rows"]
    for row in rows:
        task = conversations[row["id"]]
        judge = judges.setdefault(task.task_id, TurnsJudge(task, classes.toolbox(task.classes)))
        turns = official.play(judge, row["answer"], official.read_officially)
        verdict = official.check(judge, turns)
        given = {"valid": verdict.valid, "error_type": verdict.error_type or None, "turn": verdict.turn}
        given["states"] = [official.state_digest(turn.state) for turn in turns]
        given["results"] = [official.results_digest(turn.results) for turn in turns]
        wrong.update((row["kind"], name) for name, value in given.items() if value != row.get(name))
    assert not wrong
    assert rows


def test_every_recorded_answer_to_a_question(vectors: Any, questions: dict[str, SingleQuestion]) -> None:
    wrong: Counter[str] = Counter()
    rows = vectors("bfcl_single_turn.json")["rows"]
    for row in rows:
        question = questions[row["id"]]
        if row.get("dots_to_underscores"):
            question = without_dots(question)
        calls = calls_of(row["answer"], decoded if row["mode"] == "prompting" else official.read_messages)
        verdict = check_calls(question, calls)
        # No type is recorded of questions that no function answers.
        if verdict.valid != row["valid"] or verdict.error_type != row.get("error_type", verdict.error_type):
            wrong[row["kind"]] += 1
    assert not wrong
    assert rows


def test_each_hostile_text_is_refused_or_read_as_plain_calls(vectors: Any) -> None:
    for row in vectors("bfcl_hostile.json")["rows"]:
        text = row["text"] if row["text"] is not None else "[" + ", ".join(["pwd()"] * 300) + "]"
        calls = calls_of(text, read_calls)
        plain = json.loads(json.dumps(calls and [[call.name, call.arguments] for call in calls]))
        assert plain is None or plain == row["plain_calls"], row["name"]


@pytest.mark.timeout(20)
def test_precision_is_as_before_and_heavy_arguments_take_no_time(classes: OfficialClasses) -> None:
    """More of these are in `toolcalls/test_calls.py`."""
    box, before = classes.toolbox(["MathAPI"]), (mpmath.mp.prec, getcontext().prec)
    calls = ["logarithm(value='1e999999999', base=2, precision=999)", "square_root(number=2, precision=900)"]
    calls += [f"logarithm(value=10, base=2, precision={precision})" for precision in (900, 1_000_000)]
    _, root, long, refused = box.run(box.start({}), read_calls(", ".join(calls))).results
    assert (mpmath.mp.prec, getcontext().prec) == before
    assert (len(long) > 900, len(root) > 900, "at most 1000" in refused) == (True, True, True)
