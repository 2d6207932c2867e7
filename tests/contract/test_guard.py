"""Contract 3 in every thread: while a policy decides, nobody moves the real environment or asks it for gold."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Thread
from typing import Any

import pytest

from iad_envs.errors import GuardError
from iad_policy import All, Candidate, IADPolicyWrapper, State, per_step
from iad_policy.requests import Ask, Propose, Simulate, Verify
from iad_policy.roles import TemplateRoles
from iad_policy.world.simulator import PerfectSimulator
from tests.contract.components import Calls, CountedOracle, Hunch, Wanderer
from tests.contract.environments import COPYING
from tests.contract.toy import Digger

LIMIT_S = 20.0
DEEDS: dict[str, Callable[[Digger], Any]] = {
    "step": lambda env: env.step("go west"),
    "reset": lambda env: env.reset(),
    "restore": lambda env: env.restore(env.snapshot()),
    "oracle": lambda env: env.oracle(env.snapshot()),
    "why_failed": lambda env: env.why_failed(),
}

Deed = Callable[[], Any]


class Threads:
    """An executor and an event loop that run before any policy decides, as an agent's constructor may start them."""

    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor(2)
        self.executor.submit(int).result(LIMIT_S)
        self.loop = asyncio.new_event_loop()
        self.thread = Thread(target=self.loop.run_forever)
        self.thread.start()

    def close(self) -> None:
        self.executor.shutdown()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(LIMIT_S)
        self.loop.close()

    def run(self, coroutine: Any) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(LIMIT_S)


@pytest.fixture(scope="module")
def threads() -> Iterator[Threads]:
    started = Threads()
    yield started
    started.close()


def in_a_thread(deed: Deed) -> None:
    thread = Thread(target=deed)
    thread.start()
    thread.join(LIMIT_S)


async def in_a_coroutine(deed: Deed) -> None:
    deed()


async def in_the_executor_of_a_loop(deed: Deed) -> None:
    await asyncio.get_running_loop().run_in_executor(None, deed)


WAYS: dict[str, Callable[[Deed, Any], Any]] = {
    "here": lambda deed, _: deed(),
    "thread": lambda deed, _: in_a_thread(deed),
    "thread of a thread": lambda deed, _: in_a_thread(lambda: in_a_thread(deed)),
    "earlier executor": lambda deed, threads: threads.executor.submit(deed).result(LIMIT_S),
    "coroutine": lambda deed, _: asyncio.run(in_a_coroutine(deed)),
    "loop's executor": lambda deed, _: asyncio.run(in_the_executor_of_a_loop(deed)),
    "to_thread": lambda deed, _: asyncio.run(asyncio.to_thread(deed)),
    "earlier loop": lambda deed, threads: threads.run(in_a_coroutine(deed)),
    "earlier loop's executor": lambda deed, threads: threads.run(in_the_executor_of_a_loop(deed)),
}


class Tried:
    """A deed that keeps what became of it, as errors of some threads reach nobody."""

    def __init__(self, deed: Deed) -> None:
        self._deed = deed
        self.results: list[Any] = []

    def __call__(self) -> None:
        try:
            self.results.append(self._deed())
        except GuardError as error:
            self.results.append(error)

    def assert_refused(self, *why: Any) -> None:
        assert self.results, why
        assert {type(result) for result in self.results} == {GuardError}, why


def meddling(thing: Any, method: str, deed: Deed) -> Any:
    """A component that does something else first."""
    original = getattr(thing, method)

    def meddled(*arguments: Any, **options: Any) -> Any:
        deed()
        return original(*arguments, **options)

    setattr(thing, method, meddled)
    return thing


def meddler(deed: Deed) -> Any:
    return meddling(Wanderer(errors=0.0), "propose", deed)


class AsyncMeddler(Wanderer):
    """An agent whose function is a coroutine function. It does the other thing in an executor of its loop."""

    def __init__(self, deed: Deed) -> None:
        super().__init__(errors=0.0)
        self._deed = deed

    async def propose(self, state: State, **options: Any) -> Candidate:  # type: ignore[override]
        await in_the_executor_of_a_loop(self._deed)
        return super().propose(state, **options)


@per_step
def everything(here: State) -> Any:
    """Ask each component once."""
    tried = yield from Propose(here, 2)
    yield from Simulate(here, tried[0])
    tried = yield from Verify(here, tried)
    yield from Ask("critic", here, tried)
    return tried[0]


COMPONENTS: dict[str, Callable[[Deed], dict[str, Any]]] = {
    "agent": lambda deed: {"agent": meddler(deed)},
    "async agent": lambda deed: {"agent": AsyncMeddler(deed)},
    "verifier": lambda deed: {"verifier": meddling(Hunch(), "verify", deed)},
    "roles": lambda deed: {"roles": meddling(TemplateRoles(), "answer", deed)},
    "simulator": lambda deed: {"simulator": meddling(PerfectSimulator(), "simulate", deed)},
}


def decide(env: Any, *, strategy: Any = everything, **components: Any) -> Any:
    """Make one decision, and return it."""
    components = {"agent": Wanderer(errors=0.0), "verifier": Hunch(), **components}
    with IADPolicyWrapper(env=env, strategy=strategy, **components) as policy:
        policy.act(*env.reset(seed=5))
        return policy.decisions[0]


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("who", COMPONENTS)
def test_no_thread_of_a_component_moves_the_world_or_asks_for_gold(who: str, n_threads: int, threads: Threads) -> None:
    for way, do in WAYS.items():
        env = Digger()
        tried = {name: Tried(partial(deed, env)) for name, deed in DEEDS.items()}
        meddle = partial(lambda do, deeds: [do(one, threads) for one in deeds], do, tried.values())
        decide(env, threads=n_threads, **COMPONENTS[who](meddle))
        for name, one in tried.items():
            one.assert_refused(way, name)
        assert env.snapshot().step == 0
        assert env.step("go west")[4]["step"] == 1  # the guard ends with the decision


