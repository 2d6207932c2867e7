"""Parses the actions of the environment: execute a query, or submit an answer."""

import re
from typing import Literal, NamedTuple

from iad_envs.bird.sql import canonical, looks_like_sql

ACTION = re.compile(r"\s*(execute|submit)\s*\[(.*)\]\s*\Z", re.DOTALL | re.IGNORECASE)
FENCED = re.compile(r"\s*```(?:sql|sqlite|postgresql|postgres)?\s*\n(.*?)```\s*\Z", re.DOTALL | re.IGNORECASE)
AVAILABLE = ("execute[...]", "submit[...]")
HOW_TO = (
    "Actions: execute[SQL] runs a query and shows its rows; submit[SQL], or a bare query, commits it as the answer."
)
DIALECTS = {
    "sqlite": "One reading query (SELECT) in SQLite's dialect.",
    "postgresql": "One reading query (SELECT) in PostgreSQL's dialect.",
}


class Action(NamedTuple):
    """A parsed action. `kind` is "" if the text is not an action."""

    kind: Literal["execute", "submit", ""]
    sql: str


def parse_action(action: str) -> Action:
    """Parse an action. A bare query, fenced or not, is a submit."""
    if match := ACTION.match(action):
        return Action("execute" if match[1].lower() == "execute" else "submit", _unfenced(match[2]))
    bare = _unfenced(action)
    return Action("submit", bare) if looks_like_sql(bare) else Action("", "")


def _unfenced(text: str) -> str:
    match = FENCED.match(text)
    return (match[1] if match else text).strip()


def action_key(action: str) -> str:
    """Return `execute[SQL]` or `submit[SQL]` with the SQL in canonical form. Other texts are returned unchanged."""
    kind, sql = parse_action(action)
    return f"{kind}[{canonical(sql)}]" if kind else action.strip()
