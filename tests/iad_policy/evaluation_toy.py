"""A tiny environment, and agents that count, fail, babble or are interrupted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from iad_envs.core import IADEnv, Score, Snapshot, Transition, View
from iad_envs.spaces import UnicodeText
from iad_policy.errors import ModelError
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.roles import TemplateRoles
from iad_policy.run.config import FREE, RunConfig
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.types import Candidate, State, Usage, Verdict

N_DIALS = 3
DIGITS = "012"


class Dials(NamedTuple):
    """Which dials."""

    task_id: str

    @property
    def instruction(self) -> str:
        return f"Open {self.task_id}"

    @property
    def difficulty(self) -> str:
        return "easy" if int(self.task_id[-1]) % 2 else "hard"


class DialsEnv(IADEnv[str, str]):
    """Turn three dials to the task's digits; wrong digits stay."""

    def __init__(self, n_tasks: int = 6, max_steps: int = 5) -> None:
        ids = [f"dials-{place}" for place in range(n_tasks)]
        super().__init__({task_id: Dials(task_id) for task_id in ids}, max_steps=max_steps)
        self.action_space = UnicodeText(100)
        self.observation_space = UnicodeText(100)

    def _start(self, task: Dials) -> str:
        return ""

    def _transition(self, state: str, action: str, rng: Any) -> Transition:
        if action not in self._actions():
            return Transition(state, "expected turn[digit]", False)
        state += action[5]
        return Transition(state, "", len(state) == N_DIALS)

    def _actions(self) -> tuple[str, ...]:
        return tuple(f"turn[{digit}]" for digit in DIGITS)

    def _view(self, state: str, complaint: str) -> View:
        return View(f"dials: {state or '-'} {complaint}", self._actions(), {}, {"dials": state})

    def _score(self, task: Dials, now: Snapshot, memory: Any) -> Score:
        gold = self._reference(task)
        progress = sum(a == b for a, b in zip(now.state, gold, strict=False)) / N_DIALS
        is_over = len(now.state) == N_DIALS
        return Score(progress if is_over else 0.0, progress, progress == 1.0, {"dials": progress}, None)

    def _reference(self, task: Dials) -> str:
        return "".join(DIGITS[(int(task.task_id[-1]) + place) % 3] for place in range(N_DIALS))

    def terminal(self, action: str) -> bool:
        return action in self._actions()


class EasyDials(DialsEnv):
    """Half of the way is a success, which is no reward of 1."""

    success_rule = "progress >= 0.5"

    def _score(self, task: Dials, now: Snapshot, memory: Any) -> Score:
        score = super()._score(task, now, memory)
        return score._replace(success=score.progress >= 0.5)


class Guesser:
    """Turns a random dial; counts its calls, and does what `at` says in a call of that number."""

    def __init__(self, at: Mapping[int, BaseException] | None = None) -> None:
        self.n_calls = 0
        self._at = dict(at or {})

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        self.n_calls += 1
        if self.n_calls in self._at:
            raise self._at[self.n_calls]
        return Candidate(f"turn[{rng.choice(DIGITS)}]", usage=Usage(prompt_tokens=7, completion_tokens=3))


class Babbler:
    """Never gives an action."""

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        return Candidate("blah", error="expected turn[digit], got prose")


class RightOnOdd:
    """Opens the odd tasks, and turns 0 at the others."""

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        task = int(state.info["instruction"][-1])
        return Candidate(f"turn[{(task + len(state.history)) % 3 if task % 2 else 0}]")


class Liker:
    """Prefers large digits; a verifier without gold."""

    information = "proxy"
    needs_preview = False

    def __init__(self, failing: bool = False) -> None:
        self.n_calls = 0
        self._failing = failing

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        self.n_calls += len(candidates)
        if self._failing:
            raise ModelError("too many requests", kind="rate_limit")
        return [Verdict(float(candidate.action[5])) for candidate in candidates]


class LikerOf(Liker):
    """One that is made by its name, for an environment."""

    def __init__(self, env: Any) -> None:
        super().__init__()


def unmeasured(record: EpisodeRecord) -> EpisodeRecord:
    """Return a record without the seconds that no two runs share."""
    usage = {role: {**axes, "seconds": 0.0} for role, axes in record.usage.items()}
    return replace(record, usage=usage, wall_s=0.0)


def config(**changes: Any) -> RunConfig:
    """Return a small comparison."""
    return RunConfig(**({"env": "Dials", "agent": "guesser", "verifier": "liker", "tasks": 4} | changes))


def cast(agent: Any = None, verifier: Any = None) -> Components:
    """Return who answers in the toy."""
    return Components(agent or Guesser(), verifier or Liker(), TemplateRoles())


def runner(agent: Any = None, verifier: Any = None, **changes: Any) -> Runner:
    """Return a runner of the toy."""
    here = cast(agent, verifier)
    return Runner(config(**changes), DialsEnv, lambda *_: here)


def kept(one: Runner, path: Path) -> Path:
    """Play all episodes into a run folder, and return it."""
    with RunFolder(path, one.recorded_config(), free=FREE) as folder:
        for _ in one.episodes(folder):
            pass
    return path
