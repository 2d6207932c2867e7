"""What an agent or verifier knows, how reports say it, and who may read gold (contract 3 in docs/design.md)."""

from typing import Any, Literal, get_args

from iad_policy.errors import UnknownName

Information = Literal["oracle", "proxy", "self", "learned"]
"""What a verifier knows: gold; no gold, but execution or matching; a model's opinion; a trained model."""
INFORMATION: tuple[Information, ...] = get_args(Information)
VERIFIER_TEXTS = {
    "oracle": "oracle verifier: reads the answer of each step; an instrument, not a result",
    "proxy": "proxy verifier: executes, parses or matches; reads no answer",
    "self": "self verifier: a language model judges, seeing what the agent sees",
    "learned": "learned verifier: a trained value model",
    "": "no verifier",
}
"""Label -> how reports say it."""
ORACLE_AGENT_TEXT = "oracle agent: knows the right action of each step; an instrument, not a result"


def information_of(component: Any) -> str:
    """Return the label of an agent, a verifier or none; "" for one that declares no label, as most agents."""
    return str(getattr(component, "information", ""))


def may_read_gold(component: Any) -> bool:
    """Say whether a component may read gold: only one that is labelled `oracle` may."""
    return information_of(component) == "oracle"


def require_label(verifier: Any) -> None:
    """Refuse a verifier whose label is none of `INFORMATION`.

    Raises:
        UnknownName: It has another label.
    """
    if information_of(verifier) not in INFORMATION:
        raise UnknownName("verifier's information label", information_of(verifier), INFORMATION)
