"""How far long work is: told while it goes on, to whoever listens."""

from pathlib import Path

from iad_policy.learn.experience import Experience
from iad_policy.learn.explore import explore
from iad_policy.learn.progress import advance, showing
from iad_policy.learn.train import train
from tests.iad_policy.learn.conftest import SHOP


def test_exploring_and_training_tell_how_far_they_are(demos: Experience, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with showing(lambda *given: told.append(given)):
        explore(SHOP, out=tmp_path / "run", tasks=3, episodes=2, temperature=0.0)
        train("bc", demos, out=tmp_path / "bc", epochs=4)
    assert told == [*(("playing", done, 6) for done in range(1, 7)), *(("training", done, 4) for done in range(1, 5))]


def test_without_a_listener_nothing_happens() -> None:
    advance("playing", 1, 2)
