"""The program of the server's process: llama.cpp's OpenAI-compatible server, which ends with those who use it.

It is run as a file, so that it starts without importing this project. Its options are one line of JSON on standard
input. Who uses it connects to its Unix socket, is told the server's address and key once the model is loaded, and stays
connected: the connection is a lease. The system closes the connections of a process that dies, even by kill -9, and
with the last one this process ends. So threads and processes of several runs can share a server that no one leaves
behind. (A signal at the parent's death would not do: it comes when the parent's *thread* ends.)
"""

import contextlib
import json
import os
import selectors
import socket
import sys
from threading import Thread
from typing import Any

FIRST_LEASE_S = 30.0
"""Seconds within which the first connection must come."""


class Leases:
    """The connections of those who use the server.

    Args:
        listener: The socket that they connect to.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._held: list[socket.socket] = []
        self._address = b""

    def tell(self, address: bytes) -> None:
        """Tell the server's address to those who hold a lease, and to all who come."""
        self._address = address
        for lease in list(self._held):
            self._send(lease, address)

    def serve(self) -> None:
        """Return when the last lease has ended, or if none came."""
        limit_s: float | None = FIRST_LEASE_S
        while ready := self._selector.select(limit_s):
            for key, _ in ready:
                lease: Any = key.fileobj
                if lease is self._listener:
                    lease, _ = self._listener.accept()
                    self._held.append(lease)
                    self._selector.register(lease, selectors.EVENT_READ)
                    if self._address:
                        self._send(lease, self._address)
                    continue
                self._selector.unregister(lease)
                self._held.remove(lease)
                if self._held:
                    self._send(lease, b"shared\n")  # what a process that ends its lease is told if others hold one
                lease.close()
            if not self._held:
                return
            limit_s = None

    def _send(self, lease: socket.socket, text: bytes) -> None:
        with contextlib.suppress(OSError):  # it is gone, which the selector tells too
            lease.sendall(text)


def load(options: dict[str, Any]) -> Any:
    """Load the model and return the server, which answers in threads of its own."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options["path"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [options["key"]]
    params.n_ctx = options["n_context"]
    params.n_parallel = options["n_parallel"]
    params.kv_unified = True  # samples of one prompt share its cells
    params.n_batch = params.n_ubatch = options["n_batch"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options["n_threads"]
    params.n_threads_http = options["n_parallel"] + 4
    params.cache_ram_mib = options["cache_mib"]
    params.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE
    params.force_pure_content_parser = True  # the answer as sampled: our parsers read thoughts and calls
    params.verbosity = 2  # warnings and errors
    params.ui = False
    params.endpoint_slots = False
    params.cors_origins = ""
    return xllamacpp.Server(params)


def main() -> None:
    """Serve until the last lease ends."""
    options = json.loads(sys.stdin.readline())
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(options["socket"])
    listener.listen()
    print("listening", flush=True)
    # llama.cpp writes to these descriptors. A reader that has gone must not end this process.
    os.dup2(2, 1)
    leases = Leases(listener)
    servers: list[Any] = []

    def work() -> None:
        try:
            servers.append(load(options))  # it ends with its last reference
        except BaseException as error:
            print(error, file=sys.stderr, flush=True)
            os._exit(1)
        address = {"address": servers[0].listening_address, "key": options["key"], "pid": os.getpid()}
        leases.tell(json.dumps(address).encode() + b"\n")

    Thread(target=work, daemon=True).start()
    leases.serve()
    os._exit(0)  # at once: nobody waits for an answer


if __name__ == "__main__":
    main()
