"""The environments with function calls on official data: gold, recorded answers, what a simulation must not tell."""

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import getcontext
from itertools import islice, product
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers the environments)
from iad_envs.core import Outcome, Token
from iad_envs.toolcalls.acebench.checkout import AGENT, NORMAL, AceCheckout
from iad_envs.toolcalls.acebench.executor import saved_state
from iad_envs.toolcalls.acebench.reading import is_execution
from iad_envs.toolcalls.acebench.scoring.agent_tasks import process_share, score_agent
from iad_envs.toolcalls.acebench.tasks import UNREACHABLE, WRONG_MILESTONES
from iad_envs.toolcalls.acebench.user import STOP
from iad_envs.toolcalls.bfcl.classes import FILES, OfficialClasses
from iad_envs.toolcalls.bfcl.conversations import MAX_RESPONSES
from iad_envs.toolcalls.bfcl.data import DEFECTIVE, OfficialFiles
from iad_envs.toolcalls.calls import UnreadableCalls
from iad_envs.toolcalls.env import ToolCallEnv
from iad_envs.toolcalls.pages import AWAITED
from iad_envs.toolcalls.rules import RULES, Rules
from tests.contract.environments import solution_of
from tests.effort import some, times
from tests.fidelity.attacks import HOSTILE, fuzzed, watched
from tests.iad_envs.toolcalls.official_answers import read_officially

pytest.importorskip("mpmath", reason="an official class needs mpmath: pip install 'iad[bfcl]'")
Make = Callable[..., Any]
BFCL, ACE = "IAD/BFCL-v0", "IAD/ACEBench-v0"
BOTH = pytest.mark.parametrize("env_id", [BFCL, ACE])
END = {BFCL: "reply[]", ACE: "reply[Done.]"}
PUBLISHED: dict[str, Any] = {"scoring": "official", "published": True}
ACE_DEFECTS = UNREACHABLE.keys() | WRONG_MILESTONES.keys()
N_SIMULATED = times(20_000)


@pytest.fixture(scope="module")
def folders(real_data: Path) -> dict[str, Path]:
    return {BFCL: real_data / "bfcl" / "bfcl_eval", ACE: real_data / "acebench"}


@pytest.fixture(scope="module")
def make(folders: dict[str, Path]) -> Make:
    def made(env_id: str, category: str, **options: Any) -> ToolCallEnv:
        env = gym.make(env_id, category=category, **{"split": None, "data_dir": folders[env_id], **options}).unwrapped
        assert isinstance(env, ToolCallEnv)
        return env

    return made


@pytest.mark.parametrize(("env_id", "scoring", "n_tasks", "wrong"), [
    (BFCL, "official", 800, ()), (ACE, "sound", 50, ACE_DEFECTS),
    # Its gold calls `tail` two turns before that function is offered.
    (BFCL, "sound", 800, ("multi_turn_miss_func_49",)),
])  # fmt: skip
def test_gold_is_right_whatever_is_simulated(make: Make, env_id: str, scoring: Rules, n_tasks: int, wrong: Any) -> None:
    env, found = make(env_id, "multi_turn" if env_id == BFCL else "agent", scoring=scoring), set()
    assert len(env.task_ids) == n_tasks
    for task_id in some(env.task_ids, 8, first=1) if env_id == BFCL else env.task_ids:
        env.reset(options={"task_id": task_id})
        actions = solution_of(env)
        for action in actions:
            here = env.snapshot()
            for other in islice((one for one in reversed(actions) if one != action), 2):
                env.simulate(env.simulate(here, other).token, actions[-1])
            _, reward, terminated, _, info = env.step(action)
        if not (terminated and reward == 1 and info["success"] and info["progress"] == 1):
            found.add(task_id)
    assert found == set(wrong)


