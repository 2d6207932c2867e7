"""The shop's vector environment is what `SyncVectorEnv` makes of single shops, step for step."""

import copy
import json
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import iad_envs  # noqa: F401 (registers)
from iad_envs.errors import GuardError, UnknownTask
from iad_envs.webshop.env import WebShopEnv
from iad_envs.webshop.vector_env import WebShopVectorEnv
from tests.contract.environments import COPYING, solution_of, spoil
from tests.iad_envs.vectors import assert_identical
from tests.iad_envs.webshop.shop_walks import TOKEN, hosted_shop

ID = "IAD/WebShop-v0"
N = 6
SHOPS: dict[str, dict[str, Any]] = {
    "default": {},
    "agentboard": {
        "observation_mode": "text_rich",
        "progress": "agentboard",
        "page_size": 3,
        "max_pages": 6,
        "search_anywhere": False,
    },
    "url": {"observation_mode": "url", "progress": "off"},
    "published": {"published": True, "show_attributes": True, "split": "dev"},
    "published rich": {"published": True, "observation_mode": "text_rich"},
    "short": {"max_steps": 6, "max_episode_steps": 4, "special_queries": True},
    "last step": {"max_steps": 5, "max_episode_steps": 5, "split": None},
}
QUERIES = ("red shoe", "hdmi 6 feet", "lamp", "<r>", "")


def make(kind: str, num_envs: int = N, mode: AutoresetMode = AutoresetMode.NEXT_STEP, **arguments: Any) -> Any:
    if kind == "sync":
        options = {"autoreset_mode": mode}
        return gym.make_vec(ID, num_envs, vectorization_mode="sync", vector_kwargs=options, **arguments)
    return gym.make_vec(ID, num_envs, vectorization_mode="vector_entry_point", autoreset_mode=mode, **arguments)


class Both:
    """Both vectors, which are to say the same. What was seen of a session last is kept for whoever chooses actions."""

    def __init__(self, num_envs: int = N, mode: AutoresetMode = AutoresetMode.NEXT_STEP, **arguments: Any) -> None:
        self.sync = make("sync", num_envs, mode, **arguments)
        self.native = make("native", num_envs, mode, **arguments)
        self.mode = mode
        self.available: Any = None
        self.begun: Any = None

    def reset(self, **options: Any) -> Any:
        seen = self.sync.reset(**copy.deepcopy(options))
        assert_identical(self.native.reset(**options), seen)
        self._take(seen[1])
        return seen

    def step(self, actions: Sequence[Any]) -> Any:
        seen = self.sync.step(actions)
        assert_identical(self.native.step(actions), seen)
        self._take(seen[4])
        ended = seen[2] | seen[3]
        if self.mode == AutoresetMode.DISABLED and ended.any():
            self.reset(options={"reset_mask": ended})
        return seen

    def _take(self, info: dict[str, Any]) -> None:
        mask = info["_step"]
        if self.available is None:
            self.available, self.begun = info["available_actions"].copy(), mask.copy()
        self.available[mask] = info["available_actions"][mask]
        self.begun = mask & (info["step"] == 0)


def anything(available: Sequence[str], rng: random.Random) -> Any:
    """Mostly one of the available actions, now and then another one or none at all."""
    if rng.random() < 0.15 or not available:
        return rng.choice(["nonsense", None, 7, ["x"], "click[\0]", "click[Back to Search]", "x[buy now]"])
    action = "click[buy now]" if rng.random() < 0.2 else rng.choice(available)
    return action.replace("...", rng.choice(QUERIES))


