"""Contract 4: what is read from a run folder are the decisions that the policy made, value by value."""

import json
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iad_policy.ledger.episode import RecordedStep
from iad_policy.ledger.episode_record import EPISODES, EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import CONFIG
from iad_policy.types import Candidate, Decision, Usage
from iad_policy.types.hashing import encode
from tests.contract.components import STRATEGIES, Played, declared, play
from tests.contract.drawing import N_TOKENS, SEEDS, THREADS, agent, drawn

LIMITS = (
    *(("decision.proposals", 2), ("episode.proposals", 5), ("decision.verifications", 1), ("decision.simulations", 2)),
    *(("decision.asks", 1), ("decision.tokens", 25), ("decision.verifier.tokens", 10)),
)
BUDGETS: tuple[dict[str, float], ...] = ({}, *({axis: limit} for axis, limit in LIMITS))
NOISY = "noisy:0.5"
TOLD = ("id", "at", "action", "key", "thought", "error", "usage", "logprobs", "parts")


def recorded(folder: Path | str, played: Played) -> list[RecordedStep]:
    """The steps of an episode, read from the folder of its log: with the two files that a run adds."""
    folder = Path(folder)
    key = json.loads((folder / "answers.jsonl").read_text().partition("\n")[0])["episode"]
    usage = {role: spent.as_dict() for role, spent in played.spent.items()}
    actions = tuple(map(encode, played.actions))
    record = EpisodeRecord(key, "Toy", "1", "iad", 0, usage=usage, actions=actions)
    (folder / CONFIG).write_text("{}")
    (folder / EPISODES).write_text(f"{json.dumps(record.as_json())}\n")
    return list(Run(folder).episode(key).steps)


def told(candidate: Candidate) -> dict[str, Any]:
    """What a log tells of a candidate. The live verdict on one that is no action repeats its error, unlogged."""
    same = {name: getattr(candidate, name) for name in TOLD}
    verdict = None if candidate.error else candidate.verdict
    return {**same, "verdict": verdict, "feedback": candidate.feedback and candidate.feedback.text}


def by_role(decision: Decision) -> dict[str, Usage]:
    """The budget without the roles whose work was cut before it began. Seconds are added up in another order."""
    spent = {role: usage for role, usage in decision.budget.items() if usage}
    return {role: usage._replace(seconds=round(usage.seconds, 6)) for role, usage in spent.items()}


def assert_equal(step: RecordedStep, live: Decision, earlier: set[str]) -> None:
    """Compare a recorded decision with the live one.

    Of the candidates of that, those are not recorded that it did not propose: of earlier decisions, where they were
    verified again, and those that the strategy made itself.
    """
    read, own = step.decision, not live.committed.at
    proposed = [one for one in live.candidates if one.at and one.id not in earlier]
    assert list(map(told, read.candidates)) == list(map(told, proposed))
    ways = ["state.id", "state.observation", "cut", "role_answers", "notes"]
    ways += [f"committed.{name}" for name in ("action", "id", "at", "error")]
    ways += [] if own or live.committed.error else ["committed.key", "committed.thought"]
    assert [attrgetter(way)(read) for way in ways] == [attrgetter(way)(live) for way in ways]
    assert by_role(read) == by_role(live)
    assert (step.is_finished, step.action) == (True, live.committed.action)
    assert own == (read.committed == Candidate(live.committed.action, id=live.committed.id))


@pytest.mark.parametrize("name", list(STRATEGIES))
@given(st.sampled_from(["digger", "slippery"]), st.sampled_from(["", NOISY]), st.sampled_from(BUDGETS), THREADS, SEEDS)
@example("digger", "", {}, 1, 0)
@example("digger", "", {}, 4, 3)
@example("slippery", NOISY, {"decision.verifier.tokens": 10}, 1, 132)
@drawn
def test_the_folder_tells_the_decisions_that_the_policy_made(
    name: str, environment: str, simulator: str, budget: dict[str, float], threads: int, seed: int
) -> None:
    how = {**STRATEGIES[name], "agent": agent(seed)}
    if simulator and declared(how).needs != "oracle":
        how["simulator"] = simulator
    options = {"env_seed": seed, "seed": seed, "threads": threads, "budget": budget, "n_tokens": N_TOKENS}
    with TemporaryDirectory() as folder:
        played = play(environment, how, verifier="apart", n_decisions=3, log=folder, **options)
        steps = recorded(folder, played)[: len(played.decisions)]
    assert len(steps) == len(played.decisions)
    earlier: set[str] = set()
    for step, decision in zip(steps, played.decisions, strict=True):
        assert_equal(step, decision, earlier)
        earlier |= {one.id for one in decision.candidates}
    for step, following in zip(steps, played.decisions[1:], strict=False):
        assert step.after is not None
        assert step.after.id == following.state.id
