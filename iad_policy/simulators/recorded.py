"""Records outcomes on other tasks, also of actions that are made to fail, for simulators that show or learn them."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import gymnasium as gym

from iad_policy.agents import load_agent
from iad_policy.errors import SimulationError
from iad_policy.models import Messages
from iad_policy.prompts import prompts_of
from iad_policy.registry import load_object
from iad_policy.registry.domain import domain_of
from iad_policy.simulators.llm import question
from iad_policy.trained.outcomes import tool_of
from iad_policy.types import Agent, Outcome, PublicInfo, State, Turn
from iad_policy.types.atomic import write_text
from iad_policy.types.call_context import Call, use_call
from iad_policy.types.hashing import decode, dumps, encode, seed_of
from iad_policy.types.information import may_read_gold
from iad_policy.types.jsonl import read_lines
from iad_policy.types.outcome_types import type_of
from iad_policy.types.read_only import read_only
from iad_policy.world import World, adapt, is_text

AGENT, PROVOKED = "agent", "provoked"
Kind = tuple[str, str, str]
"""A kind of failure: the tool, the type of the outcome, and what was said of it."""
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
        beginning: What was seen as the episode began, in the words of prompts.
        earlier: The earlier actions, each with the type of its outcome.
        messages: What a language model is asked that is trained to predict the outcome; empty where no text is seen.
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
    beginning: str = ""
    earlier: Sequence[tuple[Any, str]] = ()
    messages: Messages = ()


def record(
    env: gym.Env[Any, Any],
    agent: str | Agent | None = None,
    *,
    tasks: Sequence[str] | None = None,
    n_episodes: int = 2,
    n_proposals: int = 3,
    seed: int = 0,
) -> list[Recorded]:
    """Run tasks and record the outcome of every action: the agent's proposals, and actions that fail.

    In each state, the environment simulates each of the agent's proposals, and actions that should fail: its stand-in
    actions, and wrong forms of the first proposal. Those whose kind of failure was seen least are kept. Then the first
    proposal is executed.

    Args:
        env: The environment, with tasks that are not used for any measurement.
        agent: The agent that proposes. By default it is the environment's own.
        tasks: Task ids. By default the first 100. Without task ids, as many seeds, starting at `seed`.
        n_episodes: Number of episodes per task.
        n_proposals: Number of proposals per state.
        seed: Seed of the agent.
    """
    prompts, has_text = prompts_of(env), is_text(env.observation_space)
    seen_kinds: Counter[Kind] = Counter()
    world, proposer = adapt(env), load_agent(agent, env)
    known = getattr(env.unwrapped, "task_ids", None)
    chosen: Sequence[Any] = tasks if tasks is not None else list(known)[:100] if known else range(seed, seed + 100)
    found: dict[str, Recorded] = {}
    for task, episode in product(chosen, range(n_episodes)):
        rng = Random(seed_of("recording", str(task), episode, seed))
        state = begun(env, world, task if known else None, rng.getrandbits(31))
        while not state.done:
            actions = proposals(world, proposer, state, n_proposals, name="recording", rng=rng)
            outcomes = [(action, AGENT, world.simulate(world.snapshot(), action, 0)) for action in actions]
            wrong = provoked(env, world, state, actions, seen_kinds, 4)
            outcomes += [(action, PROVOKED, outcome) for action, outcome in wrong]
            beginning = prompts.rendering.page(state.history[0] if state.history else state)
            earlier = earlier_outcomes(state)
            for action, source, outcome in outcomes:
                recorded = Recorded(
                    task_id=str(task),
                    instruction=str(state.info.get("instruction", "")),
                    observation=state.observation,
                    action=action,
                    seen=outcome.observation,
                    info=dict(outcome.info),
                    done=outcome.done and outcome.info.get("stop_reason") != "max_steps",
                    key=outcome.key,
                    source=source,
                    failure=outcome.failure,
                    changed=outcome.changed,
                    beginning=beginning,
                    earlier=earlier,
                    messages=question(prompts, state, action).messages() if has_text else (),
                )
                found.setdefault(dumps({"": encode([task, state.observation, action])}), recorded)
            action = actions[0] if actions else world.legal_action(state.info, rng.getrandbits(32))
            state = stepped(env, world, state, action)
    return list(found.values())


def provoked(
    env: gym.Env[Any, Any], world: World, state: State, actions: Sequence[Any], seen: "Counter[Kind]", n: int
) -> list[tuple[Any, Outcome]]:
    """Return actions that should fail in a state, with their outcomes: those whose kind of failure was seen least.

    They are stand-ins, and wrong forms of the first of an agent's proposals: with typos, and by `Domain.failing`.

    Args:
        env: The environment.
        world: The same, at the state.
        state: The state.
        actions: The agent's proposals.
        seen: How often each kind of failure was seen, which is counted here. Numbers and names tell no kinds.
        n: Most actions.
    """
    own = domain_of(env)
    made = list(load_object(own.failing)(state, actions[0])) if actions and own.failing else []
    typos = [wrong for action in actions[:1] for wrong in with_typos(action)]
    found, kept = list[tuple[Any, Outcome, Kind]](), list[tuple[Any, Outcome]]()
    for action in {dumps({"": encode(one)}): one for one in (*own.stand_ins, *typos, *made)}.values():
        outcome = world.simulate(world.snapshot(), action, 0)
        words = re.sub(r"'[^']*'|\"[^\"]*\"|\S*\d\S*", "_", outcome.failure[:1000])
        found.append((action, outcome, (tool_of(action), type_of(outcome.info, outcome.done), words)))
    while found and len(kept) < n:
        action, outcome, kind = found.pop(min(range(len(found)), key=lambda place: seen[found[place][2]]))
        seen[kind] += 1
        kept.append((action, outcome))
    return kept


def earlier_outcomes(state: State) -> tuple[tuple[Any, str], ...]:
    """Return the actions that led to a state, each with the type of its outcome."""
    after = [*(turn.info for turn in state.history[1:]), state.info]
    kinds = [type_of(info, False) for info in after]
    return tuple((turn.action, kind) for turn, kind in zip(state.history, kinds, strict=False))


def proposals(world: World, agent: Agent, state: State, n: int, *, name: str, rng: Random) -> list[Any]:
    """Return those of n proposals in a real state that are actions. `name` tells their samples from others."""
    found = []
    if may_read_gold(agent):
        state = replace(state, gold=world.oracle(world.snapshot()))
    with world.deciding(), world.guard():
        for place in range(n):
            with use_call(Call(name, place, rng.getrandbits(64))):
                own = Random(rng.getrandbits(64))
                found.append(agent.propose(state, feedback=None, temperature=None, rng=own).action)
    return [action for action in found if not world.complaint(action)]


def begun(env: gym.Env[Any, Any], world: World, task: str | None, seed: int) -> State:
    """Reset an environment to a task, or by a seed alone, and return its state as an agent sees it."""
    observation, info = env.reset(seed=seed, options=None if task is None else {"task_id": task})
    world.begin(observation)
    return State(read_only(observation), PublicInfo(info, world.gold_keys), steps_left=world.max_steps)


def stepped(env: gym.Env[Any, Any], world: World, state: State, action: Any) -> State:
    """Take an action in the real environment, and return the state after it."""
    observation, _, terminated, truncated, info = env.step(action)
    world.committed(action)
    return State(
        read_only(observation),
        PublicInfo(info, world.gold_keys),
        history=(*state.history, Turn(state.observation, action, state.info)),
        steps_left=state.steps_left - 1,
        done=terminated or truncated,
    )


def with_typos(action: Any) -> list[str]:
    """Return copies of a text action with two letters swapped: at its start, in its argument, and at its end.

    `cat[/a/b.txt]` gives `act[...]`, `cat[a//b.txt]` and `cat[/a/b.ttx]`. Other and very short actions give none.
    """
    if not isinstance(action, str) or len(action) < 2:
        return []
    end = len(action) - action.endswith("]")
    starts = [0, action.find("[") + 1, end - 2]
    swapped = [f"{action[:at]}{action[at : at + 2][::-1]}{action[at + 2 :]}" for at in starts if 0 <= at <= end - 2]
    return list(dict.fromkeys(one for one in swapped if one != action))


def record_elsewhere(env: gym.Env[Any, Any]) -> list[Recorded]:
    """Record on the environment's training split, in a separate environment.

    Raises:
        SimulationError: It has no other split to record on.
    """
    own = None if env.spec is None else env.spec.kwargs.get("split", "")
    for split in ("train", "dev") if env.spec is not None else ():
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
        "expected an environment with a split train or dev to record outcomes on, got "
        f"{env.unwrapped}; record them on tasks of your own (iad_policy.simulators.recorded), and name the file: "
        "retrieval:FILE"
    )


def write(records: Iterable[Recorded], path: Path | str) -> None:
    """Write a file of recorded outcomes, one JSON line each."""
    lines = (dumps(dict(zip(Recorded._fields, map(encode, one), strict=True))) for one in records)
    write_text(Path(path), "".join(f"{line}\n" for line in lines))


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
    required = [name for name in Recorded._fields if name not in Recorded._field_defaults]  # older files lack others
    for number, line in enumerate(read_lines(Path(path).resolve()), start=1):
        if not set(required) <= set(line) <= set(Recorded._fields):
            raise ValueError(
                f"expected a recorded outcome with {', '.join(required)} in line {number} of {path}, got "
                f"{json.dumps(line)[:100]}; record the file again"
            )
        yield Recorded(**{name: decode(value) for name, value in line.items()})
