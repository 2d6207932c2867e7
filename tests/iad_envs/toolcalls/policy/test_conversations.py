"""The solution agent's mistakes, rehearsals of ARTIS in conversations, and a run as its reader meets it."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.toolcalls.pages import AWAITED
from iad_envs.toolcalls.policy.mistakes import wrong_response
from iad_envs.toolcalls.policy.verifier import CallVerifier
from iad_envs.toolcalls.responses import read_response
from iad_policy import Candidate, IADPolicyWrapper, State, Verdict, evaluate
from iad_policy.agents import load_agent
from iad_policy.ledger.run import Run
from iad_policy.models.parsing.function_calls import read_function_calls
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.agentboard import write_agentboard
from iad_policy.report.exports import export_runs
from iad_policy.report.viewer.shown import ShownTable, episode_json, run_json
from iad_policy.types.hashing import digest
from iad_policy.types.outcome_types import type_of
from tests.iad_envs.toolcalls.policy.talks import Talk

SOW = "[sow_seeds(bed_id='BD-58', species='fennel', count=19)]"


def calls_of(action: str) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, dict(call.arguments)) for call in read_response(action, dots=True).calls]


def drawn(task_id: str, right: str, n: int = 200) -> set[str]:
    state, rng = Talk(task_id).state, Random(0)
    found = {wrong_response(state, right, rng) for _ in range(n)}
    assert all(read_response(action, dots=True).kind != "unreadable" for action in found)
    return found


def kind_of(calls: list[tuple[str, dict[str, Any]]]) -> str:
    if len(calls) != 1:
        return "a call made twice" if calls else "words"
    ((name, arguments),) = calls
    if name != "sow_seeds":
        return "another function"
    return "another value" if len(arguments) == 3 else "a dropped argument"


def test_calls_go_wrong_in_every_way_with_values_of_their_types_and_words_as_a_call() -> None:
    found = [calls_of(action) for action in drawn("multi_turn_base_13", SOW)]
    kinds = {"another value", "a dropped argument", "another function", "a call made twice", "words"}
    assert {kind_of(calls) for calls in found} == kinds
    for ((_, arguments),) in (calls for calls in found if kind_of(calls) == "another value"):
        assert [type(arguments[name]) for name in ("bed_id", "species", "count")] == [str, str, int]
    pair = f"{SOW[:-1]}, {SOW[1:]}"
    assert calls_of(SOW) in map(calls_of, drawn("multi_turn_base_13", pair))
    offered = {one["name"] for one in Talk("multi_turn_base_1").state.info["page"]["tools"]}
    for action in drawn("multi_turn_base_1", "reply[]", 50):
        ((name, arguments),) = calls_of(action)
        assert name in offered
        assert all(value in ("something", 3, True, [], {}) or isinstance(value, str) for value in arguments.values())


@pytest.mark.parametrize(
    ("env_id", "category"),
    [
        *(("IAD/BFCL-v0", category) for category in ("multi_turn", "single_turn")),
        *(("IAD/ACEBench-v0", category) for category in ("agent", "normal", "special")),
    ],
)
def test_gold_with_mistakes_solves_less_the_more_there_are(env_id: str, category: str) -> None:
    env: Any = gym.make(env_id, category=category)
    task_ids, shares = env.unwrapped.task_ids[::8], []
    for rate in ("0", "0.3", "1"):
        n_solved = 0
        with IADPolicyWrapper(f"solution:{rate}", env, strategy="single") as policy:
            for task_id in task_ids:
                observation, info = env.reset(options={"task_id": task_id})
                while not info["stop_reason"]:
                    observation, _, _, _, info = env.step(policy.act(observation, info))
                n_solved += info["success"]
        shares.append(n_solved / len(task_ids))
    assert shares[0] == 1.0 > shares[1] > shares[2]
    assert shares[2] <= (0.2 if category == "single_turn" else 0.0)  # to "relevance" any call is right
    assert domain_by_id(env_id).agent.startswith("solution:")
    env.close()


class Following:
    """The solution agent that follows a plan; it keeps the states in which it was asked."""

    information = "oracle"

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        self._agent = load_agent("plan-following:solution:0.3", env)
        self._asks_first = "ACE" in type(env.unwrapped).__name__  # else gold takes one turn
        self.asked: list[State] = []

    def propose(self, state: State, *, rng: Random, **options: Any) -> Candidate:
        self.asked.append(state)
        if self._asks_first and state.info["facts"]["turn"] == 0:
            return Candidate("reply[Which one do you mean?]")
        return self._agent.propose(state, rng=rng, **options)


class Watching(CallVerifier):
    """The proxy verifier; it keeps the ends of attempts that it judges."""

    ends: list[State]

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        self.ends += [one.preview for one in candidates if one.preview is not None]
        return super().verify(state, candidates)


@pytest.mark.parametrize(
    ("category", "n_tasks"), [("multi_turn_base", 2), ("multi_turn_miss_param", 1), ("agent_multi_turn", 3)]
)
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_each_user_turn_is_rehearsed_anew_without_the_next_message(category: str, n_tasks: int, mode: str) -> None:
    env_id = "IAD/ACEBench-v0" if category == "agent_multi_turn" else "IAD/BFCL-v0"
    env, alone = gym.make(env_id, category=category), gym.make(env_id, category=category)
    inner: Any = env.unwrapped
    n_turns, n_rehearsed = 0, 0
    for task_id in inner.task_ids[:n_tasks]:
        agent, verifier, said = Following(env), Watching(), dict[int, list[str]]()
        verifier.ends = []
        how: dict[str, Any] = {"strategy": "artis", "n": 2, "mode": mode, "simulator": "perfect"}
        with IADPolicyWrapper(agent, env, verifier=verifier, **how) as policy:
            observation, info = env.reset(options={"task_id": task_id})
            alone.reset(options={"task_id": task_id})
            while not info["stop_reason"] and info["step"] < 24:  # later nothing new is told
                said.setdefault(info["facts"]["turn"], [one["content"] for one in info["page"]["messages"]])
                before = digest(inner.restore(inner.snapshot()))
                action = policy.act(observation, info)
                assert digest(inner.restore(inner.snapshot())) == before
                observation, *rest, info = env.step(action)
                # The same actions without any simulation lead to the same.
                assert digest(observation, *rest, info) == digest(*alone.step(action))
            planned = [one for one in policy.decisions if one.state.is_answered or one.state.info["step"] == 0]
            assert [one.state.info["facts"]["turn"] for one in planned] == sorted(said)
            for one in policy.decisions:
                asks = [one.budget[role].asks for role in ("evaluator", "summariser") if role in one.budget]
                assert (asks, one.usage.simulations > 0) == (([2, 1], True) if one in planned else ([], False))
        n_turns += len(planned)
        assert len(verifier.ends) == 2 * len(planned)
        if env_id == "IAD/BFCL-v0":  # a rehearsal ends where the user would answer
            assert all(end.is_awaiting and end.observation == AWAITED for end in verifier.ends)
        rehearsed = [state for state in (*agent.asked, *verifier.ends) if state.path]
        n_rehearsed += len(rehearsed)
        for state in rehearsed:
            turn = state.info["facts"]["turn"]
            known = {text for place, texts in said.items() if place <= turn for text in texts}
            later = {text for place, texts in said.items() if place > turn for text in texts} - known
            seen = [state.observation, state.info["page"]["messages"], state.notes]
            told = json.dumps([*seen, *((one.observation, one.action) for one in state.history)], default=str)
            assert not [text for text in later if json.dumps(text)[1:-1] in told]
    assert n_rehearsed > n_turns >= 2 * n_tasks
    env.close()
    alone.close()


RUNS = {"IAD/BFCL-v0": "multi_turn_base", "IAD/ACEBench-v0": "agent_multi_turn"}


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs") / "run"
    evaluate(request.param, ["single", "bon"], n=4, tasks=5, out=folder, env_args={"category": RUNS[request.param]})
    return Run(folder)


def test_the_viewer_shows_calls_results_candidates_and_what_the_verifier_says(run: Run) -> None:
    keys, table = [key for key, record in run.records.items() if record.strategy == "bon"], ShownTable()
    episodes = [episode_json(run, key, table) for key in keys]
    shown = json.dumps([*episodes, table.texts], ensure_ascii=False)
    for text in ("Functions:", "Results:", "User: ", "Nothing speaks against it.", "reply["):
        assert text in shown
    states = [step["before"] for episode in episodes for step in episode["steps"]]
    assert all(state["said"][0][0] == "User" for state in states)
    assert {len(row) for state in states for row in state.get("calls", ())} == {2}
    # The documents of functions are kept once, and a page is whole when it is read.
    blobs = [path.read_text() for path in (run.folder / "blobs").glob("*.json")]
    assert len(blobs) == len(set(blobs)) > 0
    assert '"description"' not in (run.folder / "answers.jsonl").read_text()
    for step in (step for key in run.records for step in run.episode(key).steps):
        page = step.decision.state.info["page"]
        assert page["tools"][0]["description"]
        assert set(page) == {"kind", "messages", "tools", "calls", "results"}


def test_what_is_exported_is_read_again_and_agentboard_has_it_among_the_tools(run: Run, tmp_path: Path) -> None:
    for form, part in (("sft", "messages"), ("preference", "chosen"), ("kto", "completion"), ("jsonl", "")):
        export_runs([run], form, tmp_path / form)
        rows = [json.loads(line) for line in (tmp_path / form).read_text(encoding="utf-8").splitlines()]
        assert rows
        for row in rows:
            text = row[part][-1]["content"] if part else row["action"]
            action = read_function_calls(text).action
            assert action is not None, text
            assert action in text
    assert all(row["candidates"] for row in rows)
    assert next(row for row in rows if row["step"] == 0)["observation"].startswith("Functions:")
    write_agentboard([run], tmp_path)
    lines = (tmp_path / "bon" / "all_results.txt").read_text(encoding="utf-8").splitlines()
    name = run_json(run)["env"][4:-3].lower()
    assert [json.loads(line)["task_name"] for line in lines] == [name, "tool_summary", "all_summary"]


def test_stand_ins_lead_to_outcomes_of_several_kinds_anywhere() -> None:
    for task_id, begin in (("multi_turn_base_13", ()), ("multi_turn_base_13", ("reply[Done.]",)), ("multiple_2", ())):
        talk = Talk(task_id).did(*begin)
        ends = [talk.tried(action).preview for action in domain_by_id("IAD/BFCL-v0").stand_ins]
        kinds = {type_of(end.info, end.done) for end in ends if end is not None}
        assert {"invalid", "unknown_function", "end" if talk.env.category == "single_turn" else "success"} <= kinds
