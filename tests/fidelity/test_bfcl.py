"""BFCL against recorded outputs of the official scripts: verdicts, states and results."""

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import getcontext
from functools import partial
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, Literal

import pytest

from iad_envs.toolcalls.bfcl.classes import FILES, OfficialClasses
from iad_envs.toolcalls.bfcl.conversations import PlayedTurn, extended
from iad_envs.toolcalls.bfcl.data import MULTI_TURN, SINGLE_TURN, Conversation, OfficialFiles, SingleQuestion
from iad_envs.toolcalls.bfcl.decoding import decoded
from iad_envs.toolcalls.bfcl.scoring.multi_turn import TurnsJudge
from iad_envs.toolcalls.bfcl.scoring.single_turn import check_calls
from iad_envs.toolcalls.calls import FunctionCall, UnreadableCalls, read_calls
from tests.iad_envs.toolcalls.official_answers import (
    check,
    is_free_of_calls_where_gold_is,
    play,
    read_messages,
    read_officially,
)
from tests.iad_envs.toolcalls.state_digests import results_digest, state_digest

mpmath = pytest.importorskip("mpmath", reason="an official class needs mpmath: pip install 'iad[bfcl]'")

SCORINGS: tuple[Literal["official", "sound"], ...] = ("official", "sound")
WATCHED = ("exec", "open", "import", "os.", "subprocess", "socket", "shutil", "pty.", "ctypes")
"""Events that Python reports when code is run, a file opened, a module imported or a process started."""


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
        verdict = check(judge, turns)
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
            calls_of(row["answer"], decoded if row["mode"] == "prompting" else read_messages),
            dots_to_underscores=row.get("dots_to_underscores", False),
        )
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


def test_gold_is_right_by_both_rules_and_as_it_is_written_only_where_all_arguments_have_names(
    conversations: dict[str, Conversation], classes: OfficialClasses
) -> None:
    right: Counter[str] = Counter()
    unsound = []
    for task in conversations.values():
        category = task.task_id.rpartition("_")[0]
        for scoring in SCORINGS:
            judge = TurnsJudge(task, classes.toolbox(task.classes), scoring=scoring)
            turns = play(judge, [[f"[{', '.join(map(str, turn.calls))}]"] for turn in judge.gold], read_calls)
            is_right = check(judge, turns).valid and judge.progress_after(judge.tallied(turns)) == 1
            right[f"{category} {scoring}"] += is_right
            if not is_right:
                unsound.append((scoring, task.task_id, check(judge, turns).error_type))
        judge = TurnsJudge(task, classes.toolbox(task.classes))
        as_written = play(judge, [[f"[{', '.join(turn)}]"] for turn in task.gold], read_officially)
        right[f"{category} as written"] += check(judge, as_written).valid
    # Its gold calls `tail` two turns before that function is offered.
    assert unsound == [("sound", "multi_turn_miss_func_49", "multi_turn:withheld_function")]
    right["multi_turn_miss_func sound"] += 1
    assert right == {
        f"{category} {how}": n
        for category in MULTI_TURN
        for how, n in (("official", 200), ("sound", 200), ("as written", 176))
    }


def test_exploring_before_every_step_changes_nothing(
    conversations: dict[str, Conversation], classes: OfficialClasses
) -> None:
    """Before each gold call all of the scenario's gold calls are run from the same state, and thrown away."""
    wrong = []
    for task in conversations.values():
        judge = TurnsJudge(task, classes.toolbox(task.classes))
        others = [call for turn in judge.gold for call in turn.calls]
        turns = []
        state = judge.start
        for gold in judge.gold:
            turn = PlayedTurn(state)
            for call in gold.calls:
                before = turn.state
                explored = judge.toolbox.run(before, others)
                turn = extended(turn, [call], judge.toolbox)
                assert judge.toolbox.run(before, others[:4]).results == explored.results[:4]
            turns.append(turn)
            state = turn.state
        if not check(judge, turns).valid or [turn.results for turn in turns] != [turn.results for turn in judge.gold]:
            wrong.append(task.task_id)
    assert not wrong


def test_answers_in_turns_and_in_sixty_four_threads_do_not_leak(
    vectors: Any, conversations: dict[str, Conversation], classes: OfficialClasses
) -> None:
    chosen = [
        row for row in vectors("bfcl_multi_turn.json")["rows"] if row["id"].startswith("multi_turn_long_context")
    ][:256]
    judges = {
        row["id"]: TurnsJudge(conversations[row["id"]], classes.toolbox(conversations[row["id"]].classes))
        for row in chosen
    }

    def outcome(row: dict[str, Any]) -> tuple[bool, list[str], list[str]]:
        turns = play(judges[row["id"]], row["answer"], read_officially)
        states, results = [state_digest(turn.state) for turn in turns], [results_digest(turn.results) for turn in turns]
        return check(judges[row["id"]], turns).valid, states, results

    with ThreadPoolExecutor(64) as pool:
        found = list(pool.map(outcome, chosen))
    assert found == [(row["valid"], row["states"], row["results"]) for row in chosen]

    one, other = next((one, other) for one, other in pairwise(chosen) if is_of_one_length(one, other))
    judge = judges[one["id"]]
    played = {0: [PlayedTurn(judge.start)], 1: [PlayedTurn(judge.start)]}
    for turn in range(len(one["answer"])):  # one conversation, two episodes, call about
        reading = [[call for step in row["answer"][turn] for call in read_officially(step)] for row in (one, other)]
        for calls in zip_longest(*reading):
            for number, call in enumerate(calls):
                if call is not None:
                    played[number][-1] = extended(played[number][-1], [call], judge.toolbox)
        for turns in played.values():
            turns.append(PlayedTurn(turns[-1].state))
    for number, row in enumerate((one, other)):
        assert [state_digest(turn.state) for turn in played[number][:-1]] == row["states"]
        assert [results_digest(turn.results) for turn in played[number][:-1]] == row["results"]


