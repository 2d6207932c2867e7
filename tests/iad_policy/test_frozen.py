"""Values that are made and copied fast are what `dataclasses` alone would make of them."""

import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest

from iad_policy.requests import Propose, Verify
from iad_policy.types import Candidate, Decision, State, Verdict
from iad_policy.types.frozen import changed, made_fast

STATE = State("a room", {"step": 0}, id="s")
CANDIDATE = Candidate("go", "why not", key="go", verdict=Verdict(0.5, "fine"), at="s")
VALUES = [
    STATE,
    Verdict(0.5),
    CANDIDATE,
    Decision(STATE, (CANDIDATE,), CANDIDATE, {}),
    Propose(STATE, 2),
    Verify(STATE, [CANDIDATE]),
]


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    count: int = 1
    parts: dict[str, int] = field(default_factory=dict)


@made_fast
@dataclass(frozen=True, slots=True)
class Fast:
    name: str
    count: int = 1
    parts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lone:
    name: str


@dataclass(frozen=True, slots=True)
class Named:
    name: str
    count: int = field(default=1, kw_only=True)


@dataclass(frozen=True, slots=True)
class Longer(Verdict):
    why: str = ""


def test_a_value_is_made_as_dataclasses_make_it() -> None:
    assert str(inspect.signature(Fast)) == str(inspect.signature(Plain))
    for arguments in (("a",), ("a", 2), ("a", 2, {"x": 1})):
        fast, plain = Fast(*arguments), Plain(*arguments)
        assert [getattr(fast, one.name) for one in fields(fast)] == [getattr(plain, one.name) for one in fields(plain)]
    assert Fast(name="a", count=3) == Fast("a", 3)
    assert Fast("a").parts is not Fast("a").parts
    assert pickle.loads(pickle.dumps(Fast("a", 2))) == Fast("a", 2)
    with pytest.raises(FrozenInstanceError):
        Fast("a").name = "b"  # type: ignore[misc]
    for kind in (Fast, Plain):
        with pytest.raises(TypeError, match=rf"^{kind.__name__}\.__init__\(\) missing 1 required .* 'name'$"):
            kind()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
            kind("a", other=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_copy_is_the_one_of_replace(value: Any) -> None:
    for one in fields(value):
        assert changed(value, **{one.name: None}) == replace(value, **{one.name: None})
        assert getattr(changed(value, **{one.name: None}), one.name) is None
    assert changed(value) == value
    assert changed(value) is not value


@pytest.mark.parametrize("value", [Lone("a"), Named("a", count=2), Longer(0.5, why="said"), Plain("a", 2)])
def test_whatever_a_user_made_is_copied(value: Any) -> None:
    name = fields(value)[0].name
    assert changed(value, **{name: "b"}) == replace(value, **{name: "b"})
    assert changed(value) == value


@pytest.mark.parametrize("value", [CANDIDATE, Lone("a")])
def test_a_field_that_is_not_there_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        changed(value, colour="red")
