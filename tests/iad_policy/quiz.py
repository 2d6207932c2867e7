"""A quiz: one question, one answer, and verifiers whose errors are known. What a strategy reaches is then known too."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from iad_envs.core import IADEnv, Score, Snapshot, Transition, View
from iad_envs.errors import UnknownTask
from iad_envs.spaces import UnicodeText
from iad_policy import Candidate, IADPolicyWrapper, State, Verdict
from iad_policy.agents.synthetic import SyntheticAgent
from iad_policy.information import Information

N_ANSWERS = 20


class Quiz(IADEnv[str, str]):
    """Name the task's number; whatever is answered ends the episode."""

    observation_space = UnicodeText(100)
    action_space = UnicodeText(100)

    def __init__(self) -> None:
        super().__init__(max_steps=1)

    @property
    def task_ids(self) -> Sequence[str]:
        return [str(place) for place in range(100_000)]

    def _task(self, task_id: str) -> str:
        if not task_id.isdigit():
            raise UnknownTask("task_id", task_id, ["a number"])
        return task_id

    def _task_id(self, task: str) -> str:
        return task

    def _instruction(self, task: str) -> str:
        return f"Question {task}"

    def _start(self, task: str) -> str:
        return ""

    def _transition(self, state: str, action: str, rng: Any) -> Transition:
        return Transition(action, "", True)

    def _view(self, state: str, complaint: str) -> View:
        return View(state or "?", tuple(f"answer[{place}]" for place in range(N_ANSWERS)), {}, {})

    def _score(self, task: str, now: Snapshot, memory: Any) -> Score:
        success = now.state == self._reference(task)
        return Score(float(success), float(success), success, {}, None)

    def _reference(self, task: str) -> str:
        return f"answer[{int(task) % N_ANSWERS}]"

    def action_key(self, action: str) -> str:
        return action

    def irreversible(self, action: str) -> bool:
        return True


def answer(state: State) -> str:
    """The right answer, as the driver shows it to an instrument."""
    assert state.gold is not None
    return str(state.gold["reference"])


def other_answer(state: State, rng: Random) -> str:
    """Some other one."""
    return rng.choice([action for action in state.info["available_actions"] if action != answer(state)])


@dataclass
class Examiner:
    """Accepts a right answer with probability a, a wrong one with probability b; a = 1 and b = 0 is a perfect verifier.

    Each candidate is judged anew, so that equal answers may be judged differently. `in_shades` scores a right answer
    anywhere from 0 to 1, the same in one state, instead of 1.
    """

    a: float = 1.0
    b: float = 0.0
    in_shades: bool = False
    information: Information = "oracle"
    needs_preview: bool = True

    def verify(self, state: State, candidates: Sequence[Candidate], among: Sequence[Candidate]) -> list[Verdict]:
        return [self._verdict(state, candidate) for candidate in candidates]

    def _verdict(self, state: State, candidate: Candidate) -> Verdict:
        assert candidate.preview is not None
        assert candidate.preview.gold is not None
        is_right = bool(candidate.preview.gold["success"])
        accepts = Random(f"{state.id} {candidate.id}").random() < (self.a if is_right else self.b)
        score = Random(f"{state.id} shade").random() if accepts and self.in_shades else float(accepts)
        return Verdict(score, "" if accepts else f"{candidate.action} is not the answer", passed=accepts)


def n_solved(agent: SyntheticAgent, verifier: Any, n_trials: int, **options: Any) -> int:
    """How many of the first questions a strategy answers rightly."""
    env = Quiz()
    solved = 0
    with IADPolicyWrapper(agent, env, verifier=verifier, **options) as policy:
        for place in range(n_trials):
            observation, info = env.reset(options={"task_id": str(place)})
            solved += bool(env.step(policy.act(observation, info))[4]["success"])
    return solved
