"""Folders of trainings: one that is made once for all tests that show one, and one that is written by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy.learn.improve import improve
from iad_policy.trained.models import EPOCHS, MODEL, TRAINING

STEPS = [{"step": place + 1, "loss": 1 / (place + 1), "rate": 1e-4} for place in range(6)]


@pytest.fixture(scope="session")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rounds, the second of which was stopped by the KL. Tests don't write into it."""
    folder = tmp_path_factory.mktemp("trainings") / "rounds"
    improve("IAD/WebShop-v0", "eto", out=folder, tasks=5, demos=3, rounds=1, dev_tasks=4, epochs=40, max_kl=0.02)
    return folder


@pytest.fixture
def language(tmp_path: Path) -> Path:
    """A language model's folder, stopped in its second epoch."""
    folder = tmp_path / "language"
    folder.mkdir()
    write_lines(folder, STEPS)
    epochs = [{"loss": 0.6, "kl": 0.2, "is_kept": True}, {"loss": 0.3, "kl": 0.7, "is_kept": False}]
    (folder / EPOCHS).write_text(json.dumps(epochs))
    facts = {"recipe": "dpo", "head": "policy", "env": "IAD/WebShop-v0", "options": {"epochs": 3, "max_kl": 0.5}}
    on = {"split": "train", "tasks": ["t1", "t2"], "n_rows": 7}
    (folder / MODEL).write_text(json.dumps({**facts, "n_epochs": 1, "stopped": "the KL rose", "trained_on": on}))
    return folder


def write_lines(folder: Path, lines: list[dict[str, Any]]) -> None:
    (folder / TRAINING).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
