"""The report of how true a simulator is, and the encoder that says how alike two texts are."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import iad_envs  # noqa: F401 (registers)
from iad_policy.errors import ModelError
from iad_policy.learn.fidelity import Fidelity, fidelity
from iad_policy.simulators.noisy import NoisySimulator
from iad_policy.simulators.recorded import record
from iad_policy.simulators.retrieval import HashedNgrams, RetrievalSimulator
from iad_policy.types import Outcome
from iad_policy.world import World
from tests.contract.components import TAXI, Wanderer
from tests.contract.toy import LANDMARKS, Digger, SlipperyDigger

TEXTS = st.text(max_size=60)


def measured(simulator: Any, **options: Any) -> Fidelity:
    return fidelity(Digger(max_steps=6), simulator, **{"agent": Wanderer(errors=0), "tasks": 9, **options})


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_rows_have_length_1_depend_on_their_own_text_alone_and_alike_texts_are_near(texts: list[str]) -> None:
    encoder = HashedNgrams(dimensions=256)
    rows = encoder.encode(texts)
    assert (rows.shape, rows.dtype) == ((len(texts), 256), np.float32)
    assert np.allclose((rows**2).sum(axis=1), 1.0, atol=1e-5)
    assert all((row == encoder.encode([text])[0]).all() for text, row in zip(texts, rows, strict=True))
    assert (rows @ rows.T <= 1.0 + 1e-5).all()
    one, near, far = HashedNgrams().encode(["the red shoes, size 9", "the red shoes, size 8", "a bottle of milk"])
    assert 0.7 < one @ near < 1.0
    assert one @ far < 0.2
    assert HashedNgrams().encode([]).shape == (0, 2**14)
    with pytest.raises(ValueError, match="power of two, got 1000"):
        HashedNgrams(dimensions=1000)


def test_the_perfect_simulator_is_true_in_every_respect_and_one_that_never_is_is_found_out() -> None:
    report = measured("perfect")
    assert (report.similarity, report.high_fidelity, report.failure_recall) == (1.0, 1.0, 1.0)
    assert {name: (one.recall, one.precision) for name, one in report.recall.items()} == dict.fromkeys(
        ("success", "end", "invalid"), (1.0, 1.0)
    )
    assert set(report.same_after.values()) == {1.0}
    assert report.n > 20
    report = measured("noisy:0")
    assert (report.high_fidelity, report.same_after[1], report.similarity < 0.9) == (0.0, 0.0, True)
    assert {one.recall for one in report.recall.values()} == {0.0}


class Mumbler(NoisySimulator):
    """A model that gives no answer in the asked form where it would show the end."""

    def simulate(self, world: World, token: Any, action: Any, draw: int) -> Outcome:
        outcome = super().simulate(world, token, action, draw)
        if outcome.done:
            raise ModelError("mumbled", kind=self.kind)
        return outcome

    kind = "malformed"


def test_no_answer_is_a_wrong_one_and_a_lost_connection_is_an_error() -> None:
    report = measured(Mumbler(fidelity="1"))
    assert report.recall["success"].recall == 1.0
    assert report.recall["end"].recall == 0.0
    assert 0 < report.unanswered == pytest.approx(1 - report.exact)
    lost = Mumbler(fidelity="1")
    lost.kind = "connection"
    with pytest.raises(ModelError, match="mumbled"):
        measured(lost)


def test_the_share_of_true_outcomes_is_the_one_that_was_asked_for_and_errors_add_up_over_steps() -> None:
    report = measured(NoisySimulator(fidelity="end=1,success=0.6"), seed=3)
    end, (low, high) = report.recall["end"], report.recall["success"].recall_95
    assert (end.recall, low < 0.6 < high) == (1.0, True)
    assert end.precision is not None
    assert end.precision < 1.0, "some of what was shown as the end was not"
    report = measured("noisy:0.8", tasks=list(LANDMARKS) * 3, steps=(1, 3))
    assert report.same_after[3] < report.same_after[1] < 1.0
    assert report.n_tasks == 27
    report = fidelity(gym.make("IAD/WebShop-v0"), "noisy:failure=0", tasks=2)  # by class, as garbled actions fail
    assert (report.recall["invalid"].n > 2, report.failure_recall) == (True, 0.0)
    assert (report.similarity, report.recall["success"].recall) == (1.0, 1.0)


def test_what_was_recorded_on_other_tasks_is_measured_on_these() -> None:
    simulator = RetrievalSimulator(record(Digger(max_steps=6), Wanderer(), tasks=LANDMARKS[:5]))
    report = measured(simulator, tasks=LANDMARKS[5:])
    assert 0.5 < report.similarity <= 1.0
    assert report.recall["end"].recall == 1.0
    with pytest.raises(ValueError, match="expected at least one task"):
        measured("perfect", tasks=[])


@pytest.mark.parametrize("make", [SlipperyDigger, lambda: gym.make(TAXI, max_episode_steps=2)])
def test_random_and_foreign_environments_are_measured_too(make: Any) -> None:
    report = fidelity(make(), "perfect", agent=Wanderer(errors=0), tasks=1, steps=(1, 2))
    assert (report.similarity, report.same_after[1]) == (1.0, 1.0)
