"""A small database, its schema, and the findings about queries on it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from iad_envs.bird.data import Question, load_data
from iad_envs.bird.database import DatabaseClient
from iad_envs.bird.failure import QueryFinding
from iad_envs.bird.findings import Values, findings
from iad_envs.bird.schema import Schema, schema_of
from tests.iad_envs.bird.small_bird import QUESTIONS, UNANSWERED, make_folder

Find = Callable[..., tuple[QueryFinding, ...]]


@pytest.fixture(scope="session")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that no test changes. Its last question has no gold query."""
    return make_folder(tmp_path_factory.mktemp("bird"), [*QUESTIONS, UNANSWERED])


@pytest.fixture(scope="session")
def database_file(towns: Path) -> Path:
    return towns / "dev_databases" / "towns" / "towns.sqlite"


@pytest.fixture(scope="session")
def schema(towns: Path) -> Schema:
    return schema_of(load_data(towns, "dev"), "towns")


@pytest.fixture(scope="module")
def find(database_file: Path, schema: Schema) -> Iterator[Find]:
    with DatabaseClient(database_file) as database:
        values = Values(database.run)

        def find(sql: str, question: str = "Which?", evidence: str = "") -> tuple[QueryFinding, ...]:
            asked = Question("1", "towns", question, evidence, "")
            return findings(sql, database.run(sql), asked, schema, values)

        yield find
