"""Serves a model on this machine to any program, as an OpenAI-compatible endpoint: `iad serve --model`."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from iad_policy.models.local.client import N_PARALLEL, LocalModel
from iad_policy.models.local.server import load
from webshop_server.site.hosts import HostNames
from webshop_server.site.server import LOOPBACK, Server

SENT = ("CONTENT_TYPE", "HTTP_ACCEPT")
"""Headers that reach the model's server. It has a key of its own."""


class ModelEndpoint:
    """A running server of one model. It serves from construction until `close`, in threads of this process.

    It asks for no key, so whoever reaches it may use the model. Requests that were sent to another host, or by a script
    of another site, and bodies over 4 MiB are refused: llama.cpp's own server, which looks at none of this, is behind.

    Args:
        model: The model.
        host: The address to bind to.
        port: The port. 0 takes any free port. If the port is in use, the next free one is taken.
        load: Function that starts the model's server with the options of `server.py`.

    Attributes:
        port: The port in use.
        address: URL that clients take as `base_url`, for example `http://127.0.0.1:3000/v1`.

    Raises:
        OSError: No port is free, or the host is not an address of this machine.
        ModelError: There is not enough memory for the model.
        RuntimeError: The file can't be loaded.
    """

    def __init__(
        self,
        model: LocalModel,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        load: Callable[[dict[str, Any]], Any] = load,
    ) -> None:
        self._names = HostNames(host)
        self._key = secrets.token_hex(16)
        self._model: Any = None
        # It comes first: that a port can't be used is known before a model is loaded.
        self._front = Server(self._answer, host=host, port=port, threads=2 * N_PARALLEL)
        self.port: int = self._front.port
        self.address = f"{self._front.address}/v1"
        try:
            self._model = load({**model.server_options(), "key": self._key})
        except BaseException:
            self._front.close()
            raise

    def close(self) -> None:
        """Stop serving, and free the model's memory. Closing twice is harmless."""
        self._front.close()
        self._model = None  # it ends with its last reference

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass a request on, and its answer back as it comes."""
        said = self._names.refusal(None, environ.get("HTTP_ORIGIN"))  # the front has looked at the host
        model, plain = self._model, [("Content-Type", "text/plain; charset=utf-8")]
        if said:
            start_response("403 Forbidden", plain)
            return [said]
        try:
            if model is None:
                raise ConnectionError("it is being loaded, or stopped")
            answer = self._asked(environ, urlsplit(model.listening_address))
        except (OSError, HTTPException) as error:
            start_response("503 Service Unavailable", plain)
            return [f"expected an answer of the model's server, got none: {error}; ask again".encode()]
        kept = [(name, value) for name, value in answer.getheaders() if name.lower().startswith("content-")]
        start_response(f"{answer.status} {answer.reason}", kept)
        return _parts(answer)

    def _asked(self, environ: Mapping[str, Any], where: Any) -> HTTPResponse:
        connection = HTTPConnection(where.hostname, where.port)
        headers = {name.removeprefix("HTTP_").replace("_", "-"): environ[name] for name in SENT if name in environ}
        body = environ["wsgi.input"].read()
        headers |= {"Authorization": f"Bearer {self._key}", "Connection": "close"}
        connection.request(environ["REQUEST_METHOD"], environ["REQUEST_URI"], body or None, headers)
        return connection.getresponse()


def _parts(answer: HTTPResponse) -> Iterator[bytes]:
    """Yield an answer in the parts in which it comes. A client that goes away ends it: the model then stops, too."""
    with answer:
        while part := answer.read1(1 << 16):
            yield part
