"""The fixture of all worlds' tests."""

import pytest

from tests.iad_envs.toolcalls.worlds.world_calls import Desk


@pytest.fixture
def desk(request: pytest.FixtureRequest) -> Desk:
    """The module's world."""
    return Desk(request.module.WORLD, request.module.CONFIG)
