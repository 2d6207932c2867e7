"""The bundled products and goals: made by their script, varied, and every goal can be fulfilled."""

import importlib
import json
import statistics
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from webshop_server.catalog import Catalog, load_catalog
from webshop_server.goals import Goals, load_goals
from webshop_server.reward import PurchaseScorer
from webshop_server.tagger import LightTagger

FOLDER = Path(__file__).resolve().parents[2] / "data" / "webshop"
FILES = ("items_shuffle_1000.json", "items_ins_v2_1000.json", "items_human_ins.json", "goals.jsonl")
SPLIT_SIZES = {"test": 200, "dev": 200, "train": 800}


@pytest.fixture(scope="module")
def bundled() -> Catalog:
    return load_catalog(FOLDER)


@pytest.fixture(scope="module")
def goals(bundled: Catalog) -> Goals:
    return load_goals(FOLDER, bundled)


@pytest.mark.slow
def test_the_script_makes_every_file_byte_for_byte_and_names_one_that_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    script = importlib.import_module("make_catalog")
    for name in ("make_catalog", "drawing", "families", "shoppers", "tuning"):
        del sys.modules[name]
    monkeypatch.setattr(script, "make_files", cache(script.make_files))  # it takes ten seconds
    assert script.main(["--output", str(tmp_path)]) == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        name: (FOLDER / name).read_bytes() for name in FILES
    }
    (tmp_path / "goals.jsonl").write_text("{}\n", encoding="utf-8")
    assert script.main(["--check", "--output", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert ("goals.jsonl" in said, "items" in said) == (True, False)


def test_products_are_as_varied_and_as_odd_as_the_originals(bundled: Catalog) -> None:
    categories = ("beauty", "electronics", "fashion", "garden", "grocery")
    assert Counter(product.category for product in bundled) == dict.fromkeys(categories, 200)
    assert len({product.asin for product in bundled}) == len({product.name for product in bundled}) == 1000
    assert 60 <= len({product.query for product in bundled}) <= 100
    for product in bundled:
        assert product.asin.startswith("B0")
        counts = (len(product.asin), bool(product.description), 2 <= len(product.attributes) <= 6)
        assert counts == (10, True, True)
        assert 3 <= len(product.bullets) <= 6
        assert 3 <= len(product.product_category.split(" › ")) <= 6
    records: list[dict[str, Any]] = json.loads((FOLDER / FILES[0]).read_text(encoding="utf-8"))
    pricing = [record["pricing"] for record in records]
    assert 0.06 < sum(" to " in text for text in pricing) / len(pricing) < 0.13
    assert 0.03 < pricing.count("") / len(pricing) < 0.08
    options = [record["customization_options"] for record in records]
    assert "" in options
    assert any(None in (one or {}).values() for one in options)
    sets = [[set(values) for values in product.options.values()] for product in bundled]
    assert any(first & second for s in sets for i, first in enumerate(s) for second in s[i + 1 :])
    texts = {p.asin: " ".join((p.name, *p.bullets, p.description)).lower() for p in bundled}
    hidden = sum(attribute not in texts[p.asin] for p in bundled for attribute in p.attributes)
    assert 0 < hidden < 0.15 * sum(len(p.attributes) for p in bundled)
    for name in FILES:  # no address and no picture of a shop
        text = (FOLDER / name).read_text(encoding="utf-8").lower()
        assert not any(word in text for word in ("http", "www.", "amazon", ".com"))


def test_goals_have_the_sizes_ids_and_difficulties_of_their_splits(bundled: Catalog, goals: Goals) -> None:
    assert {name: len(goals.split(name)) for name in goals.splits} == SPLIT_SIZES
    for name, size in SPLIT_SIZES.items():
        members = goals.split(name)
        assert [goal.goal_id for goal in members] == [f"{name}-{i:04d}" for i in range(1, size + 1)]
        assert 0.4 * size <= sum(goal.difficulty == "hard" for goal in members) <= 0.6 * size
        assert {goal.difficulty for goal in members} == {"easy", "hard"}
    asins = {name: {goal.asin for goal in goals.split(name)} for name in goals.splits}
    assert not asins["test"] & asins["dev"]
    assert not (asins["test"] | asins["dev"]) & asins["train"]
    assert len(asins["test"]) == len(asins["dev"]) == 200
    assert len({goal.instruction for goal in goals}) == len(goals)
    assert len(load_goals(FOLDER, bundled, "human")) == sum(SPLIT_SIZES.values())
    assert len(load_goals(FOLDER, bundled, "synthetic")) > 1000


def test_every_goal_is_told_scores_one_with_its_own_product_and_few_others(bundled: Catalog, goals: Goals) -> None:
    scorer = PurchaseScorer(LightTagger())
    for goal in goals:
        asked = goal.instruction.replace("/", " | ")
        told = (*goal.option_values, f"{goal.price_upper:.0f}")
        assert all(value in asked for value in told), goal.goal_id
        assert all(attribute in goal.instruction for attribute in goal.attributes), goal.goal_id
        choice = dict(pair for pair in goal.options if isinstance(pair, tuple))
        assert scorer.score(goal, bundled[goal.asin], choice).total == 1.0, goal.goal_id
        assert all(value in bundled[goal.asin].options[name] for name, value in choice.items()), goal.goal_id
    rivals = [
        sum(scorer.best(goal, product) == 1.0 for product in bundled if product.asin != goal.asin)
        for goal in goals.split("test")[::5]
    ]
    assert statistics.median(rivals) <= 3
    assert max(rivals) <= 20
