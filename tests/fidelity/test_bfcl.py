"""BFCL against recorded outputs of the official scripts: verdicts, states and results."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from iad_envs.toolcalls.bfcl.classes import OfficialClasses
from iad_envs.toolcalls.bfcl.data import MULTI_TURN, SINGLE_TURN, Conversation, OfficialFiles, SingleQuestion
from iad_envs.toolcalls.bfcl.decoding import decoded, decoded_messages
from iad_envs.toolcalls.bfcl.multi_turn import (
    TurnsJudge,
    is_free_of_calls_where_gold_is,
    play,
    read_officially,
)
from iad_envs.toolcalls.bfcl.single_turn import check_calls
from iad_envs.toolcalls.calls import ToolCall, UnreadableCalls
from tests.iad_envs.toolcalls.state_digests import results_digest, state_digest

pytest.importorskip("mpmath", reason="an official class needs mpmath: pip install 'iad[bfcl]'")


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


def test_every_recorded_conversation_gets_the_official_verdict_states_and_results(
    vectors: Any, conversations: dict[str, Conversation], classes: OfficialClasses
) -> None:
    judges: dict[str, TurnsJudge] = {}
    wrong: Counter[tuple[str, str]] = Counter()
    rows = vectors("bfcl_multi_turn.json")["rows"]
    for row in rows:
        task = conversations[row["id"]]
        judge = judges.setdefault(task.task_id, TurnsJudge(task, classes.toolbox(task.classes)))
        turns = play(judge, row["answer"], read_officially)
        verdict = judge.check(turns)
        given = {
            "valid": verdict.valid,
            "error_type": verdict.error_type or None,
            "turn": verdict.turn,
            "states": [state_digest(turn.state) for turn in turns],
            "results": [results_digest(turn.results) for turn in turns],
        }
        if "irrelevance_valid" in row:
            given["irrelevance_valid"] = is_free_of_calls_where_gold_is(turns, judge.gold)
        wrong.update((row["kind"], name) for name, value in given.items() if value != row.get(name))
    assert not wrong
    assert rows


def test_every_recorded_answer_to_a_question_gets_the_official_verdict(
    vectors: Any, questions: dict[str, SingleQuestion]
) -> None:
    wrong: Counter[str] = Counter()
    rows = vectors("bfcl_single_turn.json")["rows"]
    for row in rows:
        verdict = check_calls(
            questions[row["id"]],
            calls_of(row["answer"], decoded if row["mode"] == "prompting" else decoded_messages),
            dots_to_underscores=row.get("dots_to_underscores", False),
        )
        # No type is recorded of questions that no function answers.
        if verdict.valid != row["valid"] or verdict.error_type != row.get("error_type", verdict.error_type):
            wrong[row["kind"]] += 1
    assert not wrong
    assert rows


def calls_of(answer: Any, read: Callable[[Any], list[ToolCall]]) -> list[ToolCall] | None:
    try:
        return read(answer)
    except UnreadableCalls:
        return None
