"""How a product fits an instruction, and what that says about buying it."""

from itertools import pairwise
from typing import Any

from iad_envs.webshop.policy.fit import WEIGHTS, Fit, fit_at_first_sight, fit_of
from tests.iad_envs.webshop.policy.pages import INSTRUCTION, ITEM, RIGHT


def fit(instruction: str = INSTRUCTION, **changes: Any) -> Fit:
    known = {name: ITEM[name] for name in ("title", "price", "options", "selected")}
    return fit_of(instruction, **{**known, "lines": (), "unread": ("description", "features"), **changes})


def unseen(found: Fit) -> list[str]:
    return [word.text for words in found.unseen for word in words]


def statuses(found: Fit) -> dict[str, str]:
    return {option.name: option.status for option in found.options}


def test_options_are_right_open_or_of_another_value_and_set_as_far_as_asked() -> None:
    assert statuses(fit()) == {"color": "open", "size": "open"}
    assert statuses(fit(selected=RIGHT)) == {"color": "right", "size": "right"}
    assert statuses(fit(selected={"color": "sand", "size": "8.5"})) == {"color": "wrong", "size": "right"}
    shades = {"color": ["dark green", "forest green"]}
    assert statuses(fit(options=shades, selected={"color": "dark green"})) == {"color": "similar"}
    near = {"color": ["green stripes", "sand"]}
    assert statuses(fit("a boot in green dots", options=near)) == {"color": "unsure"}
    assert statuses(fit("a boot", options=ITEM["options"])) == {"color": "unasked", "size": "unasked"}
    twice = {"color": ["natural", "teal"], "trim color": ["natural", "beige"]}  # one value under two names
    found = fit("a boot in natural color", options=twice, selected={"trim color": "natural"})
    assert statuses(found) == {"color": "right", "trim color": "right"}
    found = fit(selected={"color": "sand"})
    assert statuses(found.with_options_set(1)) == {"color": "right", "size": "open"}
    assert statuses(found.with_options_set(2)) == {"color": "right", "size": "right"}
    assert found.with_options_set(2).probability == fit(selected=RIGHT).probability


def test_what_an_option_can_answer_or_was_read_is_not_unseen() -> None:
    assert unseen(fit()) == ["waterproof"]
    assert unseen(fit(lines=["Waterproof to the ankle"])) == []
    assert unseen(fit(options={})) == ["waterproof", "forest", "green", "8.5"]
    found = fit_at_first_sight(INSTRUCTION, "Fernwalk Hiking Boot for Women", "$49.99")
    assert unseen(found) == ["waterproof", "forest"]
    dear = fit_at_first_sight(INSTRUCTION, "Fernwalk Hiking Boot for Women", "$61.00")
    assert dear.probability < found.probability


def test_it_is_complete_if_nothing_is_missing_and_less_probable_with_everything_that_is() -> None:
    full: dict[str, Any] = {"selected": RIGHT, "lines": ["Waterproof"]}
    assert fit(**full).is_complete
    assert not fit(selected=RIGHT).is_complete
    assert not fit(**full | {"price": "$50.00 to $61.00"}).is_complete
    assert not fit(selected=RIGHT).is_known_to_fail
    wrong = ({"size": "8.5"}, {"color": "forest green"}, {**RIGHT, "size": "8"})
    for failing in (*({"selected": selected} for selected in wrong), {"price": "$61.00"}):
        found = fit(**full | failing)
        assert (found.is_complete, found.is_known_to_fail) == (False, True)
        assert found.probability < 0.2
    read: dict[str, Any] = {"selected": RIGHT, "unread": (), "lines": ["A boot"]}
    fits = (fit(selected=RIGHT, lines=["Waterproof"]), fit(selected=RIGHT), fit(**read),
             fit(**read, price="$50.00 to $70.00"), fit(**read, price="$61.00"),
             fit(**read | {"selected": {"size": "8.5"}}, price="$61.00"))  # fmt: skip
    chances = [one.probability for one in fits]
    assert all(first > second for first, second in pairwise(chances))
    assert chances[0] > 0.85
    assert chances[-1] < 0.01
    assert fit().features().keys() == WEIGHTS.keys() - {"bias"}
    assert all(weight <= 0.0 for name, weight in WEIGHTS.items() if name != "bias")
    assert all(value >= 0.0 for value in fit().features().values())
