"""`IAD/WebShop-v0` beyond the contract that every environment keeps: the shop's own rules, seen from outside."""

import shutil
from pathlib import Path

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.errors import DataNotFound
from iad_envs.webshop.env import WebShopEnv
from tests.contract.environments import solution_of


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
    for action in before:
        env.step(action)
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
