"""The strategies that search: which states they value, what they commit, and what they do when the budget ends."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_policy import Ask, Candidate, IADPolicyWrapper, Propose, State, Verdict, Verify, per_step
from iad_policy.strategies import load_strategy
from iad_policy.types.information import Information
from tests.contract.components import ENVIRONMENTS, Calls, CountedOracle, Wanderer, play
from tests.contract.toy import Digger, SlipperyDigger
from tests.iad_policy.two_letters import TwoLetters, visits

WORTH = {"a": 0.6, "b": 0.4, "aa": 0.2, "ab": 0.5, "ba": 0.7, "bb": 0.3}
SEARCHES: dict[str, dict[str, Any]] = {
    "mcts": {"n": 4, "k": 2},
    "lats": {"n": 3, "k": 2, "k_root": 2},
    "best-first": {"n": 6, "branching": 2, "samples": 3, "votes": 1},
    "beam": {"n": 2, "width": 2, "k": 2},
}


def valued_words(world: TwoLetters) -> list[str]:
    """The words a verdict was asked for, in order."""
    return [one.at.id + c.action for one in world.asked if isinstance(one, Verify) for c in one.candidates]


@pytest.mark.parametrize(
    ("n", "worth", "word", "valued"),
    [
        # Of a, b, b the more frequent b comes first; both have the priority .5 of the start. b is worth .4 and a .6, so
        # what follows a is looked at before what follows b. n counts the states that are taken from the queue.
        *((1, 0.5, "b", ""), (2, 0.5, "b", "b"), (3, 0.5, "a", "b a"), (4, 0.5, "a", "b a ab")),
        *((7, 0.5, "ba", "b a ab aa bb ba"), (9, 0.5, "ba", "b a ab aa bb ba")),
        (9, 1.0, "ab", "b a ab"),  # it stops at the value 1
    ],
)
def test_best_first_values_the_most_promising_state_first_and_commits_the_whole_way_to_the_best(
    n: int, worth: float, word: str, valued: str
) -> None:
    world = TwoLetters(WORTH | {"ab": worth}, letters="abb")
    committed = world.run(load_strategy("best-first", n=n, branching=2, samples=3, votes=1))
    assert {word for word, (n_visits, _) in visits(world.kept[0]).items() if n_visits} == set(valued.split())
    assert committed.startswith(word)
    if n > 6:
        assert valued_words(world) == valued.split()


def test_best_first_keeps_the_most_frequent_proposals_of_20() -> None:
    world = TwoLetters(WORTH, letters="abbccc ")
    world.run(load_strategy("best-first", n=1, branching=2))
    assert isinstance(world.asked[0], Propose)
    assert world.asked[0].n == 20
    assert [edge.candidate.action for edge in world.kept[0].root.edges] == ["c", "b"]


def test_a_value_is_the_mean_of_up_to_20_votes_unless_the_first_three_are_the_same() -> None:
    votes = iter([1.0, 0.0] * 10)

    class Wavering(TwoLetters):
        def _verified(self, word: str, candidate: Candidate) -> Candidate:
            return replace(candidate, verdict=Verdict(next(votes) if candidate.action == "b" else 0.6))

    world = Wavering(letters="bba")
    world.run(load_strategy("best-first", n=3, branching=2, samples=3, depth=1))
    assert valued_words(world)[:23] == ["b"] * 20 + ["a"] * 3
    assert [edge.q for edge in world.kept[0].root.edges] == pytest.approx([0.5, 0.6])


@pytest.mark.parametrize(("n", "width", "word"), [(2, 1, "ab"), (2, 2, "ba"), (1, 2, "ab")])
def test_a_beam_goes_on_with_the_best_scored_of_a_level(n: int, width: int, word: str) -> None:
    world = TwoLetters(WORTH)
    assert world.run(load_strategy("beam", n=n, width=width, k=2)) == word
    if n == 1:  # one of one level looks again after every commit
        assert valued_words(world) == ["a", "b", "aa", "ab"]


def test_lats_notes_up_to_three_reflections_on_what_failed_for_every_later_proposal() -> None:
    world = TwoLetters(WORTH)
    world.run(load_strategy("lats", n=6, k=2, k_root=2))
    told = [len(request.at.notes) for request in world.asked if isinstance(request, Propose)]
    assert told == sorted(told)
    asked = [request.subject[0].observation for request in world.asked if isinstance(request, Ask)]
    assert asked == ["ab", "ba", "bb"]
    assert world.asked[-1].at.notes in ((), ("not ab", "not ba", "not bb"))


def test_lats_stops_at_a_verdict_that_meets_its_stop_rule() -> None:
    full, early, lenient = (TwoLetters(WORTH | {"ba": best}) for best in (0.7, 1.0, 0.7))
    options = {"n": 6, "k": 2, "k_root": 2, "n_reflections": 0}
    assert full.run(load_strategy("lats", **options)) == "ba"
    assert early.run(load_strategy("lats", **options)) == "ba"
    assert lenient.run(load_strategy("lats", stop="score:0.5", **options)) == "ab"
    assert len(lenient.asked) < len(early.asked) < len(full.asked)


class Doubtful:
    """A proxy verifier that never gives more than 0.2."""

    information: Information = "proxy"
    needs_preview = False

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        return [Verdict(0.2)] * len(candidates)


@pytest.mark.parametrize(("verifier", "n_iterations"), [(CountedOracle(Calls()), 1), (Doubtful(), 5)])
def test_the_true_reward_ends_a_search_under_the_label_oracle_only(verifier: Any, n_iterations: int) -> None:
    env = Digger()
    with IADPolicyWrapper(lambda *_: "dig", env, strategy="lats", verifier=verifier, n=5) as policy:
        observation, info = env.reset(options={"task_id": "ford"})  # where digging is right
        assert env.step(policy.act(observation, info))[1] == 1.0
        (tree,) = policy.decisions[0].trees
    assert tree.root.n == n_iterations


@pytest.mark.parametrize(
    ("name", "n_granted", "word"),
    [
        ("mcts", 0, "a"), ("mcts", 1, "b"), ("mcts", 2, "a"),  # the first; by verdicts; by the ranker's word
        ("lats", 0, "a"), ("lats", 1, "b"), ("lats", 2, "b"),  # the first; best verdict; none has ended: best-ranked
        ("best-first", 0, "b"), ("best-first", 2, "b"), ("best-first", 3, "b"),  # most frequent; the only valued one
        ("beam", 0, "a"), ("beam", 1, "b"), ("beam", 3, "b"),  # the best verdict, though no level was reached
    ],
)  # fmt: skip
def test_a_search_that_the_budget_ends_commits_by_what_it_knows(name: str, n_granted: int, word: str) -> None:
    letters = "abb" if name == "best-first" else "ab"
    world = TwoLetters(WORTH | {"b": 0.9}, {"": "a"}, letters=letters, n_granted=n_granted)
    assert world.run(load_strategy(name, **SEARCHES[name]))[0] == word


@pytest.mark.parametrize("name", list(SEARCHES))
@given(n_granted=st.integers(0, 40), letters=st.text("ab ", min_size=1, max_size=4))
def test_wherever_the_budget_ends_an_action_is_committed_if_one_was_proposed(
    name: str, n_granted: int, letters: str
) -> None:
    word = TwoLetters(WORTH, letters=letters, n_granted=n_granted).run(load_strategy(name, **SEARCHES[name]))
    assert len(word) == 2
    n_proposed = 3 if name == "best-first" else 2
    usable = {letters[place % len(letters)] for place in range(n_proposed)} - {" "}
    assert word[0] in (usable or {"?"})


def test_where_outcomes_differ_an_action_keeps_some_and_visits_them_in_turn() -> None:
    how = {"strategy": "mcts", "n": 60, "k": 3, "depth": 3, "draws": 3}
    played = play(lambda: SlipperyDigger(max_steps=6), {**how, "agent": Wanderer(errors=0.0)}, n_decisions=1)
    edges = [edge for node in played.trees[0].nodes() for edge in node.edges]
    assert all(len(edge.draws) == min(edge.n, 3) for edge in edges)
    assert {len(edge.children) for edge in edges if edge.n >= 3} == {1, 2}  # a step, or a slip
    for edge in edges:
        assert len({end.state.observation for end in edge.children}) == len(edge.children)


@pytest.mark.parametrize(("environment", "is_random"), [("digger", False), ("slippery", True), ("dice", True)])
def test_a_state_says_whether_outcomes_may_differ(environment: str, is_random: bool) -> None:
    seen: list[State] = []

    @per_step
    def looking(here: State) -> Any:
        (candidate,) = yield from Verify(here, (yield from Propose(here, 1)))
        seen.extend([here, candidate.preview])
        return candidate

    play(ENVIRONMENTS[environment], {"strategy": looking, "agent": Wanderer(errors=0.0)}, n_decisions=1)
    assert [state.is_random for state in seen] == [is_random] * 2


def test_a_verdict_is_about_the_draw_that_is_named() -> None:
    seen: list[list[str]] = []

    @per_step
    def comparing(here: State) -> Any:
        tried = [Candidate(f"go {way}") for way in ("north", "south", "east", "west")]
        for draw in range(4):
            verified = yield from Verify(here, tried, draw=draw)
            assert [one.preview.path[-1].draw for one in verified] == [draw] * 4
            seen.append([one.preview.observation for one in verified])
        return tried[0]

    play("slippery", {"strategy": comparing}, n_decisions=1)
    assert len(set(map(tuple, seen))) > 1


def test_no_state_of_a_tree_goes_beyond_the_steps_that_are_left() -> None:
    trees = play(lambda: Digger(max_steps=2), {"strategy": "mcts", "n": 25, "k": 3}, n_decisions=2).trees
    assert [max(node.depth for node in tree.nodes()) for tree in trees] == [2, 1][: len(trees)]
    for tree in trees:
        assert all(not node.edges for node in tree.nodes() if node.state.done)
