"""ACEBench against recorded verdicts of the official code, and against what was measured of it.

Gold, questions and simulated classes come from a checkout in the folder of real data.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from iad_envs.toolcalls.acebench.checkout import AGENT, CATEGORIES, NORMAL, SPECIAL, AceCheckout, AceGold, AceTask
from iad_envs.toolcalls.acebench.executor import AceExecuted, AceExecutor, AceState, saved_state
from iad_envs.toolcalls.acebench.gold_classes import gold_by_class
from iad_envs.toolcalls.acebench.scoring.agent_tasks import (
    AgentScore,
    ends_right,
    milestone_calls,
    score_agent,
    score_agent_soundly,
)
from iad_envs.toolcalls.acebench.scoring.normal import check_normal
from iad_envs.toolcalls.acebench.scoring.special import PHRASES, check_special, gold_sentence
from iad_envs.toolcalls.acebench.tasks import UNREACHABLE, WRONG_MILESTONES
from iad_envs.toolcalls.acebench.user import STOP, by_class, first_message, next_message, script_of_instruction
from iad_envs.toolcalls.rules import RULES, Rules
from tests.iad_envs.toolcalls.acebench.small_scenario import shown

Row = dict[str, Any]
MADE_FROM_GOLD = {
    "gold_state", "state_changed", "extra_entry_in_dict", "class_name_unknown", "class_missing", "extra_attribute"
}  # fmt: skip
"""Kinds of agent rows whose final state was read from gold. The others' was taken from the classes in memory."""
NUMBERED = ("inbox", "reminder_list")
"""Attributes with integers as keys. In a file they are texts."""
RIGHT_UNDER_BOTH = {"gold", "prose_around", "reordered"}


class Benchmark(NamedTuple):
    checkout: AceCheckout
    tasks: dict[str, AceTask]
    gold: dict[str, AceGold]

    def of(self, categories: Sequence[str]) -> list[AceTask]:
        return [task for task in self.tasks.values() if task.category in categories]

    def executor(self, task: AceTask, rules: Rules = "official") -> AceExecutor:
        offered = [document["name"] for document in task.functions]
        return AceExecutor(self.checkout.classes(), task.involved_classes, rules, offered=offered)

    def check(self, row: Row, rules: Rules = "official") -> bool:
        task = self.tasks[row["id"]]
        check = check_normal if task.category in NORMAL else check_special
        return check(task, self.gold[task.task_id], row["answer"], rules)


@pytest.fixture(scope="module")
def ace(real_data: Path) -> Benchmark:
    checkout = AceCheckout(real_data / "acebench")
    tasks = {task.task_id: task for category in CATEGORIES for task in checkout.tasks(category)}
    return Benchmark(checkout, tasks, {key: gold for name in CATEGORIES for key, gold in checkout.gold(name).items()})


def as_in_memory(final: list[dict[str, dict[str, Any]]]) -> list[dict[str, dict[str, Any]]]:
    """Return a state with the keys that the classes use."""

    def keyed(name: str, value: Any) -> Any:
        return {int(key): item for key, item in value.items()} if name in NUMBERED else value

    return [
        {kind: {name: keyed(name, value) for name, value in attributes.items()} for kind, attributes in one.items()}
        for one in final
    ]


@pytest.fixture(scope="module")
def answers(vectors: Callable[[str], Any]) -> list[Row]:
    return list(vectors("acebench_normal_special.json")["rows"])


@pytest.fixture(scope="module")
def episodes(vectors: Callable[[str], Any]) -> list[Row]:
    return list(vectors("acebench_agent.json")["rows"])


def test_every_answer_to_a_normal_or_special_task_gets_the_official_verdict(ace: Benchmark, answers: list[Row]) -> None:
    assert [(row["id"], row["kind"]) for row in answers if ace.check(row) != row["valid"]] == []
    assert answers


def test_every_agent_episode_gets_the_official_scores(ace: Benchmark, episodes: list[Row]) -> None:
    """The recorded verdicts of states from the classes were taken in memory, where a message's number is an integer.

    Gold's is a text, so a state with messages or reminders was never right there, also where a row made from gold with
    the very same text was. The official code compares what it reads back from a file; so do we.
    """
    wrong = []
    for row in episodes:
        final = row["final"] if row["kind"] in MADE_FROM_GOLD else as_in_memory(row["final"])
        score = score_agent(ace.gold[row["id"]], final, row["process"])
        if (score.end_to_end, round(score.process, 3)) != (row["end_to_end"], row["process_accuracy"]):
            wrong.append((row["id"], row["kind"], score, row["end_to_end"], row["process_accuracy"]))
    assert not wrong


def test_every_executed_episode_has_the_official_outputs_and_state(ace: Benchmark, episodes: list[Row]) -> None:
    executed = [row for row in episodes if row.get("executed")]
    for row in executed:
        task = ace.tasks[row["id"]]
        executor = ace.executor(task)
        state, outputs = executor.start(task.initial_config), []
        for message in row["process"]:
            state, _ = done = executor.execute(state, message)
            outputs.append(sha256(json.dumps(shown(done), sort_keys=True).encode()).hexdigest()[:12])
        assert outputs == row["outputs"], row["id"]
        assert (saved_state(state) if state.has_run else []) == row["final"], row["id"]
    assert executed


