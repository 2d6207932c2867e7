"""Product search: one protocol, one file per engine, one line per engine in the table below."""

import re
from collections.abc import Callable, Iterable
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

__all__ = [
    "ENGINES",
    "Hit",
    "SearchEngine",
    "UnknownEngineError",
    "build_engine",
    "index_name",
    "index_parts",
    "load_engine",
    "open_engine",
    "require_engine",
]

ENGINES = {
    "bm25": "webshop_server.search.bm25:BM25",
    "dense": "webshop_server.search.dense:Dense",
    "hybrid": "webshop_server.search.hybrid:Hybrid",
    "lucene": "webshop_server.search.lucene:Lucene",
}
TAKE_AN_ENCODER = ("dense", "hybrid")
FUSED = ("bm25", "dense")
"""The engines that `hybrid` joins."""

Documents = Iterable[tuple[str, str]]


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


def load_engine(name: str, documents: Documents) -> SearchEngine:
    """Build the engine called `name` over `documents`, pairs of (asin, text), for this process alone.

    Args:
        name: One of `ENGINES`; `dense` and `hybrid` can name an encoder, as in `dense:<model>`.
        documents: The texts to find.

    Raises:
        UnknownEngineError: There is no engine of that name.
        ImportError: The engine needs a package that is not installed; the message says which.
    """
    parts = index_parts(name)
    if len(parts) == 1:
        engine, options = _kind(name)
        return cast(SearchEngine, engine(documents, **options))
    documents = list(documents)
    return _join([load_engine(part, documents) for part in parts])


def build_engine(name: str, documents: Documents, folder: Path, *, n_workers: int = 1) -> None:
    """Write the index of an engine (not of `hybrid`, which has none of its own) to a folder, as a stream.

    Raises:
        UnknownEngineError: There is no engine of that name.
        ImportError: The engine needs a package that is not installed; the message says which.
    """
    engine, options = _kind(name)
    engine.build(documents, folder, n_workers=n_workers, **options)


def require_engine(name: str) -> None:
    """Raise now what building or opening an engine would raise later.

    Raises:
        UnknownEngineError: There is no engine of that name.
        ImportError: The engine needs a package that is not installed; the message says which.
    """
    for part in index_parts(name):
        _kind(part)[0].require()


def open_engine(name: str, folder: Callable[[str], Path]) -> SearchEngine:
    """Open the engine called `name`; `folder` says where the index of a part is.

    Raises:
        UnknownEngineError: There is no engine of that name.
        ImportError: The engine needs a package that is not installed; the message says which.
    """
    parts = index_parts(name)
    if len(parts) > 1:
        return _join([open_engine(part, folder) for part in parts])
    engine, options = _kind(name)
    return cast(SearchEngine, engine.open(folder(name), **options))


def index_parts(name: str) -> tuple[str, ...]:
    """Return the engines whose indexes an engine needs: itself, or those that `hybrid` joins."""
    _kind(name)
    base, colon, encoder = name.partition(":")
    if base != "hybrid":
        return (name,)
    return tuple(part + colon + encoder if part in TAKE_AN_ENCODER else part for part in FUSED)


def index_name(name: str) -> str:
    """Return a name of an engine's index that changes whenever the index would."""
    engine, options = _kind(name)
    base, _, encoder = name.partition(":")
    said = re.sub(r"[^\w.-]+", "-", encoder)[:40]
    exactly = f"-{said}-{sha256(encoder.encode()).hexdigest()[:8]}" if options else ""
    return f"{base}-{engine.version}{exactly}"


def _kind(name: str) -> tuple[Any, dict[str, str]]:
    """Return an engine's class and what the name adds."""
    base, colon, encoder = name.partition(":")
    if base not in ENGINES:
        known = ", ".join(sorted(ENGINES))
        raise UnknownEngineError(f"expected a search engine, one of {known}; got {name!r}; pick one of these")
    if colon and (base not in TAKE_AN_ENCODER or not encoder):
        takes = " or ".join(f"{one}:<model>" for one in TAKE_AN_ENCODER)
        raise UnknownEngineError(f"expected a search engine, {base} or {takes}; got {name!r}; pick one of these")
    module, _, cls = ENGINES[base].partition(":")
    return getattr(import_module(module), cls), {"encoder": encoder} if encoder else {}


def _join(engines: list[SearchEngine]) -> SearchEngine:
    module, _, cls = ENGINES["hybrid"].partition(":")
    return cast(SearchEngine, getattr(import_module(module), cls)(engines))
