"""Objectives and their optima, and fitting: where it ends, what it refuses, how it goes on after a kill."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iad_policy.learn.backends.numeric import TrainableFeatureModel
from iad_policy.learn.examples import Examples, weighted
from iad_policy.learn.fitting import fit
from iad_policy.learn.models import STATE, write_model
from iad_policy.learn.objectives import (
    Clipped,
    Loss,
    Objective,
    Preference,
    Stored,
    cross_entropy,
    logistic,
    squared_error,
)
from iad_policy.learn.trainable import NotFinite, Schedule
from iad_policy.trained.backends.numeric import Linear, Mlp
from iad_policy.trained.heads import Array
from iad_policy.trained.models import TRAINING
from tests.iad_policy.learn.bandits import Arms, Killed, KilledAfter, policy, probabilities, pull


def pairs(model: TrainableFeatureModel, p: float = 1.0, n: int = 8) -> Examples:
    """Pairs that prefer arm 0 to arm 1."""
    rows = tuple(pull(side) for _ in range(n) for side in (0, 1))
    reference = model.outputs(model.batch(rows))
    side = np.arange(2.0 * n)
    return Examples(
        rows, {"side": side, "p": np.full(2 * n, p), "reference": reference}, side // 2, Preference(beta=0.5)
    )


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("n", [0, 4, 11])
def test_a_killed_training_ends_as_one_that_was_not(tmp_path: Path, n: int, batch: int | None) -> None:
    schedule, whole = Schedule(epochs=6, batch=batch), policy([0.4, 0.6])
    expected = fit(whole, pairs(whole), schedule, folder=tmp_path / "whole", seed=3, checkpoint_s=0.0)

    cut, examples = policy([0.4, 0.6]), pairs(policy([0.4, 0.6]))
    killed = Examples(examples.rows, examples.stored, examples.unit, KilledAfter(n, Preference(beta=0.5)))
    n_calls = 6 * (1 if batch is None else 3)
    if n < n_calls:
        with pytest.raises(Killed):
            fit(cut, killed, schedule, folder=tmp_path / "cut", seed=3, checkpoint_s=0.0)
    found = fit(policy([0.4, 0.6]), examples, schedule, folder=tmp_path / "cut", seed=3, checkpoint_s=0.0)
    assert found.model.identity == expected.model.identity
    assert (tmp_path / "cut" / TRAINING).read_text() == (tmp_path / "whole" / TRAINING).read_text()


def test_the_order_of_examples_is_the_seeds(tmp_path: Path) -> None:
    def trained(seed: int, name: str) -> str:
        model = TrainableFeatureModel("mlp", Arms(2), Mlp(), "policy")
        rows = [pull(0)] * 5 + [pull(1)] * 3
        return fit(
            model, weighted(rows, cross_entropy), Schedule(5, batch=2), folder=tmp_path / name, seed=seed
        ).model.identity

    assert trained(1, "a") == trained(1, "b")
    assert trained(1, "a2") != trained(2, "c")


def test_a_batch_has_whole_pairs_and_a_finished_training_leaves_no_checkpoints(tmp_path: Path) -> None:
    seen: list[Array] = []

    def seeing(logp: Array, stored: Stored) -> Loss:
        seen.append(stored["side"])
        return Preference(beta=0.5)(logp, stored)

    model = policy([0.5, 0.5])
    fit(model, replace(pairs(model, n=7), objective=seeing), Schedule(1, batch=3), folder=tmp_path)
    assert [sorted(side) for side in seen] == [list(range(6)), list(range(6)), list(range(2))]
    assert (tmp_path / STATE).exists()
    write_model(tmp_path, model, {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", TRAINING, "weights.npz"]


def test_training_stops_before_the_policy_is_too_far_from_the_start(tmp_path: Path) -> None:
    model = policy([0.5, 0.5], rate=0.1)
    start = model.copy()
    found = fit(model, pairs(model), Schedule(epochs=500, max_kl=0.2), folder=tmp_path)
    batch = start.batch([pull(0)])
    assert "0.2" in found.stopped
    assert found.n_epochs < 500
    assert found.kl == pytest.approx(found.model.divergence(batch, start.reference(batch)))
    assert found.kl is not None
    assert 0.1 < found.kl <= 0.2
    lines = [json.loads(line) for line in (tmp_path / TRAINING).read_text().splitlines()]
    assert [line["is_kept"] for line in lines] == [True] * found.n_epochs + [False]
    assert lines[-1]["kl"] > 0.2
    again = fit(policy([0.5, 0.5], rate=0.1), pairs(start), Schedule(epochs=500, max_kl=0.2), folder=tmp_path)
    assert (again.model.identity, again.stopped) == (found.model.identity, found.stopped)
    one, other = policy([0.5, 0.3, 0.2]), policy([0.2, 0.3, 0.5])  # the KL is exact
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    batch = one.batch([pull(0), pull(2)])
    assert one.divergence(batch, other.reference(batch)) == pytest.approx(float((p * np.log(p / q)).sum()))
    assert one.divergence(batch, one.copy().reference(batch)) == 0.0


def test_a_loss_that_is_no_number_stops_and_changes_nothing(tmp_path: Path) -> None:
    model = policy([0.5, 0.5])
    before = model.identity
    examples = weighted([pull(0)], squared_error, target=np.array([np.nan]))
    with pytest.raises(NotFinite, match="smaller rate"):
        fit(model, examples, Schedule(3), folder=tmp_path)
    assert model.identity == before


def test_rejection_sampling_multiplies_by_the_chance_of_success(tmp_path: Path) -> None:
    # From (.5, .5), successes are of arm 0 with .9 / (.9 + .3) = .75, and the odds grow by 3 with each round.
    rng, model, shares = np.random.default_rng(0), policy([0.5, 0.5]), (0.9, 0.3)
    for number, expected in ((1, 3 / 4), (2, 9 / 10)):
        arms = rng.choice(2, 2_000, p=probabilities(model))
        kept = [pull(int(arm)) for arm in arms if rng.random() < shares[arm]]
        fresh = TrainableFeatureModel("linear", Arms(2), Linear(), "policy", rate=0.1)
        model = fit(fresh, weighted(kept, cross_entropy), Schedule(150), folder=tmp_path / str(number)).model  # type: ignore[assignment]
        assert probabilities(model)[0] == pytest.approx(expected, abs=0.04)


def test_a_value_model_with_a_feature_for_each_action_is_a_table(tmp_path: Path) -> None:
    model = TrainableFeatureModel("linear", Arms(3, n_states=2), Linear(), "value", rate=0.05)
    rows = [pull(arm, state) for state in (0, 1) for arm in range(3)]
    q = np.array([0.1, 0.9, 0.4, 0.7, 0.2, 0.0])
    found = fit(model, weighted(rows, squared_error, target=q), Schedule(1500), folder=tmp_path).model
    assert found.outputs(found.batch(rows)) == pytest.approx(q, abs=1e-5)


def test_the_entropy_bonus_alone_ends_at_the_uniform_policy() -> None:
    model = policy([0.8, 0.15, 0.05], rate=0.05, entropy=1.0)
    batch = model.batch([pull(0)])
    for _ in range(500):
        model.step(batch, lambda logp, stored: Loss(0.0, np.zeros(len(logp))), {})
    assert probabilities(model) == pytest.approx([1 / 3] * 3, abs=1e-3)


@pytest.mark.parametrize("scorer", [Linear(), Mlp()], ids=["linear", "mlp"])
def test_gradients_are_those_of_finite_differences(scorer: Linear | Mlp) -> None:
    rng = np.random.default_rng(1)
    x, slopes = rng.normal(0, 1, (5, 4)), rng.normal(0, 1, 5)
    parameters = {name: one + rng.normal(0, 0.3, one.shape) for name, one in scorer.start(4, rng).items()}
    found = scorer.gradient(parameters, x, slopes)
    for name, one in parameters.items():
        for place in np.ndindex(one.shape):
            values = []
            for step in (1e-6, -1e-6):
                moved = {**parameters, name: one.copy()}
                moved[name][place] += step
                values.append(float(slopes @ scorer.scores(moved, x)))
            assert found[name][place] == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-6)


N = 6
STEP = 1e-6


def numbers(seed: int, n: int = N) -> Array:
    return np.random.default_rng(seed).normal(0, 1, n)


def stored(seed: int) -> dict[str, Array]:
    """Everything that any objective reads, at random."""
    rng = np.random.default_rng(seed + 1)
    return {
        "weight": rng.uniform(0.5, 2, N),
        "target": rng.uniform(0, 1, N),
        "reference": -rng.exponential(1, N),
        "behaviour": -rng.exponential(1, N),
        "advantage": rng.normal(0, 1, N),
        "side": np.array([0, 0, 1, 2, 3, 3], float),
        "p": np.array([0.9, 0.9, 0.9, 0.6, 0.6, 0.6]),
    }


OBJECTIVES: dict[str, Objective] = {
    "cross entropy": cross_entropy,
    "squared error": squared_error,
    "logistic": logistic,
    "preference": Preference(beta=0.7),
    "preference with cloning": Preference(beta=0.7, sft_weight=0.3),
    "clipped": Clipped(kl=0.2),
    "clipped higher": Clipped(high=0.28),
}


@pytest.mark.parametrize("name", list(OBJECTIVES))
@given(seed=st.integers(0, 10_000))
@example(seed=9420)  # its value is large
def test_slopes_are_those_of_finite_differences(name: str, seed: int) -> None:
    objective, at, given_with = OBJECTIVES[name], numbers(seed), stored(seed)
    found = objective(at, given_with).slopes
    for row in range(N):
        moved = np.zeros(N)
        moved[row] = STEP
        up, down = objective(at + moved, given_with).value, objective(at - moved, given_with).value
        rounding = np.finfo(float).eps * max(abs(up), abs(down)) / STEP  # of large values, as of large ratios
        assert found[row] == pytest.approx((up - down) / (2 * STEP), rel=1e-8, abs=1e-6 + 4 * rounding)


@pytest.mark.parametrize(("beta", "best"), [(0.5, 0.7), (1.0, 0.5), (2.0, 0.395644)])
def test_soft_preferences_end_at_the_reference_times_the_odds(beta: float, best: float) -> None:
    # pi(a) / pi(b) = (.3 / .7) * (.7 / .3)^(1 / beta) for two arms with the reference (.3, .7) and p = .7.
    model = policy([0.3, 0.7], rate=0.05)
    batch = model.batch([pull(0), pull(1)])
    given_with = {"side": np.array([0.0, 1.0]), "p": np.full(2, 0.7), "reference": model.outputs(batch)}
    for _ in range(600):
        model.step(batch, Preference(beta), given_with)
    assert probabilities(model)[0] == pytest.approx(best, abs=1e-4)


def test_soft_labels_of_values_end_at_the_reference_times_exp_q_over_beta() -> None:
    start, q, beta = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.9, 0.1, 0.5, 0.3]), 0.8
    model = policy(start.tolist(), rate=0.03)
    pairs = [(one, other) for one, other in permutations(range(4), 2) if q[one] > q[other]]
    batch = model.batch([pull(arm) for pair in pairs for arm in pair])
    p = np.repeat([1 / (1 + np.exp(q[other] - q[one])) for one, other in pairs], 2)
    given_with = {"side": np.arange(2.0 * len(pairs)), "p": p, "reference": model.outputs(batch)}
    for _ in range(2000):
        model.step(batch, Preference(beta), given_with)
    best = start * np.exp(q / beta)
    assert probabilities(model) == pytest.approx(best / best.sum(), abs=1e-3)


def test_the_log_probability_of_an_episode_is_the_sum_over_its_actions() -> None:
    both, p = [numbers(5, 5), numbers(6, 5)], np.ones(5)
    at, reference = ([one[:3].sum(), one[3:].sum()] for one in both)
    long = Preference(0.3)(both[0], {"side": np.array([0.0, 0, 0, 1, 1]), "p": p, "reference": both[1]})
    one_each = {"side": np.array([0.0, 1.0]), "p": p[:2], "reference": np.array(reference)}
    short = Preference(0.3)(np.array(at), one_each)
    assert long.value == pytest.approx(short.value)
    assert long.slopes == pytest.approx(short.slopes[[0, 0, 0, 1, 1]])


@pytest.mark.parametrize(
    ("rho", "advantage", "slope"),
    [(1.5, 1.0, 0.0), (1.5, -1.0, 1.5), (0.5, -1.0, 0.0), (0.5, 1.0, -0.5), (1.0, 2.0, -2)],
)
def test_the_clip_stops_what_went_far_enough(rho: float, advantage: float, slope: float) -> None:
    given_with = {"behaviour": np.array([-1.0]), "advantage": np.array([advantage])}
    assert Clipped()(np.array([-1.0 + np.log(rho)]), given_with).slopes == pytest.approx([slope])


def test_at_the_sampling_policy_the_surrogate_is_reinforce() -> None:
    at, advantage = -np.abs(numbers(7)), numbers(8)
    found = Clipped()(at, {"behaviour": at, "advantage": advantage})
    assert found.slopes == pytest.approx(-advantage / N)


def test_the_penalty_is_zero_at_the_reference_and_an_estimate_of_the_kl() -> None:
    rng = np.random.default_rng(0)
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.3, 0.4])
    drawn = rng.choice(3, 20_000, p=p)
    given_with = {"behaviour": np.log(p)[drawn], "advantage": np.zeros(len(drawn)), "reference": np.log(q)[drawn]}
    found = Clipped(kl=1.0)(np.log(p)[drawn], given_with).value
    assert found == pytest.approx(float((p * np.log(p / q)).sum()), abs=0.02)
    same = Clipped(kl=1.0)(np.log(p)[drawn], {**given_with, "reference": np.log(p)[drawn]})
    assert same.value == pytest.approx(0.0)
    assert same.slopes == pytest.approx(np.zeros(len(drawn)))


@pytest.mark.parametrize("objective", [Preference(0.1), Clipped(), logistic], ids=["preference", "clipped", "logistic"])
def test_far_from_the_start_losses_stay_numbers(objective: Callable[..., object]) -> None:
    at = np.array([-300.0, 0.0, -300.0, 0.0, -200.0, 0.0])
    found = objective(at, stored(1))
    assert np.isfinite(found.value)  # type: ignore[attr-defined]
    assert np.isfinite(found.slopes).all()  # type: ignore[attr-defined]
