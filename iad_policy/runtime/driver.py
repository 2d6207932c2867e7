"""Runs a strategy's generator, answers its requests, and stops at each commit.

Generators inside `All` advance in rounds. Each generator runs up to its next batch of work units, all batches are
executed together, and the answers are returned in order. So indices, seeds and budgets do not depend on the number of
threads.
"""

from collections.abc import Callable, Generator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from iad_policy.budget import Meter
from iad_policy.errors import BudgetExhausted, ContractError
from iad_policy.requests import All, Asking, Commit
from iad_policy.runtime.answerer import Answerer, Answering
from iad_policy.runtime.batching import BatchExecutor, WorkUnit
from iad_policy.runtime.components import Components
from iad_policy.runtime.episode import LiveEpisode
from iad_policy.runtime.event_loop import EventLoop
from iad_policy.runtime.spending import Spending
from iad_policy.types import Candidate, Decision, State

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Branch:
    """A running generator: the strategy itself, or one inside `All`."""

    generator: Generator[Any, Any, Any]
    parent: "_Branch | None" = None
    place: int = 0
    send: Any = None
    throw: BudgetExhausted | None = None
    answering: Answering | None = None
    batch: list[WorkUnit] | None = None
    results: list[Any] = field(default_factory=list)
    n_running: int = 0


class Driver:
    """Drives one strategy through one episode.

    Args:
        strategy: Function from the first state to the generator to run.
        components: The agent, the verifier and the roles that answer.
        episode: The episode, with its environment, budget and log.
        meter: Function that makes the meter of a decision, with the episode's meter as its parent.
        event_loop: The loop for components that are coroutine functions.
        executor: Executor that runs work units in parallel; None runs them one after another.
    """

    def __init__(
        self,
        strategy: Callable[[State], Asking[Any]],
        components: Components,
        episode: LiveEpisode,
        *,
        meter: Callable[[], Meter],
        event_loop: EventLoop,
        executor: Executor | None = None,
    ) -> None:
        self._strategy = strategy
        self._components = components
        self._episode = episode
        self._meter = meter
        self._event_loop = event_loop
        self._executor = executor
        self._main: _Branch | None = None
        self._n_looks = 0
        self._is_closed = False

    def decide(self, here: State) -> Decision:
        """Run the strategy from the state after its last commit to its next one.

        Raises:
            BudgetExhausted: The budget of the episode or the run is spent. No request was made.
            ContractError: The strategy ended, yielded something that is not a request, or is closed. An error in an
                earlier decision closes it too.
        """
        self._require_open()
        meter = self._meter()
        spending = Spending(meter, self._episode.log)
        answerer = self._answerer(spending, str(self._episode.n_committed))
        try:
            if self._main is None:
                self._main = _Branch(self._strategy(here))
            else:
                self._main.send = here
            sent = self._run(self._main, answerer, spending)
            if isinstance(sent, _Returned):
                raise ContractError("expected the strategy to commit until the episode is over, but it ended before")
            if not isinstance(sent, Candidate):
                raise ContractError(f"expected Commit of a Candidate, got {sent!r:.200}")
            committed = sent
        except BaseException:
            self.close()
            raise
        self._n_looks = 0
        committed = answerer.to_commit(here, committed)
        spending.step()
        notes = tuple(answerer.notes)
        self._episode.record_commit(f"{self._episode.n_committed}.commit", committed, spending.cut, notes)
        return Decision(
            state=here,
            candidates=tuple(answerer.candidates.values()),
            committed=committed,
            budget=spending.by_role,
            cut=spending.cut,
            notes=notes,
            role_answers=tuple(answerer.role_answers),
            trees=tuple(answerer.trees),
        )

    def look(self, here: State, looking: Callable[[State], Asking[T]]) -> T:
        """Run a generator that commits nothing, from the state after the last commit, and return its result.

        Raises:
            BudgetExhausted: The budget of the episode or the run is spent. No request was made.
            ContractError: The generator yielded a commit.
        """
        self._require_open()
        spending = Spending(self._meter(), self._episode.log)
        answerer = self._answerer(spending, f"{self._episode.n_committed}.look{self._n_looks}")
        self._n_looks += 1
        result = self._run(_Branch(looking(here)), answerer, spending)
        if not isinstance(result, _Returned):
            raise ContractError("expected a generator that only looks to return a result, got a Commit; use act for it")
        return result.value  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the strategy's generator. Closing twice is harmless."""
        self._is_closed = True
        if self._main is not None:
            self._main.generator.close()

    def _answerer(self, spending: Spending, name: str) -> Answerer:
        return Answerer(self._components, self._episode, spending, self._event_loop, name=name)

    def _require_open(self) -> None:
        if self._is_closed:
            raise ContractError(
                "expected a running episode, got one that has ended, possibly by an error; start a new one: reset the "
                "environment and the policy (with the same log, recorded answers are replayed)"
            )
        self._episode.meter.refuse_if_spent("agent")

    def _run(self, main: _Branch, answerer: Answerer, spending: Spending) -> Any:
        """Return the candidate that the generator commits, or its result as `_Returned`."""
        with self._episode.world.deciding():
            performer = BatchExecutor(spending, self._episode.log, self._executor)
            waiting = [main]
            while True:
                ready = [each for branch in waiting for each in _advance(branch, answerer)]
                if len(ready) == 1:
                    (branch,) = waiting = ready
                    if branch.batch is None:
                        sent, branch.send = branch.send, None
                        return sent
                    branch.send = performer.perform(branch.batch)
                    continue
                batch = [task for branch in ready for task in branch.batch or ()]
                results = performer.perform(batch)
                start = 0
                for branch in ready:
                    size = len(branch.batch or ())
                    branch.send = results[start : start + size]
                    start += size
                waiting = ready


