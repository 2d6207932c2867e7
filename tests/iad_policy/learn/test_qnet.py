"""Reasoning trees and their values: which states are expanded, what is backed up, and what a look may do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_policy import Candidate, Commit, IADPolicyWrapper, Propose, State, Verify
from iad_policy.errors import BudgetExhausted, ContractError, UnknownName
from iad_policy.learn.experience import Experience
from iad_policy.learn.recipes.qnet import q_values, with_experts
from iad_policy.strategies.building_blocks.rollouts import Rollout
from iad_policy.strategies.building_blocks.tree import Edge, Node, Tree
from iad_policy.strategies.reasoning_tree import reasoning_tree
from tests.contract.components import Calls, Hunch, Wanderer
from tests.contract.toy import Digger
from tests.iad_policy.two_letters import TwoLetters


class Spelling(TwoLetters):
    """Proposes the letters of the words in order, each where the word so far is what it begins with."""

    words: list[str]

    def _answers(self, request: Any) -> Any:
        if not isinstance(request, Propose):
            return super()._answers(request)
        so_far = request.at.observation
        word = next(word for word in self.words if word.startswith(so_far))
        if len(so_far) + 1 == self.length:
            self.words.remove(word)
        letter = word[len(so_far)].strip()
        return [Candidate(letter, key=letter, error="" if letter else "no letter")]


def spelled(*words: str, worth: dict[str, float], **options: Any) -> tuple[Tree, Spelling]:
    """A tree whose rollouts are these words."""
    world = Spelling(worth, length=len(words[0]))
    world.words = list(words)
    return world.look(reasoning_tree(world.here, **options)), world


def q_by_word(tree: Tree, **options: Any) -> dict[str, float]:
    return {row.state.observation + row.action: round(row.q, 6) for row in q_values(tree, **options)}


# By hand: W = 2, D = 1, words of three letters. The start is rolled out from twice: "aaa" is worth .5, so its state a
# is queued (aa lies too deep); "baa" is worth nothing, so b is not. a has one child and gets one more rollout: "aba",
# worth 1, whose states are queued already or lie too deep.
WORDS = ("aaa", "baa", "aba")
WORTH = {"aaa": 0.5, "baa": 0.0, "aba": 1.0}


def test_a_tree_is_expanded_by_width_and_depth_pruned_where_nothing_was_won_and_its_values_are_backed_up() -> None:
    tree, world = spelled(*WORDS, worth=WORTH, width=2, depth_expanded=1)
    n_edges = {node.state.observation: len(node.edges) for node in tree.nodes()}
    assert n_edges == {"": 2, "a": 2, "aa": 1, "aaa": 0, "ab": 1, "aba": 0, "b": 1, "ba": 1, "baa": 0}
    assert world.words == []
    assert sum(isinstance(request, Verify) for request in world.asked) == 3
    # Bellman: aba 1, ab .9, aaa .5, aa .45, a .9 max(.45, .9) = .81, baa = ba = b = 0. Smallest 0, largest 1.
    nothing = {"b": 0.0, "ba": 0.0, "baa": 0.0}
    assert q_by_word(tree) == {"a": 0.81, "aa": 0.45, "aaa": 0.5, "ab": 0.9, "aba": 1.0, **nothing}
    assert q_by_word(tree, gamma=0.5)["a"] == 0.25
    # An averaged reward is the mean of the rollouts, and of a raw one there is a row for each.
    assert q_by_word(tree, backup="averaged") == {"a": 0.75, "aa": 0.5, "aaa": 0.5, "ab": 1.0, "aba": 1.0, **nothing}
    rows = sorted((row.state.observation + row.action, row.q) for row in q_values(tree, backup="raw"))
    assert rows[:6] == [("a", 0.5), ("a", 1.0), ("aa", 0.5), ("aaa", 0.5), ("ab", 1.0), ("aba", 1.0)]
    assert rows[6:] == sorted(nothing.items())
    with pytest.raises(UnknownName, match="averaged, bellman, pseudo-depth, raw"):
        q_values(tree, "summed")  # type: ignore[arg-type]


def test_with_pseudo_depth_a_short_rollout_is_worth_no_more_than_a_long_one() -> None:
    # Ends at depths 1 and 3, gamma .5. Steps: 1 + .5 + .25 + .125 = 1.875 at the root, 1.75 at depth 1, 1 at depth 3.
    def values(backup: Any) -> dict[str, float]:
        return {row.action: row.q for row in q_values(tree, backup, gamma=0.5, scale="none")}

    tree = Tree(State("", {}))
    short = ended_at(tree.root, "a", 1.0)
    ended_at(tree.root, "bcd", 1.0)
    assert values("bellman") == {"a": 1.0, "b": 0.25, "c": 0.5, "d": 1.0}
    deep = {"a": 1.75, "b": 0.25, "c": 0.5, "d": 1.0}
    assert values("pseudo-depth") == pytest.approx({name: one / 1.875 for name, one in deep.items()})
    assert short.ended is not None
    short.ended = replace(short.ended, value=0.4)
    assert values("pseudo-depth")["a"] == pytest.approx(0.4 * 1.75 / 1.875)


def ended_at(node: Node, word: str, value: float) -> Node:
    """The end of a rollout that takes the letters of a word from a node."""
    for letter in word:
        edge = Edge(node, Candidate(letter, key=letter))
        node.edges.append(edge)
        node = edge.add_child(State(node.state.observation + letter, {}))
    node.ended = Rollout(node.state, (), (), value=value)
    return node


@pytest.mark.parametrize(
    ("words", "worth", "width", "backup", "expected"),
    [  # the smallest is 0 and the largest 1
        ("abc", {"a": 0.2, "b": 0.4, "c": 0.6}, 3, "bellman", {"a": 0.0, "b": 0.5, "c": 1.0}),
        ("ab", {"a": 0.4, "b": 0.4}, 2, "bellman", {"a": 0.0, "b": 0.0}),
        # An answer that is no action ends its rollout with nothing.
        (("a ", "bb"), {"bb": 0.6}, 2, "raw", {"a": 0.0, "b": 0.6, "bb": 0.6}),
    ],
)
def test_values_are_scaled_within_the_tree(words: Any, worth: Any, width: int, backup: str, expected: Any) -> None:
    tree, _ = spelled(*words, worth=worth, width=width, depth_expanded=0)
    assert q_by_word(tree, backup=backup) == expected
    assert q_values(Tree(State("", {}))) == []


def test_equal_rollouts_are_one_branch_and_a_state_is_rolled_out_from_no_more_often_than_its_width() -> None:
    tree, world = spelled("aa", "aa", "aa", "aa", worth={"aa": 1.0}, width=3, depth_expanded=0)
    assert [edge.n for node in tree.nodes() for edge in node.edges] == [3, 3]
    assert world.words == ["aa"]


def test_when_the_budget_ends_the_tree_is_what_there_is() -> None:
    for n_granted in range(10):
        world = TwoLetters({"aa": 0.5}, n_granted=n_granted)
        assert isinstance(q_values(world.look(reasoning_tree(world.here))), list)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.sampled_from(["bellman", "averaged"]))
def test_values_lie_between_0_and_1_and_keep_the_order_of_the_rewards(rewards: list[float], backup: Any) -> None:
    worth = {chr(ord("a") + place): reward for place, reward in enumerate(rewards)}
    tree, _ = spelled(*worth, worth=worth, width=len(worth))
    q = {row.action: row.q for row in q_values(tree, backup)}
    assert all(0.0 <= value <= 1.0 for value in q.values())
    assert all((q[a] <= q[b]) or worth[a] > worth[b] for a in q for b in q)


def test_growing_a_tree_leaves_the_environment_where_it_is_and_may_neither_commit_nor_spend_too_much() -> None:
    def committing(here: State) -> Any:
        yield from Commit((yield from Propose(here, 1))[0])

    env = Digger()
    with IADPolicyWrapper(Wanderer(), env, strategy="single", verifier=Hunch()) as policy:
        observation, info = env.reset(seed=3)
        before = env.snapshot()
        tree = policy.look(observation, info, reasoning_tree)
        assert env.snapshot() == before
        assert len(list(tree.nodes())) > 3
        assert (policy.decisions, policy.usage.env_steps) == ([], 0)
        with pytest.raises(ContractError, match="only looks"):
            policy.look(observation, info, committing)
        env.step(policy.act(observation, info))
    poor = IADPolicyWrapper(Wanderer(), env, verifier=Hunch(), budget={"run.proposals": 0})
    with poor, pytest.raises(BudgetExhausted, match=r"run\.proposals"):
        poor.look(*env.reset(seed=0), reasoning_tree)


def test_a_look_is_recorded_and_replayed(tmp_path: Path) -> None:
    def look(calls: Calls) -> dict[str, float]:
        env = Digger()
        log = tmp_path / "log"
        with IADPolicyWrapper(Wanderer(calls), env, strategy="single", verifier=Hunch(calls), log=log) as policy:
            observation, info = env.reset(seed=3)
            trees = [policy.look(observation, info | {"step": 1}, reasoning_tree) for _ in range(2)]
            policy.act(observation, info | {"step": 1})
        return {
            f"{place}{row.state.id}{row.action}": row.q for place, tree in enumerate(trees) for row in q_values(tree)
        }

    first, again = Calls(), Calls()
    assert look(first) == look(again)
    assert first.counts["agent"] > 3
    assert not again.counts


def test_an_experts_episode_is_a_branch_of_the_tree(grown: Experience, demos: Experience) -> None:
    """Algorithm 3 of arXiv 2502.02584, with each tree scaled to [0, 1] (Algorithm 4)."""
    both = Experience.joined([grown, demos])
    trees = with_experts(both)
    by_task = {tree.root.state.info["task_id"]: tree for tree in trees}
    assert set(by_task) == set(both.tasks)
    for one in demos.trajectories:
        node = by_task[one.task].root
        for key in one.actions:
            node = next(edge.draws[0] for edge in node.edges if edge.candidate.key == key)
        assert node.ended is not None
        assert node.ended.value == pytest.approx(one.reward)
        values = [row.q for row in q_values(by_task[one.task], scale="tree")]
        assert (min(values), max(values)) in {(0.0, 1.0), (0.0, 0.0)}
    n_visits, again = ([e.n for t in made for n in t.nodes() for e in n.edges] for made in (trees, with_experts(both)))
    assert again[: len(n_visits)] == n_visits  # it is not counted twice
