"""Holds the environments to contract 1."""

import copy
import json
import pickle
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import pytest
from gymnasium import wrappers

import iad_envs  # noqa: F401 (registers)
from iad_envs.core import OVER, IADEnv
from iad_envs.errors import UnknownTask
from iad_envs.toolcalls.acebench.env import ACEBenchEnv
from iad_envs.webshop.env import WebShopEnv, load_store
from iad_policy import IADPolicyWrapper
from iad_policy.world import adapt
from tests.contract.environments import COPYING, EnvironmentContract, Subject, same
from tests.contract.rule_based import made
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


def test_tasks_of_other_splits_are_listed_without_their_instructions_and_can_be_reset_to() -> None:
    env = Cafe()
    assert env.split == "test"
    assert (len(env.task_ids), len(env.tasks)) == (6, 9)
    assert env.tasks["tea-tea"] == ("Bring the guest what they want, twice.", "train", "easy")
    assert env.reset(options={"task_id": "tea-tea"})[1]["task_id"] == "tea-tea"
    assert {env.reset(seed=seed)[1]["task_id"] for seed in range(50)} == set(env.task_ids)
    assert len(Cafe(split=None).task_ids) == 9
    with pytest.raises(UnknownTask, match=r"'tset' .near: test.*train, test, None"):
        Cafe(split="tset")

    class Silent(NamedTuple):
        task_id: str
        instruction = property(lambda self: 1 / 0)

    own = type("Hosted", (Digger,), {"__init__": IADEnv.__init__})({name: Silent(name) for name in "abc"}, max_steps=1)
    assert list(own.tasks) == list(own.task_ids) == ["a", "b", "c"]
    with pytest.raises(ZeroDivisionError):
        own.tasks["a"]


def test_a_simulation_that_awaits_is_scored_as_the_middle_of_an_episode() -> None:
    class Final(Cafe):
        def _score(self, task: Any, now: Any, memory: Any) -> Any:
            return super()._score(task, now, memory)._replace(reward=float(now.done))

    env = Final()
    env.reset(seed=0)
    rewards = [env.oracle(env.simulate(env.snapshot(), action).token)["reward"] for action in ("ask", "close")]
    assert rewards == [0.0, 1.0]


def test_where_time_passes_it_passes_with_an_action_that_no_environment_takes() -> None:
    class Drifting(Digger):
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
    class Counted(Digger):
        n_transitions = 0

        def _transition(self, state: Any, action: str, rng: Any) -> Any:
            self.n_transitions += 1
            return super()._transition(state, action, rng)

    for kind, expected in ((Counted, 1), (type("CountedSlippery", (SlipperyDigger, Counted), {}), 2)):
        env = kind()
        env.reset(seed=0)
        env.simulate(env.snapshot(), "go west")
        env.step("go west")
        assert env.n_transitions == expected


@pytest.mark.parametrize("way", COPYING)
def test_an_episode_of_thousands_of_steps_can_be_copied_and_wrappers_go_along_with_what_they_count(way: str) -> None:
    env: Any = Digger(max_steps=5000)
    env.reset(seed=1)
    for step in range(3000):
        env.step(["go west", "go east", "nonsense"][step % 3])
    assert same(COPYING[way](env).step("go west"), env.step("go west"))
    env = wrappers.RecordEpisodeStatistics(gym.make("IAD/WebShop-v0", max_episode_steps=3))
    env.reset(seed=0)
    env.step("search[red]")
    for one in (COPYING[way](env), env):
        one.step("search[blue]")
        *_, truncated, info = one.step("click[next >]")
        assert (truncated, info["episode"]["l"]) == (True, 3)


def test_copies_of_the_shop_share_the_products_and_other_data_tasks_and_states_are_refused(tmp_path: Path) -> None:
    env = WebShopEnv()
    env.reset(seed=0)
    for other in (copy.deepcopy(env), copy.copy(env), pickle.loads(pickle.dumps(env))):
        assert isinstance(other, WebShopEnv)
        assert other.storefront is not env.storefront
        assert other.storefront.shop.catalog is env.storefront.shop.catalog  # type: ignore[attr-defined]
    assert len(pickle.dumps(env)) < 5_000
    bundled, shop = Path(WebShopEnv().data.folder), tmp_path / "shop"
    shop.symlink_to(bundled)
    env = WebShopEnv(data_dir=shop)
    env.reset(options={"task_id": env.task_ids[0]})
    pickled = pickle.dumps(env)
    shop.unlink()
    shutil.copytree(bundled, shop)
    first, *lines = (bundled / "goals.jsonl").read_text(encoding="utf-8").splitlines()
    changed = {**json.loads(first), "instruction": "Buy anything."}
    assert changed["goal_id"] == env.task_ids[0]
    (shop / "goals.jsonl").write_text("\n".join([json.dumps(changed), *lines]), encoding="utf-8")
    load_store.cache_clear()
    with pytest.raises(ValueError, match="'Buy anything"):
        pickle.loads(pickled)
    for name, changed, error, said in (
        ("IAD/WebShop-v0", {"task_id": "no such task"}, UnknownTask, "'no such task'"),
        ("IAD/BFCL-v0", {"shown": "another"}, ValueError, "another state"),
    ):
        other: Any = gym.make(name).unwrapped
        other.reset(seed=0)
        _, _, kept = other.__reduce__()
        kept["_now"] |= changed
        with pytest.raises(error, match=said):
            copy.deepcopy(other).__setstate__(kept)


