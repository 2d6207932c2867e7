"""The search tree of lookahead methods: states, the actions considered there, and their estimated values.

The tree makes no requests. `expansion` grows it. Choices, preference pairs and value targets are pure functions of it.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple

from iad_policy.strategies.building_blocks.rollouts import Rollout
from iad_policy.types import Candidate, State
from iad_policy.types.hashing import digest

Pick = Literal["visits", "value"]
"""Statistic that decides which action of the root is committed: its visits, or its mean value."""
FirstVisits = Literal["ranked", "published"]
"""Which action is visited first: the next of the ranking, or that of the highest score, where Q begins at 0."""
SelectionScore = Callable[["Edge"], float]
"""Score of an action in selection. The action with the highest score is visited next."""


@dataclass(slots=True, eq=False)
class Edge:
    """An action considered in a state. Equal actions (`Candidate.key`) are one edge.

    Attributes:
        node: The node where it was considered.
        candidate: The action, with its verdict if the verifier was asked.
        rank: Its place in the ranking as a value in [0, 1], where the best has 1.
        n: Number of visits, N(h, a).
        q: Mean value of its visits, Q(h, a). 0 before the first.
        draws: Its outcomes by draw. Draws with the same outcome share one node.
    """

    node: "Node"
    candidate: Candidate
    rank: float = 1.0
    n: int = 0
    q: float = 0.0
    draws: list["Node"] = field(default_factory=list)

    @property
    def children(self) -> list["Node"]:
        """The different nodes to which it leads, in order."""
        return list(dict.fromkeys(self.draws))

    def visited(self, value: float) -> None:
        """Count a visit: N grows by one, and Q is the mean over visits (Algorithm 1 of arXiv 2408.07199)."""
        self.q = (self.q * self.n + value) / (self.n + 1)
        self.n += 1

    def add_child(self, state: State) -> "Node":
        """Add the next draw and return its node, which is an earlier draw's if both look the same."""
        seen = state.done, digest(state.observation)
        known = (one for one in self.draws if (one.state.done, digest(one.state.observation)) == seen)
        node = next(known, None) or Node(state, self)
        self.draws.append(node)
        return node


@dataclass(slots=True, eq=False)
class Node:
    """A state and the actions considered there.

    Attributes:
        state: The state. It is simulated, except for the root's.
        by: The action that led there, or None for the root.
        edges: The actions, best-ranked first. Empty before the node is expanded.
        is_expanded: Whether actions were proposed.
        ended: The valued rollout that ended here, or None before there is one.
    """

    state: State
    by: Edge | None = None
    edges: list[Edge] = field(default_factory=list)
    is_expanded: bool = False
    ended: Rollout | None = None

    @property
    def n(self) -> int:
        """Number of visits to its actions, N(h)."""
        return sum(edge.n for edge in self.edges)

    @property
    def depth(self) -> int:
        """Number of actions from the root."""
        return len(self.edges_above())

    def edges_above(self) -> list[Edge]:
        """The actions on the path from the root, in order."""
        above: list[Edge] = []
        edge = self.by
        while edge is not None:
            above.append(edge)
            edge = edge.node.by
        return above[::-1]

    def consider(self, candidates: Sequence[Candidate]) -> None:
        """Set the node's actions, best-ranked first. Rank values are (K - place) / (K - 1), or 1 for a single one."""
        last = len(candidates) - 1
        self.edges = [
            Edge(self, candidate, (last - place) / last if last else 1.0) for place, candidate in enumerate(candidates)
        ]
        self.is_expanded = True


