"""Contract 3 in every thread: while a policy decides, nobody moves the real environment or asks it for gold."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from threading import Event, Thread, Timer
from typing import Any

import pytest

from iad_envs.errors import GuardError
from iad_policy import All, Candidate, IADPolicyWrapper, State, Verdict, per_step
from iad_policy.requests import Ask, Propose, Simulate, Verify
from iad_policy.world.simulator import PerfectSimulator
from tests.contract.components import STRATEGIES, Calls, CountedOracle, Hunch, Wanderer, declared, play
from tests.contract.environments import COPYING
from tests.contract.toy import Digger

LIMIT_S = 20.0
DEEDS: dict[str, Callable[[Digger], Any]] = {
    "step": lambda env: env.step("go west"),
    "reset": lambda env: env.reset(),
    "restore": lambda env: env.restore(env.snapshot()),
    "oracle": lambda env: env.oracle(env.snapshot()),
}

Deed = Callable[[], Any]
Way = Callable[[Deed], None]


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


@pytest.fixture(scope="module")
def threads() -> Iterator[Threads]:
    started = Threads()
    yield started
    started.close()


def in_a_thread(deed: Deed) -> None:
    thread = Thread(target=deed)
    thread.start()
    thread.join(LIMIT_S)


def in_a_timer(deed: Deed) -> None:
    timer = Timer(0.0, deed)
    timer.start()
    timer.join(LIMIT_S)


def in_a_thread_of_a_thread(deed: Deed) -> None:
    in_a_thread(lambda: in_a_thread(deed))


def in_an_executor(deed: Deed, executor: Executor | None = None) -> None:
    if executor is not None:
        executor.submit(deed).result(LIMIT_S)
        return
    with ThreadPoolExecutor(1) as own:
        own.submit(deed).result(LIMIT_S)


def in_a_coroutine(deed: Deed) -> None:
    async def done() -> None:
        deed()

    asyncio.run(done())


def in_a_task(deed: Deed) -> None:
    async def done() -> None:
        deed()

    async def started() -> None:
        await asyncio.create_task(done())

    in_a_thread(lambda: asyncio.run(started()))


def in_a_loops_executor(deed: Deed) -> None:
    async def done() -> None:
        await asyncio.get_running_loop().run_in_executor(None, deed)

    asyncio.run(done())


def to_a_thread(deed: Deed) -> None:
    asyncio.run(asyncio.to_thread(deed))


WAYS: dict[str, Callable[[Threads], Way]] = {
    "here": lambda threads: lambda deed: deed(),
    "thread": lambda threads: in_a_thread,
    "timer": lambda threads: in_a_timer,
    "thread of a thread": lambda threads: in_a_thread_of_a_thread,
    "executor": lambda threads: in_an_executor,
    "earlier executor": lambda threads: lambda deed: in_an_executor(deed, threads.executor),
    "coroutine": lambda threads: in_a_coroutine,
    "task": lambda threads: in_a_task,
    "loop's executor": lambda threads: in_a_loops_executor,
    "to_thread": lambda threads: to_a_thread,
    "earlier loop": lambda threads: lambda deed: called_in(threads.loop, deed),
    "earlier loop's executor": lambda threads: lambda deed: executed_in(threads.loop, deed),
}


def called_in(loop: asyncio.AbstractEventLoop, deed: Deed) -> None:
    async def done() -> None:
        deed()

    asyncio.run_coroutine_threadsafe(done(), loop).result(LIMIT_S)


def executed_in(loop: asyncio.AbstractEventLoop, deed: Deed) -> None:
    async def done() -> None:
        await loop.run_in_executor(None, deed)

    asyncio.run_coroutine_threadsafe(done(), loop).result(LIMIT_S)


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

    def assert_refused(self) -> None:
        assert self.results
        for result in self.results:
            assert isinstance(result, GuardError), result


class Meddler(Wanderer):
    """An agent that does something else first."""

    def __init__(self, deed: Deed) -> None:
        super().__init__(errors=0.0)
        self._deed = deed

    def propose(self, state: State, **options: Any) -> Candidate:
        self._deed()
        return super().propose(state, **options)


class AsyncMeddler(Wanderer):
    """Such an agent whose function is a coroutine function. It does the other thing in an executor of its loop."""

    def __init__(self, deed: Deed) -> None:
        super().__init__(errors=0.0)
        self._deed = deed

    async def propose(self, state: State, **options: Any) -> Candidate:  # type: ignore[override]
        await asyncio.get_running_loop().run_in_executor(None, self._deed)
        return super().propose(state, **options)


class MeddlingVerifier(Hunch):
    """A verifier that does something else first."""

    def __init__(self, deed: Deed) -> None:
        super().__init__()
        self._deed = deed

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        self._deed()
        return super().verify(state, candidates)


class MeddlingRoles:
    """Roles that do something else first."""

    source = "meddler"

    def __init__(self, deed: Deed) -> None:
        self._deed = deed

    def answer(self, role: str, state: State, subject: Any) -> str:
        self._deed()
        return "a text"


class MeddlingSimulator(PerfectSimulator):
    """A simulator that does something else first."""

    def __init__(self, deed: Deed) -> None:
        super().__init__()
        self._deed = deed

    def simulate(self, world: Any, token: Any, action: Any, draw: int) -> Any:
        self._deed()
        return super().simulate(world, token, action, draw)


@per_step
def everything(here: State) -> Any:
    """Ask each component once."""
    tried = yield from Propose(here, 2)
    yield from Simulate(here, tried[0])
    tried = yield from Verify(here, tried)
    yield from Ask("critic", here, tried)
    return tried[0]


COMPONENTS: dict[str, Callable[[Deed], dict[str, Any]]] = {
    "agent": lambda deed: {"agent": Meddler(deed)},
    "async agent": lambda deed: {"agent": AsyncMeddler(deed)},
    "verifier": lambda deed: {"verifier": MeddlingVerifier(deed)},
    "roles": lambda deed: {"roles": MeddlingRoles(deed)},
    "simulator": lambda deed: {"simulator": MeddlingSimulator(deed)},
}


def decide(env: Any, *, strategy: Any = everything, **components: Any) -> Any:
    """Make one decision, and return it."""
    components = {"agent": Wanderer(errors=0.0), "verifier": Hunch(), **components}
    with IADPolicyWrapper(env=env, strategy=strategy, **components) as policy:
        policy.act(*env.reset(seed=5))
        return policy.decisions[0]


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("who", COMPONENTS)
@pytest.mark.parametrize("way", WAYS)
def test_no_thread_of_a_component_moves_the_environment_or_asks_for_gold(
    way: str, who: str, n_threads: int, threads: Threads
) -> None:
    env = Digger()
    tried = [Tried(partial(deed, env)) for deed in DEEDS.values()]
    go = WAYS[way](threads)
    decide(env, threads=n_threads, **COMPONENTS[who](lambda: [go(one) for one in tried]))
    for one in tried:
        one.assert_refused()
    assert env.snapshot().step == 0
    assert env.step("go west")[4]["step"] == 1  # the guard ends with the decision


@pytest.mark.parametrize("deed", DEEDS)
def test_a_thread_that_outlives_its_call_is_refused_until_the_decision_is_made(deed: str) -> None:
    env, go, gone = Digger(), Event(), Event()
    tried = Tried(partial(DEEDS[deed], env))

    def wait() -> None:
        go.wait(LIMIT_S)
        tried()
        gone.set()

    @per_step
    def slow(here: State) -> Any:
        (candidate,) = yield from Propose(here, 1)
        go.set()  # no component is called meanwhile
        assert gone.wait(LIMIT_S)
        return candidate

    decide(env, strategy=slow, agent=Meddler(lambda: Thread(target=wait).start()))
    tried.assert_refused()


@pytest.mark.parametrize("deed", DEEDS)
def test_a_strategy_moves_no_environment_either(deed: str) -> None:
    env = Digger()

    @per_step
    def meddling(here: State) -> Any:
        (candidate,) = yield from Propose(here, 1)
        DEEDS[deed](env)
        return candidate

    with pytest.raises(GuardError, match="but one called"):
        decide(env, strategy=meddling)
    env.reset(seed=0)
    env.step("go west")  # the decision has ended, though by an error


def test_looking_is_guarded_as_deciding_is() -> None:
    env = Digger()
    tried = Tried(lambda: env.step("go west"))

    def looking(here: State) -> Any:
        return (yield from Propose(here, 1))

    with IADPolicyWrapper(Meddler(lambda: in_a_thread(tried)), env, verifier=Hunch()) as policy:
        policy.look(*env.reset(seed=5), looking)
    tried.assert_refused()
    env.step("go west")


def test_an_agent_that_says_it_drives_is_refused() -> None:
    env = Digger()

    def drive() -> Any:
        with env.driving():
            return env.oracle(env.snapshot())

    tried = Tried(drive)
    decide(env, agent=Meddler(tried), verifier=MeddlingVerifier(lambda: to_a_thread(tried)))
    tried.assert_refused()


def _done_to_last(deed: Callable[[Digger], Any], copies: list[Digger]) -> Any:
    return deed(copies[-1])


@pytest.mark.parametrize("copying", COPYING)
@pytest.mark.parametrize("way", ["here", "thread"])
def test_a_copy_that_an_agent_makes_stays_closed(way: str, copying: str, threads: Threads) -> None:
    env = Digger()
    copies: list[Digger] = []
    tried = [Tried(partial(_done_to_last, deed, copies)) for deed in DEEDS.values()]
    go = WAYS[way](threads)

    def meddle() -> None:
        copies.append(COPYING[copying](env))
        for one in tried:
            go(one)

    decide(env, agent=Meddler(meddle))
    for one in tried:
        one.assert_refused()
    with pytest.raises(GuardError):
        copies[-1].step("go west")
    env.step("go west")


def test_the_drivers_own_threads_read_gold_while_an_agent_is_asked() -> None:
    env, read = Digger(), Event()

    class Telling(CountedOracle):
        def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
            verdicts = super().verify(state, candidates)
            read.set()
            return verdicts

    class Slow(Wanderer):
        n_asked = 0

        def propose(self, state: State, **options: Any) -> Candidate:
            self.n_asked += 1
            if self.n_asked == 2:
                assert read.wait(LIMIT_S)  # the oracle is asked for gold meanwhile
            return super().propose(state, **options)

    @per_step
    def side_by_side(here: State) -> Any:
        tried = yield from Propose(here, 1)
        previewed = yield from Simulate(here, tried[0])
        verified, _ = yield from All([iter(Verify(here, tried)), iter(Propose(previewed, 1))])
        return verified[0]

    decision = decide(env, strategy=side_by_side, agent=Slow(errors=0.0), verifier=Telling(Calls()), threads=2)
    assert 0.0 <= decision.committed.score <= 1.0


@pytest.mark.parametrize("threads", [1, 3], ids="threads={}".format)
@pytest.mark.parametrize("name", [name for name, how in STRATEGIES.items() if declared(how).needs != "nothing"])
def test_every_strategy_decides_with_an_oracle_behind_the_guard(name: str, threads: int) -> None:
    assert play("digger", STRATEGIES[name], verifier="oracle", threads=threads).decisions


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
        decision = executor.submit(decide, env, agent=Meddler(wait))
        assert deciding.wait(LIMIT_S)
        assert other.step("go west")[4]["step"] == 1
        assert other.oracle(other.snapshot())["reward"] == 0.0
        with pytest.raises(GuardError):
            env.step("go west")  # and this one refuses its own loop
        stepped.set()
        decision.result(LIMIT_S)
