"""A local server that speaks as llama.cpp's server does, and misbehaves when told to."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, cast
from urllib.parse import urlsplit

from iad_policy.models.local.client import LocalModel
from iad_policy.models.local.files import ModelFile
from iad_policy.models.local.gguf import Gguf
from iad_policy.models.local.process import ServerProcess
from tests.iad_policy.models.openai_server import OpenAIServer, Reply, Slowly, event

EventStream = Iterator[dict[str, Any]]
N_PROMPT, N_CACHED = 11, 5


class FakeLlama:
    """A process with a server, as `ServerProcess` is one."""

    host = "127.0.0.1"
    key = "secret"

    def __init__(self, port: int) -> None:
        self.port = port
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
    """Answers every request with the events of `reply`, which may be replaced; a stream may end before its answer does.

    Attributes:
        requests: The requests so far.
        started: Options of the servers that were started.
        processes: Those servers.
    """

    def __init__(self, server: OpenAIServer) -> None:
        self.server = server
        self.requests = server.requests
        self.started: list[Mapping[str, Any]] = []
        self.processes: list[FakeLlama] = []
        self.reply: Callable[[dict[str, Any]], EventStream] = answers
        server.reply_to = lambda request: Reply(Slowly(map(event, self.reply(request)), is_chunked=True))

    def start(self, options: Mapping[str, Any]) -> ServerProcess:
        """Start a process, of which there is none."""
        self.started.append(options)
        self.processes.append(FakeLlama(urlsplit(self.server.address).port or 0))
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
