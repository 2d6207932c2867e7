"""Records outcomes on other tasks, for the retrieval simulator."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import gymnasium as gym

from iad_policy.agents import load_agent
from iad_policy.errors import SimulationError
from iad_policy.registry.domain import domain_of
from iad_policy.simulators.typos import with_typos
from iad_policy.types import Agent, PublicInfo, State, Turn
from iad_policy.types.atomic import write_atomically
from iad_policy.types.call_context import Call, use_call
from iad_policy.types.hashing import decode, dumps, encode, seed_of
from iad_policy.types.information import may_read_gold
from iad_policy.types.jsonl import read_lines
from iad_policy.types.read_only import read_only
from iad_policy.world import adapt

LEARNING_SPLITS = ("train", "dev")
N_TASKS, N_EPISODES, N_PROPOSALS = 100, 2, 3
AGENT, PROVOKED = "agent", "provoked"
OUTCOMES = "outcomes.jsonl"
"""The file of recorded outcomes in the folder of a trained simulator."""


class Recorded(NamedTuple):
    """The outcome of one action.

    Attributes:
        task_id: Id of the task.
        instruction: The task's instruction.
        observation: The observation before the action.
        action: The action.
        seen: The observation after the action.
        info: The public info after the action.
        done: Whether the action ended the episode, not counting the step limit.
        key: The environment's name for the result.
        source: Who acted: `agent`, or `provoked` for an action that was made to fail.
        failure: What went wrong, in the environment's own words; "" if nothing did.
        changed: Whether the world changed.
    """

    task_id: str
    instruction: str
    observation: Any
    action: Any
    seen: Any
    info: Mapping[str, Any]
    done: bool
    key: str
    source: str = AGENT
    failure: str = ""
    changed: bool = True


REQUIRED = tuple(name for name in Recorded._fields if name not in Recorded._field_defaults)
"""Fields of a line in a file. Older files lack the others."""


def record(
    env: gym.Env[Any, Any],
    agent: str | Agent | None = None,
    *,
    tasks: Sequence[str] | None = None,
    n_episodes: int = N_EPISODES,
    n_proposals: int = N_PROPOSALS,
    seed: int = 0,
) -> list[Recorded]:
    """Run tasks and record the outcome of every action: the agent's proposals, and actions that fail.

    In each state, the environment simulates each of the agent's proposals, its stand-in actions, and the first proposal
    with typos, so that failures are recorded too. Then the first proposal is executed.

    Args:
        env: The environment, with tasks that are not used for any measurement.
        agent: The agent that proposes. By default it is the environment's rule-based agent.
        tasks: Task ids. By default the first 100. Without task ids, as many seeds, starting at `seed`.
        n_episodes: Number of episodes per task.
        n_proposals: Number of proposals per state.
        seed: Seed of the agent.
    """
    world, proposer = adapt(env), load_agent(agent if agent is not None else domain_of(env).agent, env)
    known = getattr(env.unwrapped, "task_ids", None)
    chosen: Sequence[Any] = (
        tasks if tasks is not None else list(known)[:N_TASKS] if known else range(seed, seed + N_TASKS)
    )
    found: dict[str, Recorded] = {}
    for task in chosen:
        for episode in range(n_episodes):
            rng = Random(seed_of("recording", str(task), episode, seed))
            observation, info = env.reset(seed=rng.getrandbits(31), options={"task_id": task} if known else None)
            world.begin(observation)
            state = State(read_only(observation), PublicInfo(info, world.gold_keys), steps_left=world.max_steps)
            while not state.done:
                shown = replace(state, gold=world.oracle(world.snapshot())) if may_read_gold(proposer) else state
                with world.deciding(), world.guard():
                    actions = [_proposed(proposer, shown, place, rng) for place in range(n_proposals)]
                actions = [action for action in actions if not world.complaint(action)]
                failing = [wrong for action in actions[:1] for wrong in with_typos(action)]
                provoked = [(action, PROVOKED) for action in (*domain_of(env).stand_ins, *failing)]
                for action, source in (*((action, AGENT) for action in actions), *provoked):
                    outcome = world.simulate(world.snapshot(), action, 0)
                    is_limit = outcome.info.get("stop_reason") == "max_steps"
                    texts = str(info.get("instruction", "")), state.observation, action, outcome.observation
                    done = outcome.done and not is_limit
                    said = outcome.key, source, outcome.failure, outcome.changed
                    recorded = Recorded(str(task), *texts, dict(outcome.info), done, *said)
                    found.setdefault(dumps({"": encode([task, state.observation, action])}), recorded)
                action = actions[0] if actions else world.legal_action(state.info, rng.getrandbits(32))
                state = _stepped(env, state, action, gold=world.gold_keys)
                world.committed(action)
    return list(found.values())


def _proposed(proposer: Agent, state: State, place: int, rng: Random) -> Any:
    with use_call(Call("recording", place, rng.getrandbits(64))):
        return proposer.propose(state, feedback=None, temperature=None, rng=Random(rng.getrandbits(64))).action


def _stepped(env: gym.Env[Any, Any], state: State, action: Any, *, gold: frozenset[str]) -> State:
    observation, _, terminated, truncated, info = env.step(action)
    return State(
        read_only(observation),
        PublicInfo(info, gold),
        history=(*state.history, Turn(state.observation, action, state.info)),
        steps_left=state.steps_left - 1,
        done=terminated or truncated,
    )


def record_elsewhere(env: gym.Env[Any, Any]) -> list[Recorded]:
    """Record on the environment's training split, in a separate environment.

    Raises:
        SimulationError: It has no other split to record on.
    """
    own = None if env.spec is None else env.spec.kwargs.get("split", "")
    for split in LEARNING_SPLITS if env.spec is not None else ():
        try:
            other = gym.make(env.spec, split=split)  # type: ignore[arg-type]  # None is left out above
        except (TypeError, ValueError, OSError):
            continue
        try:
            if split != own and other.unwrapped.task_ids != env.unwrapped.task_ids:  # type: ignore[attr-defined]
                return record(other)
        finally:
            other.close()
    raise SimulationError(
        f"expected an environment with a split {' or '.join(LEARNING_SPLITS)} to record outcomes on, got "
        f"{env.unwrapped}; record them on tasks of your own (iad_policy.simulators.recorded), and name the file: "
        "retrieval:FILE"
    )


def write(records: Iterable[Recorded], path: Path | str) -> None:
    """Write a file of recorded outcomes, one JSON line each."""
    lines = (dumps(dict(zip(Recorded._fields, map(encode, one), strict=True))) for one in records)
    with write_atomically(Path(path)) as part:
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read(path: Path | str) -> Iterator[Recorded]:
    """Read a file of recorded outcomes.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: A line is not a recorded outcome.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"expected a file of recorded outcomes at {path}, got none; write one with "
            "iad_policy.simulators.recorded.write (docs/simulators.md), or name another"
        )
    for number, line in zip(count(1), read_lines(Path(path).resolve()), strict=False):
        if not set(REQUIRED) <= set(line) <= set(Recorded._fields):
            raise ValueError(
                f"expected a recorded outcome with {', '.join(REQUIRED)} in line {number} of {path}, got "
                f"{json.dumps(line)[:100]}; record the file again"
            )
        yield Recorded(**{name: decode(value) for name, value in line.items()})