@pytest.mark.parametrize(
    ("env_id", "category", "n", "n_wrong"),
    [(BFCL, "single_turn", 3491, (5, 5)), (ACE, "normal", 823, (29, 0)), (ACE, "special", 150, (0, 0))],
)
def test_gold_of_questions_is_right_but_of_some(make: Make, env_id: str, category: str, n: int, n_wrong: Any) -> None:
    for scoring, n_bad in zip(RULES, n_wrong, strict=True):
        published = scoring == "official" and env_id == ACE
        env, wrong = make(env_id, category, scoring=scoring, published=published), set()
        assert len(env.task_ids) == n
        defective = {task_id for task_id in DEFECTIVE if task_id in env.task_ids}
        for number, task_id in enumerate(env.task_ids if env_id == ACE else {*defective, *some(env.task_ids, 8)}):
            env.reset(options={"task_id": task_id})
            (action,) = solution_of(env)
            assert env_id == ACE or env.terminal(action)
            if number % 8 == 0:
                env.simulate(env.snapshot(), "reply[Which one?]")
            is_text = published and category == "special"
            _, reward, terminated, _, info = env.step(action.removeprefix("reply[")[:-1] if is_text else action)
            if not (terminated and reward == 1 and info["progress"] == 1):
                wrong.add(task_id)
        assert (len(wrong), wrong if env_id == BFCL else defective) == (n_bad, defective), scoring


@BOTH
def test_recorded_answers_to_questions_get_the_official_verdict(make: Make, vectors: Any, env_id: str) -> None:
    """Some of them: `test_bfcl.py` and `test_acebench.py` have all of them scored."""
    if env_id == BFCL:
        notations = {"prompting": "python", "fc": "json"}
        envs = {mode: make(BFCL, "single_turn", calls=calls, **PUBLISHED) for mode, calls in notations.items()}
    else:
        envs = {category: make(ACE, category, **PUBLISHED) for category in ("normal", "special")}
    rows = some(vectors("bfcl_single_turn.json" if env_id == BFCL else "acebench_normal_special.json")["rows"], 8)
    assert rows
    for row in rows:
        env, action = envs[row["mode"] if env_id == BFCL else row["id"].partition("_")[0]], row["answer"]
        _, info = env.reset(options={"task_id": row["id"]})
        names = [tool["name"] for tool in info["page"]["tools"]]
        # Where a model can't write dots, the environment of its interface writes them.
        written = {name.replace(".", "_"): name for name in names} if row.get("dots_to_underscores") else {}
        if not isinstance(action, str):  # calls of a model's own interface, as JSON
            calls = [call for one in action for call in one.items()]
            action = json.dumps([{"name": written.get(name, name), "arguments": made} for name, made in calls])
        _, reward, terminated, _, info = env.step(action)
        assert (terminated, reward == 1) == (True, row["valid"]), (row["id"], row["kind"])


def readable(texts: Sequence[str]) -> list[str]:
    """Texts with calls, as one where they are more than the limit, which the records did not know."""
    found = []
    for text in texts:
        with suppress(UnreadableCalls):
            found += [text] if read_officially(text) else []
    return found if len(found) <= MAX_RESPONSES else [f"[{', '.join(text.strip('`[] ') for text in found)}]"]


def test_recorded_conversations_get_the_official_verdict(make: Make, vectors: Any) -> None:
    """Responses that can't be read were skipped in the records, and are left out here: published, they end the turn."""
    env = make(BFCL, "multi_turn", **PUBLISHED)
    rows = some(vectors("bfcl_multi_turn.json")["rows"], 8)  # `test_bfcl.py` has all of them scored
    assert rows
    for row in rows:
        _, info = env.reset(options={"task_id": row["id"]})
        n_turns, terminated = solution_of(env).count(END[BFCL]), False
        for turn in row["answer"][:n_turns]:
            for action in (*readable(turn), "[]"):
                assert not terminated
                _, _, terminated, _, info = env.step(action)
        assert terminated == (len(row["answer"]) >= n_turns)
        if row["kind"] == "a_turn_long":  # the conversation is over before that turn
            assert not row["valid"]
        else:
            assert bool(info["success"]) == row["valid"], (row["id"], row["kind"])


