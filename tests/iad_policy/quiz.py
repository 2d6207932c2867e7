"""A quiz: one question, one answer, and verifiers whose errors are known. What a strategy reaches is then known too."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from iad_envs.core import IADEnv, Score, Snapshot, Transition, View
from iad_envs.spaces import UnicodeText
from iad_policy import Candidate, IADPolicyWrapper, State, Verdict
from iad_policy.agents.synthetic import SyntheticAgent
from iad_policy.types.information import Information

N_ANSWERS = 20
N_QUESTIONS = 10_000


class Question(NamedTuple):
    task_id: str

    @property
    def instruction(self) -> str:
        return f"Question {self.task_id}"


class Quiz(IADEnv[str, str]):
    """Name the task's number; whatever is answered ends the episode."""

    observation_space = UnicodeText(100)
    action_space = UnicodeText(100)

    def __init__(self) -> None:
        super().__init__({str(place): Question(str(place)) for place in range(N_QUESTIONS)}, max_steps=1)

    def terminal(self, action: str) -> bool:
        return True

    def _start(self, task: Question) -> str:
        return ""

    def _transition(self, state: str, action: str, rng: Any) -> Transition:
        return Transition(action, "", True)

    def _view(self, state: str, complaint: str) -> View:
        return View(state or "?", tuple(f"answer[{place}]" for place in range(N_ANSWERS)), {}, {})

    def _score(self, task: Question, now: Snapshot, memory: Any) -> Score:
        success = now.state == self._reference(task)
        return Score(float(success), float(success), success, {}, None)

    def _reference(self, task: Question) -> str:
        return f"answer[{int(task.task_id) % N_ANSWERS}]"


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

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
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
    env, solved = Quiz(), 0
    if options.get("strategy") == "iad":  # the form that keeps asking, of which the curves are
        options.setdefault("feedback", "best-worst")
    with IADPolicyWrapper(agent, env, verifier=verifier, **options) as policy:
        for place in range(n_trials):
            observation, info = env.reset(options={"task_id": str(place)})
            solved += bool(env.step(policy.act(observation, info))[4]["success"])
    return solved
