"""Puts a database's states into words: the schema once, before everything that changes, then question and results."""

import re
from itertools import chain
from typing import Any, ClassVar

from iad_policy.prompts.feedback import feedback_text
from iad_policy.prompts.rendering import Rendering, Seen, complaint_of, facts_of, page_of
from iad_policy.types import Feedback, State, Turn
from iad_policy.types.texts import OBSERVATION_CHARS, shortened


class DatabaseRendering(Rendering):
    """The words for `IAD/BIRD-v0`."""

    task_label: ClassVar[str] = "Question"
    last_action: ClassVar[str] = "submit[SQL]"

    def environment(self, state: State) -> str:
        """Return the database's name, its dialect and its schema, in the form that the environment was made with."""
        for seen in chain([state], reversed(state.history)):
            page = page_of(seen)
            if "schema" in page:
                dialects = {
                    "sqlite": "SQLite",
                    "postgresql": "PostgreSQL",
                    "mysql": "MySQL, where names are quoted `like this` and double quotes are of texts",
                }
                return f"Database: {page['db_id']} ({dialects[page['dialect']]})\n{shortened(page['schema'], 40_000)}"
        return ""

    def task(self, state: State) -> str:
        """Return the question with its evidence in full."""
        page = page_of(state)
        if "question" not in page:
            return super().task(state)
        evidence = f"\nEvidence: {page['evidence']}" if page["evidence"] else ""
        return f"{self.task_label}: {page['question']}{evidence}"

    def page(self, seen: Seen) -> str:
        """Return the result of the last query."""
        return shortened(_result(seen), OBSERVATION_CHARS) or "No query was executed yet."

    def raw(self, state: State) -> str:
        """Return the result of the last query: what a simulator has to predict."""
        return self.page(state)

    def result(self, before: Seen, action: Any, after: Seen) -> str:
        """Return the first rows that a query gave, and the findings about it."""
        complaint = complaint_of(after)
        if complaint:
            return complaint
        told = (shortened(_result(after), 500), _findings(after))
        return "\n".join(part for part in told if part)

    def actions(self, state: State) -> str:
        """Return the offered actions in one line, "" where there is no choice."""
        offered = [str(action).replace("...", "SQL") for action in state.info.get("available_actions", ())]
        return f"Possible now: {' or '.join(offered)}" if len(offered) > 1 else ""

    def steps_left(self, state: State) -> str:
        """Return how many actions are left, "" where only one answer is asked for."""
        return super().steps_left(state) if self.actions(state) else ""

    def facts(self, seen: Seen) -> str:
        """Return why the last action was not valid, and what is odd about the last query."""
        return "\n".join(part for part in (complaint_of(seen), _findings(seen)) if part)

    def beginning(self, first: Turn) -> list[str]:
        """Return nothing: the schema and the question come before the history."""
        return []


class AnswerRendering(DatabaseRendering):
    """The words for `IAD/BIRD-v0` with `mode="answer"`, where an answer is a query alone."""

    def written(self, action: Any, heading: str) -> str:
        """Return the query in a block."""
        return in_block(action) or super().written(action, heading)

    def told(self, feedback: Feedback) -> str:
        """Return a feedback with each query in a block, as an answer has it. A small model copies the form it sees."""
        return feedback_text(feedback, _InBlocks()) if feedback.attempts else feedback.text


def in_block(action: Any) -> str:
    """Return the query of a `submit[...]` in a block; "" for another action."""
    submitted = re.fullmatch(r"submit\[(.*)\]", str(action), re.DOTALL)
    return f"```sql\n{submitted[1]}\n```" if submitted else ""


class _InBlocks(DatabaseRendering):
    """The words of a feedback whose queries are shown as an answer has them."""

    def tried(self, action: Any, n_tokens: int) -> str:
        text = super().tried(action, n_tokens)
        block = in_block(action)
        return f"\n{block}" if block and text == str(action) else text

    def news(self, before: Turn | None, after: State, n_tokens: int) -> str:
        return super().news(before, after, n_tokens).removeprefix("submit: ")


def _result(seen: Seen) -> str:
    """Return the result of the last query. Where a simulator predicted it, it is the observation."""
    page = page_of(seen)
    return str(page.get("result", seen.observation))


def _findings(seen: Seen) -> str:
    """Return the warnings about the last query. An error is its result."""
    warnings = [one for one in facts_of(seen).get("findings", ()) if one["severity"] == "warning"]
    if page_of(seen).get("kind") == "execute":
        # Those that matter although a query only explores. The others compare it with the question.
        codes = {"empty", "all_null", "single_zero", "literal_not_found", "text_as_number", "fan_out"}
        codes |= {"integer_division", "subquery_rows"}
        warnings = [one for one in warnings if one["code"] in codes]
    lines = [f"- {one['message']}" for one in warnings]
    return "\n".join(["Findings:", *lines]) if lines else ""
