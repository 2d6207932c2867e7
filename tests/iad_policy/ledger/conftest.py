"""The run that the tests of damaged and foreign folders copy."""

from pathlib import Path

import pytest

from tests.iad_policy.ledger.finished_run import command


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert command(folder).stopped is None
    return folder
