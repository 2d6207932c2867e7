"""Defines the information labels of agents and verifiers, and who may read gold (contract 3 in docs/design.md)."""

from typing import Any, Literal, get_args

from iad_policy.errors import UnknownName

Information = Literal["oracle", "proxy", "self", "learned"]
"""Source of a verifier's scores: gold; execution or matching without gold; a language model; a trained model."""
INFORMATION: tuple[Information, ...] = get_args(Information)
VERIFIER_TEXTS = {
    "oracle": "oracle verifier: reads the answer of each step; an instrument, not a result",
    "proxy": "proxy verifier: executes, parses or matches; reads no answer",
    "self": "self verifier: a language model judges, seeing what the agent sees",
    "learned": "learned verifier: a trained value model",
    "": "no verifier",
}
"""Text of each label in reports, by label."""
ORACLE_AGENT_TEXT = "oracle agent: knows the right action of each step; an instrument, not a result"


def information_of(component: Any) -> str:
    """Return the label of an agent or a verifier. It is "" without a label (most agents) and for None."""
    return str(getattr(component, "information", ""))


def may_read_gold(component: Any) -> bool:
    """Say whether a component may read gold. Only components that are labelled `oracle` may."""
    return information_of(component) == "oracle"


def require_label(verifier: Any) -> None:
    """Reject a verifier whose label is not in `INFORMATION`.

    Raises:
        UnknownName: The verifier has another label.
    """
    if information_of(verifier) not in INFORMATION:
        raise UnknownName("verifier's information label", information_of(verifier), INFORMATION)
