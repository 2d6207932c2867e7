"""Stop rules: when each says stop, and what it saves."""

import pytest
from scipy.stats import beta

from iad_policy.errors import UnknownName
from iad_policy.requests import Propose, Simulate
from iad_policy.strategies import load_strategy
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.strategies.building_blocks.stop import chance_ahead, load_stop
from iad_policy.types import Candidate, State, Verdict
from tests.contract.canned import HERE, canned, drive

BAD = Candidate(None, error="unreadable")


def tried(text: str) -> list[Candidate]:
    """Candidates by their letters: with a score, and marked where they passed (+), failed (!), or are no action (?)."""
    found = []
    for one in text.split():
        key, _, score = one.strip("+!").partition("=")
        verdict = Verdict(float(score), passed=one.endswith("+") or None) if score else None
        preview = State("saw", {}, key=f"result of {key}", failure="no such table") if one.endswith("!") else None
        found.append(BAD if key == "?" else Candidate(key, key=key, verdict=verdict, preview=preview))
    return found


@pytest.mark.parametrize(
    ("rule", "text", "stops"),
    [
        ("never", "a=1.0+", False), ("passed", "a=0.2+", True), ("passed", "a=0.2+ b=0.7", False),
        ("passed", "?", False), ("vote:0.5", "?", False), ("gain:20", "?", False),
        ("score:0.7", "a=0.7", True), ("score:0.7", "a=0.69", False),
        ("repeat", "a b a", True), ("repeat", "a a b", False), ("repeat", "? ?", False),
        ("vote:0.95", "a a a", False), ("vote:0.95", "a a a a", True), ("vote:0.95", "a a a a b ?", False),
        ("vote:0.95", "a a a a a a b ?", True), ("vote:0.9", "a! a! a! a! b", False),
        ("gain:20", "a=0.5", False), ("gain:20", "a=0.7", True), ("gain:20", "a=0.5 b=0.4", True),
    ],
)  # fmt: skip
def test_a_rule_says_when_to_stop(rule: str, text: str, stops: bool) -> None:
    assert load_stop(rule)(incumbent(tried(text)), tried(text)) is stops


def test_a_votes_confidence_is_the_share_of_a_beta_distribution_above_a_half() -> None:
    for n_first in range(9):
        for n_second in range(n_first + 1):
            expected = beta.sf(0.5, n_first + 1, n_second + 1)
            assert chance_ahead(n_first, n_second) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("strategy", "stop", "n_asked"),
    [
        *(("bon", "never", 5), ("bon", "score:3", 3), ("bon", "score:9", 5), ("weighted-bon", "score:3", 3)),
        *(("bon-sc", "repeat", 4), ("chains", "score:1", 1), ("mixed", "never", 5)),
    ],
)
def test_proposals_that_a_rule_saves_are_not_asked_for(strategy: str, stop: str, n_asked: int) -> None:
    """Scores are the lengths of the actions, and the fourth action is the first again."""
    answers = canned("a", "bb", "ccc", "a", "e")
    asked: list[int] = []

    def propose(request: Propose) -> list[Candidate]:
        asked.append(request.n)
        return answers[Propose](request)  # type: ignore[no-any-return]

    options = {"k": 1} if strategy == "chains" else {}
    options |= {} if strategy == "mixed" else {"stop": stop}
    drive(load_strategy(strategy, n=5, **options)(HERE), {**answers, Propose: propose})
    assert sum(asked) == n_asked
    assert (len(asked) == 1) is ((strategy == "bon" and stop == "never") or n_asked == 1)


def test_a_vote_is_of_results_where_a_strategy_looks_at_them() -> None:
    asked: list[int] = []
    answers = canned(*"abcdefgh")
    same = {Simulate: lambda request: State("the same", {}, id=request.candidate.key, done=True)}
    counting = {Propose: lambda request: asked.append(request.n) or answers[Propose](request)}
    drive(load_strategy("bon-sc", n=8, by="result", stop="vote:0.95")(HERE), {**answers, **same, **counting})
    assert len(asked) == 4


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ("finalise", UnknownName, "use passed"),
        ("later", UnknownName, "gain:W, never, passed, repeat, score:X, vote:P"),
        ("score", ValueError, "got 'score'; such as score:0.9"),
        ("vote:1.2", ValueError, "from 0.5 to 1, got 'vote:1.2'"),
        ("gain:-1", ValueError, "0 or more, got 'gain:-1'"),
        ("never:1", UnknownName, "never:1"),
    ],
)
def test_a_rule_that_is_none_is_refused(given: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        load_stop(given)


@pytest.mark.parametrize("stop", ["score:0.9", "passed", "gain:5"])
def test_a_rule_of_verdicts_is_refused_where_none_are_asked_for(stop: str) -> None:
    with pytest.raises(ValueError, match="for bon_sc, which asks no verifier"):
        load_strategy("bon-sc", stop=stop)
    assert load_strategy("bon", stop=stop)
