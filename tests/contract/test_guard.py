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
from tests.contract import components
from tests.contract.components import CountedOracle, Hunch, Wanderer
from tests.contract.environments import COPYING
from tests.contract.toy import Digger

LIMIT_S = 20.0
Deed = Callable[[], Any]
DEEDS: dict[str, Callable[[Digger], Any]] = {
    "step": lambda env: env.step("go west"),
    "reset": lambda env: env.reset(),
    "restore": lambda env: env.restore(env.snapshot()),
    "oracle": lambda env: env.oracle(env.snapshot()),
    "why_failed": lambda env: env.why_failed(),
}


def in_a_thread(deed: Deed) -> None:
    thread = Thread(target=deed)
    thread.start()
    thread.join(LIMIT_S)


async def in_a_coroutine(deed: Deed) -> None:
    deed()


async def in_the_executor_of_a_loop(deed: Deed) -> None:
    await asyncio.get_running_loop().run_in_executor(None, deed)


@pytest.fixture(scope="module")
def ways() -> Iterator[dict[str, Callable[[Deed], Any]]]:
    """Where something may be done. "Earlier" is what runs before any policy decides, as an agent may start it."""
    executor, loop = ThreadPoolExecutor(2), asyncio.new_event_loop()
    executor.submit(int).result(LIMIT_S)
    running = Thread(target=loop.run_forever)
    running.start()

    def in_the_loop(coroutine: Any) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, loop).result(LIMIT_S)

    yield {
        "here": lambda deed: deed(),
        "thread": in_a_thread,
        "thread of a thread": lambda deed: in_a_thread(lambda: in_a_thread(deed)),
        "earlier executor": lambda deed: executor.submit(deed).result(LIMIT_S),
        "coroutine": lambda deed: asyncio.run(in_a_coroutine(deed)),
        "loop's executor": lambda deed: asyncio.run(in_the_executor_of_a_loop(deed)),
        "to_thread": lambda deed: asyncio.run(asyncio.to_thread(deed)),
        "earlier loop": lambda deed: in_the_loop(in_a_coroutine(deed)),
        "earlier loop's executor": lambda deed: in_the_loop(in_the_executor_of_a_loop(deed)),
    }
    executor.shutdown()
    loop.call_soon_threadsafe(loop.stop)
    running.join(LIMIT_S)
    loop.close()


class Tried:
    """Every deed, each with what became of it, as errors of some threads reach nobody."""

    def __init__(self, env: Digger | None = None) -> None:
        self.env, self.results = env, []  # type: ignore[var-annotated]

    def __call__(self, do: Callable[[Deed], Any] = lambda deed: deed()) -> None:
        for name, deed in DEEDS.items():
            do(partial(self._keep, name, deed))

    def _keep(self, name: str, deed: Callable[[Any], Any]) -> None:
        try:
            deed(self.env)
            self.results.append((name, "done"))
        except GuardError:
            self.results.append((name, GuardError))

    def assert_refused(self, *why: Any) -> None:
        assert set(self.results) == {(name, GuardError) for name in DEEDS}, (why, self.results)


def meddling(thing: Any, method: str, deed: Deed) -> Any:
    """A component that does something else first."""
    original = getattr(thing, method)
    setattr(thing, method, lambda *arguments, **options: (deed(), original(*arguments, **options))[1])
    return thing


def meddler(deed: Deed) -> Any:
    return meddling(Wanderer(errors=0.0), "propose", deed)


def async_meddler(deed: Deed) -> Any:
    class AsyncMeddler(Wanderer):
        async def propose(self, state: State, **options: Any) -> Candidate:  # type: ignore[override]
            await in_the_executor_of_a_loop(deed)
            return super().propose(state, **options)

    return AsyncMeddler(errors=0.0)


@per_step
def everything(here: State) -> Any:
    tried = yield from Propose(here, 2)
    yield from Simulate(here, tried[0])
    tried = yield from Verify(here, tried)
    yield from Ask("critic", here, tried)
    return tried[0]


