"""Dense search: nearest vectors with FAISS."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from webshop_server.extras import extra_command
from webshop_server.search import Hit, batches
from webshop_server.search.encoders import HashedEncoder, VectorEncoder, load_encoder

ALL_COMPARED = 50_000
Documents = Iterable[tuple[str, str]]


class Dense:
    """Finds the products whose vectors are nearest to the query's, by inner product.

    Args:
        documents: Pairs of (asin, text).
        encoder: An encoder, or the name of a sentence encoder. Default: hashed character n-grams.
        all_compared: Largest number of products for which a query is compared with every vector. Above it, only the
            vectors of the nearest clusters are compared.

    Raises:
        ImportError: faiss, or the encoder's package, is not installed.
    """

    name = "dense"
    version: ClassVar[str] = f"1-{HashedEncoder.version}"

    def __init__(
        self, documents: Documents, *, encoder: VectorEncoder | str = "", all_compared: int = ALL_COMPARED
    ) -> None:
        self._encoder = _encoder(encoder)
        self._index, self._asins = _indexed(documents, self._encoder, all_compared)

    @classmethod
    def build(
        cls,
        documents: Documents,
        folder: Path,
        *,
        n_workers: int = 1,
        encoder: VectorEncoder | str = "",
        all_compared: int = ALL_COMPARED,
    ) -> None:
        """Write an index to a folder. Large indexes store one byte per vector component."""
        index, asins = _indexed(documents, _encoder(encoder), all_compared)
        _faiss().write_index(index, str(folder / "vectors.faiss"))
        np.save(folder / "asins.npy", asins)

    @classmethod
    def open(cls, folder: Path, *, encoder: VectorEncoder | str = "") -> Self:
        """Open an index. It stays on disk if FAISS can memory-map it."""
        faiss = _faiss()
        engine = cls.__new__(cls)
        engine._encoder = _encoder(encoder)
        engine._index = faiss.read_index(str(folder / "vectors.faiss"), faiss.IO_FLAG_MMAP)
        engine._asins = np.load(folder / "asins.npy", mmap_mode="r")
        return engine

    @staticmethod
    def require() -> None:
        """Check that the required packages are installed."""
        _faiss()

    def search(self, query: str, k: int = 50) -> list[Hit]:
        """Return at most `k` products with a positive inner product, best first."""
        (vector,) = self._encoder.encode([query])
        if k <= 0 or not len(self._asins) or not vector.any():
            return []
        # A few more, so that equal scores at the end of the list are ordered by id.
        scores, places = self._index.search(vector[None], min(k + 16, len(self._asins)))
        found = zip(places[0].tolist(), scores[0].tolist(), strict=True)
        hits = [Hit(str(self._asins[place]), score) for place, score in found if place >= 0 and score > 0]
        return sorted(hits, key=lambda hit: (-hit.score, hit.asin))[:k]


def _encoder(encoder: VectorEncoder | str) -> VectorEncoder:
    return load_encoder(encoder) if isinstance(encoder, str) else encoder


def _indexed(documents: Documents, encoder: VectorEncoder, all_compared: int) -> tuple[Any, NDArray[np.str_]]:
    """Encode and index documents batch by batch, so that many full vectors are never in memory together."""
    faiss = _faiss()
    asins: list[str] = []
    held: list[NDArray[np.float32]] = []
    index: Any = None
    for batch in batches(documents, 1000):
        vectors = encoder.encode([text[:2000] for _, text in batch])  # the title comes first
        asins += [asin for asin, _ in batch]
        if index is not None:
            index.add(vectors)
            continue
        held.append(vectors)
        if len(asins) > all_compared:  # from now on in clusters, whose centres are learned from the first vectors
            first, held = np.concatenate(held), []
            index = faiss.IndexIVFScalarQuantizer(
                faiss.IndexFlatIP(encoder.size),
                encoder.size,
                int(4 * len(first) ** 0.5),
                faiss.ScalarQuantizer.QT_8bit,
                faiss.METRIC_INNER_PRODUCT,
            )
            index.train(first[:50_000])
            index.nprobe = 32
            index.add(first)
    if index is None:
        index = faiss.IndexFlatIP(encoder.size)
        if held:
            index.add(np.concatenate(held))
    return index, np.array(asins, np.str_)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise ImportError(
            f"the search engine 'dense' expects faiss, which is not installed; {extra_command('dense')}"
        ) from None
    return faiss
