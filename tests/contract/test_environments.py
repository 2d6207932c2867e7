"""Holds the environments to contract 1."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import pytest

from iad_envs import ENVIRONMENTS
from iad_envs.core import IADEnv
from iad_envs.errors import UnknownTask
from tests.contract.environments import EnvironmentContract, Subject
from tests.contract.toy import GUEST, WAYS, Cafe, Digger, SlipperyDigger


def by_turns(*actions: str) -> Callable[[dict[str, Any]], str]:
    return lambda info: actions[info["step"] % len(actions)]


def call_about(info: dict[str, Any]) -> str:
    """Calls without arguments, which fail."""
    calls: list[str] = [action for action in info["available_actions"] if action.endswith("()]")]
    return calls[info["step"] % len(calls)]


def draft_about(info: dict[str, Any]) -> str:
    return f"draft{call_about(info)}"


browse = by_turns("search[shoes]", "click[next >]", "click[< prev]", "search[red]")
serve = by_turns("brew tea", "bring")
look_around = by_turns("CLICK [mine]", "CLICK [home]", "SCROLL [DOWN]", "SCROLL [UP]")
_walk = by_turns(*(f"go {way}" for way in WAYS))


TABLE = "GOTO [/r/bistro-almond-tree-port-alder?date=2026-06-17&time=19:00&party=2]"
BOOKING = {"lasting": "CLICK [slot-1900]", "approach": [TABLE], "asking": "ASK USER HELP [Where to sit?]"}
BFCL = {"lasting": "[send_draft()]", "asking": "reply[Done.]", "answer": "User: ", "open_end": True}
TOOLS: list[tuple[str, str, Any, dict[str, Any]]] = [
    ("BFCL", "multi_turn_base", call_about, BFCL),
    ("BFCL", "single_turn", draft_about, {}),
    ("ACEBench", "agent_multi_step", call_about, {}),
    ("ACEBench", "agent_multi_turn", call_about, {"asking": "reply[Which one?]", "answer": "User: "}),
    ("ACEBench", "normal", draft_about, {}),
    ("ACEBench", "special", draft_about, {}),
]
SUBJECTS = [
    Subject("Toy/Digger-v0", _walk),
    # A slippery way has to be seen to be walked, so the way if nothing slips is no solution.
    Subject("Toy/SlipperyDigger-v0", _walk, lambda env: env.oracle(env.snapshot())["reference"]),
    Subject("Toy/Cafe-v0", serve, lasting="brew tea", asking="ask", answer=GUEST),
    Subject("IAD/WebShop-v0", browse),
    Subject("IAD/Booking-v0", look_around, answer="The user answered: ", **BOOKING),  # type: ignore[arg-type]
    *(Subject(f"IAD/{name}-v0", walk, arguments={"category": kind}, **own) for name, kind, walk, own in TOOLS),
]


class TestEnvironments(EnvironmentContract):
    @pytest.fixture(params=SUBJECTS, ids=str)
    def subject(self, request: pytest.FixtureRequest) -> Subject:
        return request.param  # type: ignore[no-any-return]

    def test_every_gold_solution_scores_1(self, subject: Subject) -> None:
        if "Slippery" in subject.id:
            pytest.skip("the way there is random, so no list of actions is a solution")
        super().test_every_gold_solution_scores_1(subject)


def test_every_environment_is_made_with_the_render_mode_that_training_libraries_pass() -> None:
    for name in ENVIRONMENTS:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            env = gym.make(name, render_mode="rgb_array")
        is_known = "rgb_array" in env.metadata["render_modes"]
        assert env.render_mode == ("rgb_array" if is_known else None), name
        assert any("rgb_array" in str(one.message) for one in told) != is_known, name
        env.close()


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        ("simulate", "simulating_never_moves_the_environment_and_is_the_step_unless_it_is_random"),
        ("terminal", "only_terminal_actions_end_an_episode_before_the_step_limit"),
    ],
)
def test_the_suite_notices_who_breaks_a_promise(broken: str, promise: str) -> None:
    class Broken(Digger):
        def simulate(self, token: Any, action: Any, draw: int = 0) -> Any:
            outcome = super().simulate(token, action, draw)
            if broken == "simulate":
                self._arrive(outcome.token._moment)
            return outcome

        def terminal(self, action: str) -> bool:
            return broken != "terminal" and super().terminal(action)

    made = type("Made", (Subject,), {"make": lambda self, **options: Broken(**options)})
    with pytest.raises(AssertionError):
        getattr(EnvironmentContract(), f"test_{promise}")(made("broken", _walk))


def test_tasks_of_other_splits_are_listed_and_can_be_reset_to() -> None:
    env = Cafe()
    assert env.split == "test"
    assert (len(env.task_ids), len(env.tasks)) == (6, 9)
    assert env.tasks["tea-tea"] == ("Bring the guest what they want, twice.", "train", "easy")
    assert env.reset(options={"task_id": "tea-tea"})[1]["task_id"] == "tea-tea"
    assert {env.reset(seed=seed)[1]["task_id"] for seed in range(50)} == set(env.task_ids)
    assert len(Cafe(split=None).task_ids) == 9
    with pytest.raises(UnknownTask, match=r"'tset' .near: test.*train, test, None"):
        Cafe(split="tset")


def test_a_simulation_that_awaits_is_scored_as_the_middle_of_an_episode() -> None:
    class Final(Cafe):
        def _score(self, task: Any, now: Any, memory: Any) -> Any:
            return super()._score(task, now, memory)._replace(reward=float(now.done))

    env = Final()
    env.reset(seed=0)
    rewards = [env.oracle(env.simulate(env.snapshot(), action).token)["reward"] for action in ("ask", "close")]
    assert rewards == [0.0, 1.0]


def test_listing_tasks_reads_no_instruction() -> None:
    class Silent(NamedTuple):
        task_id: str

        @property
        def instruction(self) -> str:
            raise AssertionError("read")

    class Hosted(Digger):
        def __init__(self) -> None:
            IADEnv.__init__(self, {name: Silent(name) for name in "abc"}, max_steps=1)

    env = Hosted()
    assert list(env.tasks) == list(env.task_ids) == ["a", "b", "c"]
    with pytest.raises(AssertionError, match="read"):
        env.tasks["a"]


def test_where_time_passes_it_passes_with_an_action_that_no_environment_takes() -> None:
    class Drifting(Digger):
        """Every action drives it west."""

        def _passed(self, state: Any) -> Any:
            return state._replace(x=max(0, state.x - 1))

    for action in (None, 7, ["dig"], "go\0 west"):
        still, drifting = Digger(), Drifting()
        (_, here), _ = still.reset(seed=0), drifting.reset(seed=0)
        west = still.simulate(still.snapshot(), "go west").info["page"]
        ahead = drifting.simulate(drifting.snapshot(), action)
        assert (ahead.info["invalid_action"], ahead.info["page"]) == (True, west)
        assert drifting.step(action)[4]["page"] == west != here["page"]
        assert still.step(action)[4]["page"] == here["page"]


def test_a_step_adopts_what_was_simulated_unless_it_is_random() -> None:
    n_transitions: list[str] = []

    class Counted(Digger):
        def _transition(self, state: Any, action: str, rng: Any) -> Any:
            n_transitions.append(action)
            return super()._transition(state, action, rng)

    class CountedSlippery(SlipperyDigger, Counted):
        pass

    for kind, expected in ((Counted, 1), (CountedSlippery, 2)):
        env = kind()
        env.reset(seed=0)
        env.simulate(env.snapshot(), "go west")
        env.step("go west")
        assert len(n_transitions) == expected
        n_transitions.clear()
