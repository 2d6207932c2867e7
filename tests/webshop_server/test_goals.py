import json
from dataclasses import asdict
from pathlib import Path

import pytest

from webshop_server.catalog import Catalog
from webshop_server.goals import NO_LIMIT, GoalError, Goals, load_goals, main, price_limit, write_goals

FROZEN = {
    "goal_id": "g1", "split": "test", "difficulty": "hard", "asin": "B000SHOE01", "instruction": "navy shoes",
    "attributes": ["rubber sole"], "options": ["navy"], "price_upper": 50, "weight": 2,
}  # fmt: skip


def freeze(folder: Path, *records: object) -> None:
    (folder / "goals.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def test_synthetic_goals_are_all_option_combinations_of_products_with_an_instruction(
    folder: Path, catalog: Catalog
) -> None:
    goals = load_goals(folder, catalog)
    shoes = [goal for goal in goals if goal.asin == "B000SHOE01"]
    assert {goal.options for goal in shoes} == {
        (("color", colour), ("size", size)) for colour in ("navy blue", "black | white") for size in ("8", "9")
    }
    assert len(goals) == 5
    for first in (1, 3, 99):
        assert repr(load_goals(folder, catalog, "synthetic", first=first)[:]) == repr(goals[:first])
    assert {goal.goal_id for goal in goals} == {f"synthetic-{index}" for index in range(5)}
    goal = next(goal for goal in goals if goal.option_values == ("navy blue", "8"))
    assert goal.instruction == (
        "Find me walking shoes with rubber sole with color: navy blue, and size: 8"
        f", and price lower than {goal.price_upper:.2f} dollars"
    )
    assert goal.price_upper in (50.0, 60.0, 70.0)
    assert goal.weight == pytest.approx(1 / 4)


def test_human_goals_have_lists_of_values_and_skip_annotations_without_attributes(
    folder: Path, catalog: Catalog
) -> None:
    (goal,) = load_goals(folder, catalog, "human")
    assert goal.options == goal.option_values == ("navy",)
    assert goal.instruction.startswith("i need navy shoes, and price lower than")
    assert (goal.split, goal.weight, goal.name) == ("test", 1.0, "Acme Women Canvas Sneakers")


def test_limits_are_above_the_price_and_the_same_every_time() -> None:
    limits = [price_limit(f"B{index}", 34.5) for index in range(50)]
    assert limits == [price_limit(f"B{index}", 34.5) for index in range(50)]
    assert set(limits) == {50.0, 60.0, 70.0}
    assert price_limit("B1", 970.0) == 990.0
    assert price_limit("B1", 980.0) == NO_LIMIT


def test_frozen_goals_win_unless_a_kind_is_named_and_are_read_back_as_written(
    folder: Path, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"attributes": []}, "text 'attributes'"), ({"price_upper": 0}, "'price_upper' .* got 0"),
        ({"asin": "B1"}, "the 23 products, got 'B1'"), ({"difficulty": "medium"}, "'difficulty' .* got 'medium'"),
        ({"options": "navy"}, "'options', a list"), ({"options": [1]}, "'options' whose values are texts"),
        ({"weight": -1}, "'weight' .* got -1"), ({"goal_id": "g1"}, "new goal_id, got 'g1'"),
        ({"instruction": None}, "text 'instruction', got None"),
    ],
)  # fmt: skip
def test_a_goal_that_cannot_be_scored_is_an_error_that_names_file_and_line(
    folder: Path, catalog: Catalog, change: dict[str, object], said: str
) -> None:
    freeze(folder, FROZEN, {**FROZEN, "goal_id": "g2", **change})
    with pytest.raises(GoalError, match=rf"goals\.jsonl, line 2: expected .*{said}"):
        load_goals(folder, catalog)


def test_goals_are_found_by_place_id_and_split_and_what_is_not_there_is_an_error(
    folder: Path, catalog: Catalog
) -> None:
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