class Tree:
    """A tree of simulated states.

    Args:
        here: The committed state, which is the root.
    """

    def __init__(self, here: State) -> None:
        self.root = Node(here)
        self.proposed: tuple[Candidate, ...] = ()
        """The proposals at the root. One of them is committed if nothing else is known."""

    def nodes(self) -> Iterator[Node]:
        """All nodes, parents before their children."""
        todo = [self.root]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(end for edge in reversed(node.edges) for end in reversed(edge.children))

    def path_to(self, node: Node) -> Rollout:
        """Return the steps from the root to a node."""
        above = node.edges_above()
        states = [edge.node.state for edge in above[1:]] + [node.state] * bool(above)
        return Rollout(self.root.state, tuple(edge.candidate for edge in above), tuple(states))

    def chosen(self, pick: Pick = "visits") -> Candidate:
        """Return the root's action to commit: the one with the most visits or the highest Q among those visited.

        Ties are decided by the other statistic, then by the ranking. Without visits it is the best-ranked action, and
        without actions the first proposal.
        """
        if not self.root.edges:
            return self.proposed[0]
        statistics: Callable[[Edge], tuple[float, float]] = (
            (lambda edge: (edge.n, edge.q)) if pick == "visits" else (lambda edge: (edge.q, edge.n))
        )
        visited = [edge for edge in self.root.edges if edge.n]
        return max(visited or self.root.edges, key=statistics).candidate


def ucb1(c_exp: float, first_visits: FirstVisits = "ranked") -> SelectionScore:
    """Return Agent Q's score: Q(h, a) + c_exp sqrt(ln N(h) / (1 + N)) (arXiv 2408.07199, eq. 7 and Algorithm 1).

    As published, N is N(h') of the state h' that follows, the visits to the actions there. Else it is N(h, a).
    """

    def selection_score(edge: Edge) -> float:
        n = sum(node.n for node in edge.children) if first_visits == "published" else edge.n
        return edge.q + c_exp * math.sqrt(math.log(max(1, edge.node.n)) / (1 + n))

    return selection_score


def uct(edge: Edge) -> float:
    """Return the score of LATS: mean value + sqrt(2 ln N_p / N), where N_p is the node's visits (arXiv 2310.04406)."""
    return edge.q + math.sqrt(2 * math.log(edge.node.n) / edge.n)


def selected(node: Node, selection_score: SelectionScore, first_visits: FirstVisits = "ranked") -> Edge:
    """Return the action to visit: the first unvisited one in the ranking's order, or else that of the highest score.

    As published, an unvisited one has a score like all others, and the ranking decides ties.
    """
    unvisited = None if first_visits == "published" else next((edge for edge in node.edges if not edge.n), None)
    return unvisited or max(node.edges, key=selection_score)


def back_up(path: Iterable[Edge], value: float) -> None:
    """Add a visit with this value to every action on a path."""
    for edge in path:
        edge.visited(value)


class ActionPreference(NamedTuple):
    """Two actions of one state, of which one is better (arXiv 2408.07199, section 4.2).

    Attributes:
        state: The state in which both were considered.
        chosen: The better action.
        rejected: The worse action.
        margin: Difference of alpha Q_mcts + (1 - alpha) Q_rank.
        source: Statistic that prefers the chosen action on its own: the visits' value, the ranking, or both.
    """

    state: State
    chosen: Candidate
    rejected: Candidate
    margin: float
    source: Literal["visits", "rank", "both"]


def preference_pairs(tree: Tree, alpha: float = 0.5, theta: float = 0.2) -> list[ActionPreference]:
    """Return the pairs of actions that the tree can order, node by node.

    Only visited actions count, and a pair needs |Q_mix(a) - Q_mix(b)| >= theta, as in eq. 10 (Algorithm 1 has >), with
    Q_mix = alpha Q_mcts + (1 - alpha) Q_rank. `alpha=1` is the paper's ablation without ranking.
    """
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(
            f"expected alpha, the weight of the visits' value, from 0 to 1, got {alpha}; the default is 0.5"
        )
    pairs = []
    for node in tree.nodes():
        explored = [edge for edge in node.edges if edge.n]
        for one, other in combinations(explored, 2):
            margin = alpha * (one.q - other.q) + (1.0 - alpha) * (one.rank - other.rank)
            if abs(margin) >= theta and margin != 0.0:
                better, worse = (one, other) if margin > 0 else (other, one)
                source: Literal["visits", "rank", "both"] = "rank"
                if better.q > worse.q:
                    source = "both" if better.rank > worse.rank else "visits"
                found = ActionPreference(node.state, better.candidate, worse.candidate, abs(margin), source)
                pairs.append(found)
    return pairs
