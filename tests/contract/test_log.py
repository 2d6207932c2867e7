"""Contract 4: a log cut anywhere is taken up where it ends, and what is recorded is never asked again.

What is read from a run folder are the decisions that the policy made, value by value.
"""

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iad_policy.errors import ReplayError
from iad_policy.ledger.answer_log import ANSWERS, BLOBS
from iad_policy.ledger.episode import RecordedStep
from iad_policy.ledger.episode_record import EPISODES, EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import CONFIG
from iad_policy.types import Candidate, Decision, Usage
from iad_policy.types.hashing import encode
from tests.contract.components import STRATEGIES, Calls, Played, declared, play
from tests.contract.drawing import N_TOKENS, SEEDS, THREADS, agent, drawn
from tests.contract.toy import Digger

ASKED_OF = {"candidate": "agent", "verdict": "verifier", "text": "roles"}


def lines_of(folder: Path) -> list[bytes]:
    return (folder / ANSWERS).read_bytes().splitlines(keepends=True)


def records_of(folder: Path) -> Counter[str]:
    """The records of a log as a multiset, without the seconds that no two runs share."""
    found: Counter[str] = Counter()
    for line in lines_of(folder):
        record = json.loads(line)
        record.get("usage", {}).pop("seconds", None)
        if not record.get("usage", True):
            del record["usage"]
        found[json.dumps(record, sort_keys=True)] += 1
    return found


def taken_up(source: Path, target: Path, kept: bytes) -> None:
    """Copy the beginning of a log, and what its lines refer to."""
    target.mkdir(parents=True)
    (target / ANSWERS).write_bytes(kept)
    if (source / BLOBS).exists():
        shutil.copytree(source / BLOBS, target / BLOBS)


def is_the_same(resumed: Played, uncut: Played, target: Path, full: Path, kept: bytes) -> None:
    """Check that a run ended as the one that was not cut, and asked what was not recorded, and nothing else."""
    found, expected = (
        (one.actions, one.ended_by, [(decision.cut, decision.notes) for decision in one.decisions])
        for one in (resumed, uncut)
    )
    assert (found, records_of(target)) == (expected, records_of(full))
    kinds = [json.loads(line)["kind"] for line in kept.splitlines(keepends=True) if line.endswith(b"\n")]
    assert resumed.counts == uncut.counts - Counter(ASKED_OF[kind] for kind in kinds if kind in ASKED_OF)


METERED: dict[str, Any] = {"verifier": "apart", "n_tokens": N_TOKENS}
LIMITED: Sequence[tuple[str, dict[str, float]]] = [
    ("bon", {"decision.proposals": 2}), ("bon", {"decision.verifications": 1}),
    ("bon", {"decision.verifier.tokens": 10}), ("bon", {"decision.seconds": 25.0}),
    ("artis-short", {"decision.proposals": 0}), ("artis-short", {"run.simulations": 3}),
    ("artis-short", {"decision.tokens": 25}),
    ("artis-short", {"episode.agent.prompt_tokens": 45, "decision.simulations": 3}),
    ("lats", {"episode.proposals": 5}), ("lats", {"decision.simulations": 2}), ("lats", {"run.tokens": 65}),
    ("iad-fb", {"episode.verifications": 3}), ("iad-fb", {"decision.asks": 1}), ("iad-fb", {"decision.tokens": 0}),
]  # fmt: skip
LIMITS = [{}, *(budget for _, budget in LIMITED)]
CUT: Sequence[tuple[str, str, dict[str, Any]]] = [
    ("iad", "slippery", {"threads": 4}),
    ("iad", "dice", {"verifier": "apart"}),
    ("mcts", "digger", {"verifier": "oracle", "threads": 4}),
    ("artis-alone", "dice", {"n_decisions": 1, "threads": 4}),
    ("best-first", "digger", {"verifier": "apart", "n_decisions": 1}),
    ("artis-parallel", "slippery", {"n_decisions": 1}),
    *((name, "digger", {**METERED, "budget": one, "threads": 1 + 3 * (name == "bon")}) for name, one in LIMITED),
]


@pytest.mark.parametrize(("name", "environment", "options"), CUT)
def test_a_log_cut_at_any_line_is_taken_up(name: str, environment: str, options: Any, tmp_path: Path) -> None:
    """Also within lines; each time the rest is asked, and nothing else."""
    full, options = tmp_path / "full", {"n_decisions": 2, **options}
    uncut = play(environment, STRATEGIES[name], log=full, **options)
    if "budget" in options:
        assert {uncut.ended_by, *(decision.cut for decision in uncut.decisions)} & set(options["budget"])
    lines = lines_of(full)
    for n_kept in range(len(lines) + 1):
        torn = b"" if n_kept == len(lines) or n_kept % 2 else lines[n_kept][: 11 + 7 * n_kept % 40]
        kept = b"".join(lines[:n_kept]) + torn
        target = tmp_path / str(n_kept)
        taken_up(full, target, kept)
        is_the_same(play(environment, STRATEGIES[name], log=target, **options), uncut, target, full, kept)
        shutil.rmtree(target)


