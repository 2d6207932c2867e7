"""A local server that knows who asked it for something."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Witness:
    """A local server: serves one page at `/`, and knows who asked for `/leak/...`."""

    def __init__(self) -> None:
        self.page = ""
        self._hits: set[str] = set()
        self._changed = threading.Condition()
        witness = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.startswith("/leak/"):
                    witness.saw(self.path.removeprefix("/leak/").partition("?")[0])
                body = witness.page.encode() if self.path == "/" else b""
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def url(self, name: str) -> str:
        return f"{self.origin}/leak/{name}"

    def saw(self, name: str) -> None:
        with self._changed:
            self._hits.add(name)
            self._changed.notify_all()

    def was_asked(self, name: str, *, within_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: name in self._hits, within_s)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
