"""A model's endpoint: what reaches the model's own server, and what is refused before it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from iad_policy.commands.endpoint import ModelEndpoint

MODEL: Any = SimpleNamespace(server_options=dict)


class Handler(BaseHTTPRequestHandler):
    """Stands for llama.cpp's server: it tells what it was sent. Its second part waits until the first one was read."""

    protocol_version = "HTTP/1.1"
    read = threading.Event()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"{self.path} {self.headers['Authorization']} {body.decode()}\n".encode())
        self.read.wait(10)
        self.wfile.write(b"[DONE]\n")
        self.close_connection = True

    def log_message(self, *args: Any) -> None: ...


@contextmanager
def endpoint() -> Iterator[tuple[ModelEndpoint, dict[str, Any]]]:
    """A running endpoint, and the options with which its model's server was started."""
    given: dict[str, Any] = {}
    inner = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=inner.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def load(options: dict[str, Any]) -> Any:
        given.update(options)
        return SimpleNamespace(listening_address=f"http://127.0.0.1:{inner.server_port}")

    front = ModelEndpoint(MODEL, load=load)
    try:
        yield front, given
    finally:
        front.close()
        inner.shutdown()
        thread.join()
        inner.server_close()


@pytest.mark.parametrize(
    ("headers", "n_bytes", "status", "said"),
    [
        ({}, 9, 200, ""),
        ({"Host": "localhost:1"}, 9, 200, ""),
        ({"Origin": "http://localhost:5173"}, 9, 200, ""),
        ({"Host": "models.example"}, 0, 403, "Host"),
        ({"Origin": "http://models.example"}, 0, 403, "Origin"),
        ({"Origin": "null"}, 0, 403, "Origin"),
        ({}, (1 << 22) + 1, 413, "4194304 bytes"),
    ],
)
def test_requests_to_this_machine_reach_the_model(headers: Any, n_bytes: int, status: int, said: str) -> None:
    """With its key. They come back part by part."""
    Handler.read.clear()
    with endpoint() as (front, given):
        client = HTTPConnection("127.0.0.1", front.port, timeout=20)
        body = b"x" * n_bytes if status == 200 else b""  # it is refused before it is read
        sent = {"Authorization": "Bearer any", "Content-Length": str(n_bytes), **headers}
        client.request("POST", "/v1/completions?x=1", body, sent)
        answer = client.getresponse()
        assert answer.status == status
        if status == 200:
            assert answer.readline().decode() == f"/v1/completions?x=1 Bearer {given['key']} {'x' * n_bytes}\n"
            Handler.read.set()
            assert answer.readline() == b"[DONE]\n"
            assert len(given["key"]) == 32
        else:
            assert said in answer.read().decode()
        client.close()
        assert front.address == f"http://127.0.0.1:{front.port}/v1"


def test_a_model_that_can_not_be_loaded_frees_the_port() -> None:
    def load(options: dict[str, Any]) -> Any:
        raise RuntimeError("no such file")

    with pytest.raises(RuntimeError, match="no such file"):
        ModelEndpoint(MODEL, load=load)
    assert not [thread for thread in threading.enumerate() if thread.name == "iad-server"]
