"""Product search: one protocol, one file per engine, one line per engine in the table below."""

from collections.abc import Iterable
from importlib import import_module
from typing import NamedTuple, Protocol, cast

__all__ = ["ENGINES", "Hit", "SearchEngine", "UnknownEngineError", "load_engine"]

ENGINES = {
    "bm25": "webshop_server.search.bm25:BM25",
}


class Hit(NamedTuple):
    """One product found.

    Attributes:
        asin: The product's id.
        score: How well it matches; higher is better, comparable within one answer only.
    """

    asin: str
    score: float


class SearchEngine(Protocol):
    """Finds products by text; built once over a catalogue and never changed."""

    @property
    def name(self) -> str:
        """The engine's name in `ENGINES`."""

    def search(self, query: str, k: int = 50) -> list[Hit]:
        """Return at most `k` hits, best first, equal scores by id; accepts any text without raising."""


class UnknownEngineError(ValueError):
    """The name is not in `ENGINES`."""


def load_engine(name: str, documents: Iterable[tuple[str, str]]) -> SearchEngine:
    """Build the engine called `name` over `documents`, pairs of (asin, text).

    Raises:
        UnknownEngineError: There is no engine of that name.
    """
    if name not in ENGINES:
        known = ", ".join(sorted(ENGINES))
        raise UnknownEngineError(f"expected a search engine, one of {known}; got {name!r}; pick one of these")
    module, _, cls = ENGINES[name].partition(":")
    return cast(SearchEngine, getattr(import_module(module), cls)(documents))