def test_a_thread_that_outlives_its_call_is_refused_until_the_decision_is_made() -> None:
    env, go, gone = Digger(), Event(), Event()
    tried = [Tried(partial(deed, env)) for deed in DEEDS.values()]

    def wait() -> None:
        go.wait(LIMIT_S)
        for one in tried:
            one()
        gone.set()

    @per_step
    def slow(here: State) -> Any:
        (candidate,) = yield from Propose(here, 1)
        go.set()  # no component is called meanwhile
        assert gone.wait(LIMIT_S)
        return candidate

    decide(env, strategy=slow, agent=meddler(lambda: Thread(target=wait).start()))
    for one in tried:
        one.assert_refused()


@pytest.mark.parametrize("who", ["strategy", "agent", "verifier", "verifier apart", "roles"])
def test_who_moves_the_environment_and_catches_no_error_ends_the_decision_with_it(who: str) -> None:
    def meddling_strategy(deed: Deed) -> Any:
        @per_step
        def strategy(here: State) -> Any:
            (candidate,) = yield from Propose(here, 1)
            deed()
            return candidate

        return strategy

    made = COMPONENTS | {
        "strategy": lambda deed: {"strategy": meddling_strategy(deed)},
        "verifier apart": lambda deed: {"verifier": meddling(Hunch(per_candidate=True), "verify", deed)},
    }
    for deed in DEEDS.values():
        env = Digger()
        with pytest.raises(GuardError):
            decide(env, **made[who](partial(deed, env)))
        env.reset(seed=0)
        env.step("go west")  # the decision has ended, though by an error


def test_looking_is_guarded_as_deciding_is_and_an_agent_that_says_it_drives_is_refused() -> None:
    def looking(here: State) -> Any:
        return (yield from Propose(here, 1))

    env = Digger()
    looked = Tried(lambda: env.step("go west"))
    with IADPolicyWrapper(meddler(lambda: in_a_thread(looked)), env, verifier=Hunch()) as policy:
        policy.look(*env.reset(seed=5), looking)
    looked.assert_refused()
    env.step("go west")

    def drive() -> Any:
        with env.driving():
            return env.oracle(env.snapshot())

    driven = Tried(drive)
    decide(env, agent=meddler(driven), verifier=meddling(Hunch(), "verify", lambda: WAYS["to_thread"](driven, None)))
    driven.assert_refused()


@pytest.mark.parametrize("copying", COPYING)
@pytest.mark.parametrize("way", ["here", "thread"])
def test_a_copy_that_an_agent_makes_stays_closed(way: str, copying: str, threads: Threads) -> None:
    env = Digger()
    copies: list[Digger] = []
    tried = [Tried(lambda deed=deed: deed(copies[-1])) for deed in DEEDS.values()]  # type: ignore[misc]

    def meddle() -> None:
        copies.append(COPYING[copying](env))
        for one in tried:
            WAYS[way](one, threads)

    decide(env, agent=meddler(meddle))
    for one in tried:
        one.assert_refused()
    with pytest.raises(GuardError):
        copies[-1].step("go west")
    env.step("go west")


def test_the_drivers_own_threads_read_gold_while_an_agent_is_asked() -> None:
    env, n_asked = Digger(), 0
    read = Event()

    class Telling(CountedOracle):
        def verify(self, *given: Any) -> Any:
            verdicts = super().verify(*given)
            read.set()
            return verdicts

    def wait() -> None:
        nonlocal n_asked
        n_asked += 1
        assert n_asked < 2 or read.wait(LIMIT_S)  # the oracle is asked for gold meanwhile

    @per_step
    def side_by_side(here: State) -> Any:
        tried = yield from Propose(here, 1)
        previewed = yield from Simulate(here, tried[0])
        verified, _ = yield from All([iter(Verify(here, tried)), iter(Propose(previewed, 1))])
        return verified[0]

    decision = decide(env, strategy=side_by_side, agent=meddler(wait), verifier=Telling(Calls()), threads=2)
    assert 0.0 <= decision.committed.score <= 1.0


def test_every_step_of_a_users_loop_may_have_its_own_thread() -> None:
    env = Digger()
    wrapper = IADPolicyWrapper(Wanderer(errors=0.0, digs=False), env, verifier=CountedOracle(Calls()))
    with wrapper as policy, ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        observation, info = one.submit(env.reset, seed=5).result(LIMIT_S)
        for _ in range(3):
            action = other.submit(policy.act, observation, info).result(LIMIT_S)
            observation, *_, info = one.submit(env.step, action).result(LIMIT_S)
    assert info["step"] == 3


def test_an_environment_may_be_stepped_while_a_policy_decides_in_another_one() -> None:
    env, other = Digger(), Digger()
    other.reset(seed=0)
    deciding, stepped = Event(), Event()

    def wait() -> None:
        deciding.set()
        assert stepped.wait(LIMIT_S)

    with ThreadPoolExecutor(1) as executor:
        decision = executor.submit(decide, env, agent=meddler(wait))
        assert deciding.wait(LIMIT_S)
        assert other.step("go west")[4]["step"] == 1
        assert other.oracle(other.snapshot())["reward"] == 0.0
        with pytest.raises(GuardError):
            env.step("go west")  # and this one refuses its own loop
        stepped.set()
        decision.result(LIMIT_S)
