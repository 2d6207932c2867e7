"""The shop against recorded outputs of the original WebShop, of AgentBoard's version of it, and of Lucene.

Each vector carries what its result depends on, so other files of the same form can be checked: rewards
their noun lists, pages the instruction with its drawn price limit.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from webshop_server.catalog import Catalog, Product, index_text, load_catalog
from webshop_server.engine import Shop
from webshop_server.goals import Goal, load_goals
from webshop_server.pages import RENDERERS, render_url
from webshop_server.progress import Progress, advance
from webshop_server.reward import COLOURS, PurchaseScorer, UnscorableError
from webshop_server.search import SearchEngine, load_engine
from webshop_server.search.bm25 import BM25
from webshop_server.tagger import LightTagger

Vectors = Callable[[str], Any]


@pytest.fixture(scope="module")
def catalog(real_data: Path) -> Catalog:
    return load_catalog(real_data / "webshop")


@pytest.fixture(scope="module")
def documents(catalog: Catalog) -> list[tuple[str, str]]:
    return [(product.asin, index_text(product)) for product in catalog]


@pytest.fixture(scope="module")
def engine(documents: list[tuple[str, str]]) -> SearchEngine:
    return load_engine("bm25", documents)


def goal_of(facts: dict[str, Any], options: Any, **other: Any) -> Goal:
    known = {"goal_id": "", "category": "", "instruction": "", **other}
    for name in ("query", "product_category", "price_upper"):
        known[name] = facts[name]
    pairs = tuple(options.items()) if isinstance(options, dict) else tuple(options)
    return Goal(attributes=tuple(facts["attributes"]), options=pairs, **known)


def product_of(facts: dict[str, Any], price: float) -> Product:
    known = {name: facts[name] for name in ("asin", "name", "query", "product_category")}
    bullets, attributes = tuple(facts["BulletPoints"]), tuple(facts["Attributes"])
    empty: dict[str, Any] = {"category": "", "price_text": "", "options": {}, "option_images": {}}
    texts = {"description": facts["Description"], "bullets": bullets, "attributes": attributes}
    return Product(**known, **texts, **empty, price=price)


class RecordedNouns:
    """The nouns of a vector's goal and product."""

    def __init__(self, vector: dict[str, Any]) -> None:
        self._vector = vector

    def nouns(self, title: str) -> Any:
        return self._vector["goal_nouns" if title == "the goal" else "product_nouns"]


def differs(vector: dict[str, Any]) -> str:
    """What our reward of a vector gets wrong, or ""."""
    facts = vector["goal"]
    goal = goal_of(facts, facts["goal_options"], asin=facts["asin"], name="the goal", goal_id=str(vector["id"]))
    product = product_of(vector["product"], vector["price"])
    try:
        reward = PurchaseScorer(RecordedNouns(vector)).score(goal, product, vector["options"])
    except UnscorableError as error:
        return "" if "error" in vector else str(error)
    if "error" in vector:
        return f"expected an error ({vector['error']}), got {reward}"
    got = {"reward": reward.total, **reward.parts()}
    expected = {"reward": vector["reward"], **vector["info"]}
    same = got.keys() == expected.keys() and got == pytest.approx(expected, abs=1e-12, rel=0)
    return "" if same else f"expected {expected}, got {got}"


def test_every_reward_and_its_parts_are_the_originals(vectors: Vectors) -> None:
    cases = vectors("webshop_reward.json")["vectors"]
    wrong = {vector["id"]: reason for vector in cases if (reason := differs(vector))}
    assert not wrong
    assert cases


def test_every_page_is_the_originals(catalog: Catalog, engine: SearchEngine, vectors: Vectors) -> None:
    shop, n_pages = Shop(catalog, engine), 0
    for number, episode in enumerate(vectors("webshop_pages.json")["episodes"]):
        mode, session = episode["mode"], ""
        state = shop.start(episode["goal"]["instruction_text"])
        for step in episode["steps"]:
            if step["action"] is None and mode == "url":
                session = step["observation"].rpartition("/")[2]
            if step["action"] is not None:
                state, _ = shop.act(state, step["action"])
            page = shop.page(state)
            assert (state.kind == "done") == step.get("done", False)
            if state.kind != "done":
                n_pages += 1
                observation = render_url(page, session) if mode == "url" else RENDERERS[mode](page)
                available = {"has_search_bar": page.kind == "index", "clickables": list(page.clickables)}
                assert (observation, available) == (step["observation"], step["available"]), (number, step["action"])
    assert n_pages


