"""`IAD/BFCL-v0` on the official data: gold, recorded answers, and what a simulation must not do or know."""

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers the environments)
from iad_envs.core import Outcome, Token
from iad_envs.toolcalls.bfcl.classes import FILES, OfficialClasses
from iad_envs.toolcalls.bfcl.conversations import MAX_RESPONSES
from iad_envs.toolcalls.bfcl.data import DEFECTIVE, MULTI_TURN, SINGLE_TURN, OfficialFiles
from iad_envs.toolcalls.bfcl.env import BFCLEnv
from iad_envs.toolcalls.calls import UnreadableCalls
from iad_envs.toolcalls.pages import AWAITED
from tests.contract.environments import solution_of
from tests.effort import some, times
from tests.fidelity.attacks import HOSTILE, fuzzed, watched
from tests.fidelity.tool_environments import form, no_thread_leaks, other_golds, seen, simulated
from tests.iad_envs.toolcalls.official_answers import read_officially

pytest.importorskip("mpmath", reason="an official class needs mpmath: pip install 'iad[bfcl]'")

Row = dict[str, Any]
Scoring = Literal["official", "sound"]
END = "reply[]"
N_TASKS = {"multi_turn": 800, "single_turn": 3491}
N_SIMULATED = times(20_000)


@pytest.fixture(scope="module")
def folder(real_data: Path) -> Path:
    return real_data / "bfcl" / "bfcl_eval"


@pytest.fixture(scope="module")
def make(folder: Path) -> Callable[..., BFCLEnv]:
    def made(category: str = "multi_turn", data_dir: Path = folder, **options: Any) -> BFCLEnv:
        env = gym.make("IAD/BFCL-v0", data_dir=data_dir, category=category, split=None, **options).unwrapped
        assert isinstance(env, BFCLEnv)
        return env

    return made


def turns_of(actions: Sequence[str]) -> list[list[str]]:
    """Actions by turn, without the replies that end the turns."""
    turns: list[list[str]] = [[]]
    for action in actions:
        if action == END:
            turns.append([])
        else:
            turns[-1].append(action)
    return turns[:-1]


@pytest.mark.parametrize("scoring", ["official", "sound"])
def test_gold_is_right_with_other_actions_simulated_before_every_step(
    make: Callable[..., BFCLEnv], scoring: Scoring
) -> None:
    env = make(scoring=scoring)
    wrong = []
    assert len(env.task_ids) == N_TASKS["multi_turn"]
    for task_id in some(env.task_ids, 8, first=1):
        env.reset(options={"task_id": task_id})
        actions = solution_of(env)
        for action in actions:
            here = env.snapshot()
            for other in islice((one for one in reversed(actions) if one != action), 2):
                env.simulate(env.simulate(here, other).token, END)
            _, reward, terminated, _, info = env.step(action)
        if not (terminated and reward == 1 and info["success"] and info["progress"] == 1):
            wrong.append(task_id)
    # Its gold calls `tail` two turns before that function is offered.
    assert wrong == (["multi_turn_miss_func_49"] if scoring == "sound" else [])


@pytest.mark.parametrize("scoring", ["official", "sound"])
def test_gold_of_questions_is_right_but_of_five(make: Callable[..., BFCLEnv], scoring: Scoring) -> None:
    env = make("single_turn", scoring=scoring)
    wrong = set()
    assert len(env.task_ids) == N_TASKS["single_turn"]
    defective = [task_id for task_id in DEFECTIVE if task_id in env.task_ids]
    for task_id in env.task_ids if scoring == "sound" else {*defective, *some(env.task_ids, 8)}:
        env.reset(options={"task_id": task_id})
        (action,) = solution_of(env)
        assert env.terminal(action)
        _, reward, terminated, _, info = env.step(action)
        if not (terminated and reward == 1 and info["progress"] == 1):
            wrong.add(task_id)
    assert wrong == {*defective}
    assert len(wrong) == 5


