"""A real local HTTP server for files. It counts the bytes that it sends, and misbehaves when told to."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CHUNK = 1 << 14


@dataclass
class Served:
    content: bytes = b""
    etag: str = '"v1"'  # "" for none
    ranges: bool = True
    statuses: list[int] = field(default_factory=list)  # of the first answers, which have no content
    cuts: list[int] = field(default_factory=list)  # numbers of bytes after which the first connections are closed
    kind: str = "application/octet-stream"
    headers: dict[str, str] = field(default_factory=dict)
    hold: threading.Event | None = None  # waited for when `hold_at` bytes of an answer were sent
    hold_at: int = 0


@dataclass
class Asked:
    path: str
    headers: dict[str, str]
    sent: int = 0


class FileServer:
    """Files by path. A path of a proxied request is the whole address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.files: dict[str, Served] = {}
        self.asked: list[Asked] = []
        self.on_request: Callable[[], None] = lambda: None

    @property
    def sent(self) -> int:
        return sum(asked.sent for asked in self.asked)

    def serve(self, path: str, content: bytes = b"", **facts: Any) -> str:
        self.files[path] = Served(content, **facts)
        return f"{self.address}{path}"


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_GET(self) -> None:
        files = self.server.files
        files.on_request()
        asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()})
        files.asked.append(asked)
        served = files.files.get(self.path)
        if served is None or served.statuses:
            self.send_response(served.statuses.pop(0) if served else 404)
            for name, value in (served.headers if served else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start = self._start(served)
        self.send_response(206 if start is not None else 200)
        body = served.content[start or 0 :]
        if start is not None:
            self.send_header("Content-Range", f"bytes {start}-{len(served.content) - 1}/{len(served.content)}")
        for name, value in {"ETag": served.etag, "Content-Type": served.kind, **served.headers}.items():
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = served.cuts.pop(0) if served.cuts else len(body)
        with suppress(ConnectionError):
            self._send(served, body[:cut], asked)

    def _send(self, served: Served, body: bytes, asked: Asked) -> None:
        for place in range(0, len(body), CHUNK):
            if served.hold is not None and place >= served.hold_at:
                self.wfile.flush()
                served.hold.wait(30)
            asked.sent += len(body[place : place + CHUNK])  # before, as a client that has all may look at once
            self.wfile.write(body[place : place + CHUNK])

    def _start(self, served: Served) -> int | None:
        """The first byte that was asked for, if the range may be answered."""
        given = self.headers.get("Range", "")
        if not given or not served.ranges or self.headers.get("If-Range") != served.etag:
            return None
        return int(given.removeprefix("bytes=").partition("-")[0])

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    files: FileServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextmanager
def serving_files() -> Iterator[FileServer]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.files = FileServer(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.files
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
