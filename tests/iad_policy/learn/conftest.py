"""Small explorations of the shop's training tasks that the tests of this folder share."""

from pathlib import Path

import pytest

import iad_envs  # noqa: F401 (registers IAD/...)
from iad_policy.learn.experience import Experience
from iad_policy.learn.explore import explore
from iad_policy.learn.train import train
from iad_policy.trained.models import Model

SHOP = "IAD/WebShop-v0"


@pytest.fixture(scope="session")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Experience:
    """Demonstrations of the rule-based agent on ten tasks."""
    return explore(SHOP, out=tmp_path_factory.mktemp("learning") / "demos", tasks=10, episodes=1, temperature=0.0)


@pytest.fixture(scope="session")
def cloned(demos: Experience, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A policy that imitates them."""
    return train("bc", demos, out=tmp_path_factory.mktemp("learning") / "bc", epochs=60)


@pytest.fixture(scope="session")
def rollouts(cloned: Model, tmp_path_factory: pytest.TempPathFactory) -> Experience:
    """Episodes of that policy."""
    return explore(SHOP, f"learned:{cloned.folder}", out=tmp_path_factory.mktemp("learning") / "rollouts", tasks=8)


@pytest.fixture(scope="session")
def searched(cloned: Model, tmp_path_factory: pytest.TempPathFactory) -> Experience:
    """Search trees of that policy."""
    out: Path = tmp_path_factory.mktemp("learning") / "mcts"
    return explore(SHOP, f"learned:{cloned.folder}", how="mcts", out=out, tasks=2, critic="proxy")


@pytest.fixture(scope="session")
def grown(cloned: Model, tmp_path_factory: pytest.TempPathFactory) -> Experience:
    """Trees of whole rollouts of that policy."""
    return explore(SHOP, f"learned:{cloned.folder}", how="tree", out=tmp_path_factory.mktemp("learning") / "t", tasks=6)


@pytest.fixture(scope="session")
def value(grown: Experience, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A value model of these."""
    return train("qnet", grown, out=tmp_path_factory.mktemp("learning") / "q", epochs=10)
