"""A real local server that speaks the chat-completions protocol, and misbehaves when told to."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """One scripted response.

    Attributes:
        body: An answer's text, a JSON value, or raw bytes.
        hold: Waited for before answering; a server that never answers until it is shut down.
        is_cut: Whether the connection is closed in the middle of the body.
    """

    body: Any = "click[buy now]"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hold: threading.Event | threading.Barrier | None = None
    is_cut: bool = False


class OpenAIServer:
    """Answers each request with the next scripted reply, the last one for ever."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.n_at_once = 0
        self.most_at_once = 0
        self.lock = threading.Lock()
        self.replies: list[Reply] = [Reply()]
        self.reply_to: Callable[[dict[str, Any]], Reply] = lambda request: self.next_reply()

    def script(self, *replies: Reply) -> None:
        self.replies = list(replies)

    def next_reply(self) -> Reply:
        with self.lock:
            return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def completion(text: str | None, **changes: Any) -> dict[str, Any]:
    """The JSON of a chat completion; `changes` replace fields of it, None leaves one out."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "toy",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        **changes,
    }
    return {key: value for key, value in body.items() if value is not None}


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # many workers connect at once, and one that is turned away is no part of the script


@contextmanager
def serving() -> Iterator[OpenAIServer]:
    """Run a server on a free port of this machine, and leave no thread behind."""
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with server.lock:
                server.requests.append(body)
                server.keys.append(self.headers.get("Authorization"))
                server.n_at_once += 1
                server.most_at_once = max(server.most_at_once, server.n_at_once)
            try:
                self.answer(server.reply_to(body))
            finally:
                with server.lock:
                    server.n_at_once -= 1

        def answer(self, reply: Reply) -> None:
            if isinstance(reply.hold, threading.Barrier):
                reply.hold.wait(timeout=10)
            elif reply.hold is not None:
                released.wait()
                return
            body = completion(reply.body) if isinstance(reply.body, str) else reply.body
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.is_cut:
                self.send_header("Content-Length", str(len(raw)))
                raw = raw[: len(raw) // 2]
                self.close_connection = True
            self.end_headers()
            self.wfile.write(raw)

    httpd = _Server(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = False  # so that closing joins them
    server = OpenAIServer(f"http://127.0.0.1:{httpd.server_port}/v1")
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        released.set()
        httpd.shutdown()
        httpd.server_close()
        thread.join()
