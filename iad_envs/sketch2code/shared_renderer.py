"""One browser for all environments of a process: it runs while somebody holds a lease, and ends with the last."""

import os
import threading
import weakref
from collections.abc import Mapping
from hashlib import blake2b

from iad_envs.sketch2code.page import RenderLimits
from iad_envs.sketch2code.renderer import Renderer

_Key = tuple[object, ...]
_lock = threading.RLock()  # a lease may be collected, and so given back, while another is taken
_shared: dict[_Key, tuple[Renderer, set[int]]] = {}
_n_leases = 0


class RendererLease:
    """The right to use a shared renderer; given back by `close()`, or when nothing refers to it any more.

    Args:
        chromium: See `Renderer`, as for the others.
        scripts: Whether pages may run scripts.
        assets: Files beside every page.
        limits: What a page may cost.
        n_tabs: Pages rendered side by side by all who share.
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
        # The process is part of the key: a forked child can't use its parent's pipes.
        key = (os.getpid(), chromium, scripts, digests, limits, n_tabs)
        with _lock:
            if key not in _shared:
                made = Renderer(chromium=chromium, scripts=scripts, assets=assets, limits=limits, n_tabs=n_tabs)
                _shared[key] = made, set()
            self.renderer, holders = _shared[key]
            _n_leases += 1
            holders.add(_n_leases)
            # Runs at the interpreter's end as well, if nothing gave the lease back before.
            self.close = weakref.finalize(self, _give_back, key, _n_leases)
            """Give it back; the last one to do so ends the browser. Doing it twice is harmless."""


def _give_back(key: _Key, number: int) -> None:
    if key[0] != os.getpid():
        return  # a forked copy: the parent's browser is not ours to end
    with _lock:
        renderer, holders = _shared[key]
        holders.discard(number)
        if holders:
            return
        del _shared[key]
    renderer.close()
