"""Holds the policy's state of one episode: environment states, simulated states, and sample counts of prompts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import Any

from iad_policy.budget import Meter
from iad_policy.errors import ContractError, ReplayError
from iad_policy.ledger.answer_log import AnswerLine, EpisodeLog
from iad_policy.ledger.codec import put_info, put_observation
from iad_policy.prompts import prompts_of
from iad_policy.prompts.rendering import Rendering
from iad_policy.types import Candidate, Move, Outcome, PublicInfo, State, Turn
from iad_policy.types.call_context import Call
from iad_policy.types.hashing import digest, seed_of
from iad_policy.types.read_only import read_only
from iad_policy.world import World
from iad_policy.world.simulator import Simulator


class LiveEpisode:
    """One episode, as the policy sees it.

    Args:
        world: The environment.
        simulator: The simulator.
        task: Name of the task, a part of the seeds.
        seed: The run's seed.
        meter: The episode's budget; by default one without limits.
        log: The episode's part of the answer log, if there is one.
    """

    def __init__(
        self,
        world: World,
        simulator: Simulator,
        *,
        task: str,
        seed: int,
        meter: Meter | None = None,
        log: EpisodeLog | None = None,
    ) -> None:
        self.world = world
        self.simulator = simulator
        self.meter = meter or Meter()
        self.log = log
        self.state: State | None = None
        self.n_committed = 0
        self.has_proposals = False
        self._stream = f"{task}:{seed}"
        self._tokens: dict[str, Any] = {}
        self._tokens_lock = Lock()
        self._ahead: set[str] = set()
        self._counts: dict[str, int] = {}
        self._simulated: dict[tuple[str, str, int], State] = {}

    @cached_property
    def words(self) -> Rendering:
        """The words for the environment's states, in which an agent is told what its proposals led to."""
        return prompts_of(self.world.env).rendering

    @property
    def is_done(self) -> bool:
        """Whether the episode is known to have ended."""
        return self.state is not None and self.state.done

    def call(self, prompt: str) -> Call:
        """Return the call for the next sample of a prompt, with its running index and the seed derived from it."""
        index = self._counts.get(prompt, 0)
        self._counts[prompt] = index + 1
        return Call(self._stream, index, seed_of(self._stream, prompt, index), question=prompt)

    def seed(self, *parts: Any) -> int:
        """Return a seed derived from the parts, for a choice that is not a sample."""
        return seed_of(self._stream, *parts)

    def start(self, observation: Any, info: Mapping[str, Any], *, done: bool = False) -> State:
        """Return the episode's first state."""
        self.world.begin(observation)
        return self._move_to(observation, info, (), named=(self._stream, None), done=done)

    def advance(self, committed: Candidate, observation: Any, info: Mapping[str, Any], *, done: bool = False) -> State:
        """Return the state after a committed action."""
        if self.state is None:
            raise ContractError("expected a first state before a committed action; call act with the reset observation")
        self.world.committed(committed.action)
        self.n_committed += 1
        turns = (*self.state.history, _turn(self.state, committed))
        named = self.state.id, self.world.key(committed.action)
        return self._move_to(observation, info, turns, named=named, done=done)

    def _move_to(
        self, observation: Any, info: Mapping[str, Any], turns: tuple[Turn, ...], *, named: tuple[Any, ...], done: bool
    ) -> State:
        observation = read_only(observation)
        self.state = State(
            observation,
            PublicInfo(info, self.world.gold_keys),
            history=turns,
            steps_left=self.world.max_steps - self.n_committed,
            done=done,
            is_answered=bool(turns) and self.world.is_answered,
            id=digest(*named, observation),
            is_random=self.world.is_random,
        )
        self._tokens.clear()
        self._ahead.clear()
        self._simulated.clear()
        return self.state

    def known(self, at: State, action_key: str, draw: int) -> State | None:
        """Return the state after a simulated action, or None if it was not simulated in this decision yet."""
        state = self._simulated.get((at.id, action_key, draw))
        if state is None or (state.notes == at.notes and state.wording == at.wording and state.plan == at.plan):
            return state
        return replace(state, notes=at.notes, wording=at.wording, plan=at.plan)

    def after(self, at: State, candidate: Candidate, draw: int, outcome: Outcome) -> State:
        """Return the state of a simulated outcome, and keep it for this decision."""
        state = state_after(self.world, at, candidate, draw, outcome)
        self._ahead.add(state.id)
        self._simulated[at.id, candidate.key, draw] = state
        if outcome.token is not None:
            self._keep(state.id, outcome.token)
        return state

    def token(self, state: State) -> Any:
        """Return the simulator's token of the current state or of a state that was simulated from it.

        Raises:
            ContractError: The state is from before the last commit.
            ReplayError: Simulating its path again gives another observation.
        """
        with self._tokens_lock:
            token = self._tokens.get(state.id)
            return self._rebuilt(state) if token is None else token

    def _rebuilt(self, state: State) -> Any:
        if self.state is None or (state.id != self.state.id and state.id not in self._ahead):
            raise ContractError(
                "expected a state that was simulated from the last committed one, got one from before it; simulate "
                "again from the state after the commit"
            )
        name = self.state.id
        token = self._tokens.get(name)
        if token is None:
            token = self.simulator.begin(self.world, self.state)
            self._keep(name, token)
        for action, draw in state.path:
            outcome = self.simulator.simulate(self.world, token, action, draw)
            token, name = outcome.token, next_id(name, self.world.key(action), draw, outcome.observation)
        if name != state.id:
            raise ReplayError(
                f"expected the simulated observation known for {state.path}, got another one: the environment or its "
                "data changed, or its simulations are not deterministic; start a new run folder"
            )
        self._keep(name, token)
        return token

    def _keep(self, name: str, token: Any) -> None:
        if len(self._tokens) >= 256:  # an older state is simulated again along its path if it is needed
            # Every rebuild starts from the root, so the oldest token that is not the root is dropped.
            oldest = next(key for key in self._tokens if self.state is None or key != self.state.id)
            del self._tokens[oldest]
        self._tokens[name] = token

    def record_commit(self, name: str, candidate: Candidate, cut: str, notes: Sequence[str]) -> None:
        """Log the committed candidate. If a replay commits another one, the rest of the record is dropped."""
        if self.log is None:
            return
        question = digest("commit", candidate.key, candidate.error)
        if self.log.recorded(name, question) is None:
            said = {"notes": notes} if notes else {}
            self.log.write(
                AnswerLine(name, question, {"kind": "commit", "candidate": candidate.id, "cut": cut, **said})
            )

    def record_step(self, reward: float | None, done: bool, info: Mapping[str, Any] | None) -> None:
        """Log the real environment's answer to the last commit.

        Raises:
            ReplayError: The record of this step has another observation.
        """
        if self.log is None or self.state is None:
            return
        name = f"{self.n_committed - 1}.step" if self.n_committed else "reset"
        question = "step"
        seen = digest(self.state.observation)
        record = self.log.recorded(name, question)
        if record is None:
            step = {
                "kind": "step",
                "state": self.state.id,
                "seen": seen,
                "observation": put_observation(self.state.observation, self.log),
                "reward": reward,
                "done": done,
                "info": {key: put_info(value, self.log) for key, value in (info or self.state.info).items()},
            }
            self.log.write(AnswerLine(name, question, step))
        elif record["seen"] != seen:
            raise ReplayError(
                f"expected the observation recorded for {name} of episode {self.log.key}, got another one: the "
                "environment or its data changed; start a new run folder"
            )


def state_after(world: World, at: State, candidate: Candidate, draw: int, outcome: Outcome) -> State:
    """Return the state of a simulated outcome."""
    steps_left = at.steps_left - 1
    return State(
        read_only(outcome.observation),
        PublicInfo(outcome.info, world.gold_keys),
        path=(*at.path, Move(candidate.action, draw)),
        history=(*at.history, _turn(at, candidate)),
        notes=at.notes,
        wording=at.wording,
        steps_left=steps_left,
        done=outcome.done or steps_left <= 0,
        id=next_id(at.id, candidate.key, draw, outcome.observation),
        key=outcome.key,
        is_random=world.is_random,
        plan=at.plan,
        failure=outcome.failure,
        changed=outcome.changed,
    )


def next_id(parent: str, action_key: str, draw: int, observation: Any) -> str:
    """Return the id of the state that a simulated action leads to."""
    return digest(parent, action_key, draw, observation)


def _turn(at: State, candidate: Candidate) -> Turn:
    """Return the turn of a candidate. A fallback action for an unusable answer has no thought."""
    reasoning = () if candidate.error else (candidate.thought, candidate.parts)
    return Turn(at.observation, candidate.action, at.info, *reasoning)
