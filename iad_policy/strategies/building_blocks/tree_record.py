"""How a search tree is written to the log and read back: its nodes by state, its actions by candidate.

States and candidates have lines of their own, so a tree's line has numbers and names only.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from iad_policy.strategies.building_blocks.tree import Edge, Node, Tree
from iad_policy.types import Candidate, Move, State, Turn
from iad_policy.types.hashing import decode, encode


def tree_record(tree: Tree) -> dict[str, Any]:
    """Return the log's form of a tree. Parents stand before their children, and the root is the first."""
    nodes = list(tree.nodes())
    places = {node: place for place, node in enumerate(nodes)}
    records: list[dict[str, Any]] = []
    for node in nodes:
        records.append({"state": node.state.id})
        if node.ended is not None:
            records[-1]["ended"] = encode(float(node.ended.value))
        for edge in node.edges:
            record = {"candidate": edge.candidate.id, "rank": edge.rank, "n": edge.n, "q": encode(edge.q)}
            if edge.draws:
                record["draws"] = [places[end] for end in edge.draws]
            records[-1].setdefault("edges", []).append(record)
    return {"kind": "tree", "nodes": records}


def grown(
    record: Mapping[str, Any], root: State, *, states: Callable[[str], State], candidates: Mapping[str, Candidate]
) -> Tree:
    """Return the tree of a record.

    Args:
        record: What `tree_record` returned.
        root: The state that it grew from.
        states: Returns a simulated state by its id. It need not have path and history, which the tree gives it.
        candidates: The candidates of the decision, by id.

    Raises:
        KeyError: A state or a candidate of it is not known.
        ValueError: It grew from another state.
    """
    records = record["nodes"]
    if records[0]["state"] != root.id:
        raise ValueError(f"expected the tree of the state {root.id}, got that of {records[0]['state']}")
    tree = Tree(root)
    nodes: dict[int, Node] = {0: tree.root}
    for place, one in enumerate(records):
        node = nodes[place]
        if "ended" in one:
            node.ended = replace(tree.path_to(node), value=decode(one["ended"]))
        node.is_expanded = "edges" in one
        for known in one.get("edges", ()):
            candidate = candidates[known["candidate"]]
            edge = Edge(node, candidate, known["rank"], known["n"], decode(known["q"]))
            for draw, end in enumerate(known.get("draws", ())):
                if end not in nodes:
                    at = node.state
                    there = replace(
                        states(records[end]["state"]),
                        path=(*at.path, Move(candidate.action, draw)),
                        history=(
                            *at.history,
                            Turn(at.observation, candidate.action, at.info, candidate.thought, candidate.parts),
                        ),
                        steps_left=at.steps_left - 1,
                    )
                    nodes[end] = Node(there, edge)
                edge.draws.append(nodes[end])
            node.edges.append(edge)
    return tree
