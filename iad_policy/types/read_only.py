"""Makes values read-only, at any depth, as one value is handed to an agent, a verifier and the other candidates.

Dicts and lists become `ReadOnlyDict` and `ReadOnlyList`, which are dicts and lists in everything but change: they equal
plain ones, and `json.dumps`, `isinstance` and pickle work. A copy can be changed: `copy.copy` and `.copy()` return a
plain dict or list, and `copy.deepcopy` one that is plain at any depth.
"""

import copy
from collections.abc import Mapping
from operator import is_
from typing import Any, NoReturn

import numpy as np

from iad_policy.errors import ReadOnlyError


def _refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
    raise ReadOnlyError(
        f"expected to read what all agents and verifiers are given, got an attempt to change {self!r:.100}; change "
        "a copy of it: copy.deepcopy(...)"
    )


class ReadOnlyDict(dict[Any, Any]):
    """A dict that can't be changed. Its parts are as they were given; `read_only` makes them read-only too."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return copy.deepcopy(dict(self), memo)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


class ReadOnlyList(list[Any]):
    """A list that can't be changed. Its parts are as they were given; `read_only` makes them read-only too."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return copy.deepcopy(list(self), memo)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self),)


_SIMPLE = frozenset({str, int, float, bool, type(None), bytes})


def read_only(value: Any) -> Any:
    """Return a value that equals the given one and can't be changed. The given one is not changed.

    Every mapping becomes a `ReadOnlyDict`, every list a `ReadOnlyList`, every set a frozenset, and every array a view
    with `writeable=False`. Tuples keep their type. Objects of other types are returned as they are.
    """
    # Most parts are simple, and are not called for: every state of a simulation is made read-only.
    kind = type(value)
    if kind in _SIMPLE or (kind is tuple and not value) or isinstance(value, (ReadOnlyDict, ReadOnlyList)):
        return value
    if isinstance(value, list):
        return ReadOnlyList([part if type(part) in _SIMPLE else read_only(part) for part in value])
    if isinstance(value, tuple):
        return _with_parts(value, [part if type(part) in _SIMPLE else read_only(part) for part in value])
    if kind is dict or isinstance(value, Mapping):  # the first is much faster
        parts = {key: part if type(part) in _SIMPLE else read_only(part) for key, part in value.items()}
        return ReadOnlyDict(parts)
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def writable(value: Any) -> Any:
    """Return what `read_only` was given, as something that can be changed: arrays are copied, sets stay frozen."""
    if type(value) in _SIMPLE:
        return value
    if isinstance(value, ReadOnlyList):
        return [writable(part) for part in value]
    if isinstance(value, tuple):
        return _with_parts(value, [writable(part) for part in value])
    if isinstance(value, ReadOnlyDict):
        return {key: writable(part) for key, part in value.items()}
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return value.copy()
    return value


def _with_parts(value: tuple[Any, ...], parts: list[Any]) -> tuple[Any, ...]:
    return value if all(map(is_, value, parts)) else tuple.__new__(type(value), parts)
