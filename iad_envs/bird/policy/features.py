"""Queries in numbers, for models that read no text: what the agent drafts, and how it fits the question."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from iad_envs.bird.policy.agent import BirdAgent
from iad_envs.bird.policy.question import identifiers, read_question, stems_of
from iad_policy.trained.proposed import ProposedActions
from iad_policy.types import State

FORMS: Mapping[str, str] = {
    "count": r"\bCOUNT\(",
    "distinct": r"\bDISTINCT\b",
    "average": r"\bAVG\(",
    "total": r"\bSUM\(",
    "extreme": r"\b(?:MAX|MIN)\(",
    "ordered": r"\bORDER BY\b",
    "limit": r"\bLIMIT\b",
    "grouped": r"\bGROUP BY\b",
    "having": r"\bHAVING\b",
    "ratio": r"CAST\(|/",
}
"""Form of a query -> what shows it in SQL."""
WORDINGS: Mapping[str, str] = {
    "many": r"\bhow many\b|number of",
    "different": r"\bdifferent\b|\bdistinct\b|\bunique\b",
    "average": r"\baverage\b|\bmean\b",
    "total": r"\btotal\b|altogether|how much|\bsum\b",
    "most": r"\bmost\b|\w+est\b|\bfirst\b|\blast\b",
    "each": r"\bfor each\b|\bof each\b|\bper\b|\bby\b",
    "share": r"\bpercent|\bshare\b|\bratio\b|\brate\b|\bproportion\b",
    "which": r"^(?:which|what|list|name|who|show|give)\b",
}
"""Wording of a question -> what shows it."""


class QueryFeatures(ProposedActions):
    """Features of queries.

    - `looks`: whether it is executed before it is handed in; `looked`: whether the last query was executed, whether it
      is this one, and whether it gave nothing. `steps left`.
    - `tables`, `conditions`, `length`: of the query. `words unused`, `evidence unused`, `names unused`: shares of the
      question's stems, of the evidence's columns and of its capitalised names that the query does not have.
    - `form: wording`: a form of the query together with a wording of the question, such as `count: many`; `no form:
      wording` without it.
    """

    def __init__(self) -> None:
        pairs = [f"{has}{form}: {said}" for has in ("", "no ") for form in FORMS for said in WORDINGS]
        looked = ("looks", "looked", "looked:this", "looked:empty", "steps left")
        fits = ("tables", "conditions", "length", "words unused", "evidence unused", "evidence none", "names unused")
        super().__init__(BirdAgent(), [*looked, *fits, *FORMS, *pairs], "query")

    def described(self, state: State, action: str) -> Mapping[str, float]:
        """Return the features of a query that is executed or handed in."""
        matched = re.match(r"(execute|submit)\[(.*)\]\Z", action, re.DOTALL)
        kind, sql = (matched[1], matched[2]) if matched else ("submit", action)
        page = state.info["page"]
        question = read_question(page["question"], page["evidence"])
        forms = {name: bool(re.search(pattern, sql, re.IGNORECASE)) for name, pattern in FORMS.items()}
        said = [name for name, pattern in WORDINGS.items() if question.says(pattern)]
        looked = page.get("kind") == "execute"
        stems = set(stems_of(" ".join(re.findall(r"[A-Za-z]+", sql.replace("_", " ")))))
        columns = {found.group().lower() for clue in question.clues for found in identifiers(clue.text)}
        values = " ".join(re.findall(r"'((?:[^']|'')*)'", sql)).lower()
        found = {
            "looks": float(kind == "execute"),
            "looked": float(looked),
            "steps left": state.steps_left / 5,
            "tables": len(set(re.findall(r"\b(?:FROM|JOIN)\s+[`\"\[]?(\w+)", sql, re.IGNORECASE))) / 3,
            "conditions": len(re.findall(r"\b(?:WHERE|AND|OR)\b", sql, re.IGNORECASE)) / 3,
            "length": len(sql) / 300,
            "words unused": _missing(question.stems, stems),
            "evidence unused": _missing(sorted(columns), [one for one in columns if one in sql.lower()]),
            "evidence none": float(not columns),
            "names unused": _missing(question.names, [one for one in question.names if one.lower() in values]),
            **{name: 1.0 for name, has in forms.items() if has},
            **{f"{'' if has else 'no '}{form}: {word}": 1.0 for form, has in forms.items() for word in said},
        }
        if looked:
            found["looked:this"] = float(page["sql"] == sql)
            found["looked:empty"] = float(all(cell in (None, 0) for row in page["rows"] for cell in row))
        return found


def _missing(wanted: Sequence[str], there: Any) -> float:
    """Return the share of what is wanted that is not there; 0 if nothing is wanted."""
    return sum(one not in there for one in wanted) / len(wanted) if wanted else 0.0