def test_every_recorded_conversation_gets_the_official_verdict(make: Callable[..., BFCLEnv], vectors: Any) -> None:
    """Responses that can't be read were skipped in the records, and are left out here: published, they end the turn.

    No limit of responses was applied in the records, so a turn beyond it is given as one response.
    """
    env = make(scoring="official", published=True)
    wrong: Counter[str] = Counter()
    rows = some(vectors("bfcl_multi_turn.json")["rows"], 8)  # `test_bfcl.py` has all of them scored
    for row in rows:
        _, info = env.reset(options={"task_id": row["id"]})
        n_turns = len(turns_of(solution_of(env)))
        terminated = False
        for turn in row["answer"][:n_turns]:
            for action in (*within_limit([text for text in turn if has_calls(text)]), "[]"):
                assert not terminated
                _, _, terminated, _, info = env.step(action)
        assert terminated == (len(row["answer"]) >= n_turns)
        if row["kind"] == "a_turn_long":  # the conversation is over before that turn
            assert not row["valid"]
            continue
        wrong[row["kind"]] += bool(info["success"]) != row["valid"]
    assert not +wrong
    assert rows


def has_calls(text: str) -> bool:
    try:
        return bool(read_officially(text))
    except UnreadableCalls:
        return False


def within_limit(texts: Sequence[str]) -> Sequence[str]:
    if len(texts) <= MAX_RESPONSES:
        return texts
    return [f"[{', '.join(text.strip('`[] ') for text in texts)}]"]


def test_every_recorded_answer_to_a_question_gets_the_official_verdict(
    make: Callable[..., BFCLEnv], vectors: Any
) -> None:
    envs = {
        mode: make("single_turn", scoring="official", published=True, calls=calls)
        for mode, calls in (("prompting", "python"), ("fc", "json"))
    }
    wrong: Counter[str] = Counter()
    rows = some(vectors("bfcl_single_turn.json")["rows"], 8)
    for row in rows:
        env = envs[row["mode"]]
        _, info = env.reset(options={"task_id": row["id"]})
        names = [tool["name"] for tool in info["page"]["tools"]]
        # Where a model can't write dots, the environment of its interface writes them.
        written = {name.replace(".", "_"): name for name in names} if row.get("dots_to_underscores") else {}
        _, reward, terminated, _, info = env.step(as_action(row["answer"], written))
        assert terminated
        wrong[row["kind"]] += (reward == 1) != row["valid"]
    assert not +wrong
    assert rows


def as_action(answer: Any, written: Mapping[str, str]) -> str:
    """A text as it is, calls of a model's own interface as JSON."""
    if isinstance(answer, str):
        return answer
    return json.dumps(
        [{"name": written.get(name, name), "arguments": made} for one in answer for name, made in one.items()]
    )


def test_an_answer_that_calls_withheld_functions_passes_officially_only(
    make: Callable[..., BFCLEnv], vectors: Any
) -> None:
    chosen = [
        row
        for row in vectors("bfcl_multi_turn.json")["rows"]
        if row["kind"] == "next_turn_already_in_empty_turn" and row["id"].startswith("multi_turn_miss_func")
    ]
    passed: Counter[str] = Counter()
    refused = 0
    for scoring in ("official", "sound"):
        env = make("multi_turn_miss_func", scoring=scoring)
        for row in chosen:
            env.reset(options={"task_id": row["id"]})
            for turn in row["answer"]:
                for action in turn:
                    _, _, _, _, info = env.step(action)
                    refused += any(one["code"] == "unknown_function" for one in info["facts"]["findings"])
                _, _, _, _, info = env.step(END)
            passed[scoring] += bool(info["success"])
            assert info["success"] == (row["valid"] and scoring == "official")
    assert passed["official"] > 0.8 * len(chosen)
    assert not passed["sound"]
    assert refused


def test_a_simulated_end_of_a_turn_tells_neither_the_next_message_nor_whether_there_is_one(
    make: Callable[..., BFCLEnv],
) -> None:
    env = make()
    for task_id in some(env.task_ids, 8):
        env.reset(options={"task_id": task_id})
        turns = turns_of(solution_of(env))
        ends: list[Outcome] = []
        for turn in turns:
            for action in turn:
                env.step(action)
            ends.append(env.simulate(env.snapshot(), END))
            observation, _, terminated, _, info = env.step(END)
            if not terminated:
                said = info["page"]["messages"][-1]["content"]
                before = " ".join(str(end.info["page"]["messages"]) for end in ends)
                assert said not in ends[-1].observation
                assert json.dumps(said)[1:-1] not in json.dumps(ends[-1].info) or said in before
                assert said in observation
        assert {end.observation for end in ends} == {AWAITED}
        assert len({form(end) for end in ends}) == 1


