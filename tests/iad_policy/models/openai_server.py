"""A real local server that speaks the chat-completions protocol, and misbehaves when told to."""

import json
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """One scripted response: an answer's text, a JSON value, or raw bytes."""

    body: Any = "click[buy now]"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hold: threading.Event | threading.Barrier | None = None  # before answering; an event: never, until the test's end
    is_cut: bool = False  # the connection is closed in the middle of the body
    is_reset: bool = False  # instead of an answer


@dataclass
class Slowly:
    """A body that is sent in parts, with pauses between them. Those without an end end when the client goes."""

    parts: Iterable[bytes]
    pause_s: float = 0.0
    is_chunked: bool = False  # for a client that would keep its connection; the last chunk is never sent


class OpenAIServer:
    """Answers each request with the next scripted reply, the last one for ever."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.n_at_once = 0
        self.changed = threading.Condition()
        self.released = threading.Event()
        self.begin()

    def begin(self) -> None:
        """Forget all that was asked and scripted, as a new server would."""
        self.end()
        self.released = threading.Event()
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.streams = True
        self.most_at_once = 0
        self.replies: list[Reply] = [Reply()]
        self.reply_to: Callable[[dict[str, Any]], Reply] = lambda request: self.next_reply()

    def end(self) -> None:
        """End the answers that wait, or have no end."""
        self.released.set()
        assert self.is_idle()

    def is_idle(self) -> bool:
        """Wait until nobody is answered any longer."""
        with self.changed:
            return self.changed.wait_for(lambda: self.n_at_once == 0, timeout=20)

    def script(self, *replies: Reply) -> None:
        self.replies = list(replies)

    def next_reply(self) -> Reply:
        with self.changed:
            return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    @contextmanager
    def answering(self, request: dict[str, Any], key: str | None) -> Iterator[Reply]:
        """Note a request, and return its reply."""
        with self.changed:
            self.requests.append(request)
            self.keys.append(key)
            self.n_at_once += 1
            self.most_at_once = max(self.most_at_once, self.n_at_once)
        try:
            yield self.reply_to(request)
        finally:
            with self.changed:
                self.n_at_once -= 1
                self.changed.notify_all()


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


def chunks(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of a completion as a stream has them: each choice word by word, its calls in pieces, then the usage."""
    common = {**body, "object": "chat.completion.chunk"}
    usage = common.pop("usage", None)
    for choice in common.pop("choices", ()):
        message, logprobs = choice["message"], choice.get("logprobs")
        about = {"index": choice["index"], "finish_reason": None}
        yield {**common, "choices": [{**about, "delta": {"role": "assistant", "content": ""}}]}
        if message.get("refusal"):
            yield {**common, "choices": [{**about, "delta": {"refusal": message["refusal"]}}]}
        for name in ("reasoning_content", "reasoning"):
            for thought in message.get(name, "").splitlines(keepends=True):
                yield {**common, "choices": [{**about, "delta": {name: thought}}]}
        for place, word in enumerate((message["content"] or "").split(" ")):
            text = word if place == 0 else f" {word}"
            first = {} if place or logprobs is None else {"logprobs": logprobs}
            yield {**common, "choices": [{**about, "delta": {"content": text}, **first}]}
        for fragment in fragments(message.get("tool_calls", ())):
            yield {**common, "choices": [{**about, "delta": {"tool_calls": [fragment]}}]}
        yield {**common, "choices": [{**about, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if usage is not None:
        yield {**common, "choices": [], "usage": usage}


def fragments(calls: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The pieces of calls: first the id and the name, then the arguments, four characters at a time."""
    for index, call in enumerate(calls):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        yield {"index": index, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        for place in range(0, len(arguments), 4):
            yield {"index": index, "function": {"arguments": arguments[place : place + 4]}}


def calling(*calls: tuple[str, str], text: str | None = None, **fields: Any) -> dict[str, Any]:
    """The JSON of an answer that calls functions, each a name and the text of its arguments."""
    made = [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {}), **fields}
    finish = "tool_calls" if made else "stop"
    return completion(None, choices=[{"index": 0, "finish_reason": finish, "message": message}])


def event(data: dict[str, Any] | str) -> bytes:
    """One event of a stream."""
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # many workers connect at once, and one that is turned away is no part of the script

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # the client has given up, or was killed
            super().handle_error(request, client_address)


@contextmanager
def serving() -> Iterator[OpenAIServer]:
    """Run a server on a free port of this machine, and leave no thread behind."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with server.answering(body, self.headers.get("Authorization")) as reply:
                self.answer(reply, body)

        def answer(self, reply: Reply, request: dict[str, Any]) -> None:
            if isinstance(reply.hold, threading.Barrier):
                reply.hold.wait(timeout=10)
            elif reply.hold is not None:
                server.released.wait()
                return
            if reply.is_reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                os.close(self.connection.detach())
                self.close_connection = True
                return
            body = completion(reply.body) if isinstance(reply.body, str) else reply.body
            if request.get("stream") and server.streams and reply.status == 200 and isinstance(body, dict):
                body = b"".join(map(event, [*chunks(body), "[DONE]"]))
            raw = body if isinstance(body, bytes | Slowly) else json.dumps(body).encode()
            is_chunked = isinstance(body, Slowly) and body.is_chunked
            self.protocol_version = "HTTP/1.1" if is_chunked else "HTTP/1.0"
            self.send_response(reply.status)
            chunked = {"Transfer-Encoding": "chunked"} if is_chunked else {}
            for name, value in {"Content-Type": "application/json", **chunked, **reply.headers}.items():
                self.send_header(name, value)
            if reply.is_cut:
                self.send_header("Content-Length", str(len(raw)))
                raw = raw[: len(raw) // 2]
                self.close_connection = True
            self.end_headers()
            if not isinstance(body, Slowly):
                self.wfile.write(raw)
                return
            with suppress(ConnectionError):  # the client has given up
                for part in body.parts:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part) if is_chunked else part)
                    if server.released.wait(body.pause_s):
                        break

    httpd = _Server(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = False  # so that closing joins them
    server = OpenAIServer(f"http://127.0.0.1:{httpd.server_port}/v1")
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        httpd.shutdown()
        httpd.server_close()
        thread.join()