def is_of_one_length(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return (one["id"], len(one["answer"])) == (other["id"], len(other["answer"]))


def test_reading_and_scoring_run_open_and_start_nothing(
    vectors: Any,
    conversations: dict[str, Conversation],
    questions: dict[str, SingleQuestion],
    classes: OfficialClasses,
) -> None:
    """Ten thousand answers with pieces of other answers, and every hostile one."""
    chooser = random.Random(11)
    rows = vectors("bfcl_multi_turn.json")["rows"]
    hostile = [row["text"] for row in vectors("bfcl_hostile.json")["rows"] if row["text"]]
    pieces = [*hostile, *(step for row in rows[:300] for turn in row["answer"] for step in turn)]
    judges = {row["id"]: TurnsJudge(conversations[row["id"]], classes.toolbox([*FILES])) for row in rows[:40]}
    for judge in judges.values():
        assert judge.gold
    asked = [*questions.values()][::50]
    seen: list[str] = []
    is_watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if is_watching and event.startswith(WATCHED):
            seen.append(f"{event} {arguments}"[:200])

    sys.addaudithook(watch)
    try:
        for _ in range(10_000 // 8):
            answer = [[_cut(chooser, pieces) for _ in range(4)] for _ in range(2)]
            judge = chooser.choice([*judges.values()])
            turns = play(judge, answer, chooser.choice([read_calls, read_officially]))
            verdict = check(judge, turns)
            assert verdict.valid or verdict.error_type
            for text in answer[0]:
                for scoring in SCORINGS:
                    calls = calls_of(text, decoded if scoring == "official" else partial(read_calls, dots=True))
                    assert check_calls(chooser.choice(asked), calls, scoring=scoring)
    finally:
        is_watching = False
    assert not seen


@pytest.mark.timeout(20)
def test_precision_is_as_before_and_heavy_arguments_take_no_time(classes: OfficialClasses) -> None:
    box = classes.toolbox(["MathAPI"])
    before = mpmath.mp.prec, getcontext().prec
    calls = read_calls(
        "logarithm(value=10, base=2, precision=900), square_root(number=2, precision=900),"
        " logarithm(value=10, base=2, precision=1000000), logarithm(value=10, base=2, precision='1000000'),"
        " logarithm(value='1e999999999', base=2, precision=1000), square_root(number=2, precision=1000000),"
        " square_root(number='1e999999999', precision=1000),"
        " power(base=10, exponent=1000000000), power(base=9.5, exponent=1000000000),"
        " round_number(number=5, decimal_places=-1000000000), round_number(number=5.5, decimal_places=1000000000),"
        " multiply(a=1000000000000000, b=1000000000000000), multiply(a=10000000000000000, b=1)"
    )
    results = box.run(box.start({}), calls).results
    assert (mpmath.mp.prec, getcontext().prec) == before
    assert all(len(result) > 900 for result in results[:2])
    assert all("precision must be at most 1000" in results[index] for index in (2, 3, 5))
    assert "Exceeds the limit (4300 digits)" in results[7]
    assert results[9] == '{"result": 0}'
    assert results[11] == '{"result": 1000000000000000000000000000000}'
    assert "must be between" in results[12]


def test_the_rest_of_the_package_is_never_imported(classes: OfficialClasses, real_data: Path) -> None:
    documented = {document["name"] for document in OfficialFiles(real_data / "bfcl" / "bfcl_eval").documents([*FILES])}
    assert classes.toolbox([*FILES]).functions.keys() == documented
    assert len(documented) == 128
    assert not [name for name in sys.modules if name.startswith("bfcl_eval")]


def _cut(chooser: random.Random, pieces: list[str]) -> str:
    """A piece, sometimes damaged or joined with another."""
    text = chooser.choice(pieces)
    match chooser.randrange(4):
        case 0:
            at = chooser.randrange(len(text) + 1)
            return text[:at] + chooser.choice(pieces)[chooser.randrange(20) :]
        case 1:
            at = chooser.randrange(len(text) + 1)
            return (
                text[:at]
                + chooser.choice(["(", ")", "'", "[", "1e9", "\\", "\x00", "\ud800", "é", "=", ","])
                + text[at:]
            )
    return text


def calls_of(answer: Any, read: Callable[[Any], list[FunctionCall]]) -> list[FunctionCall] | None:
    try:
        return read(answer)
    except UnreadableCalls:
        return None
