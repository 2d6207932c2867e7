"""What the environments with function calls promise, on official data: the same for each of them."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from iad_envs.core import Outcome, Token
from iad_envs.toolcalls.env import ToolCallEnv
from tests.contract.environments import solution_of


def as_shown(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.observation, json.dumps(outcome.info), outcome.done, outcome.key


def form(end: Outcome) -> str:
    """What a simulated end of a turn has, without what counts or repeats what was."""
    info = {**end.info, "step": 0, "facts": {**end.info["facts"], "turn": 0, "step_in_turn": 0}}
    info["page"] = {**info["page"], "messages": [], "tools": []}
    token = end.token
    return json.dumps([info, sorted(end.info["page"]), end.done, token.done, token.terminated, token.is_awaiting])


def seen(env: ToolCallEnv, task_id: str, actions: Sequence[str]) -> list[Any]:
    """What an agent is shown as it tries actions, before each of them some others, and takes them."""
    shown: list[Any] = []
    env.reset(options={"task_id": task_id})
    for action in (*actions, "nonsense(", "[no_such(a=1)]"):
        here = env.snapshot()
        replies = ("reply[]", "reply[Why?]", "reply[finish conversation]")
        for tried in (action, *replies, "draft[f(x=1)]", "[no_such(a=1)]"):
            shown.append(as_shown(env.simulate(here, tried)))
            shown.append([env.action_key(tried), env.terminal(tried), env.irreversible(tried)])
        observation, _, terminated, _, info = env.step(action)
        shown.append([observation, {key: info[key] for key in info if key not in env.GOLD_INFO}])
        if terminated:
            break
    return shown


def no_thread_leaks(env: ToolCallEnv, alone: ToolCallEnv, task_ids: Sequence[str]) -> None:
    """In 64 threads the simulations of an environment are those of another one that is alone."""
    for task_id in task_ids:
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
            found = list(pool.map(lambda one: as_shown(env.simulate(one[0], one[2])), tried * 4))
        assert found == wanted * 4


def simulated(
    moments: Sequence[tuple[ToolCallEnv, Token]], texts: Sequence[str], chooser: Random
) -> Iterator[tuple[str, Outcome]]:
    """Simulate each text at one of the moments: the kind of its outcome, and the outcome."""
    for text in texts:
        env, here = chooser.choice(moments)
        outcome = env.simulate(here, text)
        env.action_key(text)
        yield "invalid" if outcome.info["invalid_action"] else outcome.info["page"]["kind"], outcome


def other_golds(data: Path, other: Path, change: Callable[[str, list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Make a copy of a folder with tasks whose folder `possible_answer` has other golds.

    Args:
        data: The folder.
        other: The copy.
        change: Returns the golds of a file by its name and the right ones.
    """
    (other / "possible_answer").mkdir(parents=True)
    for path in data.iterdir():
        if path.is_file():
            (other / path.name).symlink_to(path)
    for path in (data / "possible_answer").iterdir():
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        lines = map(json.dumps, change(path.name, rows))
        (other / "possible_answer" / path.name).write_text("\n".join(lines), encoding="utf-8")
