"""`IAD/WebShop-v0` beyond the contract that every environment keeps: the shop's own rules, seen from outside."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.errors import DataNotFound
from iad_envs.webshop.env import WebShopEnv
from tests.contract.environments import solution_of
from webshop_server.reward import COLOURS


@pytest.fixture(scope="module")
def env() -> WebShopEnv:
    return WebShopEnv()


def play(env: Any, actions: list[str]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    return [env.step(action) for action in actions][-1]


@pytest.mark.parametrize("every", [60, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_official_solutions_score_1_but_where_the_reward_itself_takes_a_colour_out_of_a_value(
    real_data: Path, every: int
) -> None:
    env = WebShopEnv(data_dir=real_data / "webshop", split=None)
    assert (env.data.name, len(env.task_ids)) == ("official", 6910)
    n_below = 0
    for task_id in env.task_ids[::every]:
        env.reset(options={"task_id": task_id})
        _, reward, terminated, _, info = play(env, solution_of(env))
        assert terminated
        if reward < 1.0:
            n_below += 1
            parts = info["reward_parts"]
            assert (parts["r_type"], parts["r_att"], parts["r_price"]) == (1.0, 1.0, 1.0)
            values = env.oracle(env.snapshot())["reference"]["options"]
            assert any(colour in value for value in values for colour in COLOURS)
    assert n_below == 458 if every == 1 else n_below < 0.1 * 6910 / every


def test_a_product_that_no_page_shows_has_no_solution() -> None:
    env = WebShopEnv(page_size=1, max_pages=1)
    found = []
    for task_id in env.task_ids:
        env.reset(options={"task_id": task_id})
        found.append(env.oracle(env.snapshot())["solution"])
    lengths = {len(one) for one in found if one is not None}
    assert 0 < sum(one is None for one in found) < len(found)
    assert min(lengths) == 3  # searched, opened, bought: no pages were turned
    assert all("click[next >]" not in one for one in found if one is not None)


def test_the_published_environment_shows_the_score_at_the_end_but_in_no_simulation() -> None:
    env = WebShopEnv(published=True)
    env.reset(seed=3)
    *before, buy = solution_of(env)
    play(env, before)
    scored, outcome = dict(env._scores), env.simulate(env.snapshot(), buy)
    assert (outcome.done, "score" in outcome.observation.lower(), env._scores == scored) == (True, False, True)
    assert not WebShopEnv.GOLD_INFO & outcome.info.keys()
    observation, reward, *_ = env.step(buy)
    assert f"Your score (min 0.0, max 1.0) [SEP] {reward}" in observation


@pytest.mark.parametrize(("name", "value", "known"), [
    ("split", "validation", "train"), ("observation_mode", "html", "text_rich"), ("tagger", "nltk", "light"),
    ("progress", "global", "agentboard"), ("search", "lucene9", "bm25"), ("goals", "robot", "synthetic"),
    ("catalog", "cloud", "auto, memory, disk"),
])  # fmt: skip
def test_unknown_arguments_list_the_known_ones(name: str, value: str, known: str) -> None:
    with pytest.raises(ValueError, match=known):
        WebShopEnv(**{name: value})  # type: ignore[arg-type]


def test_a_copy_of_the_bundled_data_is_other_data_with_the_same_digest(tmp_path: Path) -> None:
    bundled = WebShopEnv().data
    shutil.copytree(bundled.folder, tmp_path / "shop", ignore=shutil.ignore_patterns("*.py", "vocabulary"))
    other = WebShopEnv(data_dir=tmp_path / "shop").data
    assert (bundled.name, other.name, other.digest) == ("bundled", "other", bundled.digest)
    with pytest.raises(DataNotFound, match="data_dir"):
        WebShopEnv(data_dir=tmp_path / "nowhere")