def test_every_recorded_episode_is_as_recorded(make: Make, folders: dict[str, Path], vectors: Any) -> None:
    """The messages of every record are sent. Where the record ran them as well, the state is the recorded one.

    Recorded verdicts on states were taken in memory, where numbers of messages are integers and never equal gold's
    texts. The official code, and this environment, compares what a file has; see `test_acebench.py`.
    """
    env, n_run, n_shared = make(ACE, "agent", **PUBLISHED), 0, 0
    golds = {task_id: gold for category in AGENT for task_id, gold in AceCheckout(folders[ACE]).gold(category).items()}
    for row in vectors("acebench_agent.json")["rows"]:
        env.reset(options={"task_id": row["id"]})
        assert all(map(is_execution, row["process"]))
        for message in row["process"]:
            env.step(message)
        _, reward, terminated, _, info = env.step(STOP)
        assert (terminated, reward == 1) == (True, info["success"])
        gold, tools = golds[row["id"]], env._required().state.tools
        if row.get("executed"):
            n_run += 1
            assert (saved_state(tools) if tools.has_run else []) == row["final"], row["id"]
            assert info["success"] == score_agent(gold, row["final"], row["process"]).end_to_end
        if not info["success"]:
            share = process_share(gold.milestones, row["process"])
            assert info["progress"] == share
            if not row["end_to_end"]:
                n_shared += 1
                assert round(share, 3) == row["process_accuracy"], row["id"]
    assert (n_run > 20, n_shared > 50) == (True, True)


def test_a_function_that_is_not_offered_works_officially_only(make: Make) -> None:
    call, codes = "[get_baggage_allowance(membership_level='gold', cabin_class='Economy Class')]", {}
    for scoring in RULES:
        env = make(ACE, "agent", scoring=scoring)
        _, info = env.reset(options={"task_id": "agent_multi_turn_20"})
        assert "get_baggage_allowance" not in {tool["name"] for tool in info["page"]["tools"]}
        outcome = env.simulate(env.snapshot(), call)
        codes[scoring] = {one["code"] for one in outcome.info["facts"]["findings"]}
        assert ("3" in outcome.info["page"]["results"]) == (scoring == "official")
    assert "withheld_function" in codes["official"]
    assert codes["sound"] & {"unknown_function", "tool_error"}


def form(end: Outcome) -> str:
    """What a simulated end of a turn has, without what counts or repeats what was."""
    info = {**end.info, "step": 0, "facts": {**end.info["facts"], "turn": 0, "step_in_turn": 0}}
    info["page"] = {**info["page"], "messages": [], "tools": []}
    token = end.token
    return json.dumps([info, sorted(end.info["page"]), end.done, token.done, token.terminated, token.is_awaiting])


@pytest.mark.parametrize(("env_id", "category", "every"), [(BFCL, "multi_turn", 8), (ACE, "agent_multi_turn", 1)])
def test_a_simulated_end_of_a_turn_tells_nothing(make: Make, env_id: str, category: str, every: int) -> None:
    env, n_over, end = make(env_id, category), 0, END[env_id]
    for task_id in some(env.task_ids, every):
        env.reset(options={"task_id": task_id})
        ends: list[Outcome] = []
        for action in (*solution_of(env)[:-1], end):
            ends.append(env.simulate(env.snapshot(), end))
            observation, _, terminated, _, info = env.step(action)
            if action == end and not terminated:
                said = info["page"]["messages"][-1]["content"]
                before = " ".join(str(one.info["page"]["messages"]) for one in ends)
                assert (said in ends[-1].observation, said in observation) == (False, True)
                assert json.dumps(said)[1:-1] not in json.dumps(ends[-1].info) or said in before
        n_over += terminated
        assert {one.observation for one in ends} == {AWAITED}
        assert len({form(one) for one in ends}) == 1
    assert 0 < n_over <= len(env.task_ids) - (env_id == ACE)


