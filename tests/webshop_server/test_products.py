"""Products and goals, of a small set and the bundled ones; rewards, the nouns that they compare, and progress."""

import importlib
import importlib.util
import itertools
import json
import random
import statistics
import sys
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webshop_server.small_shop import record, write_folder
from webshop_server.catalog import Catalog, Product, index_text, load_catalog
from webshop_server.goals import NO_LIMIT, Goal, GoalError, Goals, load_goals, main, placed, price_limit, write_goals
from webshop_server.pages import Page
from webshop_server.progress import Progress, advance
from webshop_server.reward import COLOURS, PurchaseScorer, UnscorableError, n_matched_options
from webshop_server.storage.json_files import CatalogError
from webshop_server.tagger import LightTagger, SpacyTagger


def test_records_are_read_as_in_the_original_with_prices_in_their_range(catalog: Catalog, tmp_path: Path) -> None:
    assert [product.asin for product in catalog][:3] == ["B000SHOE01", "B000SHOE02", "B000VASE01"]
    assert catalog["B000VASE01"] is catalog.products[2]
    shoe, sock = catalog["B000SHOE01"], catalog["B000SOCK01"]
    assert dict(shoe.options) == {"color": ("navy blue", "black | white"), "size": ("8", "9")}
    assert dict(shoe.option_images) == {"navy blue": "https://example.org/blue.jpg"}
    assert shoe.query == "walking shoes"
    assert (sock.attributes, sock.instruction) == (("DUMMY_ATTR",), None)
    texts = ("acme women canvas sneakers made for the park.", "memory foam insole ", "color: navy blue, black | white,")
    assert index_text(shoe) == " ".join((*texts, "and size: 8, 9"))
    prices = ("$8.50", "$1,299.00", "", None, "$5.00 to $7.00")
    records = [record(f"B{place}", "Cup", pricing=pricing) for place, pricing in enumerate(prices)]
    texts = [product.price_text for product in load_catalog(write_folder(tmp_path, records))]
    assert texts == ["$8.5", "$1299.0", "$100.0", "$100.0", "$5.0 to $7.0"]
    ranged = [record(f"B{index}", "Cup", pricing="$10.00 to $20.00") for index in range(20)]
    drawn = {product.asin: product.price for product in load_catalog(write_folder(tmp_path, ranged))}
    random.Random(0).shuffle(ranged)
    assert {p.asin: p.price for p in load_catalog(write_folder(tmp_path, ranged))} == drawn
    assert all(10 <= price <= 20 for price in drawn.values())
    assert len(set(drawn.values())) > 10
    records = [record("B1", "First"), record("nan", "N"), record("B1", "Again"), record("B" * 11, "Long")]
    assert [product.name for product in load_catalog(write_folder(tmp_path, records))] == ["First"]


def test_a_folder_without_one_set_of_json_files_is_an_error_that_names_them(folder: Path, tmp_path: Path) -> None:
    wrong = '{"B000SHOE01": {"attributes": "rubber sole"}}', r"asin B000SHOE01\).*'attributes'"
    for text, said in (("{", r"items_ins_v2_1000\.json: expected JSON"), wrong):
        (folder / "items_ins_v2_1000.json").write_text(text, encoding="utf-8")
        with pytest.raises(CatalogError, match=said):
            load_catalog(folder)
    (folder / "items_shuffle.json").write_text("[]", encoding="utf-8")
    for place, said in ((folder, r"found items_shuffle\.json, items_shuffle_1000"), (tmp_path / "none", "found none")):
        with pytest.raises(FileNotFoundError, match=said):
            load_catalog(place)


def test_a_broken_record_is_named(tmp_path: Path) -> None:
    broken: dict[str, Any]
    for broken, said in (
        ({"name": None}, "text 'name', got None"), ({"pricing": "free"}, "a price"), ({"pricing": "$1.2.3"}, "a price"),
        ({"small_description": 3}, "list of texts 'small_description'"), ({"asin": 7}, "text 'asin', got 7"),
        ({"customization_options": {"size": ["8"]}}, "an object, got str"),
        ({"customization_options": ["size"]}, "an object 'customization_options'"),
    ):  # fmt: skip
        records = [record("B1", "Cup"), {**record("B2", "Cup"), **broken}]
        place = "record 1" if "asin" in broken else r"record 1 \(asin B2\)"
        with pytest.raises(CatalogError, match=rf"items_shuffle_1000\.json, {place}: expected .*{said}"):
            load_catalog(write_folder(tmp_path, records))


FROZEN = {
    "goal_id": "g1", "split": "test", "difficulty": "hard", "asin": "B000SHOE01", "instruction": "navy shoes",
    "attributes": ["rubber sole"], "options": ["navy"], "price_upper": 50, "weight": 2,
}  # fmt: skip


