"""The functions that are offered to an agent, and what is written of them."""

import json
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

from iad_envs.frozen import FrozenDict, frozen


class FunctionOffer:
    """Documents of functions. It is never changed, so all states of a task share it.

    Args:
        documents: The documents, in the order in which they are shown.
    """

    def __init__(self, documents: Iterable[Mapping[str, Any]]) -> None:
        self.documents: Mapping[str, FrozenDict] = {one["name"]: frozen(one) for one in documents}

    def without(self, names: Collection[str]) -> "FunctionOffer":
        """Return the offer without some functions."""
        if not names:
            return self
        return FunctionOffer(one for name, one in self.documents.items() if name not in names)

    @cached_property
    def tools(self) -> tuple[FrozenDict, ...]:
        """The documents as data."""
        return tuple(self.documents.values())

    @cached_property
    def lines(self) -> str:
        """The documents as JSON, one a line."""
        return "\n".join(json.dumps(one, ensure_ascii=False) for one in self.tools)

    @cached_property
    def names(self) -> str:
        """The names in a line."""
        return ", ".join(self.documents)

    @cached_property
    def examples(self) -> tuple[str, ...]:
        """A call without arguments of each function."""
        return tuple(f"[{name}()]" for name in self.documents)
