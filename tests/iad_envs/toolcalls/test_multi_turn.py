"""The two rules for conversations of several turns, on small simulated classes."""

from typing import Any

import pytest

from iad_envs.toolcalls.bfcl.conversations import PlayedTurn, extended
from iad_envs.toolcalls.bfcl.data import Conversation, gold_calls
from iad_envs.toolcalls.bfcl.scoring.multi_turn import TurnsJudge, TurnsVerdict, has_equal_state
from iad_envs.toolcalls.calls import FunctionCall, read_calls
from iad_envs.toolcalls.executor import ToolState
from iad_envs.toolcalls.rules import RULES, Rules
from tests.iad_envs.toolcalls.counter_desk import TicketDesk, toolbox
from tests.iad_envs.toolcalls.official_answers import check, play, read_officially

OPEN = "open_ticket(title='lamp')"
GOLD = ((OPEN, "describe()"), (), ("total([1, 2])",))
RIGHT = [[f"[{OPEN}, describe()]"], [], ["[total(numbers=[1, 2])]"]]


def judge_of(scoring: Rules = "official", gold: Any = GOLD) -> TurnsJudge:
    task = Conversation(
        "multi_turn_base_0", ((), (), ()), {"TicketDesk": {"random_seed": 2}}, ("TicketDesk", "PlainSums"),
        {2: ("total",)}, gold, False,
    )  # fmt: skip
    return TurnsJudge(task, toolbox(), scoring=scoring)


def verdict(answer: list[list[str]], scoring: Rules = "official") -> TurnsVerdict:
    judge = judge_of(scoring)
    return check(judge, play(judge, answer, read_officially))


def changed(turn: int, *responses: str) -> list[list[str]]:
    return [list(responses) if index == turn else given for index, given in enumerate(RIGHT)]


STATE, RESPONSE, EMPTY = "instance_state_mismatch", "execution_response_mismatch", "empty_turn_model_response"
CALLED, WITHHELD, FORCED = "irrelevance_error:decoder_success", "withheld_function", "force_terminated"
MANY = ["[describe()]"] * 20


@pytest.mark.parametrize(
    ("answer", "error", "turn", "said"),
    [
        (RIGHT, "", None, ""),
        (changed(0, f"[{OPEN}]", "[describe()]", "I am done."), "", None, ""),
        (changed(0, f"[{OPEN}, describe(), describe()]"), "", None, ""),
        (changed(0, f"[no_such(), {OPEN}, describe()]"), "", None, ""),
        (changed(0, "[describe()]"), STATE, 0, "tickets: expected {1926: {'title': 'lamp', 'tags': []}}, got {}"),
        (changed(0, f"[{OPEN}, {OPEN}, describe()]"), STATE, 0, "TicketDesk.tickets"),
        (changed(0, f"[write_log(line='x'), {OPEN}, describe()]"), STATE, 0, "log: missing [], too many ['x']"),
        (changed(0, f"[{OPEN}]"), RESPONSE, 0, "in turn 1: no result as that of 'describe()'"),
        (changed(0, "Which lamp?"), EMPTY, 0, "in turn 1"),
        (changed(2), EMPTY, 2, "in turn 3: expected 'total(numbers=[1, 2])', got no call"),
        (RIGHT[:2], FORCED, None, "2 of 3 turns came to their end"),
        ([*RIGHT, []], FORCED, None, ""),
    ],
)  # fmt: skip
def test_both_rules_agree_but_for_holes(answer: list[list[str]], error: str, turn: int | None, said: str) -> None:
    for scoring in RULES:
        assert verdict(answer, scoring) == TurnsVerdict(not error, error and f"multi_turn:{error}", turn), scoring
    explained = judge_of("sound").explained(play(judge_of("sound"), answer, read_officially))
    assert said in explained
    assert (explained == "") == (error == "")