@pytest.mark.parametrize(
    ("shop", "mode"),
    [
        pytest.param(shop, mode, marks=() if shop == "default" or (place + other) % 3 == 0 else pytest.mark.slow)
        for place, shop in enumerate(SHOPS)
        for other, mode in enumerate(AutoresetMode)
    ],
)
def test_random_and_gold_episodes_are_those_of_single_shops(shop: str, mode: AutoresetMode) -> None:
    both, rng = Both(mode=mode, **SHOPS[shop]), random.Random(shop)
    both.reset(seed=rng.randrange(1000))
    gold: dict[int, list[str]] = {}
    n_bought = 0
    for _ in range(30):
        for place in np.flatnonzero(both.begun):
            gold[place] = list(solution_of(both.native.single(place))) if place % 2 else []
        actions = [gold[place].pop(0) if gold[place] else anything(both.available[place], rng) for place in range(N)]
        rewards = both.step(actions)[1]
        n_bought += int((rewards == 1).sum())
    assert n_bought > 1 or "max_steps" in SHOPS[shop]


def test_sessions_are_seeded_as_single_shops_are() -> None:
    both = Both()
    for seed in (7, [3, 1, 4, 1, 5, 9], [2, None, 7, None, 1, 8], None, 7):
        both.reset(seed=seed)
        assert both.native.np_random_seed == both.sync.np_random_seed
        assert [one.random() for one in both.native.np_random] == [one.random() for one in both.sync.np_random]
    fresh = make("native")
    fresh.reset()
    assert all(seed > 0 for seed in fresh.np_random_seed)
    assert len(set(fresh.np_random_seed)) == N


def test_tasks_can_be_chosen_for_all_or_for_each() -> None:
    both = Both()
    *_, info = both.reset(seed=1, options={"task_id": "test-0003"})
    assert set(info["task_id"]) == {"test-0003"}
    both.reset()  # from where the seeds have left the random streams
    names = ["dev-0001", None, "test-0002", "test-0002", "train-0001", "dev-0002"]
    *_, info = both.native.reset(options={"task_id": names})
    assert [name for name in names if name] == [
        name for name, given in zip(info["task_id"], names, strict=True) if given
    ]
    singles = [both.native.single(place) for place in range(N)]
    assert [one.snapshot()._moment.task.task_id for one in singles] == list(info["task_id"])


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"options": {"task": "x"}}, UnknownTask, "expected a known reset option, got 'task' .near: task_id"),
        ({"options": {"task_id": "test-3"}}, UnknownTask, "got 'test-3'"),
        ({"options": {"task_id": ["test-0003"]}}, ValueError, "expected 6 task ids, one for each session, got 1"),
        ({"seed": [1, 2]}, ValueError, "expected 6 seeds, one for each session, got 2"),
        ({"options": {"reset_mask": [True] * N}}, ValueError, "expected a reset_mask that is an array of 6 booleans"),
        ({"options": {"reset_mask": np.ones(N)}}, ValueError, "expected a reset_mask that is an array of 6 booleans"),
        ({"options": {"reset_mask": np.zeros(N, bool)}}, ValueError, "got one that selects none"),
    ],
    ids=str,
)
def test_a_wrong_reset_is_refused_and_changes_nothing(
    options: dict[str, Any], error: type[Exception], said: str
) -> None:
    envs, still = make("native"), make("native")
    for one in (envs, still):
        one.reset(seed=5)
    with pytest.raises(error, match=said):
        envs.reset(**options)
    actions = ["search[lamp]"] * N
    assert_identical(envs.step(actions), still.step(actions))


def test_wrong_arguments_are_refused_and_the_rest_is_a_vectors() -> None:
    for arguments, said in (
        ({"num_envs": 0}, "expected num_envs of 1 or more, got 0"),
        ({"num_envs": 2, "max_episode_steps": 0}, "expected max_episode_steps of 1 or more, got 0"),
        ({"num_envs": 2, "autoreset_mode": "Never"}, "Never"),
        ({"num_envs": 2, "observation_mode": "html"}, "html"),
    ):
        with pytest.raises(ValueError, match=said):
            WebShopVectorEnv(**arguments)  # type: ignore[arg-type]
    both = Both(2, render_mode="ansi")
    for name in ("action_space", "observation_space", "single_action_space", "single_observation_space", "metadata"):
        assert getattr(both.native, name) == getattr(both.sync, name)
    assert both.native.observation_space.contains(both.reset(seed=0)[0])
    both.step(["search[lamp]", "nonsense"])
    assert both.native.render() == both.sync.render()
    assert make("native", 2).render() == (None, None)
    assert isinstance(gym.make_vec(ID, 2), WebShopVectorEnv)
    assert isinstance(gym.make_vec(ID, 2, vectorization_mode="sync"), SyncVectorEnv)
    with WebShopEnv().guard():
        for call in (both.native.reset, lambda: both.native.step(["search[lamp]"] * 2)):
            with pytest.raises(GuardError):
                call()