def _advance(branch: _Branch, answerer: Answerer) -> list[_Branch]:
    """Run a branch up to its commit or its next batch. Return the branches with batches, including those it starts."""
    while True:
        request = _next_request(branch)
        if request is _BATCH:
            return [branch]
        if isinstance(request, _Returned):
            if branch.parent is None:
                branch.batch, branch.send = None, request
                return [branch]
            parent = branch.parent
            parent.results[branch.place] = request.value
            parent.n_running -= 1
            if parent.n_running:
                return []
            parent.send, branch = parent.results, parent
        elif isinstance(request, All):
            children = [_Branch(generator, branch, place) for place, generator in enumerate(request.generators)]
            if not children:
                branch.send = []
                continue
            branch.results, branch.n_running = [None] * len(children), len(children)
            return [ready for child in children for ready in _advance(child, answerer)]
        elif isinstance(request, Commit) and branch.parent is None:
            branch.batch, branch.send = None, request.candidate
            return [branch]
        else:
            branch.answering = answerer.answer(request)


class _Returned(NamedTuple):
    """A generator's result."""

    value: Any


_BATCH = object()


def _next_request(branch: _Branch) -> Any:
    """Return the generator's next request, its result, or `_BATCH` if work units have to be executed first."""
    if branch.answering is not None:
        try:
            branch.batch = branch.answering.send(branch.send)
            return _BATCH
        except StopIteration as stop:
            branch.send = stop.value
        except BudgetExhausted as exhausted:
            branch.throw, branch.send = exhausted, None  # the sent value belongs to the request that was cut
        branch.answering = branch.batch = None
    try:
        if branch.throw is not None:
            thrown, branch.throw = branch.throw, None
            return branch.generator.throw(thrown)
        answer, branch.send = branch.send, None
        return branch.generator.send(answer)
    except StopIteration as stop:
        return _Returned(stop.value)
    except BudgetExhausted as exhausted:
        if branch.parent is not None:
            return _Returned(None)
        raise ContractError(
            f"expected the strategy to commit its incumbent when the budget is spent, but it did not catch "
            f"BudgetExhausted ({exhausted.axis}); catch it around requests that may be cut"
        ) from exhausted
