"""A local server that speaks as llama.cpp's server does, and misbehaves when told to."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import Any, cast

from iad_policy.models.local.client import LocalModel
from iad_policy.models.local.files import ModelFile
from iad_policy.models.local.gguf import Gguf
from iad_policy.models.local.process import ServerProcess
from tests.iad_policy.models.openai_server import listening

EventStream = Iterator[dict[str, Any] | str]
CUT = "cut"
"""Instead of an event: the connection is closed."""
N_PROMPT, N_CACHED = 11, 5


class FakeLlama:
    """A process with a server, as `ServerProcess` is one."""

    host = "127.0.0.1"
    key = "secret"

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.pid = pid
        self.heard_at = monotonic()
        self.has_refused = self.has_ended = False

    @property
    def is_alive(self) -> bool:
        return not (self.has_refused or self.has_ended)

    def end(self) -> None:
        self.has_ended = True

    def last_words(self) -> str:
        return "no more memory"


class Llama:
    """Answers every request with `reply`, which may be replaced.

    Attributes:
        requests: The requests so far.
        started: Options of the servers that were started.
        processes: Those servers.
        released: Set at the end, so that a reply that waits for it is over.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.started: list[Mapping[str, Any]] = []
        self.processes: list[FakeLlama] = []
        self.released = Event()
        self.reply: Callable[[dict[str, Any]], EventStream] = answers
        self.status = 200
        self.port = 0
        self.lock = Lock()

    def start(self, options: Mapping[str, Any]) -> ServerProcess:
        """Start a process, of which there is none."""
        self.started.append(options)
        self.processes.append(FakeLlama(self.port, len(self.processes)))
        return cast(ServerProcess, self.processes[-1])

    def model(self, template: str = "{{ messages }}", **options: Any) -> LocalModel:
        """A client of this server."""
        file = ModelFile("toy", Path(__file__), "f00d", Gguf({"tokenizer.chat_template": template}))
        return LocalModel(file, serve=self.start, **{"n_threads": 1, "timeout_s": 20.0, **options})


def chunk(index: int, text: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """An event about one sample."""
    return {"choices": [{"index": index, "finish_reason": finish, "delta": {"content": text}, **more}]}


def progress(processed: int = N_PROMPT, index: int = 0) -> dict[str, Any]:
    """An event about the prompt."""
    shown = {"total": N_PROMPT, "cache": N_CACHED if index == 0 else 0, "processed": processed}
    return {**chunk(index), "prompt_progress": shown}


def usage(n_tokens: int, n_cached: int = 0) -> dict[str, Any]:
    """The event after the end of a sample."""
    counts = {"prompt_tokens": N_PROMPT, "completion_tokens": n_tokens}
    return {"choices": [], "usage": {**counts, "prompt_tokens_details": {"cached_tokens": n_cached}}}


def answers(request: dict[str, Any]) -> EventStream:
    """Each sample tells its seed. The last one ends first, as with llama.cpp."""
    yield progress(0)
    for index in reversed(range(request["n"])):
        yield progress(index=index)
        yield chunk(index, "seed ")
        yield chunk(index, str(request["seed"] + index))
        yield chunk(index, finish="stop")
        yield usage(3, N_CACHED if index == 0 else 0)


@contextmanager
def serving() -> Iterator[Llama]:
    """Run a server on a free port of this machine, and leave no thread behind."""
    llama = Llama()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with llama.lock:
                llama.requests.append({**body, "key": self.headers["Authorization"]})
            self.close_connection = True
            self.send_response(llama.status)
            if llama.status != 200:
                (only,) = llama.reply(body)
                self.end_headers()
                self.wfile.write(json.dumps(only).encode())
                return
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                for event in llama.reply(body):
                    if event == CUT:
                        return
                    self.send(f"data: {json.dumps(event)}\n\n" if isinstance(event, dict) else event)
                self.send("data: [DONE]\n\n")
                self.wfile.write(b"0\r\n\r\n")
            except OSError:
                pass  # the client has gone

        def send(self, text: str) -> None:
            self.wfile.write(f"{len(text.encode()):x}\r\n{text}\r\n".encode())
            self.wfile.flush()

    with listening(Handler, llama.released) as llama.port:
        yield llama
