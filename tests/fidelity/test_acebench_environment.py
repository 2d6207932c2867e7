"""`IAD/ACEBench-v0` on the official data: gold, recorded answers, and what a simulation must not do or know."""

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from decimal import getcontext
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers the environments)
from iad_envs.core import Outcome, Token
from iad_envs.data import data_folder
from iad_envs.toolcalls.acebench.checkout import AGENT, CATEGORIES, NORMAL, AceCheckout, AceGold
from iad_envs.toolcalls.acebench.env import ACEBenchEnv
from iad_envs.toolcalls.acebench.executor import saved_state
from iad_envs.toolcalls.acebench.reading import is_execution
from iad_envs.toolcalls.acebench.scoring.agent_tasks import process_share, score_agent
from iad_envs.toolcalls.acebench.tasks import UNREACHABLE, WRONG_MILESTONES
from iad_envs.toolcalls.acebench.user import STOP
from iad_envs.toolcalls.pages import AWAITED
from iad_envs.toolcalls.rules import RULES, Rules
from tests.contract.environments import solution_of
from tests.effort import some, times
from tests.fidelity.attacks import HOSTILE, fuzzed, watched
from tests.fidelity.tool_environments import form, no_thread_leaks, other_golds, seen, simulated

Row = dict[str, Any]
N_TASKS = {"normal": 823, "special": 150, "agent": 50}
N_SIMULATED = times(20_000)


@pytest.fixture(scope="module")
def folder(real_data: Path) -> Path:
    return real_data / "acebench"


@pytest.fixture(scope="module")
def gold(folder: Path) -> dict[str, AceGold]:
    checkout = AceCheckout(folder)
    return {task_id: one for category in CATEGORIES for task_id, one in checkout.gold(category).items()}


@pytest.fixture(scope="module")
def make(folder: Path) -> Callable[..., ACEBenchEnv]:
    def made(category: str, data_dir: Path = folder, **options: Any) -> ACEBenchEnv:
        env = gym.make("IAD/ACEBench-v0", data_dir=data_dir, category=category, split=None, **options).unwrapped
        assert isinstance(env, ACEBenchEnv)
        return env

    return made


@pytest.mark.parametrize("category", ["normal", "special"])
def test_gold_answers_are_right(make: Callable[..., ACEBenchEnv], category: str) -> None:
    wrong: Counter[str] = Counter()
    for scoring in RULES:
        env = make(category, scoring=scoring, published=scoring == "official")
        assert len(env.task_ids) == N_TASKS[category]
        for task_id in env.task_ids:
            env.reset(options={"task_id": task_id})
            (action,) = solution_of(env)
            text = action.removeprefix("reply[").removesuffix("]") if category == "special" else action
            env.simulate(env.snapshot(), "reply[Which one?]")
            _, reward, terminated, _, info = env.step(text if scoring == "official" else action)
            wrong[scoring] += not (terminated and reward == 1 and info["progress"] == 1)
    assert +wrong == ({"official": 29} if category == "normal" else {})


def test_gold_of_agent_tasks_is_right_with_other_actions_simulated_before_every_step(
    make: Callable[..., ACEBenchEnv],
) -> None:
    env = make("agent", scoring="sound")
    wrong = set()
    for task_id in env.task_ids:
        env.reset(options={"task_id": task_id})
        actions = solution_of(env)
        for action in actions:
            here = env.snapshot()
            for other in actions:
                env.simulate(env.simulate(here, other).token, f"reply[{STOP}]")
            _, _, terminated, _, info = env.step(action)
        assert terminated
        if not (info["success"] and info["progress"] == 1):
            wrong.add(task_id)
    assert len(env.task_ids) == N_TASKS["agent"]
    assert wrong == UNREACHABLE.keys() | WRONG_MILESTONES.keys()
    assert not wrong & {*make("agent", skip_defective=True).task_ids}


def test_every_recorded_answer_gets_the_official_verdict(make: Callable[..., ACEBenchEnv], vectors: Any) -> None:
    envs = {category: make(category, scoring="official", published=True) for category in ("normal", "special")}
    wrong: Counter[str] = Counter()
    rows = some(vectors("acebench_normal_special.json")["rows"], 8)  # `test_acebench.py` has all of them checked
    for row in rows:
        env = envs["normal" if row["id"].startswith("normal") else "special"]
        env.reset(options={"task_id": row["id"]})
        _, reward, terminated, _, _ = env.step(row["answer"])
        assert terminated
        wrong[row["kind"]] += (reward == 1) != row["valid"]
    assert not +wrong
    assert rows


def test_every_recorded_episode_gets_the_official_process_and_its_state(
    make: Callable[..., ACEBenchEnv], gold: dict[str, AceGold], vectors: Any
) -> None:
    """The messages of every record are sent. Where the record ran them as well, the state is the recorded one.

    Recorded verdicts on states were taken in memory, where numbers of messages are integers and never equal gold's
    texts. The official code, and this environment, compares what a file has; see `test_acebench.py`.
    """
    env = make("agent", scoring="official", published=True)
    rows = vectors("acebench_agent.json")["rows"]
    n_run = n_shared = 0
    for row in rows:
        env.reset(options={"task_id": row["id"]})
        assert all(map(is_execution, row["process"]))
        for message in row["process"]:
            env.step(message)
        _, reward, terminated, _, info = env.step(STOP)
        state: Any = env._required().state
        final = saved_state(state.tools) if state.tools.has_run else []
        if row.get("executed"):
            n_run += 1
            assert final == row["final"], row["id"]
            assert info["success"] == score_agent(gold[row["id"]], row["final"], row["process"]).end_to_end
        assert terminated
        assert (reward == 1) == info["success"]
        if not info["success"]:
            share = process_share(gold[row["id"]].milestones, row["process"])
            assert info["progress"] == share
            if not row["end_to_end"]:
                n_shared += 1
                assert round(share, 3) == row["process_accuracy"], row["id"]
    assert n_run > 20
    assert n_shared > 50