@pytest.mark.parametrize("name", list(STRATEGIES))
@given(st.floats(0, 1), st.sampled_from(["digger", "slippery"]), st.sampled_from(LIMITS), THREADS, SEEDS)
@drawn
def test_a_run_is_taken_up_from_any_prefix_of_its_log(
    name: str, share: float, environment: str, budget: dict[str, float], threads: int, seed: int
) -> None:
    drawn_options = {"budget": budget, "threads": threads, "env_seed": seed, "seed": seed}

    def run(folder: Path) -> Played:
        calls = Calls()
        how = {**STRATEGIES[name], "agent": agent(seed, calls)}
        found = play(environment, how, log=folder, n_decisions=2, **METERED, **drawn_options)
        found.counts.update(calls.counts)
        return found

    with TemporaryDirectory() as folder:
        full, target = Path(folder, "full"), Path(folder, "cut")
        uncut = run(full)
        lines = b"".join(lines_of(full))
        kept = lines[: round(share * len(lines))]
        taken_up(full, target, kept)
        is_the_same(run(target), uncut, target, full, kept)


def test_an_uncut_log_asks_nothing_and_a_changed_option_or_environment_is_noticed(
    tmp_path: Path,
) -> None:
    unmoving = type("Unmoving", (Digger,), {"simulate": None})
    uncut, again = (play(kind, STRATEGIES["mcts"], log=tmp_path / "mcts") for kind in (Digger, unmoving))
    assert (again.actions, again.counts) == (uncut.actions, Counter())
    # A changed option does from where questions differ.
    play("digger", {"strategy": "iad", "feedback": "none"}, log=tmp_path / "iad")
    changed, fresh = (play("digger", STRATEGIES["iad-scalar"], **log) for log in ({"log": tmp_path / "iad"}, {}))
    assert changed.actions == fresh.actions
    assert 0 < changed.counts["agent"] < fresh.counts["agent"]

    class Foggy(Digger):
        is_clear_at_the_start = False

        def _view(self, state: Any, complaint: str) -> Any:
            view = super()._view(state, complaint)
            return view if self.is_clear_at_the_start and state[:2] == (1, 1) else view._replace(observation="fog")

    play("digger", STRATEGIES["iad"], log=tmp_path / "iad")
    with pytest.raises(ReplayError, match="environment or its data"):
        play(Foggy, STRATEGIES["iad"], log=tmp_path / "iad")
    # Where a simulated state is rebuilt:
    full = tmp_path / "full"
    play("digger", STRATEGIES["artis-short"], log=full, n_decisions=1)
    kinds = [json.loads(line)["kind"] for line in lines_of(full)]
    kept = lines_of(full)[: len(kinds) - 1 - kinds[::-1].index("outcome")]
    taken_up(full, tmp_path / "cut", b"".join(kept))
    Foggy.is_clear_at_the_start = True
    with pytest.raises(ReplayError, match="simulated observation"):
        play(lambda: Foggy(max_steps=6), STRATEGIES["artis-short"], log=tmp_path / "cut", n_decisions=1)


def test_a_record_that_was_left_does_not_come_back(tmp_path: Path) -> None:
    """Course A, then course B cut short, then B again: nothing of A may be taken for B's."""
    both, how = tmp_path / "both", STRATEGIES["iad-fb"]
    play("digger", {"strategy": "bon"}, log=both, n_decisions=4)
    n_of_a = len(lines_of(both))
    alone, fresh = (play("digger", how, n_decisions=4, **log) for log in ({}, {"log": both}))
    assert fresh.actions == alone.actions
    n_of_both = len(lines_of(both))
    assert n_of_both - n_of_a > 20
    for n_lines in range(n_of_a, n_of_both + 1, 3):
        taken_up(both, tmp_path / str(n_lines), b"".join(lines_of(both)[:n_lines]))
        again = play("digger", how, log=tmp_path / str(n_lines), n_decisions=4)
        assert again.actions == alone.actions, n_lines


AXES = (
    ("decision.proposals", 2), ("episode.proposals", 5), ("decision.verifications", 1), ("decision.simulations", 2),
    ("decision.asks", 1), ("decision.tokens", 25), ("decision.verifier.tokens", 10),
)  # fmt: skip
BUDGETS: tuple[dict[str, float], ...] = ({}, *({axis: limit} for axis, limit in AXES))
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
