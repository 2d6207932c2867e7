"""Compares a query and its result with the words of the question and its evidence, without gold.

The rules are rough. How often each one meant a wrong query is measured by `benchmarks/support/bird_verifier.py --fit`.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from iad_envs.bird.data import Question
from iad_envs.bird.database import QueryResult
from iad_envs.bird.failure import QueryFinding
from iad_envs.bird.reading import QueryText
from iad_envs.bird.schema import Schema


class EvidenceClause(NamedTuple):
    """A part of the evidence: a phrase of the question and its meaning. The phrase may be empty."""

    phrase: str
    meaning: str


class QuestionWording(NamedTuple):
    """What a question asks for, read from its words.

    Attributes:
        is_number: Whether it asks for one number.
        is_list: Whether it asks for names or a list, and for no number.
        is_one_column: Whether its words give no reason for a second column.
        is_best: Whether it asks for the highest or lowest, whatever the wording.
        names: Names and quoted texts in it that its evidence does not explain.
        numbers: Numbers in it.
        clauses: The parts of the evidence that are about it.
    """

    is_number: bool
    is_list: bool
    is_one_column: bool
    is_best: bool
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    clauses: tuple[EvidenceClause, ...]


@lru_cache(maxsize=1024)
def asked_by(question: str, evidence: str) -> QuestionWording:
    """Read a question and its evidence."""
    is_measure = _says("percent(age)?|average|ratio|difference", question)
    is_measure = is_measure and not _says("above|below|over|under|than", question)
    best = re.findall(r"(?<!at )\b(highest|lowest|most|least|maximum|minimum|\w{3,}est)\b", question.lower())
    not_best = (
        "interest request test guest forest rest invest contest protest honest modest harvest arrest suggest digest "
        "west midwest northwest southwest everest"
    )
    is_numeric = _says(
        "how (many|much|old|tall|long)|number|count|percent(age)?|ratio|average|total|difference|sum|proportion|rate"
        "|amount|calculate",
        question,
    )
    counting = "how many|what is the (total )?number of|count the"
    grouping = "each|every|per|respectively|for all|list|which|group"
    listing = "list|which|who|whose|name the|names? of|give the|provide|state"
    several = "and|along|each|every|with|their|respectively|rank|per|both"
    known = evidence.lower()
    names = (name for name in _names(question) if name.lower() not in known)
    return QuestionWording(
        is_number=(_says(counting, question) or is_measure) and not _says(grouping, question),
        is_list=_says(listing, question) and not is_numeric,
        is_one_column="," not in question and not _says(several, question),
        is_best=any(word not in not_best.split() for word in best),
        names=tuple(dict.fromkeys(names)),
        numbers=tuple(dict.fromkeys(re.findall(r"(?<![\w.,/:-])\d+(?:\.\d+)?(?![\w/:%-]|[.,]\d)", question))),
        clauses=tuple(_clauses(question, evidence)),
    )


def wants_all(question: Question) -> bool:
    """Whether nothing in the question or its evidence asks for a few rows only."""
    text = f"{question.question} {question.evidence}"
    few = (
        r"one|two|three|four|five|six|seven|eight|nine|ten|\d+(st|nd|rd|th)?|an?|any|top|first|second|third|last|rank\w*"
        "|some|example|max|min|more|fewer|less|better|worse|larger|smaller|bigger|higher|lower|older|younger|taller"
        "|shorter|longer|faster|slower|earlier|later|greater|heavier|cheaper"
    )
    return not asked_by(question.question, question.evidence).is_best and not _says(few, text)


def _says(words: str, text: str) -> bool:
    """Whether a text has one of some words, which are alternatives of a regular expression."""
    return re.search(rf"\b({words})\b", text, re.IGNORECASE) is not None


def wording_findings(reading: QueryText, result: QueryResult, question: Question) -> Iterator[QueryFinding]:
    """Yield where a query or its result does not fit the words of the question and the evidence."""
    asked = asked_by(question.question, question.evidence)
    yield from _of_shape(reading, result, question, asked)
    yield from _of_operations(reading, question, asked)
    yield from _of_names(reading, question, asked)
    yield from _of_evidence(reading, asked)


def _warning(code: str, message: str) -> QueryFinding:
    return QueryFinding(code, "warning", message)


def _of_shape(
    reading: QueryText, result: QueryResult, question: Question, asked: QuestionWording
) -> Iterator[QueryFinding]:
    rows, columns = result.rows, result.columns
    if not rows:
        return
    n = f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}"
    numbers = [cell for cell in rows[0] if isinstance(cell, int | float | Decimal)]
    is_null = len(rows) == 1 and all(cell is None for cell in rows[0])  # has a finding of its own
    if asked.is_number and (len(rows) > 1 or not numbers) and not is_null:
        got = n if len(rows) > 1 else f"{rows[0][0]!r:.40}"
        yield _warning("shape", f"the question asks for one number, but the query returned {got}")
    is_single = len(rows) == len(columns) == len(numbers) == 1
    if asked.is_list and is_single and _words(reading) & {"COUNT", "SUM", "AVG", "TOTAL"}:
        got = f"the query returned one number, {numbers[0]}"
        yield _warning("only_number", f"the question asks for names or a list, but {got}")
    if asked.is_one_column and len(columns) > 1:
        got = f"the query returned {len(columns)} columns"
        yield _warning("extra_columns", f"the question asks for one thing, but {got}")
    said = {*re.findall(r"[^\W_]+", f"{question.question} {question.evidence}".lower())}
    if not said & {"id", "ids", "identifier", "code", "number"}:
        for column in columns:
            if label := _label_of(reading, column):
                yield _warning("id_unasked", f"the result shows {column}, the question asks for no id; see {label}")
                break
    is_share = len(rows) == 1 and _says("percent(age)?", question.question)
    if is_share and numbers and not any(1 < number <= 100 for number in numbers):
        yield _warning("percentage", f"the question asks for a percentage, but the query returned {numbers[0]}")


def _words(reading: QueryText) -> set[str]:
    return {part.value for part in reading.parts if part.kind == "word"}


def _label_of(reading: QueryText, column: str) -> str:
    """Return the column with the name or title of the rows whose key a result shows, or ""."""
    for table in reading.used_tables:
        if any(one.is_key and one.name.lower() == column.lower() for one in table.columns):
            for one in table.columns:
                if not one.is_key and re.search(r"name|title", one.name, re.IGNORECASE):
                    return f"{table.name}.{one.name}"
    return ""


def _of_operations(reading: QueryText, question: Question, asked: QuestionWording) -> Iterator[QueryFinding]:
    words = _words(reading)
    divides = any(part.text == "/" for part in reading.parts) or "AVG" in words
    if _says("average|mean", question.question) and not divides:
        yield _warning(
            "operation_unused", "the question names an average, and the query has neither AVG nor a division"
        )
    elif _says("percent(age)?|ratio|proportion", question.question) and not divides:
        yield _warning("operation_unused", "the question names a share, and the query has no division")
    meanings = (clause.meaning for clause in asked.clauses)
    extreme = next((text for text in meanings if re.match(r"(MAX|MIN)\s*\(", text, re.IGNORECASE)), "")
    orders = {"ORDER", "MAX", "MIN", "RANK", "DENSE_RANK", "ROW_NUMBER", "LIMIT", "ALL"}
    if not words & orders and (extreme or asked.is_best):
        wanted = f"the evidence says {extreme:.60}" if extreme else "the question asks for the highest or lowest"
        yield _warning("operation_unused", f"{wanted}, and the query has no MAX, MIN or ORDER BY")


def _of_names(reading: QueryText, question: Question, asked: QuestionWording) -> Iterator[QueryFinding]:
    text = " ".join(part.value for part in reading.parts).lower()
    missing = [name for name in asked.names if not all(word in text for word in _content(name))]
    for name in missing[:3]:
        yield _warning("name_unused", f"the question names {name!r}, and the query does not")
    numbers = {_plain(part.text) for part in reading.parts if part.kind == "number"}
    for number in asked.numbers:
        if _plain(number) not in numbers and number not in text:
            yield _warning("number_unused", f"the question names {number}, and the query does not")
    said = f"{question.question} {question.evidence}".lower()
    for compared in dict.fromkeys(reading.comparisons()):
        described = compared.reference.column.described
        known = f"{said} {described.description} {described.values}".lower()
        words = _content(compared.literal.value)
        if compared.literal.kind == "string" and words and not any(word[:4] in known for word in words):
            where = f"{compared.reference.table.name}.{compared.reference.column.name}"
            message = f"{compared.literal.text} ({where}) stands neither in the question nor in its evidence"
            yield _warning("literal_unasked", message)


def _plain(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number.lstrip("0")


def _content(text: str) -> list[str]:
    """Return a text's words in lower case, without filler words."""
    filler = (
        " a an all and are at be by for from give has have how in is it its list many name of on or refer than that "
        "the these this those to was were what which who whose with "
    )
    return [word for word in re.findall(r"[^\W_]+", text.lower()) if f" {word} " not in filler]


