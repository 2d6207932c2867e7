"""Agents, verifiers and roles that are coroutine functions: they run beside each other, and none outlives its run."""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from random import Random
from threading import Event, Thread
from typing import Any

import pytest

from iad_policy import Candidate, State, Usage, Verdict, evaluate
from iad_policy.budget import Meter
from iad_policy.errors import Interrupted
from iad_policy.roles import TemplateRoles
from iad_policy.runtime.event_loop import EventLoop
from iad_policy.types import Decision
from iad_policy.types.call_context import Call, current_call, use_call
from tests.contract.components import Hunch, decide
from tests.iad_policy.evaluation_toy import DialsEnv, Liker


def loops() -> list[Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "iad-event-loop"]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Any:
    yield
    assert not loops()


def decided(agent: Any, **options: Any) -> Decision:
    """The first decision of an agent, by itself unless another strategy is given."""
    return decide(**{"agent": agent, "strategy": "single", **options})


async def walk(observation: Any, info: Mapping[str, Any]) -> Candidate:
    await asyncio.sleep(0)
    return Candidate("go north", usage=Usage(prompt_tokens=3))


async def walk_with(word: str, observation: Any, info: Mapping[str, Any]) -> str:
    return f"go {word}"


class Walker:
    async def __call__(self, observation: Any, info: Any) -> Candidate:
        return await walk(observation, info)


class Proposer:
    async def propose(self, state: State, **_: Any) -> Candidate:
        return await walk(None, {})


AGENTS = [(walk, 3), (partial(walk_with, "north"), 0), (lambda *given: walk(*given), 3), (Walker(), 3), (Proposer(), 3)]


@pytest.mark.parametrize(("agent", "tokens"), AGENTS)
def test_a_coroutine_functions_action_is_its_result(agent: Any, tokens: int) -> None:
    candidates = decided(agent, strategy="bon", n=2).candidates
    assert [(one.action, one.error, one.usage.prompt_tokens) for one in candidates] == [("go north", "", tokens)] * 2


def test_proposals_that_are_asked_in_parallel_wait_together_and_see_their_own_call() -> None:
    together = asyncio.Barrier(4)
    indices = []

    async def meet(observation: Any, info: Mapping[str, Any]) -> str:
        assert len(loops()) == 1
        indices.append(current_call().sample_index)
        await asyncio.wait_for(together.wait(), timeout=20)  # fails unless all four run at once
        current_call().report(Usage(prompt_tokens=5))
        return "go north"

    assert decided(meet, strategy="bon", n=4, threads=4).budget["agent"].prompt_tokens == 20
    assert sorted(indices) == [0, 1, 2, 3]


def test_it_works_below_a_running_loop_and_its_error_is_the_callers_also_one_that_times_out() -> None:
    async def notebook() -> Any:
        return decided(walk).committed.action

    async def fail(observation: Any, info: Mapping[str, Any]) -> str:
        raise TimeoutError("the model is silent")

    assert asyncio.run(notebook()) == "go north"
    with pytest.raises(TimeoutError, match="the model is silent"):
        decided(fail)


class Later(Hunch):
    async def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().verify(state, candidates)


class LaterRoles(TemplateRoles):
    async def answer(self, role: str, state: State, subject: Any) -> str:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().answer(role, state, subject)


def test_verifiers_and_roles_may_be_coroutine_functions() -> None:
    how: dict[str, Any] = {"strategy": "iad", "n": 3, "feedback": "judge"}
    now = decided(walk, verifier=Hunch(), roles=TemplateRoles(), **how)
    later = decided(walk, verifier=Later(), roles=LaterRoles(), **how)
    assert [one.verdict for one in later.candidates] == [one.verdict for one in now.candidates]
    assert [one.text for one in later.role_answers] == [one.text for one in now.role_answers] != []


async def never(begun: Event, cleaned: Event) -> None:
    begun.set()
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        cleaned.set()


def test_when_the_run_is_stopped_a_late_answer_is_kept_and_one_that_never_comes_is_cancelled() -> None:
    stopped, cleaned = Event(), Event()

    async def late() -> str:
        stopped.set()
        await asyncio.sleep(0.05)
        return "kept"

    with closing(EventLoop(grace_s=20)) as loop, closing(EventLoop(grace_s=0)) as impatient:
        assert loop.result_of("a plain answer") == "a plain answer"
        assert not loops()
        with use_call(Call(stopped=stopped)):
            assert loop.result_of(late()) == "kept"
            with pytest.raises(Interrupted):
                impatient.result_of(never(Event(), cleaned))
        assert cleaned.wait(20)


def test_closing_cancels_what_runs_lets_it_clean_up_and_is_harmless_twice() -> None:
    begun, cleaned = Event(), Event()

    loop = EventLoop()
    with ThreadPoolExecutor(1) as asking:
        asked = asking.submit(loop.result_of, never(begun, cleaned))
        assert begun.wait(20)
        loop.close()
        loop.close()
        assert asked.exception(20) is not None
    assert cleaned.is_set()


def test_a_run_has_one_loop_for_all_its_episodes_and_workers(tmp_path: Any) -> None:
    seen = set()

    def turn_now(observation: Any, info: Mapping[str, Any], rng: Random) -> str:
        return f"turn[{rng.choice('012')}]"

    async def turn(observation: Any, info: Mapping[str, Any], rng: Random) -> str:
        seen.add(id(asyncio.get_running_loop()))
        await asyncio.sleep(0)
        return turn_now(observation, info, rng)

    run = partial(evaluate, DialsEnv, "bon", 4, verifier=Liker())
    later = run(agent=turn, workers=3, threads=2, out=tmp_path).records["bon"]
    now = run(agent=turn_now).records["bon"]
    assert len(seen) == 1
    assert [(one.actions, one.error) for one in later] == [(one.actions, "") for one in now]


def test_a_stopped_run_ends_though_its_agent_never_answers() -> None:
    meter = Meter()

    async def stopping(observation: Any, info: Mapping[str, Any]) -> None:
        meter.stopped.set()
        await never(Event(), Event())

    with closing(EventLoop(grace_s=0)) as loop:
        with pytest.raises(Interrupted):
            decided(stopping, run_meter=meter, event_loop=loop)
        assert loops()  # it is the caller's
