"""Product search: one protocol, one file per engine, one line per engine in the table below."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

ENGINES: Mapping[str, str] = {
    "bm25": "webshop_server.search.bm25:BM25",
    "dense": "webshop_server.search.dense:Dense",
    "hybrid": "webshop_server.search.hybrid:Hybrid",
    "lucene": "webshop_server.search.lucene:Lucene",
}
Documents = Iterable[tuple[str, str]]
T = TypeVar("T")


class Hit(NamedTuple):
    """One search result.

    Attributes:
        asin: The product's id.
        score: Relevance score. Higher is better; scores are comparable within one query only.
    """

    asin: str
    score: float


class SearchEngine(Protocol):
    """Finds products by text. An engine is built once for a catalogue and never changes."""

    @property
    def name(self) -> str:
        """The engine's name in `ENGINES`."""

    def search(self, query: str, k: int = 50) -> list[Hit]:
        """Return at most `k` hits, best first, equal scores ordered by id. Any text is accepted."""


class UnknownEngineError(ValueError):
    """The name is not in `ENGINES`."""


def load_engine(name: str, documents: Documents) -> SearchEngine:
    """Build a search engine in the memory of this process.

    Args:
        name: One of `ENGINES`. `dense` and `hybrid` can name an encoder, as in `dense:<model>`.
        documents: Pairs of (asin, text) to index.

    Raises:
        UnknownEngineError: There is no engine of that name.
        ImportError: A package that the engine needs is not installed. The error text names it.
    """
    engine, options = _kind(name)
    parts = index_parts(name)
    documents = list(documents) if len(parts) > 1 else documents
    built: SearchEngine = (
        engine(documents, **options) if parts == (name,) else engine([load_engine(part, documents) for part in parts])
    )
    return built


def build_engine(name: str, documents: Documents, folder: Path, *, n_workers: int = 1) -> None:
    """Write the index of an engine to a folder in bounded memory. `hybrid` has no index of its own.

    The errors are those of `load_engine`.
    """
    engine, options = _kind(name)
    engine.build(documents, folder, n_workers=n_workers, **options)


def require_engine(name: str) -> None:
    """Check that an engine exists and that its packages are installed. The errors are those of `load_engine`."""
    for part in index_parts(name):
        _kind(part)[0].require()


def open_engine(name: str, folder: Callable[[str], Path]) -> SearchEngine:
    """Open the engine called `name`. `folder` returns the folder of an engine's index.

    The errors are those of `load_engine`.
    """
    engine, options = _kind(name)
    parts = index_parts(name)
    opened: SearchEngine = (
        engine.open(folder(name), **options)
        if parts == (name,)
        else engine([open_engine(part, folder) for part in parts])
    )
    return opened


def index_parts(name: str) -> tuple[str, ...]:
    """Return the engines whose indexes an engine needs: itself, or the engines that `hybrid` combines."""
    _kind(name)
    base, colon, encoder = name.partition(":")
    return ("bm25", f"dense{colon}{encoder}") if base == "hybrid" else (name,)


def index_name(name: str) -> str:
    """Return the name of an engine's index. It changes whenever the content of the index would change."""
    engine, options = _kind(name)
    base, _, encoder = name.partition(":")
    readable = re.sub(r"[^\w.-]+", "-", encoder)[:40]
    exactly = f"-{readable}-{sha256(encoder.encode()).hexdigest()[:8]}" if options else ""
    return f"{base}-{engine.version}{exactly}"


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` items. The last list may be shorter."""
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch


def _kind(name: str) -> tuple[Any, dict[str, str]]:
    """Return an engine's class and the options in its name."""
    base, colon, encoder = name.partition(":")
    if base not in ENGINES:
        known = ", ".join(sorted(ENGINES))
        raise UnknownEngineError(f"expected a search engine, one of {known}; got {name!r}; pick one of these")
    if colon and (base not in ("dense", "hybrid") or not encoder):
        takes = "dense:<model> or hybrid:<model>"
        raise UnknownEngineError(f"expected a search engine, {base} or {takes}; got {name!r}; pick one of these")
    module, _, cls = ENGINES[base].partition(":")
    return getattr(import_module(module), cls), {"encoder": encoder} if encoder else {}