def _names(question: str) -> Iterator[str]:
    """Yield quoted texts and capitalised names, except for the first word of a sentence."""
    yield from re.findall(r"(?<!\w)['\"“‘]([^'\"“”‘’]{2,}?)['\"”’](?!\w)", question)
    form = r"[A-Z0-9][\w'.+-]*(?: (?:(?:of|from|for|the) (?=[A-Z]))?[A-Z0-9(][\w'.+)-]*)*"
    for match in re.finditer(form, question):
        before = question[: match.start()].rstrip()
        name = match.group().rstrip(".,'")
        if not before or before[-1] in ".?!:":
            _, _, name = name.partition(" ")
        name = re.sub(r"'s?\Z", "", name)
        if len(name) > 2 and not name.replace(".", "").isdigit():
            yield name


def _clauses(question: str, evidence: str) -> Iterator[EvidenceClause]:
    """Yield the parts of the evidence that share a word with the question: some evidence is about other questions."""
    asked = _stems(question)
    for part in re.split(r";|\n", evidence):
        found = re.search(r"\s+(?:refers?|means?|stands? for)(?:\s+to)?\s+|\s*=\s*", part)
        clause = (
            EvidenceClause(part[: found.start()].strip(), part[found.end() :].strip())
            if found
            else EvidenceClause("", part)
        )
        if _stems(clause.phrase or clause.meaning) & asked:
            yield clause


