"""Opens a database for an environment, in any SQL dialect."""

from typing import NamedTuple

from iad_envs.bird.data import BirdData
from iad_envs.bird.database import SCORING, DatabaseClient, Dialect, Queried, QueryLimits
from iad_envs.bird.findings import Values
from iad_envs.bird.mysql import MySqlDatabase
from iad_envs.bird.postgres import PostgresDatabase
from iad_envs.bird.schema import Schema, schema_of
from iad_envs.bird.scoring import QueryScorer


class SqlServer(NamedTuple):
    """Connection settings of a server. See `server.ServerDatabase`."""

    dialect: Dialect
    dsn: str
    guard_dsn: str | None


class OpenDatabase(NamedTuple):
    """The workers or sessions of one database, with its scorer, schema and values."""

    db_id: str
    dialect: Dialect
    database: Queried
    scorer: QueryScorer
    schema: Schema
    values: Values

    def close(self) -> None:
        """End the workers and sessions."""
        self.scorer.close()
        self.database.close()


def open_database(
    data: BirdData, db_id: str, limits: QueryLimits, score_limit_s: float, *, server: SqlServer | None
) -> OpenDatabase:
    """Open a database's file or, with a server, the database there."""
    if server is None:
        schema, path = schema_of(data, db_id), data.database(db_id)
        file = DatabaseClient(path, limits)
        scorer = QueryScorer(path, database=file, timeout_s=score_limit_s)
        return OpenDatabase(db_id, "sqlite", file, scorer, schema, Values(file.run))
    opened = MySqlDatabase if server.dialect == "mysql" else PostgresDatabase
    database, roomy = (opened(server.dsn, db_id, each, guard_dsn=server.guard_dsn) for each in (limits, SCORING))
    try:
        schema = database.read_schema(data)
    except BaseException:
        database.close()
        raise
    scorer = QueryScorer(None, database=database, roomy=roomy, timeout_s=score_limit_s)
    return OpenDatabase(db_id, server.dialect, database, scorer, schema, Values(database.run, server.dialect))
