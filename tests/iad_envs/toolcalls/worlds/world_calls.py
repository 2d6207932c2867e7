from collections.abc import Mapping
from typing import Any

from iad_envs.toolcalls.worlds import world


class Desk:
    """A world with its state, as it is called in a test."""

    def __init__(self, name: str, config: Mapping[str, Any], *, long_context: bool = False) -> None:
        self.world = world(name)
        self.state = self.world.load(config, long_context=long_context)

    def call(self, function: str, **arguments: Any) -> dict[str, Any]:
        """Call, and go on with the state after it."""
        self.state, result = self.world.call(self.state, function, arguments)
        return result

    def refused(self, function: str, **arguments: Any) -> str:
        """Call what is refused: the state is the very same. Return the reason."""
        before = self.state
        reason = self.call(function, **arguments)
        assert set(reason) == {"error"}
        assert self.state is before
        return str(reason["error"])

    def reads(self, function: str, **arguments: Any) -> dict[str, Any]:
        """Call what changes nothing."""
        before = self.state
        result = self.call(function, **arguments)
        assert "error" not in result
        assert self.state == before
        return result
