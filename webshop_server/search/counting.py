"""Counts the terms of many documents on several cores."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from webshop_server.search.analyzer import analyze
from webshop_server.search.batches import batches
from webshop_server.search.inverting import Counted, count_terms

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["count_side_by_side"]

DOCUMENTS_A_BATCH = 2000
Batch = list[tuple[str, str]]


def count_side_by_side(documents: Iterable[tuple[str, str]], n_workers: int) -> Iterator[Counted]:
    """Count documents batch by batch, in order. A single worker runs in this process."""
    if n_workers < 2:
        yield from map(_count, batches(documents, DOCUMENTS_A_BATCH))
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Spawned processes: forking a process with threads can hang.
    with ProcessPoolExecutor(n_workers, multiprocessing.get_context("spawn")) as pool:
        waiting: deque[Future[Counted]] = deque()
        for batch in batches(documents, DOCUMENTS_A_BATCH):
            waiting.append(pool.submit(_count, batch))
            if len(waiting) > 2 * n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _count(batch: Batch) -> Counted:
    return count_terms(batch, analyze)
