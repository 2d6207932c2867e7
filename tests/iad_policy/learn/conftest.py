"""Small explorations of the shop's training tasks and models of them, which the tests of this folder share."""

from collections.abc import Callable
from pathlib import Path

import pytest

import iad_envs  # noqa: F401 (registers IAD/...)
from iad_policy.learn.experience import Experience
from iad_policy.learn.explore import explore
from iad_policy.learn.simulators import record_outcomes, train_simulator
from iad_policy.learn.train import train
from iad_policy.trained.models import Model

SHOP = "IAD/WebShop-v0"
LEARNED = ("shopper", "random")
"""Agents whose attempts the evaluator learns from."""
Folder = Callable[[str], Path]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return lambda name: tmp_path_factory.mktemp("learning") / name


@pytest.fixture(scope="session")
def demos(folder: Folder) -> Experience:
    """Demonstrations of the rule-based agent on ten tasks."""
    return explore(SHOP, "shopper", out=folder("demos"), tasks=10, episodes=1, temperature=0.0)


@pytest.fixture(scope="session")
def cloned(demos: Experience, folder: Folder) -> Model:
    """A policy that imitates them."""
    return train("bc", demos, out=folder("bc"), epochs=60)


@pytest.fixture(scope="session")
def rollouts(cloned: Model, folder: Folder) -> Experience:
    """Episodes of that policy."""
    return explore(SHOP, f"learned:{cloned.folder}", out=folder("rollouts"), tasks=8)


@pytest.fixture(scope="session")
def searched(cloned: Model, folder: Folder) -> Experience:
    """Search trees of that policy."""
    return explore(SHOP, f"learned:{cloned.folder}", how="mcts", out=folder("mcts"), tasks=2, critic="proxy")


@pytest.fixture(scope="session")
def grown(cloned: Model, folder: Folder) -> Experience:
    """Trees of whole rollouts of that policy."""
    return explore(SHOP, f"learned:{cloned.folder}", how="tree", out=folder("tree"), tasks=6)


@pytest.fixture(scope="session")
def value(grown: Experience, folder: Folder) -> Model:
    """A value model of these."""
    return train("qnet", grown, out=folder("q"), epochs=10)


@pytest.fixture(scope="session")
def mixed(folder: Folder) -> Experience:
    """Episodes of the rule-based agent and of one that acts at random."""
    folders = {agent: folder(agent) for agent in LEARNED}
    for agent, out in folders.items():
        explore(SHOP, agent, out=out, tasks=24, episodes=1, temperature=0.0)
    return Experience.of([*folders.values()])


@pytest.fixture(scope="session")
def evaluator(mixed: Experience, folder: Folder) -> Model:
    """An evaluator of attempts."""
    return train("evaluator", mixed, out=folder("evaluator"), epochs=60)


@pytest.fixture(scope="session")
def outcomes(folder: Folder) -> Path:
    """Recorded outcomes of actions."""
    path = folder("outcomes.jsonl")
    record_outcomes(SHOP, path, tasks=6)
    return path


@pytest.fixture(scope="session")
def simulator(outcomes: Path, folder: Folder) -> Model:
    """A model of the types of outcomes."""
    return train_simulator(outcomes, SHOP, out=folder("simulator"), epochs=30)
