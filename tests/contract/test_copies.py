"""Copies of environments: in another process, after long episodes, with other data; and what can't be copied.

The contract suite holds every environment to the rest.
"""

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from gymnasium import wrappers

import iad_envs  # noqa: F401 (registers)
from iad_envs.errors import UnknownTask
from iad_envs.toolcalls.acebench.env import ACEBenchEnv
from iad_envs.webshop.env import WebShopEnv, load_store
from iad_policy import IADPolicyWrapper
from iad_policy.types.hashing import encode
from tests.contract.environments import COPYING, same
from tests.contract.toy import Digger, SlipperyDigger

ROOT = Path(__file__).parents[2]
ELSEWHERE = """
import json, pickle, sys
from iad_policy.types.hashing import encode
for env, actions in pickle.load(open(sys.argv[1], "rb")):
    print(json.dumps(encode([env.step(action) for action in actions] + [env.reset()])))
"""
WALKS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "IAD/WebShop-v0": ({}, ["search[red shoe]", "click[next >]", "click[< prev]", "search[hdmi]", "nonsense"]),
    "IAD/Booking-v0": ({}, ["CLICK [mine]", "CLICK [home]", "ASK USER HELP [Where?]", "SCROLL [DOWN]"]),
    "IAD/BFCL-v0": ({"category": "multi_turn_base"}, ["[mail_list()]", "reply[Done.]", "[draft()]", "reply[Done.]"]),
    "IAD/ACEBench-v0": ({"category": "agent_multi_turn"}, ["reply[Which?]", "[inbox()]", "reply[Which one?]"]),
}


def test_an_episode_goes_on_in_another_process(tmp_path: Path) -> None:
    begun = []
    for name, (arguments, actions) in WALKS.items():
        env = gym.make(name, **arguments)
        env.reset(seed=5)
        for action in actions[:2]:
            env.step(action)
        begun.append((env, actions[2:]))
    (tmp_path / "envs.pickle").write_bytes(pickle.dumps(begun))
    words = [sys.executable, "-W", "error", "-c", ELSEWHERE, str(tmp_path / "envs.pickle")]
    there = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    here = [encode([env.step(action) for action in actions] + [env.reset()]) for env, actions in begun]
    assert list(map(json.loads, there)) == json.loads(json.dumps(here))


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


@pytest.mark.parametrize("way", COPYING)
def test_a_copy_has_random_streams_of_its_own_that_say_the_same(way: str) -> None:
    env = SlipperyDigger(max_steps=50)
    env.action_space = copy.deepcopy(env.action_space)
    env.action_space.seed(4)
    env.reset(seed=2)
    env.step("go west")
    token, other = env.snapshot(), COPYING[way](env)
    assert other.np_random is not env.np_random
    assert other.np_random_seed == env.np_random_seed
    steps = ["go west", "go north", "go east", "go east"] * 4
    futures = [[one.step(action) for action in steps] for one in (env, other)]
    assert env.action_space.sample() == other.action_space.sample()
    env.restore(token)
    futures.append([env.step(action) for action in steps])
    assert same(futures[0], futures[1])
    assert same(futures[0], futures[2])


def test_copies_of_the_shop_share_the_products() -> None:
    env = WebShopEnv()
    env.reset(seed=0)
    for other in (copy.deepcopy(env), copy.copy(env), pickle.loads(pickle.dumps(env))):
        assert isinstance(other, WebShopEnv)
        assert other.storefront is not env.storefront
        assert other.storefront.shop.catalog is env.storefront.shop.catalog  # type: ignore[attr-defined]
    assert len(pickle.dumps(env)) < 5_000


def test_other_data_tasks_and_states_are_refused_where_an_episode_goes_on(tmp_path: Path) -> None:
    bundled = Path(WebShopEnv().data.folder)
    (tmp_path / "shop").symlink_to(bundled)
    env = WebShopEnv(data_dir=tmp_path / "shop")
    env.reset(options={"task_id": env.task_ids[0]})
    pickled = pickle.dumps(env)
    (tmp_path / "shop").unlink()
    (tmp_path / "shop").mkdir()
    for path in bundled.iterdir():
        if path.name != "goals.jsonl":
            (tmp_path / "shop" / path.name).symlink_to(path)
    first, *lines = (bundled / "goals.jsonl").read_text(encoding="utf-8").splitlines()
    changed = json.dumps({**json.loads(first), "instruction": "Buy anything."})
    assert json.loads(first)["goal_id"] == env.task_ids[0]
    (tmp_path / "shop" / "goals.jsonl").write_text("\n".join([changed, *lines]), encoding="utf-8")
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


def test_a_user_that_a_model_plays_is_asked_nothing_twice() -> None:
    env = ACEBenchEnv(category="agent_multi_turn", user="llm:none/at-all")
    env.reset(seed=0)
    assert same(pickle.loads(pickle.dumps(env)).reset(seed=1), env.reset(seed=1))
    env.step("[inbox()]")
    with pytest.raises(TypeError, match=r"answers of a language model.*copy\.deepcopy"):
        pickle.dumps(env)
    assert same(copy.deepcopy(env).step("nonsense"), env.step("nonsense"))


def test_a_policy_says_that_it_can_not_be_copied() -> None:
    with IADPolicyWrapper("random", Digger(), strategy="single") as policy:
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=r"IADPolicyWrapper\(agent, copy.deepcopy\(env\)"):
                way(policy)