def test_every_step_of_agentboard(catalog: Catalog, engine: SearchEngine, vectors: Vectors) -> None:
    shop = Shop(catalog, engine, page_size=3, max_pages=6, search_anywhere=False)
    n_steps = 0
    for episode in vectors("agentboard_progress.json"):
        facts = episode["goal"]["additional_info"]
        named = {"asin": facts["product_id"], "name": facts["product_name"]}
        goal = goal_of(facts, facts["product_options"], instruction=episode["goal"]["goal"], **named)
        scorer, progress, state = PurchaseScorer(LightTagger()), Progress(), shop.start(goal.instruction)
        n_accepted = 0
        for step in episode["steps"]:
            invalid = ""
            if step["action"] != "reset[]":
                state, invalid = shop.act(state, step["action"])
            page = shop.page(state)
            progress = advance(progress, page, goal, scorer, mode="agentboard")
            n_accepted += not invalid
            n_steps += 1
            if "error" in step:
                assert invalid
                continue
            if page.products:
                assert [product.asin for product in page.products] == step["asins"]
            assert (not invalid) == step["grounded"]
            assert progress.best == pytest.approx(step["progress_best"], abs=1e-12)
            if not step["done"]:  # AgentBoard clears its three parts after a purchase
                parts = {"search": progress.search, "item": progress.item, "buy": progress.purchase}
                assert parts == pytest.approx(step["internal"], abs=1e-12)
            else:
                assert progress.purchase == pytest.approx(step["reward"], abs=1e-12)
        assert progress.best == pytest.approx(episode["final_progress"], abs=1e-12)
        assert n_accepted / len(episode["steps"]) == pytest.approx(episode["grounding_acc"])
    assert n_steps


def test_the_official_small_set_has_6910_goals(real_data: Path, catalog: Catalog, vectors: Vectors) -> None:
    goals, human = (load_goals(real_data / "webshop", catalog, kind) for kind in ("synthetic", "human"))
    sizes = {split: len(goals.split(split)) for split in goals.splits}
    assert (len(goals), sizes, len(human)) == (6910, {"test": 500, "dev": 1000, "train": 5410}, 13)
    assert sum(goal.price_upper == 1_000_000 for goal in goals) == 15
    numbered = [episode for episode in vectors("webshop_pages.json")["episodes"] if episode["mode"] == "url"]
    assert numbered
    for episode in numbered:
        goal = goals[int(episode["steps"][0]["observation"].rpartition("/")[2])]
        recorded = episode["goal"]["instruction_text"]
        assert goal.instruction.partition(", and price")[0] == recorded.partition(", and price")[0]
    # The original takes colour words out of a bought value ("rectangular" is "tan"), not out of a pair.
    scorer = PurchaseScorer(LightTagger())
    for kind, n_below in ((goals, 458), (human, 0)):
        below = 0
        for goal in kind:
            bought = {str(place): value for place, value in enumerate(goal.option_values)}
            reward = scorer.score(goal, catalog[goal.asin], bought)
            if reward.total != 1.0:
                below += 1
                assert (reward.r_type, reward.r_att, reward.r_price) == (1.0, 1.0, True)
                assert any(colour in value for value in goal.option_values for colour in COLOURS)
        assert below == n_below


def _asins(hits: Sequence[Any]) -> list[str]:
    return [asin for asin, _ in hits]


def test_with_lucenes_terms_and_lengths_every_top_50_is_lucenes(documents: list[tuple[str, str]], vectors: Any) -> None:
    lucene = vectors("webshop_lucene_top50.json")
    engine = BM25(documents, lengths=lucene["n_tokens_per_document"])
    for row in lucene["queries"]:
        hits = engine.search_terms(row["tokens"])
        assert _asins(hits) == _asins(row["hits"]), row["query"]
        scores = [score for _, score in row["hits"]]
        assert [hit.score for hit in hits] == pytest.approx(scores, abs=1e-4), row["query"]


def test_with_our_own_analysis_nearly_every_top_10_is_lucenes(engine: SearchEngine, vectors: Any) -> None:
    rows = vectors("webshop_lucene_top50.json")["queries"]
    found = [(_asins(engine.search(row["query"]))[:10], _asins(row["hits"])[:10], row["tokens"]) for row in rows]
    differing = [terms for ours, theirs, terms in found if ours != theirs]
    assert len(differing) <= 0.05 * len(rows), differing