def freeze(folder: Path, *records: object) -> None:
    (folder / "goals.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def test_synthetic_goals_are_all_combinations_human_ones_have_values(folder: Path, catalog: Catalog) -> None:
    goals = load_goals(folder, catalog)
    assert {goal.options for goal in goals if goal.asin == "B000SHOE01"} == {
        (("color", colour), ("size", size)) for colour in ("navy blue", "black | white") for size in ("8", "9")
    }
    assert len(goals) == 5
    for first in (1, 3, 99):
        assert repr(load_goals(folder, catalog, "synthetic", first=first)[:]) == repr(goals[:first])
    assert {goal.goal_id for goal in goals} == {f"synthetic-{index}" for index in range(5)}
    goal = next(goal for goal in goals if goal.option_values == ("navy blue", "8"))
    wish = "Find me walking shoes with rubber sole with color: navy blue, and size: 8"
    assert goal.instruction == f"{wish}, and price lower than {goal.price_upper:.2f} dollars"
    assert (goal.price_upper in (50.0, 60.0, 70.0), goal.weight) == (True, pytest.approx(1 / 4))
    (goal,) = load_goals(folder, catalog, "human")  # the other one has no attributes
    assert goal.options == goal.option_values == ("navy",)
    assert goal.instruction.startswith("i need navy shoes, and price lower than")
    assert (goal.split, goal.weight, goal.name) == ("test", 1.0, "Acme Women Canvas Sneakers")
    limits, again = ([price_limit(f"B{index}", 34.5) for index in range(50)] for _ in range(2))
    assert (limits == again, set(limits)) == (True, {50.0, 60.0, 70.0})
    assert (price_limit("B1", 970.0), price_limit("B1", 980.0)) == (990.0, NO_LIMIT)
    found = [placed(place, n_terms) for place, n_terms in ((499, 5), (500, 6), (1499, 6), (1500, 6))]
    assert found == [("test", "easy"), ("dev", "hard"), ("dev", "hard"), ("train", "hard")]


def test_frozen_goals_win_unless_a_kind_is_named_or_one_is_no_goal(folder: Path, catalog: Catalog, capsys: Any) -> None:
    freeze(folder, FROZEN)
    (goal,) = load_goals(folder, catalog)
    facts = (goal.goal_id, goal.difficulty, goal.price_upper, goal.query)
    assert facts == ("g1", "hard", 50.0, "walking shoes")
    made = [*load_goals(folder, catalog, "synthetic"), *load_goals(folder, catalog, "human")]
    write_goals(folder / "goals.jsonl", made)
    assert [asdict(goal) for goal in load_goals(folder, catalog)] == [asdict(goal) for goal in made]
    main([str(folder), "--kind", "human"])
    assert "1 human goals written to" in capsys.readouterr().out
    assert [goal.goal_id for goal in load_goals(folder, catalog)] == ["human-0"]
    change: dict[str, Any]
    for change, said in (
        ({"attributes": []}, "text 'attributes'"), ({"price_upper": 0}, "'price_upper' .* got 0"),
        ({"asin": "B1"}, "the 23 products, got 'B1'"), ({"difficulty": "medium"}, "'difficulty' .* got 'medium'"),
        ({"options": "navy"}, "'options', a list"), ({"options": [1]}, "'options' whose values are texts"),
        ({"weight": -1}, "'weight' .* got -1"), ({"goal_id": "g1"}, "new goal_id, got 'g1'"),
        ({"instruction": None}, "text 'instruction', got None"),
    ):  # fmt: skip
        freeze(folder, FROZEN, {**FROZEN, "goal_id": "g2", **change})
        with pytest.raises(GoalError, match=rf"goals\.jsonl, line 2: expected .*{said}"):
            load_goals(folder, catalog)


def test_goals_are_found_by_place_id_and_split(folder: Path, catalog: Catalog) -> None:
    goals, many = load_goals(folder, catalog), Catalog(catalog.products)
    many.products = catalog.products * 5000
    assert goals.by_id("synthetic-3") is goals[3]
    assert goals.split("test") == goals[:] == tuple(goals)
    assert (goals.splits, Goals([]).splits) == (("test",), ())
    for call, error, said in (
        (lambda: goals.split("train"), KeyError, "one of test; got 'train'"),
        (lambda: goals.by_id("human-0"), KeyError, r"5 goals \(synthetic-0, .*synthetic-4\); got 'human-0'"),
        (lambda: load_goals(folder, catalog, "robot"), ValueError, "one of synthetic, human; got 'robot'"),
        (lambda: load_goals(folder, Catalog([])), GoalError, "at least one goal"),
        (lambda: load_goals(folder, many, "synthetic"), GoalError, r"goals\.jsonl .* 115000 products.*--first 12000"),
    ):
        with pytest.raises(error, match=said):
            call()


FOLDER = Path(__file__).resolve().parents[2] / "data" / "webshop"
FILES = ("items_shuffle_1000.json", "items_ins_v2_1000.json", "items_human_ins.json", "goals.jsonl")


@pytest.mark.slow
def test_the_script_makes_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    script = importlib.import_module("make_catalog")
    for name in ("make_catalog", "drawing", "families", "shoppers", "tuning"):
        del sys.modules[name]
    monkeypatch.setattr(script, "make_files", cache(script.make_files))  # it takes ten seconds
    assert script.main(["--output", str(tmp_path)]) == 0
    shipped = {name: (FOLDER / name).read_bytes() for name in FILES}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == shipped
    (tmp_path / "goals.jsonl").write_text("{}\n", encoding="utf-8")
    assert script.main(["--check", "--output", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert ("goals.jsonl" in said, "items" in said) == (True, False)


def test_every_bundled_goal_is_told_and_scores_one_with_few_products() -> None:
    bundled = load_catalog(FOLDER)
    goals = load_goals(FOLDER, bundled)
    assert {name: len(goals.split(name)) for name in goals.splits} == {"test": 200, "dev": 200, "train": 800}
    assert [len(load_goals(FOLDER, bundled, kind)) > 1000 for kind in ("human", "synthetic")] == [True, True]
    scorer = PurchaseScorer(LightTagger())
    for goal in goals:
        asked, product = goal.instruction.replace("/", " | "), bundled[goal.asin]
        told = (*goal.option_values, f"{goal.price_upper:.0f}", *goal.attributes)
        assert all(value in asked or value in goal.instruction for value in told), goal.goal_id
        choice = dict(pair for pair in goal.options if isinstance(pair, tuple))
        assert scorer.score(goal, product, choice).total == 1.0, goal.goal_id
        assert all(value in product.options[name] for name, value in choice.items()), goal.goal_id
    tests = goals.split("test")[::5]
    rivals = [sum(scorer.best(one, other) == 1.0 for other in bundled if other.asin != one.asin) for one in tests]
    assert (statistics.median(rivals) <= 3, max(rivals) <= 20) == (True, True)


SHOE = Product(
    asin="B000SHOE01", name="Acme Women Canvas Sneakers", category="fashion", query="walking shoes",
    product_category="Clothing › Women › Shoes", description="Great for the park.",
    bullets=("Memory foam insole", "Machine wash"), price=39.99, price_text="$39.99",
    options={"color": ("navy blue", "red"), "size": ("8", "9 wide")}, option_images={}, attributes=("rubber sole",),
)  # fmt: skip
GOAL = Goal(
    goal_id="g1", asin=SHOE.asin, name=SHOE.name, query=SHOE.query, product_category=SHOE.product_category,
    category=SHOE.category, instruction="", attributes=("rubber sole", "memory foam"), options=("blue", "9 wide"),
    price_upper=50.0,
)  # fmt: skip
SCORER = PurchaseScorer(LightTagger())


def test_the_right_purchase_scores_one_each_missing_part_costs_its_share_and_weights_sum_to_one() -> None:
    reward = SCORER.score(GOAL, SHOE, {"color": "navy blue", "size": "9 wide"})
    assert reward.total == 1.0
    assert reward.w_att + reward.w_option + reward.w_price == pytest.approx(1.0)
    parts = SCORER.score(replace(GOAL, options=()), SHOE, {}).parts()
    assert "r_option" not in parts
    assert parts["w_att"] == pytest.approx(2 / 3)
    assert (len(COLOURS), COLOURS[0]) == (102, "alabaster")
    assert COLOURS.index("tan") < COLOURS.index("taupe") < COLOURS.index("yellow")
    right = {"color": "blue", "size": "9 wide"}
    for change, options, total in (
        ({}, {}, 3 / 5), ({}, {"size": "9 wide"}, 4 / 5), ({"price": 50.0}, right, 1.0),
        ({"price": 50.01}, right, 4 / 5), ({"bullets": ()}, right, 4 / 5), ({"name": "Ceramic Vase"}, right, 0.0),
    ):  # fmt: skip
        product = replace(SHOE, **change)  # type: ignore[arg-type]
        assert SCORER.score(GOAL, product, options).total == pytest.approx(total), (change, options)


def test_options_match_by_colour_word_or_similarity_and_what_the_original_fails_on_is_an_error() -> None:
    cases: tuple[tuple[tuple[Any, ...], str, int], ...] = (
        (("navy blue",), "light blue", 1), (("blue black",), "black", 1), (("standard",), "tan", 1),
        (("3 ounce (pack of 1)",), "3 ounce (pack of 2)", 1), (("large",), "small", 0),
        ((("color", "blue"),), "navy blue", 1), ((("size", "8 wide"),), "8 wide", 1),
        ((("color", "blue and white"),), "red", 0), (("é",), "è", 0), (("large", "large"), "large", 2),
        ((), "large", 0),
    )  # fmt: skip
    for wanted, chosen, matched in cases:
        assert n_matched_options(wanted, [chosen]) == matched, (wanted, chosen)
    no_limit, no_price = "price limit above 0, got 0.0", replace(SHOE, price=None)  # type: ignore[arg-type]
    unscorable = ((replace(GOAL, attributes=()), SHOE, "attributes"), (replace(GOAL, price_upper=0.0), SHOE, no_limit))
    for goal, product, said in (*unscorable, (GOAL, no_price, "price in dollars, got None")):
        with pytest.raises(UnscorableError, match=said):
            SCORER.score(goal, product, {})


VALUES = st.sampled_from(["navy blue", "red", "8", "9 wide", "large", "x-large", "3 pack", ""])


@given(
    wanted=st.lists(VALUES, max_size=4),
    options=st.dictionaries(st.sampled_from("abc"), st.lists(VALUES, min_size=1, max_size=3), max_size=3),
)
def test_the_best_reward_is_that_of_the_best_combination(wanted: list[str], options: dict[str, list[str]]) -> None:
    goal = replace(GOAL, options=tuple(wanted))
    product = replace(SHOE, options={name: tuple(values) for name, values in options.items()})
    every = (dict(zip(options, values, strict=True)) for values in itertools.product(*options.values()))
    rewards = [SCORER.score(goal, product, one).total for one in every]
    assert SCORER.best(goal, product) == max(rewards)
    assert SCORER.last_or_full(goal, product) == (1.0 if 1.0 in rewards else rewards[-1])


def test_numbers_units_function_words_and_common_adjectives_are_not_nouns() -> None:
    for title, nouns in {
        "Acme Women's Walking Sneakers, 2 Pack of 10oz": ("acme", "women", "walking", "sneakers"),
        "Soft Blue Throw Blanket 50 x 62 inch for the Sofa": ("throw", "blanket", "sofa"),
        "Shirt and T-Shirt and Shirt": ("shirt", "t", "shirt", "shirt"), "12 x 16 & 3D, with!": (), "": (),
    }.items():  # fmt: skip
        assert LightTagger().nouns(title) == nouns, title
    if importlib.util.find_spec("spacy") is None:
        with pytest.raises(ImportError, match=r'pip install -e ".+\[spacy\]"'):
            SpacyTagger()


VASE = replace(SHOE, asin="B000VASE01", name="Ceramic Vase")
INDEX = Page("index", "", ())
RESULTS = Page("results", "", (), products=(VASE, SHOE))
ITEM = Page("item", "", (), product=SHOE)
DONE = Page("done", "", (), product=SHOE)


def test_search_item_and_purchase_count_a_third_each_progress_never_falls_and_agentboards_is_its_own() -> None:
    progress, seen = Progress(), []
    for page in (INDEX, RESULTS, ITEM, DONE._replace(selected=(("color", "blue"), ("size", "9 wide")))):
        progress = advance(progress, page, GOAL, SCORER)
        seen.append(progress.best)
    assert seen == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert advance(Progress(), DONE, GOAL, SCORER).best == pytest.approx(3 / 5)  # at least the reward
    for kind in ("description", "features", "reviews", "attributes"):
        assert advance(Progress(), ITEM._replace(kind=kind), GOAL, SCORER).item == 1.0
    far = advance(advance(Progress(), RESULTS, GOAL, SCORER), ITEM, GOAL, SCORER)
    for page in (ITEM._replace(product=VASE), INDEX):
        assert advance(far, page, GOAL, SCORER) == far
    # AgentBoard counts the last combination where none is full.
    shoes = (replace(SHOE, options={"color": ("blue", "red"), "size": one}) for one in (("8",), ("9 wide", "8")))
    page, full = (ITEM._replace(product=shoe) for shoe in shoes)
    assert advance(Progress(), page, GOAL, SCORER).item == pytest.approx(4 / 5)
    assert advance(Progress(), page, GOAL, SCORER, mode="agentboard").item == pytest.approx(3 / 5)
    assert advance(Progress(), full, GOAL, SCORER, mode="agentboard").item == 1.0