COMPONENTS: dict[str, Callable[[Deed], dict[str, Any]]] = {
    "agent": lambda deed: {"agent": meddler(deed)},
    "async agent": lambda deed: {"agent": async_meddler(deed)},
    "verifier": lambda deed: {"verifier": meddling(Hunch(), "verify", deed)},
    "roles": lambda deed: {"roles": meddling(TemplateRoles(), "answer", deed)},
    "simulator": lambda deed: {"simulator": meddling(PerfectSimulator(), "simulate", deed)},
}


decide = partial(components.decide, strategy=everything)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("who", COMPONENTS)
def test_no_thread_of_a_component_moves_the_world_or_asks_for_gold(who: str, n_threads: int, ways: Any) -> None:
    for way, do in ways.items():
        env = Digger()
        tried = Tried(env)
        decide(env, threads=n_threads, **COMPONENTS[who](partial(tried, do)))
        tried.assert_refused(way)
        assert env.snapshot().step == 0
        assert env.step("go west")[4]["step"] == 1  # the guard ends with the decision


def test_a_thread_that_outlives_its_call_is_refused_looking_is_guarded_too_and_nobody_says_that_it_drives() -> None:
    env, go, gone = Digger(), Event(), Event()
    tried = Tried(env)

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

    decide(env, strategy=slow, agent=meddler(lambda: Thread(target=wait).start()))
    tried.assert_refused()

    def looking(here: State) -> Any:
        return (yield from Propose(here, 1))

    env = Digger()
    tried = Tried(env)
    with IADPolicyWrapper(meddler(lambda: tried(in_a_thread)), env, verifier=Hunch()) as policy:
        policy.look(*env.reset(seed=5), looking)
    tried.assert_refused()
    env.step("go west")
    refused: list[bool] = []

    def drive() -> None:
        with pytest.raises(GuardError), env.driving():
            env.oracle(env.snapshot())
        refused.append(True)

    in_another = meddling(Hunch(), "verify", lambda: asyncio.run(asyncio.to_thread(drive)))
    decide(env, agent=meddler(drive), verifier=in_another)
    assert len(refused) == 3


@pytest.mark.parametrize("who", ["strategy", "agent", "verifier", "verifier apart", "roles"])
def test_who_moves_the_environment_and_catches_no_error_ends_the_decision_with_it(who: str) -> None:
    for deed in DEEDS.values():
        env = Digger()
        do = partial(deed, env)

        @per_step
        def strategy(here: State, do: Deed = do) -> Any:
            (candidate,) = yield from Propose(here, 1)
            do()
            return candidate

        apart = {"verifier": meddling(Hunch(per_candidate=True), "verify", do)}
        own = {"strategy": {"strategy": strategy}, "verifier apart": apart}.get(who)
        with pytest.raises(GuardError):
            decide(env, **(own or COMPONENTS[who](do)))
        env.reset(seed=0)
        env.step("go west")  # the decision has ended, though by an error


@pytest.mark.parametrize("copying", COPYING)
@pytest.mark.parametrize("way", ["here", "thread"])
def test_a_copy_that_an_agent_makes_stays_closed(way: str, copying: str, ways: Any) -> None:
    env, tried = Digger(), Tried()

    def meddle() -> None:
        tried.env = COPYING[copying](env)
        tried(ways[way])

    decide(env, agent=meddler(meddle))
    tried.assert_refused()
    assert tried.env is not None
    with pytest.raises(GuardError):
        tried.env.step("go west")
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

    decision = decide(env, strategy=side_by_side, agent=meddler(wait), verifier=Telling(), threads=2)
    assert 0.0 <= decision.committed.score <= 1.0


def test_a_loop_may_have_a_thread_for_every_step_and_step_another_environment_while_a_policy_decides() -> None:
    env = Digger()
    wrapper = IADPolicyWrapper(Wanderer(errors=0.0, digs=False), env, verifier=CountedOracle())
    with wrapper as policy, ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        observation, info = one.submit(env.reset, seed=5).result(LIMIT_S)
        for _ in range(3):
            action = other.submit(policy.act, observation, info).result(LIMIT_S)
            observation, *_, info = one.submit(env.step, action).result(LIMIT_S)
    assert info["step"] == 3
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