def test_a_user_that_a_model_plays_is_asked_nothing_twice_and_a_policy_says_that_it_can_not_be_copied() -> None:
    env = ACEBenchEnv(category="agent_multi_turn", user="llm:none/at-all")
    env.reset(seed=0)
    assert same(pickle.loads(pickle.dumps(env)).reset(seed=1), env.reset(seed=1))
    env.step("[inbox()]")
    with pytest.raises(TypeError, match=r"answers of a language model.*copy\.deepcopy"):
        pickle.dumps(env)
    assert same(copy.deepcopy(env).step("nonsense"), env.step("nonsense"))
    with IADPolicyWrapper("random", Digger(), strategy="single") as policy:
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=r"IADPolicyWrapper\(agent, copy.deepcopy\(env\)"):
                way(policy)


class Case(NamedTuple):
    """An action, and what is said of it: a part of the failure, "" for none, and whether the world changed."""

    env: str
    action: str
    failure: str = ""
    changed: bool = False
    after: Sequence[str] = ()
    category: str = ""


SHOP, SHELL, BIRD, RESERVING, SKETCH = (
    f"IAD/{name}-v0" for name in ("WebShop", "InterCodeBash", "BIRD", "Booking", "Sketch2Code")
)
CALLS, ACE = "IAD/BFCL-v0", "IAD/ACEBench-v0"
SITE = "GOTO [/r/bistro-almond-tree-port-alder?date=2026-06-17&time=19:00&party=2]"
AGENT, QUESTION = "agent_multi_step", "single_turn"
CASES = [
    Case(SHOP, "search[lamp]", changed=True),
    Case(SHOP, "click[nothing such]", "is not possible here"),
    Case(SHOP, "search[lamp]", after=["search[lamp]"]),
    Case(SHELL, "touch /new", changed=True),
    Case(SHELL, "cd /usr", changed=True),
    Case(SHELL, "echo one"),
    Case(SHELL, "ls /none", "exit status 2. ls: cannot access"),
    Case(SHELL, "nonesuch", "expected commands that exist here"),
    Case(SHELL, "touch /new; false", "exit status 1", changed=True),
    Case(SHELL, "submit", changed=True, after=["ls /none"]),
    Case(SHELL, " ", "expected a command", after=["ls /none"]),
    Case(BIRD, "execute[SELECT 1]"),
    Case(BIRD, "execute[SELECT x]", "no such column: x"),
    Case(BIRD, "sing", "expected execute[SQL]", after=["execute[SELECT x]"]),
    Case(BIRD, "submit[SELECT 1]", changed=True),
    Case(BIRD, "submit[SELECT x]", "no such column: x", changed=True),
    Case(RESERVING, "CLICK [mine]", changed=True),
    Case(RESERVING, "SCROLL [UP]"),
    Case(RESERVING, "CLICK [nothing]", "expected the id of an element"),
    Case(RESERVING, "CLICK [find]", "Fill in: date", after=[SITE, "CLEAR [date]"]),
    Case(RESERVING, "ASK USER HELP [Where to sit?]", changed=True),
    Case(CALLS, "[nonesuch()]", "There is no function nonesuch"),
    Case(CALLS, "reply[Done.]", changed=True),
    Case(CALLS, "[", "expected", after=["[nonesuch()]"]),
    Case(CALLS, "draft[nonesuch()]", "There is no function nonesuch", category=QUESTION),
    Case(CALLS, "reply[None fits.]", changed=True, category=QUESTION),
    Case(ACE, "[nonesuch()]", "There is no function nonesuch", category=AGENT),
    Case(ACE, "reply[finish conversation]", changed=True, category=AGENT),
    Case(SKETCH, "<p>one</p>", changed=True),
    Case(SKETCH, "one", "expected an HTML page"),
]


@pytest.mark.parametrize(("name", "category"), sorted({(case.env, case.category) for case in CASES}))
def test_an_environment_says_what_failed_and_what_changed(name: str, category: str) -> None:
    env: Any = made(name, **({"category": category} if category else {})).unwrapped
    env.reset(seed=0)
    for case in (case for case in CASES if (case.env, case.category) == (name, category)):
        token = env.snapshot()
        for action in case.after:
            token = env.simulate(token, action).token
        outcome = env.simulate(token, case.action)
        assert (case.failure in outcome.failure) if case.failure else not outcome.failure, (case, outcome.failure)
        assert outcome.changed is case.changed, case
        if outcome.done and outcome.info["stop_reason"] != "awaiting":
            late = env.simulate(outcome.token, case.action)
            assert (late.failure, late.changed) == (OVER, False), case
    env.close()


def test_an_action_with_effect_on_simulated_objects_changes_the_world_as_one_of_a_foreign_world_may() -> None:
    env: Any = gym.make(CALLS, category="multi_turn_base").unwrapped
    changes = set()
    for task_id in env.task_ids[:8]:
        env.reset(options={"task_id": task_id})
        for action in env.oracle(env.snapshot())["solution"]:
            outcome = env.simulate(env.snapshot(), action)
            if outcome.done:
                break
            assert outcome.changed is bool(outcome.info["facts"]["changed"])
            changes.add(outcome.changed)
            env.step(action)
    assert changes == {True, False}
    env = gym.make("CartPole-v1")
    observation, _ = env.reset(seed=0)
    world = adapt(env)
    world.begin(observation)
    outcome = world.simulate(world.snapshot(), 1, 0)
    assert (outcome.failure, outcome.changed) == ("", True)
