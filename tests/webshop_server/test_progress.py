from dataclasses import replace

import pytest

from tests.webshop_server.test_reward import GOAL, SHOE
from webshop_server.pages import Page
from webshop_server.progress import Progress, advance
from webshop_server.reward import PurchaseScorer
from webshop_server.tagger import LightTagger

SCORER = PurchaseScorer(LightTagger())
VASE = replace(SHOE, asin="B000VASE01", name="Ceramic Vase")
INDEX = Page("index", "", ())
RESULTS = Page("results", "", (), products=(VASE, SHOE))
ITEM = Page("item", "", (), product=SHOE)
DONE = Page("done", "", (), product=SHOE)


def test_search_item_and_purchase_count_a_third_each() -> None:
    progress, seen = Progress(), []
    for page in (INDEX, RESULTS, ITEM, DONE._replace(selected=(("color", "blue"), ("size", "9 wide")))):
        progress = advance(progress, page, GOAL, SCORER)
        seen.append(progress.best)
    assert seen == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert advance(Progress(), DONE, GOAL, SCORER).best == pytest.approx(3 / 5)  # at least the reward
    for kind in ("description", "features", "reviews", "attributes"):
        assert advance(Progress(), ITEM._replace(kind=kind), GOAL, SCORER).item == 1.0


def test_progress_never_falls() -> None:
    far = advance(advance(Progress(), RESULTS, GOAL, SCORER), ITEM, GOAL, SCORER)
    assert advance(far, ITEM._replace(product=VASE), GOAL, SCORER) == far
    assert advance(far, INDEX, GOAL, SCORER) == far


def test_agentboard_counts_the_last_combination_where_none_is_full() -> None:
    first_is_better = replace(SHOE, options={"color": ("blue", "red"), "size": ("8",)})
    page = ITEM._replace(product=first_is_better)
    assert advance(Progress(), page, GOAL, SCORER).item == pytest.approx(4 / 5)
    assert advance(Progress(), page, GOAL, SCORER, mode="agentboard").item == pytest.approx(3 / 5)
    full = ITEM._replace(product=replace(SHOE, options={"color": ("blue", "red"), "size": ("9 wide", "8")}))
    assert advance(Progress(), full, GOAL, SCORER, mode="agentboard").item == 1.0