def test_sessions_have_to_begin_and_those_that_have_ended_have_to_be_reset() -> None:
    envs = make("native", mode=AutoresetMode.DISABLED)
    with pytest.raises(gym.error.ResetNeeded, match="expected reset"):
        envs.step(["search[lamp]"] * N)
    some = np.array([True, False] * 3)
    observations, infos = envs.reset(seed=1, options={"reset_mask": some})
    assert [one is None for one in observations] == [False, True] * 3
    assert infos["_task_id"].tolist() == some.tolist()
    with pytest.raises(gym.error.ResetNeeded, match="without a task"):
        envs.step(["search[lamp]"] * N)
    envs.reset(seed=1)
    with pytest.raises(ValueError, match="expected 6 actions, one for each session, got 2"):
        envs.step(["search[lamp]"] * 2)
    envs.step(["search[lamp]"] * N)
    asins = [f"click[{products[0]['asin']}]" for products in envs.step(["search[lamp]"] * N)[4]["page"]["products"]]
    envs.step(asins)
    ended = envs.step(["click[buy now]", *["click[description]"] * (N - 1)])[2]
    assert ended.tolist() == [True] + [False] * (N - 1)
    with pytest.raises(gym.error.ResetNeeded, match="reset_mask"):
        envs.step(["click[< prev]"] * N)
    envs.reset(options={"reset_mask": ended})
    assert envs.step(["search[lamp]"] * N)[4]["step"].tolist() == [1, *[5] * (N - 1)]


@pytest.mark.parametrize("mode", ["text", "text_rich", "url"])
def test_instructions_and_names_of_options_may_be_anything(mode: str, tmp_path: Path) -> None:
    """An empty instruction's line is left out of pages, and `_size` is also the name of a mask."""
    bundled = Path(WebShopEnv().data.folder)
    items = json.loads((bundled / "items_shuffle_1000.json").read_text(encoding="utf-8"))
    with_sizes = next(item for item in items if "size" in item["customization_options"])
    with_sizes["customization_options"]["_size"] = with_sizes["customization_options"]["size"]
    (tmp_path / "items_shuffle_1000.json").write_text(json.dumps(items), encoding="utf-8")
    (tmp_path / "items_ins_v2_1000.json").symlink_to(bundled / "items_ins_v2_1000.json")
    goal = json.loads((bundled / "goals.jsonl").read_text(encoding="utf-8").splitlines()[0])
    goal |= {"asin": with_sizes["asin"], "options": [], "split": "test"}
    texts = ("", " ", "\n", "  Buy it.\n", "\0instruction\0", "Buy it.")
    goals = [json.dumps({**goal, "goal_id": f"g{number}", "instruction": text}) for number, text in enumerate(texts)]
    (tmp_path / "goals.jsonl").write_text("\n".join(goals), encoding="utf-8")
    both = Both(data_dir=tmp_path, observation_mode=mode)
    both.reset(seed=0)
    both.native.reset(options={"task_id": [f"g{number}" for number in range(N)]})
    for place, one in enumerate(both.sync.envs):
        one.reset(options={"task_id": f"g{place}"})
    opened = f"click[{with_sizes['asin']}]"
    size = with_sizes["customization_options"]["size"][0]["value"].strip().lower()
    clicks = [opened, f"click[{size}]", "click[features]", "click[< prev]", "click[< prev]", "click[next >]"]
    title = with_sizes["name"].translate({ord("["): " ", ord("]"): " "})
    for action in (f"search[{title}]", *clicks, "click[back to search]", "nonsense"):
        both.step([action] * N)


