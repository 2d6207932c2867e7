"""A folder of trainings, made once for all tests that show one."""

from pathlib import Path

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy.learn.improve import improve


@pytest.fixture(scope="session")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rounds, the second of which was stopped by the KL. Tests don't write into it."""
    folder = tmp_path_factory.mktemp("trainings") / "rounds"
    improve("IAD/WebShop-v0", "eto", out=folder, tasks=5, demos=3, rounds=1, dev_tasks=4, epochs=40, max_kl=0.02)
    return folder
