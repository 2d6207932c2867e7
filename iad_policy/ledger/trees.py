"""How a search tree is written to the log and read back: its nodes by state, its actions by candidate.

States and candidates have lines of their own, so a tree's line has numbers and names only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from iad_policy.strategies.building_blocks.tree import Edge, Node, Tree
from iad_policy.types import Candidate, Move, State, Turn
from iad_policy.types.hashing import decode, encode


def tree_record(tree: Tree) -> dict[str, Any]:
    """Return the log's form of a tree. Parents stand before their children, and the root is the first."""
    nodes = list(tree.nodes())
    places = {node: place for place, node in enumerate(nodes)}
    return {"kind": "tree", "nodes": [_node(node, places) for node in nodes]}


def _node(node: Node, places: Mapping[Node, int]) -> dict[str, Any]:
    record: dict[str, Any] = {"state": node.state.id}
    if node.ended is not None:
        record["ended"] = encode(float(node.ended.value))
    if node.edges:
        record["edges"] = [_edge(edge, places) for edge in node.edges]
    return record


def _edge(edge: Edge, places: Mapping[Node, int]) -> dict[str, Any]:
    record: dict[str, Any] = {"candidate": edge.candidate.id, "rank": edge.rank, "n": edge.n, "q": encode(edge.q)}
    if edge.draws:
        record["draws"] = [places[node] for node in edge.draws]
    return record


@dataclass(frozen=True, slots=True)
class RecordedTree:
    """A tree as it was logged.

    Attributes:
        record: Its line.
        states: Returns a simulated state by its id. It need not have path and history, which the tree gives it.
        candidates: The candidates of the decision, by id.
    """

    record: Mapping[str, Any]
    states: Callable[[str], State]
    candidates: Mapping[str, Candidate]

    def grown(self, root: State) -> Tree:
        """Return the tree.

        Args:
            root: The state that it grew from.

        Raises:
            KeyError: The log lacks a state or a candidate of it.
            ValueError: It grew from another state.
        """
        records = self.record["nodes"]
        if records[0]["state"] != root.id:
            raise ValueError(f"expected the tree of the state {root.id}, got that of {records[0]['state']}")
        tree = Tree(root)
        nodes: dict[int, Node] = {0: tree.root}
        for place, record in enumerate(records):
            node = nodes[place]
            if "ended" in record:
                node.ended = replace(tree.path_to(node), value=decode(record["ended"]))
            node.is_expanded = "edges" in record
            for edge in record.get("edges", ()):
                node.edges.append(self._edge(node, edge, nodes))
        return tree

    def _edge(self, node: Node, record: Mapping[str, Any], nodes: dict[int, Node]) -> Edge:
        candidate = self.candidates[record["candidate"]]
        edge = Edge(node, candidate, record["rank"], record["n"], decode(record["q"]))
        for draw, place in enumerate(record.get("draws", ())):
            if place not in nodes:
                state = self.states(self.record["nodes"][place]["state"])
                nodes[place] = Node(_after(node.state, candidate, draw, state), edge)
            edge.draws.append(nodes[place])
        return edge


def _after(at: State, candidate: Candidate, draw: int, seen: State) -> State:
    """Return a recorded state with what its place in the tree says of it."""
    turn = Turn(at.observation, candidate.action, at.info, candidate.thought, candidate.parts)
    return replace(
        seen,
        path=(*at.path, Move(candidate.action, draw)),
        history=(*at.history, turn),
        steps_left=at.steps_left - 1,
    )
