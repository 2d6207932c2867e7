"""Forms of queries: finds the kind of query for a wording (a count, a list, an average ...) and writes it."""

import re
from collections.abc import Callable, Mapping

from iad_envs.bird.policy.grounding import (
    COUNTED,
    Chooser,
    Scope,
    column_fit,
    column_for,
    conditions_of,
    join_fit,
    resolved,
    table_fit,
    translated,
)
from iad_envs.bird.policy.query import Query, joined
from iad_envs.bird.policy.question import ParsedQuestion, ReadableSchema, identifiers, stems_of


def draft(question: ParsedQuestion, schema: ReadableSchema, choose: Chooser) -> Query | None:
    """Return a query for a question, or None if its tables can't be joined."""
    base = choose.one({table: table_fit(table, question, schema) for table in schema.tables})
    scope = Scope(question, schema, choose, base)
    where = conditions_of(scope)
    kinds = {clue.kind for clue in question.clues}
    many = question.says(r"\bhow many\b")
    form = choose.one(
        {
            "list": 0.6,
            "count": 2.0 * many + 0.4 * question.says("number of"),
            "distinct": 2.4 * (many and question.says("how many different")),
            "average": 2.2 * question.says(r"\baverage\b"),
            "total": 1.9 * question.says(r"\btotal\b|altogether|how much") + 1.2 * ("total" in kinds),
            "extreme": 2.3 * ("extreme" in kinds) + 1.0 * question.says(r"\b\w+est\b|first"),
            "top": 2.2 * question.says(r"\bthe most\b|\bmost (often|trips|\w+s)\b") - 1.4 * ("extreme" in kinds),
            "groups": 2.6 * question.says(r"\bfor each\b|\bof each\b"),
            "having": 2.8 * ("having" in kinds),
            "formula": 3.2 * ("formula" in kinds),
        }
    )
    query = FORMS[form](scope)._replace(where=where)
    if not where and form == "list":
        query = query._replace(select=f"DISTINCT {query.select}")
    key_fits = {join: join_fit(join, question) for join in schema.joins}
    order = []
    while key_fits:
        join = choose.one(key_fits)
        order.append(join)
        del key_fits[join]
    return joined(query, schema, order)


def _targets(scope: Scope) -> str:
    """Return the columns that the question asks for."""
    lowered = scope.question.text.lower()
    head = re.search(r"(?:give|list)(?: the| its| their)? ([^.]+)\.\Z", lowered) or re.search(
        r"(?:what (?:is|are|was|were) the|which|in which|(?:please )?(?:list|give)(?: the| its)?|for each|at what|what)"
        r" (?:different |full )?(.+?)"
        r"(?= (?:of|that|who|with|by|from|has|have|is|are|was|were|do|did|does|lies) |[.,?]|$)",
        lowered,
    )
    nouns = re.split(r" and (?:the )?|, ", head[1]) if head else [lowered]
    if lowered.startswith("when "):
        days = {c: column_fit(c, scope.question.stems, scope) for c in scope.schema.columns if c.is_day}
        return scope.choose.one(days).full if days else "*"
    shown = []
    for noun in nouns[:2]:
        clue = next((c for c in scope.question.clues if c.kind == "column" and c.phrase in noun), None)
        if clue is not None and all(scope.schema.named(w.group()) for w in identifiers(clue.text)):
            shown.append(resolved(clue.text, scope))
        else:
            after = stems_of(lowered[head.end() :])[:2] if head else ()
            shown.append(column_for(scope, stems_of(noun) + after[:1]).full)
    return ", ".join(dict.fromkeys(shown))


def _list(scope: Scope) -> Query:
    limit = re.search(r"\b(?:the|which) (two|three|five|ten|\d+) (\w+est)\b", scope.question.text.lower())
    query = Query(_targets(scope), scope.base)
    if limit is None:
        return query
    number = {"two": "2", "three": "3", "five": "5", "ten": "10"}.get(limit[1], limit[1])
    by = column_for(scope, stems_of(" ".join(clue.text for clue in scope.question.clues)), numbers=True).full
    is_least = scope.choose.takes(0.6 if limit[2].startswith(("cheap", "low", "small", "old", "short")) else -0.6)
    return query._replace(order=by if is_least else f"{by} DESC", limit=number)


def _counted(scope: Scope) -> tuple[str, ...]:
    counted = COUNTED.search(scope.question.text.lower())
    return stems_of(counted[1])[:1] if counted else ()


