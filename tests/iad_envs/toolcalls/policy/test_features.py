"""The features of responses: bounded, and telling what a response is."""

import numpy as np
import pytest

from iad_envs.toolcalls.policy.features import FEATURES, CallFeatures
from iad_policy.trained.backends.numeric import numeric
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


def test_values_are_bounded_and_every_feature_tells_something_somewhere() -> None:
    assert load_features("IAD/BFCL-v0").names == FEATURES
    more = (
        *(MOVE, "[nothing_such(a=1)]", "[move_note(title='choir', now=1)]", "[f(", "[]", "reply[I've moved it.]"),
        *("reply[Which one?]", "[move_note(title='choir', folder=[])]", "[tailor.repair_price(speed='at once')]"),
        "[find_books(words='moon'), move_note(title='choir', folder='garden')]",
    )
    rows = []
    notes = [Talk("multi_turn_base_1").did(*before) for before in ((), (MOVE,), (FAILS,))]
    for state in (*(talk.state for talk in notes), Talk("multiple_2").state):
        found = NUMBERS.rows(state, [*NUMBERS.actions(state), *more])
        assert found.shape == (1 + len(more), len(FEATURES))
        rows.append(found)
    whole = np.concatenate(rows)
    assert np.isfinite(whole).all()
    assert 0.0 <= whole.min() <= whole.max() <= 1.0
    assert [name for name, is_set in zip(FEATURES, whole.any(axis=0), strict=True) if not is_set] == []


def test_a_response_is_told_by_what_it_uses_and_what_was_done() -> None:
    talk = Talk("multi_turn_base_1")
    assert named(talk.state, MOVE) == {"calls": 0.25, "used": 1.0, "unused": 1.0}
    wrong = named(talk.state, "[count_seeds(species='accordion')]")
    assert {"calls", "ungrounded_argument", "unused"} == set(wrong)
    talk.did(MOVE)
    assert named(talk.state, "reply[Done.]") == {"reply": 1.0, "made": 0.25, "worked": 0.25}
    assert "repeated_call" in named(talk.state, MOVE)


def test_no_policy_chooses_among_responses_that_nobody_proposes() -> None:
    with pytest.raises(ValueError, match=r"features offer actions to choose from, got IAD/BFCL-v0.*--backend hf"):
        numeric("linear", "IAD/BFCL-v0", "policy")
