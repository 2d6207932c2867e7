"""`iad validate` passes our environments, and names what is wrong with ones that are broken in many ways."""

import itertools
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

import iad_envs
from iad_envs.core import IADEnv, Score, Snapshot, Transition, View
from iad_envs.spaces import UnicodeText
from iad_policy.validate import validate
from tests.command_line import iad

WORDS = ("lamp", "chair", "table", "spoon", "towel", "bottle", "candle", "mirror")
COUNTER = itertools.count()


class Card:
    instruction = "Look at the card, and say the word on it."

    def __init__(self, task_id: str) -> None:
        self.task_id, self.word = task_id, WORDS[int(task_id) % len(WORDS)]


class CardEnv(IADEnv[str, tuple[bool, str]]):
    """A card on a table, face down."""

    action_space = observation_space = UnicodeText(20_000)

    def __init__(self, **options: Any) -> None:
        super().__init__({str(n): Card(str(n)) for n in range(40)}, max_steps=4, **options)

    def _start(self, task: Card) -> tuple[bool, str]:
        return False, ""

    def _transition(self, state: tuple[bool, str], action: str, rng: Any) -> Transition:
        if action == "look[card]":
            return Transition((True, ""), "", False)
        if action.startswith("say["):
            return Transition((state[0], action[4:-1]), "", True)
        return Transition(state, "expected look[card] or say[...]", False)

    def _view(self, state: tuple[bool, str], complaint: str) -> View:
        assert self._now is not None
        shown = f"The card says {self._now.task.word}." if state[0] else "A card, face down."
        return View(f"{shown} {complaint}", ("look[card]", "say[...]"), {}, {})

    def _score(self, task: Card, now: Snapshot, memory: Any) -> Score:
        has_looked, said = now.state
        is_right = said == task.word
        return Score(float(is_right), max(0.5 * has_looked, float(is_right)), is_right, {"word": float(is_right)}, None)

    def _solution(self, task: Card) -> list[str]:
        return ["look[card]", f"say[{task.word}]"]

    def terminal(self, action: str) -> bool:
        return action.startswith("say[")


class Leaking(CardEnv):
    """A simulation turns the card for good."""

    is_turned = False

    def reset(self, **given: Any) -> Any:
        self.is_turned = False
        return super().reset(**given)

    def simulate(self, *given: Any) -> Any:
        self.is_turned = True
        return super().simulate(*given)

    def _view(self, *given: Any) -> View:
        return with_text(super()._view(*given), "It was turned." * self.is_turned)


class InPlace(CardEnv):
    def _start(self, task: Card) -> Any:
        return list(super()._start(task))

    def _transition(self, state: Any, action: str, rng: Any) -> Transition:
        after = super()._transition(state, action, rng)
        state[:] = after.state
        return after._replace(state=state)


class Endless(gym.Env[int, int]):
    action_space = observation_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: int) -> Any:
        return 0, 0.0, False, False, {}


class Unworded(CardEnv):
    """A card without a text: what is seen and what is to be done are in nobody's words."""

    def _start(self, task: Card) -> tuple[bool, str]:
        task.instruction = ""
        return super()._start(task)

    def reset(self, **given: Any) -> Any:
        return 0, super().reset(**given)[1]

    def step(self, action: Any) -> Any:
        return 0, *super().step(action)[1:]


def with_text(view: View, text: object) -> View:
    return view._replace(observation=f"{view.observation} {text}")


def but(**methods: Callable[..., Any]) -> type[CardEnv]:
    """A card of which some methods are others. Each is given the card, and what it was asked."""
    return type("Otherwise", (CardEnv,), methods)


def scored(change: Callable[[Card, Snapshot, Score], Any]) -> type[CardEnv]:
    return but(_score=lambda self, task, now, memory: change(task, now, CardEnv._score(self, task, now, memory)))


def also(is_solved: Callable[[Card, Snapshot], bool]) -> type[CardEnv]:
    """A card that more than the word on it solves."""
    return scored(lambda task, now, score: score._replace(success=score.success or is_solved(task, now)))


class Fragile(CardEnv):
    def _transition(self, state: Any, action: str, rng: Any) -> Transition:
        return super()._transition(state, "[".join(action.split("[")[place] for place in (0, 1)), rng)


