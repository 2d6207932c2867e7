"""Shares one browser between all environments of a process. It ends when the last lease is released."""

import os
import threading
import weakref
from collections.abc import Mapping
from hashlib import blake2b

from iad_envs.sketch2code.page import RenderLimits
from iad_envs.sketch2code.renderer import Renderer

_Key = tuple[object, ...]
_lock = threading.RLock()  # a lease may be garbage-collected, and thus released, while another is taken
_shared: dict[_Key, tuple[Renderer, set[int]]] = {}
_n_leases = 0


class RendererLease:
    """A lease on a shared renderer. It is released by `close()` or by garbage collection.

    Args:
        chromium: Path or name of the browser. See `find_chromium`.
        scripts: Whether pages may run scripts.
        assets: Files available to every page, by name.
        limits: Resource limits of a page.
        n_tabs: Number of pages rendered in parallel, in total.
    """

    def __init__(
        self,
        *,
        chromium: str | None = None,
        scripts: bool = False,
        assets: Mapping[str, bytes] | None = None,
        limits: RenderLimits | None = None,
        n_tabs: int = 2,
    ) -> None:
        global _n_leases
        digests = tuple(sorted((name, blake2b(body).hexdigest()) for name, body in (assets or {}).items()))
        # The key contains the process, because a forked child can't use its parent's pipes.
        key = (os.getpid(), chromium, scripts, digests, limits, n_tabs)
        with _lock:
            if key not in _shared:
                made = Renderer(chromium=chromium, scripts=scripts, assets=assets, limits=limits, n_tabs=n_tabs)
                _shared[key] = made, set()
            self.renderer, holders = _shared[key]
            _n_leases += 1
            holders.add(_n_leases)
            # Also runs when the interpreter ends, if the lease is still held.
            self.close = weakref.finalize(self, _give_back, key, _n_leases)
            """Release the lease. Releasing the last one ends the browser. Calling this twice is harmless."""


def _give_back(key: _Key, number: int) -> None:
    if key[0] != os.getpid():
        return  # a forked copy must not end its parent's browser
    with _lock:
        renderer, holders = _shared[key]
        holders.discard(number)
        if holders:
            return
        del _shared[key]
    renderer.close()
