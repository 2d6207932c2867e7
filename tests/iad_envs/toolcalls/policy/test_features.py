"""The features of responses: bounded, and telling what a response is."""

import numpy as np

from iad_envs.toolcalls.policy.features import FEATURES, CallFeatures
from iad_policy.trained.features import load_features
from iad_policy.types import State
from tests.iad_envs.toolcalls.policy.talks import Talk

NUMBERS = CallFeatures()
FAILS = "[move_note(title='choir', folder='no such folder')]"
MOVE = "[move_note(title='choir', folder='garden')]"


def named(state: State, action: str) -> dict[str, float]:
    """The features of a response that are not 0."""
    (row,) = NUMBERS.rows(state, [action])
    return {name: value for name, value in zip(FEATURES, row, strict=True) if value}


def test_they_are_those_of_the_environment() -> None:
    loaded = load_features("IAD/BFCL-v0")
    assert isinstance(loaded, CallFeatures)
    assert loaded.identity == f"toolcalls {len(FEATURES)}"
    assert loaded.names == FEATURES
    assert len(set(FEATURES)) == len(FEATURES)


def test_values_are_bounded_and_every_feature_tells_something_somewhere() -> None:
    seen = set[str]()
    several = "[find_books(words='moon'), move_note(title='choir', folder='garden')]"
    more = ("[nothing_such(a=1)]", "[move_note(title='choir')]", several, "[f(", "[]")
    for task_id in ("multi_turn_base_1", "multi_turn_base_13", "multi_turn_miss_param_14", "multiple_2", "parallel_1"):
        talk = Talk(task_id)
        for action in talk.reference:
            offered = NUMBERS.actions(talk.state)
            assert len(offered) == len(set(offered))
            rows = NUMBERS.rows(talk.state, [*offered, *more, action])
            assert rows.shape == (len(offered) + len(more) + 1, len(FEATURES))
            assert np.isfinite(rows).all()
            assert 0.0 <= rows.min() <= rows.max() <= 1.0
            seen |= {FEATURES[place] for place in np.flatnonzero(rows.any(axis=0))}
            if talk.state.done:
                break
            talk.did(action)
    talk = Talk("multi_turn_base_1").did(FAILS)
    rows = NUMBERS.rows(talk.state, [FAILS, "reply[Sorry.]"])
    seen |= {FEATURES[place] for place in np.flatnonzero(rows.any(axis=0))}
    assert set(FEATURES) == seen


def test_a_call_is_told_by_what_it_fits_and_a_reply_by_what_is_left() -> None:
    talk = Talk("multi_turn_base_1")
    right = named(talk.state, MOVE)
    assert {"call:best", "call:plan", "call:values"} <= set(right)
    assert "call:unasked" not in right
    wrong = named(talk.state, "[count_seeds(species='accordion')]")
    assert {"call:unasked", "call:ungrounded", "call:looks"} <= set(wrong)
    assert "reply:left" in named(talk.state, "reply[Done.]")
    talk.did(MOVE)
    assert "reply:left" not in named(talk.state, "reply[Done.]")
    assert "call:again" in named(talk.state, MOVE)