@pytest.mark.parametrize(
    ("answer", "error", "turn", "said"),
    [
        (changed(1, "[describe()]"), CALLED, 1, "in turn 2: nothing was to be called, got 'describe()'"),
        (changed(1, "[total(numbers=[1, 2])]"), CALLED, 1, "in turn 2"),
        (changed(0, f"[{OPEN}, describe(), total(numbers=[1, 2])]"), WITHHELD, 0, "in turn 1: not offered yet: total"),
        (changed(2, *MANY, "[total(numbers=[1, 2])]"), FORCED, 2, "in turn 3: 21 responses"),
        (changed(0, *["[list_tickets()]"] * 20, f"[{OPEN}, describe()]"), FORCED, 0, "in turn 1"),
    ],
)
def test_the_sound_rule_closes_holes(answer: list[list[str]], error: str, turn: int, said: str) -> None:
    assert verdict(answer, "official") == TurnsVerdict(True)
    assert verdict(answer, "sound") == TurnsVerdict(False, f"multi_turn:{error}", turn)
    assert said in judge_of("sound").explained(play(judge_of("sound"), answer, read_officially))


def test_a_result_of_an_earlier_turn_counts_in_a_later_one_but_only_once() -> None:
    gold = ((OPEN, "describe()"), ("describe()",))
    answers = {1: [[OPEN, "describe()"], ["no_such()"]], 2: [[OPEN, "describe()", "describe()"], ["no_such()"]]}
    for n_times, answer in answers.items():
        judge = judge_of(gold=gold)
        # Only the results of the second turn's gold are looked for: one is enough.
        assert check(judge, play(judge, answer, read_officially)).valid, n_times
    twice = judge_of(gold=((OPEN, "describe()"), ("describe()", "describe()")))
    assert check(twice, play(twice, answers[1], read_officially)).error_type == "multi_turn:execution_response_mismatch"
    assert check(twice, play(twice, answers[2], read_officially)).valid


def test_gold_calls_get_names_for_their_arguments() -> None:
    calls = gold_calls(("open_ticket('lamp', tags=['x'])", "total([1, 2])", "describe()"), toolbox())
    named = {"open_ticket": {"title": "lamp", "tags": ["x"]}, "total": {"numbers": [1, 2]}, "describe": {}}
    assert calls == tuple(FunctionCall(name, arguments) for name, arguments in named.items())
    for text in ("describe(1)", "1 + 1", "total(x)"):
        with pytest.raises(ValueError, match="expected"):
            gold_calls((text,), toolbox())


def test_progress_grows_with_turns_and_with_results() -> None:
    judge = judge_of()

    def progress(turns: list[PlayedTurn], n_over: int | None = None) -> float:
        tally = judge.tallied(turns[:n_over])
        return judge.progress_after(tally, turns[tally.n_turns :])

    turn = PlayedTurn(judge.start)
    assert progress([]) == progress([turn], n_over=0) == 0
    turn = extended(turn, read_calls(OPEN), judge.toolbox)  # where the turn is over, a result is missing
    assert [progress([turn], n_over=0), progress([turn])] == pytest.approx([1 / 6, 1 / 6])
    turn = extended(turn, read_calls("describe()"), judge.toolbox)
    turns = [turn, PlayedTurn(turn.state)]
    shares = [progress([turn]), progress(turns, n_over=1), progress(turns)]
    assert shares == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    last = extended(PlayedTurn(turn.state), read_calls("total(numbers=[1, 2])"), judge.toolbox)
    assert progress([*turns, last]) == 1


def test_parts_say_what_was_wrong() -> None:
    judge, names = judge_of("sound"), ("state", "response", "irrelevance", "cap", "turns_passed")

    def parts(answer: list[list[str]]) -> list[float]:
        found = judge.parts_of(judge.tallied(play(judge, answer, read_officially)))
        return [found[name] for name in names] if found.keys() == {*names} else []

    assert parts(RIGHT) == [1, 1, 1, 1, 3]
    assert parts([["[describe()]"], ["[describe()]"], ["[total(numbers=[1, 2])]"]]) == [0, 0.5, 0, 1, 0]
    assert parts(changed(2, *["[describe()]"] * 21))[3] == 0
    assert parts([]) == [0, 0, 0, 1, 0]


def test_states_that_cannot_be_compared_are_unequal() -> None:
    def circular() -> ToolState:
        desk = TicketDesk()
        desk.tickets = {1: {"title": "x"}}
        desk.tickets[1]["itself"] = desk.tickets
        return ToolState({"TicketDesk": desk})

    assert not has_equal_state(circular(), circular())
    assert not has_equal_state(ToolState({}), circular())
    assert has_equal_state(ToolState({"TicketDesk": TicketDesk()}), ToolState({"TicketDesk": TicketDesk()}))
