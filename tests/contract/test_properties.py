"""What every registered strategy keeps, on drawn answers: a strategy is added to these by its name in the table."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from iad_policy import Ask, Candidate, Commit, Decision, Keep, Propose, Simulate, State, Verdict, Verify
from iad_policy.ledger.answer_log import ANSWERS
from iad_policy.strategies import load_strategy
from iad_policy.types.information import Information
from iad_policy.verifiers.changed import NoisyVerifier
from tests.contract.canned import HERE, drive
from tests.contract.components import ENVIRONMENTS, STRATEGIES, Calls, CountedRoles, Wanderer, declared, play
from tests.contract.drawing import N_TOKENS, SEEDS, agent, drawn

NAMES = list(STRATEGIES)
VERIFIERS = ("proxy", "apart", "oracle", None)
PLAYED = {"n_decisions": 2, "n_tokens": N_TOKENS, "verifier": "apart"}


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

    def verify(self, state: State, candidates: Any) -> list[Verdict]:
        return [Verdict(1 - 1 / (2 + float(candidate.action))) for candidate in candidates]


def incumbents(name: str, qualities: list[int], verifier: Any, *, seed: int = 0) -> list[int]:
    """The true quality of what is committed with one, two ... of the same proposals."""
    here = State("start", {}, id=str(seed))

    def verify(request: Verify) -> list[Candidate]:
        verdicts = verifier.verify(here, request.candidates)
        return [replace(one, verdict=verdict) for one, verdict in zip(request.candidates, verdicts, strict=True)]

    def answers() -> Mapping[type, Any]:
        left = iter([Candidate(quality, key=str(place)) for place, quality in enumerate(qualities)])
        propose = lambda request: [next(left) for _ in range(request.n)]  # noqa: E731
        return {Propose: propose, Verify: verify, Ask: lambda request: "words"}

    return [drive(load_strategy(name, n=n)(here), answers())[0] for n in range(1, len(qualities) + 1)]


@pytest.mark.parametrize("name", KEEP_THEIR_BEST)
@given(QUALITIES)
@settings(deadline=None)
def test_with_a_monotone_verifier_the_true_quality_never_falls(name: str, qualities: list[int]) -> None:
    found = incumbents(name, qualities, Monotone())
    assert found == sorted(found)
    assert found[-1] == max(qualities)


@pytest.mark.parametrize("name", KEEP_THEIR_BEST)
def test_with_noise_the_true_quality_falls_on_some_seeds_and_not_on_all(name: str) -> None:
    verifier = NoisyVerifier(Monotone(), 0.1)
    found = [incumbents(name, [3, 5, 2, 8, 4, 7], verifier, seed=seed) for seed in range(40)]
    assert 0 < sum(one != sorted(one) for one in found) < len(found)


@pytest.mark.parametrize("name", NAMES)
@given(st.sampled_from(list(ENVIRONMENTS)), st.sampled_from(VERIFIERS), st.sampled_from(["", "noisy:0.5"]), SEEDS)
@example("dice", "proxy", "", 0)
@example("slippery", "oracle", "", 1)
@example("digger", None, "noisy:0.5", 2)
@drawn
def test_threads_and_a_log_change_nothing(
    name: str, environment: str, verifier: str | None, simulator: str, seed: int
) -> None:
    needs = declared(STRATEGIES[name]).needs
    how = {**STRATEGIES[name], "agent": agent(seed)}
    if simulator and "oracle" not in (verifier, needs):  # only the true outcome has gold
        how["simulator"] = simulator
    options: dict[str, Any] = {"n_tokens": N_TOKENS, "n_decisions": 3, "env_seed": seed, "seed": seed}
    options["verifier"] = verifier or (None if needs == "nothing" else "proxy")
    with TemporaryDirectory() as folder:
        plain = play(environment, how, **options)
        for changed in ({"threads": 16}, {"threads": 4, "log": f"{folder}/log"}):
            other = play(environment, how, **options, **changed)
            assert other.actions == plain.actions
            assert other.counts == plain.counts
            assert [told(decision) for decision in other.decisions] == [told(decision) for decision in plain.decisions]


def told(decision: Decision) -> list[tuple[Any, ...]]:
    """What was proposed and what was said of it, without the seconds that no two runs share."""
    return [(one.id, *one.named_by()) for one in decision.candidates]


@pytest.mark.parametrize("name", NAMES)
@given(SEEDS)
@drawn
def test_every_proposal_verdict_and_asked_text_is_in_the_log(name: str, seed: int) -> None:
    calls = Calls()
    how = {**STRATEGIES[name], "agent": Wanderer(calls, errors=seed % 5 / 5), "roles": CountedRoles(calls)}
    with TemporaryDirectory() as folder:
        played = play("digger", how, env_seed=seed, seed=seed, log=folder, **PLAYED)
        lines = Path(folder, ANSWERS).read_text().splitlines()
    kinds = Counter(json.loads(line)["kind"] for line in lines)
    expected = calls.counts["agent"], calls.counts["roles"], played.counts["verifier"], len(played.actions)
    assert tuple(kinds[kind] for kind in ("candidate", "text", "verdict", "commit")) == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_strategy_asks_and_commits_and_does_nothing_else(name: str) -> None:
    """It is given a state, no environment; every request is about that state or one that was simulated from it."""
    asked: set[str] = set()
    ends = {HERE.id}

    def simulate(request: Simulate) -> State:
        end = State("there", HERE.info, id=f"{request.at.id}/{request.candidate.key}", done=len(request.at.path) > 1)
        ends.add(end.id)
        return end

    made = {
        Propose: lambda request: [Candidate("go", key="go") for _ in range(request.n)],
        Verify: lambda request: [replace(one, verdict=Verdict(0.5)) for one in request.candidates],
        Simulate: simulate,
    }
    answers = {kind: lambda request, f=f: (asked.add(request.at.id), f(request))[1] for kind, f in made.items()}
    answers |= {Ask: lambda request: "0" if request.role == "ranker" else "words", Keep: lambda request: None}
    answers[Commit] = lambda request: HERE
    assert drive(load_strategy(**{"n": 3, **STRATEGIES[name]})(HERE), answers, n_commits=2) == ["go", "go"]
    assert asked <= ends
