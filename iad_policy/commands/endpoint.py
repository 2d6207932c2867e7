"""Serves a model on this machine to any program, as an OpenAI-compatible endpoint: `iad serve --model`."""

from typing import Any

from iad_policy.models.local.client import LocalModel
from iad_policy.models.local.server import load
from webshop_server.site.server import LOOPBACK, address_of, listening_socket


class ModelEndpoint:
    """A running server of one model. It serves from construction until `close`, in threads of this process.

    It asks for no key, so whoever reaches it may use the model.

    Args:
        model: The model.
        host: The address to bind to.
        port: The port. 0 takes any free port. If the port is in use, the next free one is taken.

    Attributes:
        port: The port in use.
        address: URL that clients take as `base_url`, for example `http://127.0.0.1:3000/v1`.

    Raises:
        OSError: No port is free, or the host is not an address of this machine.
        ModelError: There is not enough memory for the model.
        RuntimeError: The file can't be loaded.
    """

    def __init__(self, model: LocalModel, *, host: str = LOOPBACK, port: int = 0) -> None:
        listening = listening_socket(host, port)
        self.port: int = listening.getsockname()[1]
        listening.close()
        self.address = f"{address_of(host, self.port)}/v1"
        self._server: Any = load({**model.server_options(), "key": "", "host": host, "port": self.port})

    def close(self) -> None:
        """Stop serving, and free the model's memory. Closing twice is harmless."""
        self._server = None  # it ends with its last reference
