"""Queries that try to take all time or all room of an SQL server, to change it, or to look around, by dialect."""

import tomllib
from pathlib import Path

ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
LARGE = ENDLESS.replace("SELECT 1 ", "SELECT 1::bigint ")
DOUBLED = [f"a{i} AS (SELECT p.x FROM a{i - 1} p, a{i - 1} q)" for i in range(1, 26)]
DOUBLING = ", ".join(["a0 AS (SELECT 1 AS x UNION ALL SELECT 2)", *DOUBLED])
SLOW_ATTACKS = {
    "postgresql": {
        "sleep": "SELECT pg_sleep(60)",
        "sleep after lifting the limit": "SELECT set_config('statement_timeout', '0', false), pg_sleep(60)",
        "endless recursive count": f"{LARGE} SELECT count(*) FROM c",
        "endless text": f"{LARGE} SELECT max(length(repeat('x', 1000000) || n)) FROM c",
        "cross join": "SELECT count(*) FROM trip a, trip b, trip c, trip d",
        "60-way join": f"SELECT count(*) FROM {', '.join(f'trip t{i}' for i in range(60))}",
        "doubling CTE": f"WITH {DOUBLING} SELECT count(*) FROM a25",
        "regular expression": "SELECT sum((repeat('a', 3000 + n) ~ '^(a*)(a*)(a*)\\1\\2\\3b$')::int) "
        "FROM generate_series(1, 100000) AS s(n)",
        "numbers of many digits": f"{LARGE} SELECT max(length((n::numeric ^ 20000)::text)) FROM c",
        "powers of many digits": "SELECT max(length(((1.000000001 + n * 1e-12)::numeric(1000, 999) "
        "^ 3e12::numeric)::text)) FROM generate_series(1, 1000000) AS s(n)",
        "what is never cancelled": "SELECT public.stubborn()",
        "dynamic SQL": "SELECT query_to_xml('SELECT pg_sleep(60)', true, true, '')",
    },
    "mysql": {
        "sleep": "SELECT SLEEP(60)",
        "benchmark": "SELECT BENCHMARK(1000000000000, SHA2('x', 512))",
        "a large series": "SELECT COUNT(*), MAX(SHA2(seq, 512)) FROM seq_1_to_10000000000",
        "cross join": "SELECT COUNT(*) FROM trip a, trip b, trip c, trip d",
        "doubling CTE": f"WITH {DOUBLING} SELECT COUNT(*) FROM a25",
        "regular expression": "SELECT SUM(CONCAT(REPEAT('a', 3000), seq) REGEXP '^(a*)(a*)(a*)\\\\1\\\\2\\\\3b$') "
        "FROM seq_1_to_100000000",
        "waiting for another server": "SELECT MASTER_GTID_WAIT('0-1-100', 60)",
        "all in one text": "SELECT SUM(LENGTH(REPEAT('x', 1000000 + seq))) FROM seq_1_to_10000000",
    },
}
"""Queries that take too long."""
_QUICK_ATTACKS_OF_BOTH = {
    "deep expression": f"SELECT {'- ' * 40000}1",
    "nested parentheses": f"SELECT {'(' * 40000}1{')' * 40000}",
    "1 MB of SQL": f"SELECT '{'x' * 1_000_000}'",
}
QUICK_ATTACKS = {
    "postgresql": {
        **_QUICK_ATTACKS_OF_BOTH,
        "large sort": "SELECT a FROM generate_series(1, 100000000) AS s(a) ORDER BY -a",
        "endless rows": f"{LARGE} SELECT n FROM c",
        "wide rows": "SELECT repeat('x', 1000000) FROM generate_series(1, 100000)",
        "one huge value": "SELECT repeat('x', 900000000)",
        "over a gigabyte": "SELECT repeat('x', 1000000000) || repeat('x', 1000000000)",
        "all in one text": "SELECT length(string_agg(repeat('x', 1000), '')) FROM generate_series(1, 10000000)",
        "3000 columns": f"SELECT {', '.join(['1'] * 3000)}",
        "comment bomb": "/* " * 30_000 + "SELECT 1",
    },
    "mysql": {
        **_QUICK_ATTACKS_OF_BOTH,
        "endless recursive count": f"{ENDLESS} SELECT COUNT(*), SLEEP(60) FROM c",
        "60-way join": f"SELECT COUNT(*) FROM {', '.join(f'trip t{i}' for i in range(60))}",
        "62-way join": f"SELECT COUNT(*) FROM {', '.join(f'trip t{i}' for i in range(62))}",
        "large sort": "SELECT seq FROM seq_1_to_100000000 ORDER BY -seq",
        "endless rows": "SELECT seq FROM seq_1_to_10000000000",
        "wide rows": "SELECT REPEAT('x', 1000000) FROM seq_1_to_100000",
        "one huge row": f"SELECT {', '.join(['REPEAT(1, 16000000)'] * 12)}",
    },
}
"""Queries that take too much."""
_KNOWN = tomllib.loads(Path(__file__).with_name("sql_refused.toml").read_text(encoding="utf-8"))
REFUSED: dict[str, dict[str, str]] = {name: {**_KNOWN["both"], **_KNOWN[name]} for name in ("postgresql", "mysql")}
"""What is not one reading query."""