HIDDEN = but(
    _view=lambda self, state, complaint: View("A card, face down.", ("say[...]",), {}, {}),
    _solution=lambda self, task: [f"say[{task.word}]"],
)
LYING = but(simulate=lambda self, *given: CardEnv.simulate(self, *given)._replace(observation="A card, face up."))
COUNTING = but(_view=lambda self, *given: with_text(CardEnv._view(self, *given), next(COUNTER)))
UNSOLVABLE = but(_solution=lambda self, task: ["look[card]", "say[something else]"])
STILL = scored(lambda task, now, score: score._replace(progress=float(score.success)))
BEYOND = scored(lambda task, now, score: score._replace(progress=score.progress * 3))
BARE_STATE = but(_transition=lambda self, *given: CardEnv._transition(self, *given).state)
BARE_SCORE = scored(lambda task, now, score: score.reward)
BARE_VIEW = but(_view=lambda self, *given: "A card")
GENEROUS = also(lambda task, now: now.terminated)
SILENT = also(lambda task, now: now.terminated and not now.state[1])
ECHOING = also(lambda task, now: now.state[1].startswith("A card"))
COPIED = also(lambda task, now: now.state[1] == task.instruction)
BROKEN: list[tuple[type[gym.Env[Any, Any]], str, str]] = [
    (UNSOLVABLE, "each task is solved by its solution", "8 of 8 are not: 0, 1, 2 and 5 more"),
    (GENEROUS, "a random agent solves", "8"),
    (SILENT, "an agent that says nothing", "8 of 8"),
    (ECHOING, "one that repeats what it sees", "8 of 8"),
    (COPIED, "one that copies the task", "8 of 8"),
    (STILL, "progress moves before the end", "in none of 8 solutions"),
    (BEYOND, "each task is solved", "ValueError: expected a progress from 0 to 1 of Otherwise._score, got 1.5"),
    (InPlace, "a simulated action is what the real one is", "simulations change what is seen"),
    (but(terminal=lambda self, action: False), "only actions that are said to end", "task 0: say[lamp] did"),
    (BARE_STATE, "each task is solved", "TypeError: expected a Transition of Otherwise._transition, got (True, '')"),
    (BARE_SCORE, "an episode without sense ends", "TypeError: expected a Score of Otherwise._score, got 0.0"),
    (BARE_VIEW, "an episode without sense ends", "TypeError: expected a View of Otherwise._view, got 'A card'"),
    (HIDDEN, "what a solution needs can be seen", "nothing of the solution in 8 of 8 tasks"),
    (COUNTING, "the same seed and actions", "differs after action 0"),
    (LYING, "a simulated action is what the real one is", "task 0: action 1 was simulated otherwise"),
    (Leaking, "a simulated action is what the real one is", "simulations change what is seen"),
    (Fragile, "nonsense is an invalid action", "'' raised IndexError: list index out of range"),
    (Endless, "an episode without sense ends", "went on after 1000 actions"),
]


@pytest.mark.parametrize(("broken", "name", "said"), BROKEN)
def test_what_is_broken_is_named(broken: Any, name: str, said: str) -> None:
    failed = [one for one in validate(broken(), n_tasks=1 if broken is Endless else 8) if one.status == "failed"]
    assert any(one.name.startswith(name) and said in one.said for one in failed), failed


def test_a_sound_environment_passes() -> None:
    checks = list(validate(CardEnv()))
    assert [check.status for check in checks] == ["ok"] * 12, checks
    assert any("40 tasks" in check.said for check in checks)


def test_a_trick_for_which_there_is_no_text_is_open_and_says_so() -> None:
    copies = {"repeats what it sees", "copies the task"}
    for env, not_tried in ((gym.make("CartPole-v1"), {"says nothing", *copies}), (Unworded(), copies)):
        found = [check for check in validate(env, n_tasks=5) if check.said.startswith("not tried: ")]
        assert {check.status for check in found} == {"open"}
        assert {check.name.partition(" that ")[2].partition(" solves")[0] for check in found} == not_tried


def marks(name: str) -> Any:
    return [pytest.mark.slow, pytest.mark.timeout(900)] * any(one in name for one in ("Browser", "Sketch", "Bash"))


OURS: list[Any] = [pytest.param(name, {}, marks=marks(name)) for name in iad_envs.ENVIRONMENTS]
OURS += [("IAD/BIRD-v0", {"mode": "answer"}), ("IAD/BFCL-v0", {"category": "irrelevance"})]
OURS += [("IAD/ACEBench-v0", {"category": "special_irrelevant"})]


@pytest.mark.parametrize(("name", "options"), OURS)
def test_ours_pass(name: str, options: dict[str, Any]) -> None:
    env = gym.make(name, **options)
    failed = [check for check in validate(env, n_tasks=3 if "Bash" in name else 10) if check.status == "failed"]
    env.close()
    assert not failed


def test_the_command_says_each_finding_and_fails_with_one() -> None:
    gym.register("Broken-v0", entry_point=UNSOLVABLE)
    try:
        done = iad("validate", "Broken-v0", "--tasks", 3)
    finally:
        gym.registry.pop("Broken-v0")
    assert done.exit_code == 1
    assert "failed each task is solved by its solution: 3 of 3 are not: 0, 1, 2" in done.stdout
    done = iad("validate", "IAD/WebShop-v0", "--tasks", 3)
    assert done.exit_code == 0, done.output
    assert "ok     each task is solved by its solution: 3 tasks" in done.stdout