def _count(scope: Scope) -> Query:
    words = _counted(scope)
    numbers = [c for c in scope.schema.columns if c.is_number and set(words) & c.stems]
    options = {"COUNT(*)": 1.0, **{f"SUM({c.full})": 0.2 + column_fit(c, words, scope) * 0.5 for c in numbers}}
    return Query(scope.choose.one(options), scope.base)


def _total(scope: Scope) -> Query:
    clue = next((clue for clue in scope.question.clues if clue.kind == "total"), None)
    if clue is not None and scope.choose.takes(1.5):
        return Query(translated(clue.text, scope), scope.base)
    return Query(f"SUM({_measured(scope, 'total')})", scope.base)


def _measured(scope: Scope, word: str) -> str:
    """Return the number to average or sum up: the one named after the word, or any in the question."""
    lowered = scope.question.text.lower()
    aliases = [
        c for c in scope.question.clues if c.kind == "column" and scope.schema.named(c.text) and c.phrase in lowered
    ]
    if aliases and scope.choose.takes(1.0):
        return resolved(aliases[0].text, scope)
    found = re.search(rf"\b{word}\b (?:number of )?(.+?)(?: of | for | that |\?|$)", lowered)
    return column_for(scope, stems_of(found[1]) if found else scope.question.stems, numbers=True).full


def _extreme(scope: Scope) -> Query:
    clue = next((clue for clue in scope.question.clues if clue.kind == "extreme"), None)
    if clue is None:
        is_least = scope.question.says("lowest|first|cheapest|shortest|smallest|oldest")
        column = column_for(scope, scope.question.stems, numbers=True).full
    else:
        is_least, column = clue.text.startswith("MIN"), resolved(clue.text[4:], scope)
    of_value = Query(f"{'MIN' if is_least else 'MAX'}({column})", scope.base)
    of_row = Query(_targets(scope), scope.base, order=column if is_least else f"{column} DESC", limit="1")
    is_value = 0.8 if scope.question.says(r"the (highest|lowest) |at what|when") else -0.8
    return of_value if scope.choose.takes(is_value) else of_row


def _top(scope: Scope) -> Query:
    target = _targets(scope)
    table = target.partition(".")[0]
    key = next((c.full for c in scope.schema.of(table) if c.is_key), target)
    group = key if target.endswith((".name", ".title")) or "," in target else target
    money = [c for c in scope.schema.columns if c.is_number and c.stems & set(scope.question.stems)]
    options = {
        "COUNT(*)": 1.0,
        **{f"SUM({c.full})": 0.3 + 0.4 * scope.question.says("earn|revenue|sold") for c in money},
    }
    return Query(target, scope.base, group=group, order=f"{scope.choose.one(options)} DESC", limit="1")


def _groups(scope: Scope) -> Query:
    found = re.search(r"(?:for|of) each ([a-z ]+?)(?:,| that | who | with | has |\?|$)", scope.question.text.lower())
    group = column_for(scope, stems_of(found[1]) if found else scope.question.stems).full
    kinds = {clue.kind for clue in scope.question.clues}
    inner = FORMS[
        scope.choose.one({"count": 1.0, "total": 2.0 * ("total" in kinds), "formula": 2.5 * ("formula" in kinds)})
    ]
    return Query(f"{group}, {inner(scope).select}", scope.base, group=group)


def _having(scope: Scope) -> Query:
    clue = next((clue for clue in scope.question.clues if clue.kind == "having"), None)
    target = _targets(scope)
    return Query(target, scope.base, group=target, having=translated(clue.text, scope) if clue else "")


def _formula(scope: Scope) -> Query:
    clue = next((clue for clue in scope.question.clues if clue.kind == "formula"), None)
    if clue is None:
        return _count(scope)
    text = translated(clue.text, scope)
    if not re.search(r"\b(?:SUM|AVG|COUNT)\(", text):
        text = f"{'MAX' if scope.question.says('longest|highest') else 'AVG'}({text})"
    return Query(text, scope.base)


FORMS: Mapping[str, Callable[[Scope], Query]] = {
    "list": _list,
    "count": _count,
    "distinct": lambda scope: Query(f"COUNT(DISTINCT {column_for(scope, (*_counted(scope), 'id')).full})", scope.base),
    "average": lambda scope: Query(f"AVG({_measured(scope, 'average')})", scope.base),
    "total": _total,
    "extreme": _extreme,
    "top": _top,
    "groups": _groups,
    "having": _having,
    "formula": _formula,
}
