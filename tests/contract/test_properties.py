"""What every registered strategy keeps, on drawn answers: a strategy is added to these by its name in the table."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iad_policy import Ask, Candidate, Commit, Decision, Propose, Simulate, State, Verdict, Verify
from iad_policy.hashing import digest
from iad_policy.information import Information
from iad_policy.recording.answer_log import ANSWERS
from iad_policy.strategies import load_strategy
from iad_policy.verifiers.corrupted import NoisyVerifier
from tests.contract.canned import HERE, drive
from tests.contract.players import ENVIRONMENTS, STRATEGIES, Calls, CountedRoles, Wanderer, play

NAMES = list(STRATEGIES)
SEEDS = st.integers(0, 2**16)
COUNTED = ("proposals", "verifications", "simulations", "asks")
PLAYED = {"n_decisions": 2, "n_tokens": 10, "verifier": "apart"}
drawn = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def agent(seed: int) -> Wanderer:
    """An agent, from one that always answers to one that mostly does not."""
    return Wanderer(n_tokens=10, errors=seed % 5 / 5)


@given(SEEDS, SEEDS)
@drawn
def test_iad_with_one_proposal_is_single(env_seed: int, seed: int) -> None:
    for environment in ENVIRONMENTS:
        one, other = (
            play(environment, how, env_seed=env_seed, seed=seed, n_decisions=4)
            for how in ({"strategy": "iad", "n": 1}, {"strategy": "single"})
        )
        assert one.actions == other.actions


QUALITIES = st.lists(st.integers(0, 20), min_size=1, max_size=8)
KEEP_THEIR_BEST = ("bon", "iad", "iad-fb", "try-again")


class Monotone:
    """Scores a candidate by a rising function of its true quality, which is its action."""

    information: Information = "oracle"
    needs_preview = False

    def verify(self, state: State, candidates: Any, among: Any) -> list[Verdict]:
        return [Verdict(1 - 1 / (2 + float(candidate.action))) for candidate in candidates]


def incumbents(name: str, qualities: list[int], verifier: Any, *, seed: int = 0) -> list[int]:
    """The true quality of what is committed with one, two ... of the same proposals."""
    here = State("start", {}, id=str(seed))

    def answers() -> Mapping[type, Any]:
        left = iter(qualities)
        made = iter(range(len(qualities)))
        return {
            Propose: lambda request: [Candidate(next(left), key=str(next(made))) for _ in range(request.n)],
            Verify: lambda request: [
                Candidate(one.action, key=one.key, verdict=verdict)
                for one, verdict in zip(
                    request.candidates, verifier.verify(here, request.candidates, request.among), strict=True
                )
            ],
            Ask: lambda request: "words",
        }

    return [drive(load_strategy(name, n=n)(here), answers())[0] for n in range(1, len(qualities) + 1)]


@pytest.mark.parametrize("name", KEEP_THEIR_BEST)
@given(QUALITIES)
@settings(deadline=None)
def test_with_a_monotone_verifier_the_true_quality_of_the_incumbent_never_falls(
    name: str, qualities: list[int]
) -> None:
    found = incumbents(name, qualities, Monotone())
    assert found == sorted(found)
    assert found[-1] == max(qualities)


@pytest.mark.parametrize("name", KEEP_THEIR_BEST)
def test_with_noise_the_true_quality_falls_on_some_seeds_and_not_on_all(name: str) -> None:
    verifier = NoisyVerifier(Monotone(), 0.1)
    found = [incumbents(name, [3, 5, 2, 8, 4, 7], verifier, seed=seed) for seed in range(40)]
    falls = [one != sorted(one) for one in found]
    assert 0 < sum(falls) < len(falls)


@pytest.mark.parametrize("name", NAMES)
@given(st.sampled_from(COUNTED), st.integers(0, 4), st.sampled_from(["decision", "episode"]), SEEDS)
@drawn
def test_no_counted_axis_is_passed_but_by_the_one_proposal_owed(
    name: str, axis: str, limit: int, scope: str, seed: int
) -> None:
    how = {**STRATEGIES[name], "agent": agent(seed)}
    played = play("digger", how, budget={f"{scope}.{axis}": limit}, env_seed=seed, seed=seed, **PLAYED)
    spent = [getattr(decision.usage, axis) for decision in played.decisions]
    owed = axis == "proposals" and limit == 0
    assert max(spent if scope == "decision" else [sum(spent)], default=0) <= limit + owed


@pytest.mark.parametrize("name", NAMES)
@given(st.integers(1, 120), SEEDS)
@drawn
def test_no_measured_axis_is_passed_by_more_than_one_call(name: str, limit: int, seed: int) -> None:
    how = {**STRATEGIES[name], "agent": agent(seed)}
    played = play("digger", how, budget={"decision.tokens": limit}, env_seed=seed, seed=seed, **PLAYED)
    # A call is one proposal or one verdict, of 10 tokens each.
    assert all(decision.usage.tokens < limit + 10 for decision in played.decisions)


@pytest.mark.parametrize("name", NAMES)
@given(st.sampled_from(["digger", "slippery"]), SEEDS)
@drawn
def test_the_same_seed_and_answers_commit_the_same_at_1_and_16_threads(name: str, environment: str, seed: int) -> None:
    how = {**STRATEGIES[name], "agent": agent(seed)}
    one, many = (play(environment, how, env_seed=seed, seed=seed, threads=n, **PLAYED) for n in (1, 16))
    assert many.actions == one.actions
    assert many.counts == one.counts
    assert [told(decision) for decision in many.decisions] == [told(decision) for decision in one.decisions]


def told(decision: Decision) -> list[tuple[Any, ...]]:
    """What was proposed and what was said of it, without the seconds that no two runs share."""
    return [(one.id, *one.named_by()) for one in decision.candidates]


@pytest.mark.parametrize("name", NAMES)
@given(st.floats(0, 1), SEEDS)
@drawn
def test_a_run_is_taken_up_from_any_prefix_of_its_log(name: str, share: float, seed: int) -> None:
    options: dict[str, Any] = {**PLAYED, "env_seed": seed, "seed": seed}
    how = {**STRATEGIES[name], "agent": agent(seed)}
    with TemporaryDirectory() as folder:
        uncut = play("digger", how, log=f"{folder}/uncut", **options)
        lines = Path(folder, "uncut", ANSWERS).read_bytes()
        target = Path(folder, "cut")
        target.mkdir()
        (target / ANSWERS).write_bytes(lines[: int(share * len(lines))])
        resumed = play("digger", how, log=target, **options)
        assert resumed.actions == uncut.actions
        assert len((target / ANSWERS).read_bytes().splitlines()) == len(lines.splitlines())


@pytest.mark.parametrize("name", NAMES)
@given(SEEDS)
@drawn
def test_every_proposal_verdict_and_asked_text_is_in_the_log(name: str, seed: int) -> None:
    calls = Calls()
    how = {**STRATEGIES[name], "agent": Wanderer(calls, errors=seed % 5 / 5), "roles": CountedRoles(calls)}
    with TemporaryDirectory() as folder:
        played = play("digger", how, env_seed=seed, seed=seed, log=folder, **PLAYED)
        records = [json.loads(line) for line in Path(folder, ANSWERS).read_text().splitlines()]
    kinds = Counter(record["kind"] for record in records)
    assert kinds["candidate"] == calls.counts["agent"]
    assert kinds["text"] == calls.counts["roles"]
    assert kinds["verdict"] == played.counts["verifier"]
    assert kinds["commit"] == len(played.actions)


@pytest.mark.parametrize("name", NAMES)
@given(SEEDS)
@drawn
def test_simulating_never_changes_what_the_environment_shows(name: str, seed: int) -> None:
    seen: list[tuple[str, str]] = []

    class Watched(type(ENVIRONMENTS["digger"]())):  # type: ignore[misc]  # a class made by a table
        def step(self, action: str) -> Any:
            seen.append((digest(self.render()), shown[-1]))
            result = super().step(action)
            shown.append(digest(self.render()))
            return result

        def reset(self, **options: Any) -> Any:
            result = super().reset(**options)
            shown.append(digest(self.render()))
            return result

    shown: list[str] = []
    play(lambda: Watched(max_steps=6, render_mode="ansi"), STRATEGIES[name], env_seed=seed, seed=seed, **PLAYED)
    assert seen
    assert all(before == after for before, after in seen)


@pytest.mark.parametrize("name", NAMES)
def test_a_strategy_asks_and_commits_and_does_nothing_else(name: str) -> None:
    """It is given a state, no environment; every request is about that state or one that was simulated from it."""
    asked: list[Any] = []
    options = {"n": 3, **STRATEGIES[name]}
    ends = {HERE.id}

    def simulate(request: Simulate) -> State:
        asked.append(request.at.id)
        end = State("there", HERE.info, id=f"{request.at.id}/{request.candidate.key}", done=len(request.at.path) > 1)
        ends.add(end.id)
        return end

    def propose(request: Propose) -> list[Candidate]:
        asked.append(request.at.id)
        return [Candidate("go", key="go") for _ in range(request.n)]

    def verify(request: Verify) -> list[Candidate]:
        asked.append(request.at.id)
        return [Candidate(one.action, key=one.key, verdict=Verdict(0.5)) for one in request.candidates]

    answers = {
        Propose: propose,
        Verify: verify,
        Simulate: simulate,
        Ask: lambda request: "0" if request.role == "ranker" else "words",
        Commit: lambda request: HERE,
    }
    assert drive(load_strategy(**options)(HERE), answers, n_commits=2) == ["go", "go"]
    assert set(asked) <= ends
