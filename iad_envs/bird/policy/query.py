"""A query in exchangeable parts: every column has its table's name, and joins follow from the named tables."""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from iad_envs.bird.policy.question import Join, ReadableSchema

_HEADS = ("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT")


class Query(NamedTuple):
    """The parts of a query.

    Attributes:
        select: The selected expressions.
        base: The table whose rows are counted.
        joins: The keys that join other tables, in order.
        where: Conditions, all of which must hold.
        group: Expression to group by. Empty for none.
        having: A condition on groups. Empty for none.
        order: Expression to order by. Empty for none.
        limit: Maximum number of rows. Empty for all.
    """

    select: str
    base: str
    joins: tuple[Join, ...] = ()
    where: tuple[str, ...] = ()
    group: str = ""
    having: str = ""
    order: str = ""
    limit: str = ""

    def text(self) -> str:
        """Return the query in SQL."""
        reached, parts = {self.base}, [f"SELECT {self.select} FROM {self.base}"]
        for join in self.joins:
            new = join.to_table if join.table in reached else join.table
            reached.add(new)
            parts.append(f"INNER JOIN {new} ON {join.table}.{join.column} = {join.to_table}.{join.to_column}")
        clauses = (
            ("WHERE", " AND ".join(self.where)),
            ("GROUP BY", self.group),
            ("HAVING", self.having),
            ("ORDER BY", self.order),
            ("LIMIT", self.limit),
        )
        return " ".join([*parts, *(f"{head} {content}" for head, content in clauses if content)])

    def tables(self) -> list[str]:
        """Return the tables that its parts name outside of subqueries, with the base first."""
        parts = " ".join((self.select, *self.where, self.group, self.having, self.order))
        return list(dict.fromkeys([self.base, *re.findall(r"\b([A-Za-z_]\w*)\.[A-Za-z_]\w*", _outermost(parts))]))


def read_query(sql: str) -> Query | None:
    """Parse a query that `Query.text` wrote, or return None for any other."""
    parts = dict(_split(sql, _HEADS))
    source = parts.get("FROM", "")
    base = source.partition(" ")[0]
    joins = tuple(Join(*ends) for ends in re.findall(r"INNER JOIN \w+ ON (\w+)\.(\w+) = (\w+)\.(\w+)", source))
    query = Query(
        parts.get("SELECT", ""),
        base,
        joins,
        tuple(one for _, one in _split(parts["WHERE"], ("AND",))) if "WHERE" in parts else (),
        *(parts.get(head, "") for head in _HEADS[3:]),
    )
    return query if query.text() == sql else None


def joined(query: Query, schema: ReadableSchema, prefer: Iterable[Join] = ()) -> Query | None:
    """Return a query with the joins that its parts need, using as few keys as possible, or None if that fails."""
    preferred = list(prefer)
    keys = sorted(schema.joins, key=lambda join: preferred.index(join) if join in preferred else len(preferred))
    reached, joins = [query.base], list[Join]()
    for table in query.tables():
        path = _path(reached, table, keys)
        if path is None:
            return None
        joins += path
        reached += [end for join in path for end in (join.table, join.to_table)]
    return query._replace(joins=tuple(joins))


def _path(reached: list[str], table: str, keys: list[Join]) -> list[Join] | None:
    """Return the shortest path of keys from the reached tables to a table, by breadth-first search."""
    paths: dict[str, list[Join]] = {start: [] for start in reached}
    frontier = list(paths)
    while frontier:
        if table in paths:
            return paths[table]
        following = []
        for here in frontier:
            for join in keys:
                ends = (join.table, join.to_table)
                other = ends[1] if here == ends[0] else ends[0] if here == ends[1] else ""
                if other and other not in paths:
                    paths[other] = [*paths[here], join]
                    following.append(other)
        frontier = following
    return None


def _outermost(text: str) -> str:
    """Return a text without its subqueries and quotes."""
    text = re.sub(r"'(?:[^']|'')*'", "''", text)
    while (start := text.find("(SELECT")) >= 0:
        depth = 0
        for end in range(start, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                break
        text = text[:start] + text[end + 1 :]
    return text


def _split(text: str, heads: Collection[str]) -> list[tuple[str, str]]:
    """Split a text at some words outside of brackets and quotes. Return these words, each with what follows it."""
    found: list[tuple[str, list[str]]] = [("", [])]
    depth, is_between = 0, False
    for token in re.findall(r"'(?:[^']|'')*'|GROUP BY|ORDER BY|[A-Za-z_]+|.", text, re.DOTALL):
        depth += {"(": 1, ")": -1}.get(token, 0)
        is_between = is_between or token == "BETWEEN"
        if depth == 0 and token in heads and not (token == "AND" and is_between):
            found.append((token, []))
        else:
            found[-1][1].append(token)
        is_between = is_between and token != "AND"
    return [(head, "".join(content).strip()) for head, content in found]
