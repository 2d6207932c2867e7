"""The program of the server's process: llama.cpp's OpenAI-compatible server, which ends with the process that asked.

It is run as a file, so that it starts without importing this project. Its options come as one line of JSON on standard
input, and its address goes to standard output the same way. It ends when standard input is closed or its parent dies:
a kill -9 of the parent does both, but a forked child of the parent may keep the pipe open.
"""

import json
import os
import select
import sys
from threading import Thread
from typing import Any

WATCH_S = 0.5
"""Interval in which the parent is looked for."""


def end_with(parent: int) -> None:
    """End this process when standard input is closed or the parent is another one."""
    while os.getppid() == parent:
        readable, _, _ = select.select([sys.stdin], [], [], WATCH_S)
        if readable and not os.read(sys.stdin.fileno(), 1):
            break
    os._exit(0)


def started(options: dict[str, Any]) -> Any:
    """Load the model and return the server, which answers in threads of its own."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options["path"]
    params.port = options["port"]
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
    """Serve until the parent ends."""
    options = json.loads(sys.stdin.readline())
    # llama.cpp writes to the file descriptors; the address must not stand among its lines.
    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    Thread(target=end_with, args=(options["parent"],), daemon=True).start()
    server = started(options)
    said.write(json.dumps({"address": server.listening_address}) + "\n")
    said.close()
    end_with(options["parent"])


if __name__ == "__main__":
    main()
