"""A published leak as an option: only what ends the episode is scored by gold, and the label says so."""

from collections.abc import Sequence

import pytest

from iad_policy import Candidate, State, Verdict
from iad_policy.types import AWAITING
from iad_policy.types.information import Information
from iad_policy.verifiers.corrupted import TerminalOracleVerifier

HERE = State("start", {}, id="here")
GOLD = {"reward": 0.25, "progress": 0.75, "reward_parts": {"r": 0.25}}


class Half:
    """Gives everything a half, and looks for gold."""

    information: Information = "learned"
    needs_preview = False
    identity = "half"

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        assert all(one.preview is None or one.preview.gold is None for one in candidates)
        return [Verdict(0.5) for _ in candidates]


def candidate(*, done: bool, reason: str = "") -> Candidate:
    info = {"stop_reason": reason} if reason else {}
    return Candidate("act", key="act", preview=State("after", info, done=done, gold=GOLD))


@pytest.mark.parametrize(
    ("one", "score"),
    [
        (candidate(done=True), 0.25),
        (candidate(done=False), 0.5),
        (candidate(done=True, reason=AWAITING), 0.5),
        (Candidate("act", key="act"), 0.5),
    ],
)
def test_only_an_end_is_scored_by_gold(one: Candidate, score: float) -> None:
    verifier = TerminalOracleVerifier(Half())
    assert [verdict.score for verdict in verifier.verify(HERE, [one])] == [score]


def test_it_is_an_oracle_and_names_the_other_verifier() -> None:
    verifier = TerminalOracleVerifier(Half())
    assert (verifier.information, verifier.needs_preview, verifier.identity) == ("oracle", True, "terminal-oracle half")