def test_a_function_that_is_not_offered_works_officially_only(make: Callable[..., ACEBenchEnv]) -> None:
    call = "[get_baggage_allowance(membership_level='gold', cabin_class='Economy Class')]"
    codes = {}
    for scoring in RULES:
        env = make("agent", scoring=scoring)
        _, info = env.reset(options={"task_id": "agent_multi_turn_20"})
        assert "get_baggage_allowance" not in {tool["name"] for tool in info["page"]["tools"]}
        outcome = env.simulate(env.snapshot(), call)
        codes[scoring] = {one["code"] for one in outcome.info["facts"]["findings"]}
        assert ("3" in outcome.info["page"]["results"]) == (scoring == "official")
    assert "withheld_function" in codes["official"]
    assert codes["sound"] & {"unknown_function", "tool_error"}


def test_a_simulated_message_tells_neither_the_answer_nor_whether_the_task_is_done(
    make: Callable[..., ACEBenchEnv],
) -> None:
    env = make("agent_multi_turn")
    n_over = 0
    for task_id in env.task_ids:
        env.reset(options={"task_id": task_id})
        ends: list[Outcome] = []
        for action in solution_of(env)[:-1]:
            ends.append(env.simulate(env.snapshot(), "reply[Done.]"))
            env.step(action)
        ends.append(env.simulate(env.snapshot(), "reply[Done.]"))
        observation, _, terminated, _, info = env.step("reply[Done.]")
        n_over += terminated
        if not terminated:
            said = info["page"]["messages"][-1]["content"]
            assert said in observation
            assert said not in json.dumps([end.info["page"]["results"] for end in ends])
        assert {end.observation for end in ends} == {AWAITED}
        assert len({form(end) for end in ends}) == 1
    assert 0 < n_over < len(env.task_ids)


def test_agents_see_the_same_where_gold_is_another(
    make: Callable[..., ACEBenchEnv], folder: Path, tmp_path: Path
) -> None:
    """Each task has the gold of the next one there."""

    def of_the_next(name: str, rows: list[Row]) -> list[Row]:
        return [{**gold, "id": row["id"]} for row, gold in zip(rows, [*rows[1:], rows[0]], strict=True)]

    data = Path("data_all", "data_en")
    other_golds(folder / data, tmp_path / data, of_the_next)
    (tmp_path / "model_inference").symlink_to(folder / "model_inference")
    for category, step in (("normal", 10), ("special", 5), ("agent", 1)):
        env, without = make(category), make(category, data_dir=tmp_path)
        assert without.data.name == "other"
        for task_id in some(env.task_ids[::step], 4):
            env.reset(options={"task_id": task_id})
            actions = solution_of(env)[:-1]
            assert seen(env, task_id, actions) == seen(without, task_id, actions)


@pytest.mark.parametrize("scoring", RULES)
def test_sixty_four_threads_simulate_without_a_leak(make: Callable[..., ACEBenchEnv], scoring: Rules) -> None:
    tasks = ("agent_multi_step_3", "agent_multi_turn_20", "agent_multi_step_12")
    no_thread_leaks(make("agent", scoring=scoring), make("agent", scoring=scoring), tasks)


def test_hostile_and_fuzzed_actions_raise_run_open_and_start_nothing(
    make: Callable[..., ACEBenchEnv], gold: dict[str, AceGold], vectors: Any
) -> None:
    precision = getcontext().prec
    modules = set(sys.modules)
    stones = [stone for one in gold.values() for stones in one.milestones for stone in stones]
    answers = [row["answer"] for row in vectors("acebench_normal_special.json")["rows"]]
    texts = [*fuzzed([*answers, *stones, *stones, f"reply[{STOP}]", "draft[f(a=1)]"], N_SIMULATED)]
    moments: list[tuple[ACEBenchEnv, Token]] = []
    for options in ({}, {"published": True, "scoring": "official"}):
        for category in (NORMAL[0], "normal_multi_turn_user_adjust", "special_incomplete", *AGENT):
            env = make(category, **options)
            for task_id in env.task_ids[:3]:
                env.reset(options={"task_id": task_id})
                here = env.snapshot()
                for action in solution_of(env):  # a first call may import what its class needs
                    env.simulate(here, action)
                moments.append((env, here))
    kinds: Counter[str] = Counter()
    with watched() as events:
        for text in HOSTILE:
            for env, here in moments:
                outcome = env.simulate(here, text)
                if outcome.info["invalid_action"]:
                    assert "expected" in outcome.observation
                    kinds["refused"] += 1
        kinds.update(kind for kind, _ in simulated(moments, texts, random.Random(3)))
    assert not events
    assert min(kinds["refused"], kinds["done"], kinds["invalid"], kinds["results"]) > 50
    assert getcontext().prec == precision
    assert not [name for name in set(sys.modules) - modules if name.startswith("model_inference")]


def test_the_official_files_are_known(make: Callable[..., ACEBenchEnv]) -> None:
    assert make("agent").data.name == "official"
    assert not [name for name in sys.modules if name.startswith("model_inference")]
    if not (data_folder("acebench") / "data_all").is_dir():
        pytest.skip("there are no bundled tasks of ACEBench in this source tree")
    assert gym.make("IAD/ACEBench-v0").unwrapped.data.name == "bundled"  # type: ignore[attr-defined]
