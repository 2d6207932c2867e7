"""A keyless agent for `IAD/BIRD-v0`: links words to the schema and fills templates of SQL; stochastic, knows no gold.

It reads question, evidence and the schema it was shown, draws a query, may run it first to look, and submits. A
temperature makes it take other tables, columns and forms and forget conditions: without one it is greedy. Given best
and worst, it changes one part of Best's query and keeps away from Worst's; it never reads a score.
"""

import math
import re
from collections.abc import Sequence
from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.domains.bird.forms import draft
from iad_policy.domains.bird.grounding import Chooser
from iad_policy.domains.bird.query import Query, joined, read_query
from iad_policy.domains.bird.question import ParsedQuestion, ReadableSchema, read_question, schema_of
from iad_policy.types import Candidate, Feedback, State

TRIES = 24
LOOK_SHARE = 0.3
"""How often it executes a query before it submits one, at a temperature of 1."""
PART_FITS = {"all": 0.6, "where": 0.3, "form": 0.3, "select": 0.0, "joins": 0.0, "base": -1.0}
"""Which part of Best an edit exchanges, as a chooser weighs it; `all` is another draft."""
_ACTION = re.compile(r"(execute|submit)\[(.*)\]\Z", re.DOTALL)


class BirdAgent:
    """The keyless agent of IAD/BIRD-v0: links words to the schema, and fills templates of SQL.

    Args:
        env: Unused: it reads observations only.
        temperature: 0 is greedy; at 1, the default, choices are as likely as their fit says.
    """

    def __init__(self, env: gym.Env[Any, Any] | None = None, temperature: float | str = 1.0) -> None:
        self.temperature = float(temperature)
        if not 0.0 <= self.temperature < math.inf:
            raise ValueError(f"expected a temperature of 0 or more, got {temperature}")
        self.identity = f"linker:{self.temperature:g}"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return the next action."""
        heat = self.temperature if temperature is None else temperature
        schema = schema_of(state)
        if schema is None:
            return Candidate(
                "", error="expected a schema with plain names in info['page'], got none; use it with IAD/BIRD-v0"
            )
        page = state.info["page"]
        asked = read_question(page["question"], page["evidence"])
        avoid = _failed(state) | _told(feedback)
        if feedback is not None and feedback.best is not None:
            kind, sql = _read_action(str(feedback.best.action))
            query = _edited(sql, asked, schema, avoid=avoid, choosers=_warmer(max(heat, 0.5), rng))
            return _action(kind or "submit", query or sql)
        if page["kind"] == "execute" and page["sql"] not in avoid and read_query(page["sql"]) is not None:
            return _action("submit", page["sql"])
        sql = _fresh(asked, schema, avoid=avoid, choosers=[Chooser(heat, rng), *_warmer(max(heat, 0.5), rng)])
        looks = state.steps_left > 2 and rng.random() < LOOK_SHARE * min(heat, 2.0)
        return _action("execute" if looks else "submit", sql)


def _action(kind: str, sql: str) -> Candidate:
    verb = "look what it gives" if kind == "execute" else "answer with it"
    return Candidate(f"{kind}[{sql}]", thought=f"I draft a query from the words I can link, and {verb}.")


def _read_action(action: str) -> tuple[str, str]:
    match = _ACTION.match(action)
    return (match[1], match[2]) if match else ("", action)


def _told(feedback: Feedback | None) -> frozenset[str]:
    """The queries that feedback shows: a new one should be another."""
    shown = () if feedback is None else (feedback.best, feedback.worst)
    return frozenset(_read_action(str(candidate.action))[1] for candidate in shown if candidate is not None)


def _failed(state: State) -> frozenset[str]:
    """Queries that were run on the way here and gave an error, no row, or nothing but NULL or zero."""
    pages = [turn.info.get("page", {}) for turn in state.history] + [state.info["page"]]
    return frozenset(page["sql"] for page in pages if page.get("kind") == "execute" and _says_nothing(page["rows"]))


def _says_nothing(rows: Any) -> bool:
    return all(cell in (None, 0) for row in rows for cell in row)


def _warmer(heat: float, rng: Random) -> list[Chooser]:
    """Choosers to try one after the other: a sure question has few drafts unless it gets warmer."""
    return [Chooser(heat * (1.0 + max(0, attempt - 8) / 6), rng) for attempt in range(TRIES)]


def _fresh(asked: ParsedQuestion, schema: ReadableSchema, *, avoid: frozenset[str], choosers: Sequence[Chooser]) -> str:
    """The first query that is not among those to avoid; the last if all are."""
    sql = ""
    for choose in choosers:
        query = draft(asked, schema, choose)
        if query is not None:
            sql = query.text()
            if sql not in avoid:
                break
    return sql or f"SELECT * FROM {schema.tables[0]}"


def _edited(
    best: str, asked: ParsedQuestion, schema: ReadableSchema, *, avoid: frozenset[str], choosers: Sequence[Chooser]
) -> str:
    """Best's query with one part taken from a new draft; empty if none was found that is not to avoid."""
    kept = read_query(best)
    for choose in choosers:
        new = draft(asked, schema, choose)
        if new is None:
            continue
        query = new if kept is None else _spliced(kept, new, schema, choose)
        if query is not None and query.text() not in avoid:
            return query.text()
    return ""


def _spliced(kept: Query, new: Query, schema: ReadableSchema, choose: Chooser) -> Query | None:
    """One part of a query exchanged for another query's."""
    parts = {
        "where": kept._replace(where=new.where),
        "form": new._replace(where=kept.where),
        "select": kept._replace(select=new.select),
        "base": kept._replace(base=new.base),
        "joins": kept,
        "all": new,
    }
    part = choose.one(PART_FITS)
    return joined(parts[part], schema, new.joins if part in ("joins", "all") else kept.joins)
