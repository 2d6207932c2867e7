"""A rule-based agent for `IAD/BIRD-v0`. It links words to the schema and fills SQL templates, without gold.

It reads the question, the evidence and the schema, drafts a query, may execute it first, and submits. The temperature
makes it choose other tables, columns and forms and forget conditions. Without temperature it is greedy. Given best and
worst, it changes one part of Best's query and avoids Worst's. It never reads a score.
"""

import re
from collections.abc import Sequence, Set
from random import Random

from iad_envs.bird.policy.forms import draft
from iad_envs.bird.policy.grounding import Chooser
from iad_envs.bird.policy.query import Query, joined, read_query
from iad_envs.bird.policy.question import ParsedQuestion, ReadableSchema, read_question, schema_of
from iad_policy.agents.rule_based import RuleBasedAgent
from iad_policy.types import Candidate, Feedback, State


class BirdAgent(RuleBasedAgent):
    """The rule-based agent of IAD/BIRD-v0: it links words to the schema and fills SQL templates.

    Args:
        env: Not used. The agent reads observations only.
        temperature: Randomness of the choices. 0 is greedy. At 1, the default, fits determine probabilities.
    """

    name = "linker"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return the next action."""
        heat = self.heat(temperature)
        schema = schema_of(state)
        if schema is None:
            return Candidate(
                "", error="expected a schema with plain names in info['page'], got none; use it with IAD/BIRD-v0"
            )
        page = state.info["page"]
        question = read_question(page["question"], page["evidence"])
        # Those in the feedback, and those that gave an error, no row, or only NULL or zero.
        shown = () if feedback is None else (feedback.best, feedback.worst)
        avoid = {_read_action(str(candidate.action))[1] for candidate in shown if candidate is not None}
        for seen in (*(turn.info.get("page", {}) for turn in state.history), page):
            if seen.get("kind") == "execute" and all(cell in (None, 0) for row in seen["rows"] for cell in row):
                avoid.add(seen["sql"])
        if feedback is not None and feedback.best is not None:
            kind, sql = _read_action(str(feedback.best.action))
            query = _edited(sql, question, schema, avoid=avoid, choosers=_choosers(heat, rng))
            return _action(kind or "submit", query or sql)
        if page["kind"] == "execute" and page["sql"] not in avoid and read_query(page["sql"]) is not None:
            return _action("submit", page["sql"])
        sql = ""
        for choose in (Chooser(heat, rng), *_choosers(heat, rng)):
            draft_query = draft(question, schema, choose)
            if draft_query is not None:
                sql = draft_query.text()
                if sql not in avoid:
                    break
        sql = sql or f"SELECT * FROM {schema.tables[0]}"
        looks = state.steps_left > 2 and rng.random() < 0.3 * min(heat, 2.0)
        return _action("execute" if looks else "submit", sql)


def _action(kind: str, sql: str) -> Candidate:
    verb = "look what it gives" if kind == "execute" else "answer with it"
    return Candidate(f"{kind}[{sql}]", thought=f"I draft a query from the words I can link, and {verb}.")


def _read_action(action: str) -> tuple[str, str]:
    match = re.match(r"(execute|submit)\[(.*)\]\Z", action, re.DOTALL)
    return (match[1], match[2]) if match else ("", action)


def _choosers(heat: float, rng: Random) -> list[Chooser]:
    """Return choosers of rising temperature to try in turn, as a clear question has few different drafts."""
    return [Chooser(max(heat, 0.5) * (1.0 + max(0, attempt - 8) / 6), rng) for attempt in range(24)]


def _edited(
    best: str, question: ParsedQuestion, schema: ReadableSchema, *, avoid: Set[str], choosers: Sequence[Chooser]
) -> str:
    """Return Best's query with one part from a new draft, or "" if every one found is to be avoided."""
    kept = read_query(best)
    for choose in choosers:
        new = draft(question, schema, choose)
        if new is None:
            continue
        query: Query | None = new
        if kept is not None:
            # How well a part suits to be replaced. `all` is a new draft.
            part = choose.one({"all": 0.6, "where": 0.3, "form": 0.3, "select": 0.0, "joins": 0.0, "base": -1.0})
            parts = {
                "where": kept._replace(where=new.where),
                "form": new._replace(where=kept.where),
                "select": kept._replace(select=new.select),
                "base": kept._replace(base=new.base),
                "joins": kept,
                "all": new,
            }
            query = joined(parts[part], schema, new.joins if part in ("joins", "all") else kept.joins)
        if query is not None and query.text() not in avoid:
            return query.text()
    return ""