def _stems(text: str) -> set[str]:
    return {word[:-1] if len(word) > 3 and word.endswith("s") else word for word in _content(text)}


def _of_evidence(reading: QueryText, asked: QuestionWording) -> Iterator[QueryFinding]:
    said: set[str] = set()
    for clause in asked.clauses:
        for column, tables in _named_columns(reading.schema, clause.meaning).items():
            is_used = any(
                _is_used(reading, table, column) or _is_counted(reading, clause.meaning, table, column)
                for table in tables
            )
            if column not in said and not is_used:
                said.add(column)
                names = f"explains {clause.phrase!r:.60} by {column}" if clause.phrase else f"names {column}"
                yield _warning("evidence_unused", f"the evidence {names}, and the query does not use it")


def _named_columns(schema: Schema, meaning: str) -> dict[str, list[str]]:
    """Return the columns that a text refers to by name, each with the tables that it may be in."""
    found: dict[str, list[str]] = {}
    for table in schema.tables:
        for column in table.columns:
            name = re.escape(column.name)
            match = re.search(rf"(?<![\w'])(?:(\w+)\.)?{name}(?![\w'])", meaning)
            if match is None or (match[1] or table.name).lower() != table.name.lower():
                continue
            # A plain word may be only a word, so it has to be compared or qualified.
            is_plain_word = column.name.isalpha() and (column.name.islower() or column.name.istitle())
            is_compared = re.search(rf"(?<![\w']){name}\s*(?:[=<>!]|LIKE\b|BETWEEN\b)", meaning)
            if match[1] or is_compared or not is_plain_word:
                found.setdefault(column.name, []).append(table.name)
    return found


def _is_used(reading: QueryText, table: str, column: str) -> bool:
    """Whether a query uses a column, one that it refers to or that refers to it, or chooses the table's rows by a key.

    So `gender_id = 1` may stand for `gender.id = 1` and for `gender.gender = 'Male'`.
    """
    names = {part.value.lower() for part in reading.parts if part.kind in ("word", "name")}
    own, equal = (table.lower(), column.lower()), {column.lower()}
    for key in reading.schema.foreign_keys:
        start = (key.table.lower(), key.column.lower())
        end = (key.to_table.lower(), key.to_column.lower())
        equal |= ({end[1]} if start == own else set()) | ({start[1]} if end == own else set())
    if equal & names:
        return True
    compared = {(one.reference.table.name, one.reference.column.name) for one in reading.comparisons()}
    return any(key.to_table == table and (key.table, key.column) in compared for key in reading.schema.foreign_keys)


def _is_counted(reading: QueryText, meaning: str, table: str, column: str) -> bool:
    """Whether the evidence only counts a table's key, and the query counts rows of that table."""
    is_key = any(
        one.name == table and any(each.name == column and each.is_key for each in one.columns)
        for one in reading.used_tables
    )
    if not is_key or "COUNT(*)" not in "".join(part.value for part in reading.parts):
        return False
    name = rf"(?:\w+\.)?{re.escape(column)}(?![\w'])"
    return not re.search(rf"(?<![\w'.]){name}", re.sub(rf"COUNT\(\s*(?:DISTINCT\s+)?{name}", "", meaning))
