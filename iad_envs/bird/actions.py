"""Parses the actions of the environment: execute a query, or submit an answer."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from iad_envs.bird.sql import looks_like_sql

Mode = Literal["interactive", "answer"]


class Action(NamedTuple):
    """A parsed action. `kind` is "" if the text is not an action."""

    kind: Literal["execute", "submit", ""]
    sql: str


class Offer(NamedTuple):
    """The actions of a mode.

    Attributes:
        kinds: The kinds of valid actions.
        forms: The expected forms, for complaints.
        how_to: What the actions do, for the first page.
        max_steps: Actions per episode, if the environment is given no number.
    """

    kinds: tuple[str, ...]
    forms: str
    how_to: str
    max_steps: int

    @property
    def patterns(self) -> tuple[str, ...]:
        """The actions as patterns."""
        return tuple(f"{kind}[...]" for kind in self.kinds)


OFFERS: Mapping[Mode, Offer] = {
    "interactive": Offer(
        ("execute", "submit"),
        "execute[SQL], submit[SQL] or a bare query",
        "Actions: execute[SQL] runs a query and shows its rows; "
        "submit[SQL], or a bare query, commits it as the answer.",
        10,
    ),
    "answer": Offer(
        ("submit",),
        "submit[SQL] or a bare query",
        "The only action: submit[SQL], or a bare query, commits it as the answer.",
        1,
    ),
}


def parse_action(action: str) -> Action:
    """Parse an action. A bare query, fenced or not, is a submit."""
    if match := re.match(r"\s*(execute|submit)\s*\[(.*)\]\s*\Z", action, re.DOTALL | re.IGNORECASE):
        return Action("execute" if match[1].lower() == "execute" else "submit", _unfenced(match[2]))
    bare = _unfenced(action)
    return Action("submit", bare) if looks_like_sql(bare) else Action("", "")


def _unfenced(text: str) -> str:
    fenced = r"\s*```(?:sql|sqlite|postgresql|postgres|mysql|mariadb)?[^\S\n]*+\n(.*?)```\s*\Z"
    match = re.match(fenced, text, re.DOTALL | re.IGNORECASE)
    return (match[1] if match else text).strip()