def test_agents_see_the_same_where_gold_is_another(make: Callable[..., BFCLEnv], folder: Path, tmp_path: Path) -> None:
    def nothing(name: str, rows: list[Row]) -> list[Row]:
        return [{"id": row["id"], "ground_truth": [] if "multi_turn" not in name else [[]] * 12} for row in rows]

    other_golds(folder / "data", tmp_path / "data", nothing)
    (tmp_path / "data" / "multi_turn_func_doc").symlink_to(folder / "data" / "multi_turn_func_doc")
    (tmp_path / "eval_checker").symlink_to(folder / "eval_checker")
    for category in ("multi_turn", "live_simple"):
        env, without = make(category), make(category, data_dir=tmp_path)
        assert without.data.name == "other"
        for task_id in some(env.task_ids[::8], 4):
            env.reset(options={"task_id": task_id})
            actions = solution_of(env)
            assert seen(env, task_id, actions) == seen(without, task_id, actions)


def test_sixty_four_threads_simulate_without_a_leak(make: Callable[..., BFCLEnv]) -> None:
    tasks = ("multi_turn_base_15", "multi_turn_base_59", "multi_turn_base_172")
    no_thread_leaks(make("multi_turn_base"), make("multi_turn_base"), tasks)


def test_fuzzed_actions_raise_run_open_and_start_nothing(make: Callable[..., BFCLEnv], vectors: Any) -> None:
    hostile = [row["text"] for row in vectors("bfcl_hostile.json")["rows"] if row["text"]]
    recorded = [
        text for row in vectors("bfcl_multi_turn.json")["rows"][:300] for turn in row["answer"] for text in turn
    ]
    huge = [f"[mean(numbers=[{number}])]" for number in ("9" * 400, "0x" + "f" * 5000, "1e999", "2**14299", "-1e400")]
    others = ["reply[so]", "draft[f(a=1)]", '[{"name": "pwd", "arguments": {}}]', "<tool_call>"]
    texts = [*hostile, *fuzzed([*hostile, *huge, *HOSTILE, *recorded, *others], N_SIMULATED)]
    moments: list[tuple[BFCLEnv, Token]] = []
    for options in ({}, {"published": True, "scoring": "official"}, {"calls": "json"}):
        env = make("multi_turn_base", **options)
        for task_id in ("multi_turn_base_15", "multi_turn_base_59", "multi_turn_base_103", "multi_turn_base_172"):
            env.reset(options={"task_id": task_id})
            moments.append((env, env.snapshot()))
            for action in solution_of(env)[:2]:
                env.step(action)
            moments.append((env, env.snapshot()))
    kinds: Counter[str] = Counter()
    with watched() as events:
        for kind, outcome in simulated(moments, texts, random.Random(5)):
            kinds[kind] += 1
            assert kind != "invalid" or outcome.info["facts"]["complaint"] in outcome.observation
    assert not events
    assert min(kinds["results"], kinds["invalid"], kinds["done"]) > N_SIMULATED / 20


def test_defective_tasks_are_official_ones_and_can_be_left_out(make: Callable[..., BFCLEnv]) -> None:
    for category in ("multi_turn", "single_turn"):
        every, rest = make(category), make(category, skip_defective=True)
        left_out = set(every.task_ids) - set(rest.task_ids)
        assert left_out == {
            task_id for task_id in DEFECTIVE if task_id.startswith("multi") == (category == "multi_turn")
        }
    assert Counter(task_id.rpartition("_")[0] for task_id in DEFECTIVE) == {
        "multi_turn_base": 8,
        "multi_turn_miss_func": 11,
        "multi_turn_miss_param": 11,
        "multi_turn_long_context": 10,
        "live_simple": 2,
        "live_multiple": 3,
    }
    assert all(reason.startswith("Gold ") and reason.endswith(".") for reason in DEFECTIVE.values())


def test_the_official_files_are_known(make: Callable[..., BFCLEnv], folder: Path) -> None:
    assert make().data.name == "official"
    assert gym.make("IAD/BFCL-v0").unwrapped.data.name == "bundled"  # type: ignore[attr-defined]
    files = OfficialFiles(folder)
    assert all(map(files.has, (*MULTI_TURN, *SINGLE_TURN)))
    documented = {document["name"] for document in files.documents([*FILES])}
    assert OfficialClasses(folder).toolbox([*FILES]).functions.keys() == documented
    assert len(documented) == 128
    assert not [name for name in sys.modules if name.startswith("bfcl_eval")]