def test_the_holes_of_the_official_checkers_are_closed(ace: Benchmark, answers: list[Row]) -> None:
    official, sound = (Counter(row["kind"] for row in answers if ace.check(row, rules)) for rules in RULES)
    n_rows = Counter(row["kind"] for row in answers)
    for kind in ("changed_int", "changed_bool", "changed_float", "right_and_a_call"):
        assert (official[kind], sound[kind]) == (n_rows[kind], 0), kind
    assert (n_rows["changed_int"] > 0, official["without_one"] > 0) == (True, True)
    assert official["changed_str"] > 0.9 * n_rows["changed_str"]
    for kind in ("changed_str", "without_one", "int_as_text", "extra_parameter", "one_call_replaced_by_another"):
        assert sound[kind] == 0, kind
    for kind in RIGHT_UNDER_BOTH | {"right"}:
        assert sound[kind] == n_rows[kind], kind
    assert sound.keys() - RIGHT_UNDER_BOTH - {"right"} <= {"shortened_str"}  # by a full stop


def test_saying_everything_passes_every_special_task_officially_and_none_soundly(ace: Benchmark) -> None:
    special = ace.of(SPECIAL)
    assert len(special) == 150
    for task in special:
        gold = ace.gold[task.task_id]
        told = gold_sentence(task, gold)
        everything = " ".join([told, *PHRASES.values()])
        found = [check_special(task, gold, answer, rules) for answer in (told, everything) for rules in RULES]
        assert found == [True, True, True, False], task.task_id


def _replayed(ace: Benchmark, task: AceTask, stones: Sequence[str]) -> tuple[AceState, list[AceExecuted]]:
    executor = ace.executor(task)
    state, done = executor.start(task.initial_config), []
    for stone in stones:
        done.append(executor.execute(state, stone))
        state = done[-1].state
    return state, done


def test_milestones_through_the_official_executor(ace: Benchmark) -> None:
    """All decode in 26 of 50; the state is reached in 28 as a result file has it, in 12 in memory; process 1 in all."""
    decoded, in_file, in_memory = set(), set(), set()
    tasks = ace.of(AGENT)
    for task in tasks:
        gold = ace.gold[task.task_id]
        replays = [(stones, *_replayed(ace, task, stones)) for stones in gold.milestones]
        if all(result.call is not None for _, _, done in replays for one in done for result in one.results):
            decoded.add(task.task_id)
        for stones, state, _ in replays:
            final = saved_state(state) if state.has_run else []
            assert score_agent(gold, final, stones).process == 1.0
            in_file |= {task.task_id} if ends_right(gold, final) else set()
            in_memory |= {task.task_id} if ends_right(gold, as_in_memory(final)) else set()
    assert (len(tasks), len(decoded), len(in_file), len(in_memory)) == (50, 26, 28, 12)


def _soundly(ace: Benchmark, task: AceTask, stones: Sequence[str], config: Any = None) -> AgentScore:
    executor = ace.executor(task, "sound")
    state, results = executor.start(config or task.initial_config), []
    for stone in stones:
        done = executor.run(state, milestone_calls(stone))
        state = done.state
        results += done.results
    return score_agent_soundly(ace.gold[task.task_id], saved_state(state), results)


def test_milestones_read_as_calls_reach_the_state_but_of_known_defects_if_they_ran(ace: Benchmark) -> None:
    missed = set()
    for task in ace.of(AGENT):
        if not any(_soundly(ace, task, stones).end_to_end for stones in ace.gold[task.task_id].milestones):
            missed.add(task.task_id)
    assert (missed, len(missed)) == (UNREACHABLE.keys() | WRONG_MILESTONES.keys(), 9)
    # Officially the milestones count as texts, whatever came of them.
    task = ace.tasks["agent_multi_step_3"]
    stones = ace.gold[task.task_id].milestones[0]
    asleep = {"BaseApi": {"wifi": False, "logged_in": True}}
    assert score_agent(ace.gold[task.task_id], [], stones).process == 1.0
    assert _soundly(ace, task, stones, asleep).process == 0.0


def test_gold_as_a_state_passes_soundly_and_its_corruptions_fail(ace: Benchmark, episodes: list[Row]) -> None:
    for row in episodes:
        if row["kind"] in MADE_FROM_GOLD:
            is_right = score_agent_soundly(ace.gold[row["id"]], row["final"], ()).end_to_end
            assert is_right == (row["kind"] == "gold_state"), (row["id"], row["kind"])


def test_the_scripted_user_ends_every_official_episode_that_reaches_its_state(ace: Benchmark) -> None:
    ended = 0
    for task in ace.of(["agent_multi_turn"]):
        gold = ace.gold[task.task_id]
        executor = ace.executor(task, "sound")
        state = executor.start(task.initial_config)
        script = script_of_instruction(task.question, gold_by_class(gold, task.involved_classes))
        said = first_message(script)
        assert not said.is_last
        for stone in gold.milestones[0]:
            assert next_message(script, said.goal, "Which city?", by_class(saved_state(state))).text != STOP
            state = executor.run(state, milestone_calls(stone)).state
        ended += next_message(script, said.goal, "Done.", by_class(saved_state(state))).is_last
    assert ended == 29  # all but one whose milestones forget to log in
