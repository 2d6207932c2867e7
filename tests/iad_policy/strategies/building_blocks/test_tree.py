"""Searches: trees held to ones worked by hand, which states they value, what they commit, also when the budget ends."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_policy import Ask, Candidate, IADPolicyWrapper, Propose, State, Verdict, Verify, per_step
from iad_policy.errors import ContractError
from iad_policy.strategies import load_strategy
from iad_policy.strategies.building_blocks.expansion import ranked
from iad_policy.strategies.building_blocks.tree import Edge, Node, Tree, preference_pairs, selected, ucb1, uct
from tests.contract.components import Calls, CountedOracle, Wanderer, play
from tests.contract.toy import Digger, SlipperyDigger
from tests.iad_policy.two_letters import TwoLetters, letter, visits

WORTHS = {"a": 0.6, "b": 0.4, "aa": 0.2, "ab": 0.5, "ba": 0.6, "bb": 0.3}

# Agent Q by hand. K = 2, c_exp = 1; the ranker prefers a at the start and after a, b after b; the agent's first answer
# is a; worth: aa .2, ab .5, ba .6, bb .3. U = Q + sqrt(ln N(h) / (1 + N(a))).
#
#  it  at the start                              below                                    rollout   backed up
#  1   expand, best-ranked a                     (a is where the tree ends)                aa .2     a
#  2   b was never visited                       expand, best-ranked b                     bb .3     b, bb
#  3   U(a) = .2 + .589 < U(b) = .3 + .589       a was never visited                       ba .6     b, ba
#  4   U(a) = .2 + .741 < U(b) = .45 + .605      U(a) = .6 + .589 > U(b) = .3 + .589       ba .6     b, ba
#  5   U(a) = .2 + .833 < U(b) = .5 + .589       U(a) = .6 + .605 > U(b) = .3 + .741       ba .6     b, ba
#  6   U(a) = .2 + .897 > U(b) = .525 + .567     expand, best-ranked a                     aa .2     a, aa
#  7   U(a) = .2 + .773 < U(b) = .525 + .599     U(a) = .6 + .589 > U(b) = .3 + .833       ba .6     b, ba
#  8   U(a) = .2 + .805 < U(b) = .54 + .570      U(a) = .6 + .567 < U(b) = .3 + .897       bb .3     b, bb
AGENT_Q = [
    {"a": (1, 0.2), "b": (0, 0.0)},
    {"a": (1, 0.2), "b": (1, 0.3), "bb": (1, 0.3), "ba": (0, 0.0)},
    {"a": (1, 0.2), "b": (2, 0.45), "bb": (1, 0.3), "ba": (1, 0.6)},
    {"a": (1, 0.2), "b": (3, 0.5), "bb": (1, 0.3), "ba": (2, 0.6)},
    {"a": (1, 0.2), "b": (4, 0.525), "bb": (1, 0.3), "ba": (3, 0.6)},
    {"a": (2, 0.2), "b": (4, 0.525), "bb": (1, 0.3), "ba": (3, 0.6), "aa": (1, 0.2), "ab": (0, 0.0)},
    {"a": (2, 0.2), "b": (5, 0.54), "bb": (1, 0.3), "ba": (4, 0.6), "aa": (1, 0.2), "ab": (0, 0.0)},
    {"a": (2, 0.2), "b": (6, 0.5), "bb": (2, 0.3), "ba": (4, 0.6), "aa": (1, 0.2), "ab": (0, 0.0)},
]

# LATS by hand. Two samples, also at the root; first visits and rollouts follow the verdicts a .6 > b .4, ab .5 > aa .2,
# ba .7 > bb .25. U = Q + sqrt(2 ln N_p / N).
#
#  it  at the start                              below                                    rollout   backed up
#  1   expand, best verdict a                    (a is where the tree ends) best verdict   ab .5     a
#  2   b was never visited                       expand, best verdict a                    ba .7     b, ba
#  3   U(a) = .5 + 1.177 < U(b) = .7 + 1.177     b was never visited                       bb .25    b, bb
#  4   U(a) = .5 + 1.482 > U(b) = .475 + 1.048   expand, best verdict b                    ab .5     a, ab
#  5   U(a) = .5 + 1.177 > U(b) = .475 + 1.177   a was never visited                       aa .2     a, aa
#  6   U(a) = .4 + 1.036 < U(b) = .475 + 1.269   U(a) = .7 + 1.177 > U(b) = .25 + 1.177    ba .7     b, ba
LATS_WORTH = WORTHS | {"ba": 0.7, "bb": 0.25}
LATS = [
    {"a": (1, 0.5), "b": (0, 0.0)},
    {"a": (1, 0.5), "b": (1, 0.7), "ba": (1, 0.7), "bb": (0, 0.0)},
    {"a": (1, 0.5), "b": (2, 0.475), "ba": (1, 0.7), "bb": (1, 0.25)},
    {"a": (2, 0.5), "b": (2, 0.475), "ba": (1, 0.7), "bb": (1, 0.25), "ab": (1, 0.5), "aa": (0, 0.0)},
    {"a": (3, 0.4), "b": (2, 0.475), "ba": (1, 0.7), "bb": (1, 0.25), "ab": (1, 0.5), "aa": (1, 0.2)},
    {"a": (3, 0.4), "b": (3, 0.55), "ba": (2, 0.7), "bb": (1, 0.25), "ab": (1, 0.5), "aa": (1, 0.2)},
]


def agent_q(n: int, **options: Any) -> Tree:
    world = TwoLetters(WORTHS, {"": "a", "a": "a", "b": "b"})
    world.run(load_strategy("mcts", n=n, **{"k": 2, "verify_first": False, **options}))
    tree: Tree = world.kept[0]
    return tree


@pytest.mark.parametrize("n", range(1, 9))
def test_visits_and_values_are_those_of_trees_worked_by_hand(n: int) -> None:
    assert visits(agent_q(n)) == AGENT_Q[n - 1]
    if n <= len(LATS):
        world = TwoLetters(LATS_WORTH)
        committed = world.run(load_strategy("lats", n=n, k=2, k_root=2, n_reflections=0))
        assert (visits(world.kept[0]), committed) == (LATS[n - 1], "ab" if n == 1 else "ba")


def test_a_state_is_expanded_once_and_ranked_by_removing_the_best_again_and_again() -> None:
    world = TwoLetters(WORTHS, {"": "c"}, letters="abc")
    world.run(load_strategy("mcts", n=1, k=3, verify_first=False))
    asks = [request for request in world.asked if isinstance(request, Ask) and request.at.observation == ""]
    assert [[candidate.action for candidate in ask.subject] for ask in asks] == [["a", "b", "c"], ["a", "b"]]
    root = world.kept[0].root
    assert [(edge.candidate.action, edge.rank) for edge in root.edges] == [("c", 1.0), ("a", 0.5), ("b", 0.0)]

    # Verdicts come before the ranker where they are what it goes by.
    world = TwoLetters(WORTHS, {"": "b"})
    world.run(load_strategy("mcts", n=1, k=2))
    ask = next(request for request in world.asked if isinstance(request, Ask))
    assert [candidate.score for candidate in ask.subject] == [0.6, 0.4]
    for said in ("2", "-1", "the first", ""):
        ranking = ranked(State("", {}), [letter("a"), letter("b")])
        next(ranking)
        with pytest.raises(ContractError, match="an index from 0 to 1"):
            ranking.send(said)
    # Equal actions are one child, and an answer that is no action is none.
    world = TwoLetters(WORTHS, letters="ab a")
    world.run(load_strategy("mcts", n=1, k=4))
    assert [edge.candidate.action for edge in world.kept[0].root.edges] == ["a", "b"]
    assert [candidate.action for candidate in world.kept[0].proposed] == ["a", "b", "", "a"]


def test_a_state_where_nothing_can_be_done_is_worth_what_led_there_and_is_asked_for_once() -> None:
    class Stuck(TwoLetters):
        def _answers(self, request: Any) -> Any:
            if isinstance(request, Propose) and request.at.observation == "a":
                return [letter("")] * request.n
            return super()._answers(request)

    world = Stuck(WORTHS, {"": "a", "b": "b"})
    world.run(load_strategy("mcts", n=40, k=2, verify_first=False))
    (stuck,) = [edge for edge in world.kept[0].root.edges if edge.candidate.action == "a"]
    assert stuck.n > 2
    # The first visit's rollout goes on with a legal action and is worth 0; the second finds nothing to expand with.
    assert math.isclose(stuck.q, 0.6 * (stuck.n - 1) / stuck.n)
    assert sum(isinstance(one, Propose) and one.at.id == "a" and one.at.path != () for one in world.asked) == 2


@pytest.mark.parametrize("name", ["mcts", "lats", "best-first", "beam"])
def test_where_the_episode_is_over_nothing_is_proposed_and_no_verdict_is_asked_for_twice(name: str) -> None:
    world = TwoLetters(WORTHS)
    world.run(load_strategy(name, n=12, **({"votes": 1} if name == "best-first" else {})))
    assert not any(request.at.done for request in world.asked)
    if name == "mcts":
        judged = [(one.at.id, c.key) for one in world.asked if isinstance(one, Verify) for c in one.candidates]
        first_decision = judged[: judged.index(("a", "a")) + 1]
        assert len(first_decision) == len(set(first_decision))


def test_depth_ends_a_rollout_which_is_then_worth_its_last_verdict_or_for_lats_what_is_named_for_that() -> None:
    assert visits(agent_q(2, depth=1)) == {"a": (1, 0.6), "b": (1, 0.4)}
    world = TwoLetters(LATS_WORTH)
    committed = world.run(load_strategy("lats", n=2, k=2, k_root=2, depth=1))
    assert visits(world.kept[0]) == {"a": (1, -0.5), "b": (1, -0.5)}
    assert committed == "ab"  # no rollout ended, so one action: the first of equals; then a search in which one does


def tree_of(**statistics: tuple[int, float, float]) -> Tree:
    """A root with these actions: N, Q and rank value."""
    tree = Tree(State("", {}))
    tree.root.edges = [Edge(tree.root, letter(name), rank, n, q) for name, (n, q, rank) in statistics.items()]
    return tree


def test_the_urges_are_the_papers_formulas() -> None:
    root = tree_of(a=(3, 0.5, 1.0), b=(5, 0.25, 0.0)).root
    assert math.isclose(ucb1(2.0)(root.edges[0]), 0.5 + 2.0 * math.sqrt(math.log(8) / 4))
    assert math.isclose(uct(root.edges[1]), 0.25 + math.sqrt(2 * math.log(8) / 5))
    assert selected(root, uct).candidate.action == "a"
    assert selected(tree_of(a=(9, 0.9, 1.0), b=(0, 0.0, 0.5), c=(0, 0.0, 0.0)).root, uct).candidate.action == "b"


def test_as_published_an_unvisited_action_has_a_score_too() -> None:
    """Equation 7 of arXiv 2408.07199: Q is 0 before a visit, and N is that of the state that follows."""
    published = ucb1(1.0, "published")
    root = tree_of(a=(1, 1.0, 1.0), b=(0, 0.0, 0.5), c=(0, 0.0, 0.0)).root
    assert selected(root, published, "published").candidate.action == "a"  # 1 + 0 against 0 + 0
    assert selected(root, ucb1(1.0)).candidate.action == "b"
    failed = tree_of(a=(2, 0.0, 1.0), b=(0, 0.0, 0.5)).root
    assert selected(failed, published, "published").candidate.action == "a"  # a tie, as nobody acted in what follows
    (end,) = failed.edges[0].draws = [Node(State("after a", {}), failed.edges[0])]
    end.edges = [Edge(end, letter("x"), 1.0, 3, 0.0)]
    assert math.isclose(published(failed.edges[0]), math.sqrt(math.log(2) / (1 + 3)))
    assert math.isclose(published(failed.edges[1]), math.sqrt(math.log(2)))
    assert selected(failed, published, "published").candidate.action == "b"
    with pytest.raises(ValueError, match="'ranked' or 'published', got 'first'"):
        TwoLetters(WORTHS).run(load_strategy("mcts", first_visits="first"))


def test_the_committed_action_is_picked_by_a_statistic() -> None:
    for a, b, chosen in (
        *(((5, 0.2), (3, 0.4), "ab"), ((3, 0.2), (3, 0.4), "bb"), ((5, 0.4), (6, 0.4), "bb")),
        *(((2, 0.4), (2, 0.4), "aa"), ((1, -0.5), (0, 0.0), "aa"), ((0, 0.0), (0, 0.0), "aa")),
    ):
        tree = tree_of(a=(*a, 1.0), b=(*b, 0.0))
        assert "".join(tree.chosen(statistic).action for statistic in ("visits", "value")) == chosen, (a, b)


def test_preference_pairs_need_two_visited_actions_and_a_margin() -> None:
    def pairs(of: Tree, **options: float) -> list[tuple[Any, ...]]:
        found = preference_pairs(of, **options)
        return [(p.state.observation, p.chosen.action, p.rejected.action, round(p.margin, 6), p.source) for p in found]

    tree = tree_of(a=(4, 0.8, 0.0), b=(2, 0.4, 1.0), c=(1, 0.3, 0.5), d=(0, 0.0, 0.25))
    # Q_mix: a .4, b .7, c .4; d was not visited
    assert pairs(tree) == [("", "b", "a", 0.3, "rank"), ("", "b", "c", 0.3, "both")]
    # The ablation: 0.8 - 0.4 is enough, it is >= theta
    assert pairs(tree, alpha=1.0, theta=0.4) == [("", "a", "b", 0.4, "visits"), ("", "a", "c", 0.5, "visits")]
    assert pairs(tree, alpha=1.0, theta=0.6) == []
    # They come from every state of a tree.
    deep = [("", "b", "a", 0.3, "visits"), ("b", "a", "b", 0.3, "visits")]
    assert pairs(agent_q(8), alpha=1.0, theta=0.2) == deep
    for alpha in (-0.1, 1.5):
        with pytest.raises(ValueError, match="from 0 to 1"):
            preference_pairs(tree_of(), alpha=alpha)


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
def test_best_first_values_the_most_promising_state_first(n: int, worth: float, word: str, valued: str) -> None:
    world = TwoLetters(WORTH | {"ab": worth}, letters="abb")
    committed = world.run(load_strategy("best-first", n=n, branching=2, samples=3, votes=1))
    assert {word for word, (n_visits, _) in visits(world.kept[0]).items() if n_visits} == set(valued.split())
    assert committed.startswith(word)
    if n > 6:
        assert valued_words(world) == valued.split()


def test_best_first_keeps_the_most_frequent_of_20_and_values_by_up_to_20_votes_unless_three_agree() -> None:
    world: TwoLetters = TwoLetters(WORTH, letters="abbccc ")
    world.run(load_strategy("best-first", n=1, branching=2))
    assert (type(world.asked[0]), world.asked[0].n) == (Propose, 20)
    assert [edge.candidate.action for edge in world.kept[0].root.edges] == ["c", "b"]
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
    assert [world.run(load_strategy("lats", **options)) for world in (full, early)] == ["ba", "ba"]
    assert lenient.run(load_strategy("lats", stop="score:0.5", **options)) == "ab"
    assert len(lenient.asked) < len(early.asked) < len(full.asked)


class Doubtful:
    """A proxy verifier that never gives more than 0.2."""

    information, needs_preview = "proxy", False

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
def test_wherever_the_budget_ends_an_action_is_committed(name: str, n_granted: int, letters: str) -> None:
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
    assert all(len({end.state.observation for end in edge.children}) == len(edge.children) for edge in edges)


def test_a_state_says_whether_outcomes_may_differ() -> None:
    seen: list[State] = []

    @per_step
    def looking(here: State) -> Any:
        (candidate,) = yield from Verify(here, (yield from Propose(here, 1)))
        seen.extend([here, candidate.preview])
        return candidate

    for environment in ("digger", "slippery", "dice"):
        play(environment, {"strategy": looking, "agent": Wanderer(errors=0.0)}, n_decisions=1)
    assert [state.is_random for state in seen] == [False, False, True, True, True, True]


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
    assert not [node for tree in trees for node in tree.nodes() if node.state.done and node.edges]
