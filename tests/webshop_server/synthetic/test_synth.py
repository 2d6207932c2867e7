"""The made-up catalogue: official format, the original's statistics, goals that can be reached."""

from collections import Counter
from pathlib import Path
from statistics import mean, median

import pytest

from webshop_server.catalog import Catalog, index_text, load_catalog
from webshop_server.goals import load_goals
from webshop_server.reward import PurchaseScorer
from webshop_server.search.analyzer import analyze
from webshop_server.synthetic.synth import FILES, write_catalog
from webshop_server.tagger import LightTagger

N_PRODUCTS = 3000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("synth")
    write_catalog(folder, N_PRODUCTS, seed=0)
    return folder


@pytest.fixture(scope="module")
def catalog(folder: Path) -> Catalog:
    return load_catalog(folder)


def test_the_official_loaders_read_every_product_and_goal(folder: Path, catalog: Catalog) -> None:
    assert len(catalog) == N_PRODUCTS
    assert len({product.name for product in catalog}) > 0.99 * N_PRODUCTS
    assert len(load_goals(folder, catalog, "human")) == 2000
    goals = load_goals(folder, catalog)
    assert {name: len(goals.split(name)) for name in goals.splits} == {"test": 500, "dev": 1000, "train": 500}
    scorer = PurchaseScorer(LightTagger())
    assert [goal for goal in goals[:30] if scorer.best(goal, catalog[goal.asin]) != 1.0] == []


def test_the_same_seed_writes_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    told: list[int] = []
    for name, seed, n in (("first", 0, 50), ("second", 0, 50), ("other", 1, 2100)):
        write_catalog(tmp_path / name, n, seed=seed, wrote=told.append)
    assert told == [2000]
    read = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in sorted(tmp_path.iterdir())]
    first, other, second = read
    assert set(first) == set(FILES)
    assert first == second
    assert not [name for name in FILES if first[name] == other[name]]
    with pytest.raises(ValueError, match=r"at least 1 product, got 0; .*1180000"):
        write_catalog(tmp_path / "none", 0)
    assert not (tmp_path / "none").exists()


def test_lengths_frequencies_and_the_growth_of_the_vocabulary_are_those_of_the_original(catalog: Catalog) -> None:
    """The figures of 1,000 products of the original are in brackets."""
    terms = [analyze(index_text(product)) for product in catalog]
    assert 90 < mean(map(len, terms)) < 130  # (108)
    assert 60 < mean(len(set(own)) for own in terms) < 90  # (68)
    held = sorted(Counter(term for own in terms for term in set(own)).values(), reverse=True)
    for rank, low, high in (  # (0.43, 0.25, 0.13, 0.058, 0.014)
        (2, 0.3, 0.5), (10, 0.15, 0.3), (50, 0.09, 0.17), (200, 0.04, 0.08), (1000, 0.01, 0.02)
    ):  # fmt: skip
        assert low < held[rank - 1] / N_PRODUCTS < high
    few, many = ({term for own in terms[:n] for term in own} for n in (300, 3000))
    assert 2.8 < len(many) / len(few) < 5.0  # 10 ** 0.634 is 4.3
    assert 14 < median(len(product.name.split()) for product in catalog) < 22  # (18)
    assert 0.5 < mean(not product.options for product in catalog) < 0.65  # (0.58)
    assert 0.06 < mean(" to " in product.price_text for product in catalog) < 0.13  # (0.093)
