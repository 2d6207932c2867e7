"""Labels of what an agent or verifier knows. They decide who may read gold (contract 3 in docs/design.md)."""

from typing import Any, Literal, get_args

from iad_policy.errors import UnknownName

Information = Literal["oracle", "proxy", "self", "learned"]
"""What a verifier's scores rest on: gold, rules without gold (such as execution or matching), a language model's
judgement, or a trained model."""
INFORMATION: tuple[Information, ...] = get_args(Information)
VERIFIER_TEXTS = {
    "oracle": "oracle verifier: reads the true score of each step; for diagnosis only, not a fair result",
    "proxy": "proxy verifier: executes, parses or matches; never reads gold",
    "self": "self verifier: a language model judges from the information that the agent has",
    "learned": "learned verifier: a trained value model",
    "": "no verifier",
}
"""Information label -> what tables and reports say of a verifier of this project: see `verifier_text`."""
ORACLE_AGENT_TEXT = "oracle agent: knows the right action of each step; for diagnosis only, not a fair result"
ORACLE_ROLE_TEXT = "oracle role: sees the reference of each task; for diagnosis only, not a fair result"


def verifier_text(information: str, *, is_own: bool) -> str:
    """Return what tables and reports say of a verifier.

    Args:
        information: Its label, or "" without a verifier.
        is_own: Whether it is one of this project. What a user's reads is not known, so its label is its author's word.
            That of an oracle is taken at its word: the text vouches for nothing.
    """
    if is_own or information in ("", "oracle"):
        return VERIFIER_TEXTS[information]
    return f"verifier labelled {information} by its author; what it reads is not known to iad"


def may_read_gold(component: Any) -> bool:
    """Return whether an agent, verifier or role may read gold. Only components labelled `oracle` may."""
    return getattr(component, "information", "") == "oracle"


def require_label(verifier: Any) -> None:
    """Check that a verifier's label is one of `INFORMATION`.

    Raises:
        UnknownName: The verifier has another label, or none.
    """
    label = str(getattr(verifier, "information", ""))
    if label not in INFORMATION:
        raise UnknownName("verifier's information label", label, INFORMATION)