def as_shown(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.observation, json.dumps(outcome.info), outcome.done, outcome.key


@pytest.mark.parametrize(("env_id", "scoring"), [(BFCL, "official"), (ACE, "official"), (ACE, "sound")])
def test_sixty_four_threads_simulate_without_a_leak(make: Make, env_id: str, scoring: Rules) -> None:
    """The simulations are those of another environment that is alone."""
    category, tasks = (
        ("multi_turn_base", (15, 59, 172)) if env_id == BFCL else ("agent", ("multi_step_3", "multi_turn_20"))
    )
    env, alone = (make(env_id, category, scoring=scoring) for _ in range(2))
    for task_id in (f"{category}_{task}" for task in tasks):
        tried: list[tuple[Token, Token, str]] = []
        env.reset(options={"task_id": task_id})
        alone.reset(options={"task_id": task_id})
        actions = solution_of(env)
        for action in actions:
            tried += [(env.snapshot(), alone.snapshot(), other) for other in actions]
            env.step(action)
            alone.step(action)
        wanted = [as_shown(alone.simulate(token, action)) for _, token, action in tried]
        env._simulations.clear()
        with ThreadPoolExecutor(64) as pool:
            assert list(pool.map(lambda one: as_shown(env.simulate(one[0], one[2])), tried * 2)) == wanted * 2


def seeds(vectors: Any, env_id: str) -> list[str]:
    if env_id == ACE:
        answers = [row["answer"] for row in vectors("acebench_normal_special.json")["rows"]]
        stones = [message for row in vectors("acebench_agent.json")["rows"] for message in row["process"]]
        return [*answers, *stones, *stones, f"reply[{STOP}]", "draft[f(a=1)]"]
    hostile = [row["text"] for row in vectors("bfcl_hostile.json")["rows"] if row["text"]]
    rows = vectors("bfcl_multi_turn.json")["rows"][:300]
    recorded = [text for row in rows for turn in row["answer"] for text in turn]
    huge = [f"[mean(numbers=[{number}])]" for number in ("9" * 400, "0x" + "f" * 5000, "1e999", "2**14299", "-1e400")]
    return [*hostile, *huge, *HOSTILE, *recorded, "reply[so]", '[{"name": "pwd", "arguments": {}}]', "<tool_call>"]


@BOTH
def test_hostile_and_fuzzed_actions_raise_run_open_and_start_nothing(make: Make, vectors: Any, env_id: str) -> None:
    precision, modules, chooser, kinds = getcontext().prec, set(sys.modules), random.Random(5), Counter[str]()
    categories = {
        BFCL: ("multi_turn_base", "simple_python", "parallel", "irrelevance"),
        ACE: (NORMAL[0], "normal_multi_turn_user_adjust", "special_incomplete"),
    }
    moments: list[tuple[Any, Token]] = []
    for options in ({}, PUBLISHED, {"calls": "json"}):
        for category in (*categories[env_id], *(AGENT if env_id == ACE else ())):
            env = make(env_id, category, **options)
            for task_id in env.task_ids[15:180:45] if env_id == BFCL else env.task_ids[:3]:
                env.reset(options={"task_id": task_id})
                actions = solution_of(env)
                for action in actions:  # a first call may import what its class needs
                    env.simulate(env.snapshot(), action)
                for action in ("", *actions[:-1][:2]):
                    if action:
                        env.step(action)
                    moments.append((env, env.snapshot()))
    texts = fuzzed(seeds(vectors, env_id), N_SIMULATED)
    tried = [*product(moments[::6], HOSTILE), *((chooser.choice(moments), text) for text in texts)]
    with watched() as events:
        for (env, here), text in tried:
            outcome = env.simulate(here, text)
            env.action_key(text)
            if outcome.info["invalid_action"]:
                assert "expected" in outcome.observation
                assert outcome.info["facts"]["complaint"] in outcome.observation
            kinds["invalid" if outcome.info["invalid_action"] else outcome.info["page"]["kind"]] += 1
    assert not events
    assert min(kinds["results"], kinds["invalid"], kinds["done"]) > 50
    assert getcontext().prec == precision
    assert not [name for name in set(sys.modules) - modules if name.startswith(("model_inference", "bfcl_eval"))]


def test_the_official_files_are_known_and_their_defective_tasks_can_be_left_out(make: Make, folders: Any) -> None:
    for env_id, category in ((BFCL, "multi_turn"), (BFCL, "single_turn"), (ACE, "agent")):
        every, kept = make(env_id, category), make(env_id, category, skip_defective=True)
        defects = {one for one in DEFECTIVE if one.startswith("multi") == (category == "multi_turn")}
        left_out = {*every.task_ids} - {*kept.task_ids}
        assert left_out == defects if env_id == BFCL else left_out >= ACE_DEFECTS
        assert (every.data.name, gym.make(env_id).unwrapped.data.name) == ("official", "bundled")  # type: ignore[attr-defined]
    documented = {document["name"] for document in OfficialFiles(folders[BFCL]).documents([*FILES])}
    assert OfficialClasses(folders[BFCL]).toolbox([*FILES]).functions.keys() == documented
