"""Names of values, and values as JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from iad_policy.types import Candidate, Usage, Verdict
from iad_policy.types.hashing import decode, digest, dumps, encode

SURROGATES = st.text(st.characters(exclude_categories=()))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | SURROGATES
VALUES = st.recursive(
    SCALARS | arrays.arrays(st.sampled_from(["u1", "<i8", "f4", "?"]), arrays.array_shapes(max_dims=3, min_side=0)),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


def identical(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return type(other) is np.ndarray and one.dtype == other.dtype and one.tobytes() == other.tobytes()
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(identical(one[key], other[key]) for key in one)
    return type(one) is type(other) and repr(one) == repr(other)


@given(VALUES)
def test_decoding_gives_back_what_was_encoded_and_its_name(value: Any) -> None:
    back = decode(json.loads(dumps({"value": encode(value)}))["value"])
    assert identical(back, value)
    assert digest(back) == digest(value)


@given(st.lists(SCALARS, max_size=4), st.lists(SCALARS, max_size=4))
def test_different_values_have_different_names(one: list[Any], other: list[Any]) -> None:
    assert (digest(*one) == digest(*other)) == (repr(one) == repr(other))


def test_a_name_is_the_same_in_every_process() -> None:  # the salt of this one is drawn
    code = "from iad_policy.types.hashing import digest; print(digest('a', {'x': {1, 'b'}}, 0.1, (None,)))"
    asked = {"cwd": Path(__file__).parents[2], "env": {**os.environ, "PYTHONHASHSEED": "1"}, "text": True}
    done = subprocess.check_output([sys.executable, "-c", code], **asked)
    assert done == digest("a", {"x": {1, "b"}}, 0.1, (None,)) + "\n"


def test_numpy_scalars_are_named_as_their_numbers_candidates_without_costs_and_some_objects_not_at_all() -> None:
    assert digest(np.int64(3), np.float32(0.5), np.bool_(True)) == digest(3, 0.5, True)
    assert decode(encode(np.int64(3))) == 3
    cheap, dear = Candidate("go"), Candidate("go", usage=Usage(prompt_tokens=9), id="0.1.0")
    assert digest(cheap) == digest(dear) != digest(Candidate("go", verdict=Verdict(1.0)))
    with pytest.raises(TypeError, match="has no stable name"):
        digest(object())