def test_a_hosted_shop_has_sessions_too() -> None:
    with hosted_shop() as server:
        both, rng = Both(2, server=server.address, token=TOKEN), random.Random(3)
        both.reset(seed=3)
        for _ in range(12):
            both.step([anything(available, rng) for available in both.available])
        both.native.close()
        both.sync.close()


def test_more_tasks_than_are_cached_change_nothing() -> None:
    both = Both(70, split=None)
    both.reset(seed=0)
    for spelled in ("search[lamp]", "click[next >]", "click[NEXT >]", "click[next >] please"):
        both.step([spelled] * 70)


def ruin(info: dict[str, Any]) -> None:
    """Change everything in an info that can be changed."""
    for column in info.values():
        if isinstance(column, dict):
            ruin(column)
        else:
            spoil(column.tolist())
            column[...] = np.zeros(1, dtype=column.dtype)


def test_what_is_returned_is_the_callers_own() -> None:
    ruined, still = make("native"), make("native")
    seen = [one.reset(seed=2) for one in (ruined, still)]
    for action in ("search[shoe]", "click[next >]", "click[< prev]", "open", "click[features]", "click[< prev]"):
        assert_identical(seen[0], seen[1])
        products = seen[1][-1]["page"].get("products")
        ruin(seen[0][-1])
        actions = [f"click[{found[0]['asin']}]" for found in products] if action == "open" else [action] * N
        seen = [one.step(actions) for one in (ruined, still)]
    assert_identical(seen[0], seen[1])
    assert seen[1][-1]["page"]["kind"].tolist() == ["item"] * N


@pytest.mark.parametrize("way", COPYING)
def test_a_vector_can_be_copied_in_the_middle_of_episodes(way: str) -> None:
    envs, rng = make("native"), random.Random(1)
    *_, infos = envs.reset(seed=4)
    for _ in range(20):
        infos = envs.step([anything(available, rng) for available in infos["available_actions"]])[4]
    other = COPYING[way](envs)
    assert other.spec == envs.spec
    for _ in range(20):
        actions = [anything(available, rng) for available in infos["available_actions"]]
        seen = envs.step(actions)
        assert_identical(other.step(actions), seen)
        infos = seen[4]
    assert_identical(other.reset(), envs.reset())
    assert other._sessions[0].rng is not envs._sessions[0].rng
    assert len(pickle.dumps(envs)) < N * 5_000
    with pytest.raises(gym.error.ResetNeeded):
        COPYING[way](make("native")).step(["search[lamp]"] * N)


def test_a_session_can_be_taken_out_to_simulate_in() -> None:
    envs, still = make("native"), make("native")
    for one in (envs, still):
        one.reset(seed=4)
        infos = one.step(["search[shoe]"] * N)[4]
    single = envs.single(2)
    ahead = single.simulate(single.snapshot(), "click[next >]")
    assert single.oracle(single.snapshot())["progress"] == infos["progress"][2]
    for action in solution_of(single):
        *_, terminated, _, info = single.step(action)
    assert (terminated, info["progress"], info["task_id"]) == (True, 1.0, infos["task_id"][2])
    seen = envs.step(["click[next >]"] * N)
    assert_identical(seen, still.step(["click[next >]"] * N))
    assert ahead.observation == seen[0][2]
    assert make("native").single(0).reset(seed=3)[1]["task_id"] == make("native").reset(seed=3)[1]["task_id"][0]
    drawn = envs.single(1).reset()[1]["task_id"]
    begun = [one.reset() for one in (envs, still)]
    assert_identical(begun[0], begun[1])
    assert drawn == begun[0][1]["task_id"][1]
