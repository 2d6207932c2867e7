"""A small schema, and the findings about queries on it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from iad_envs.bird.data import Question, load_data
from iad_envs.bird.database import DatabaseClient
from iad_envs.bird.finding import QueryFinding
from iad_envs.bird.findings import findings, values_of
from iad_envs.bird.schema import Schema, schema_of
from tests.iad_envs.bird.small_bird import make_folder

Find = Callable[..., dict[str, QueryFinding]]


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    return schema_of(load_data(make_folder(tmp_path), "dev"), "towns")


@pytest.fixture
def find(tmp_path: Path, schema: Schema) -> Find:
    database = DatabaseClient(tmp_path / "dev_databases" / "towns" / "towns.sqlite")
    values = values_of(database)

    def find(sql: str, question: str = "Which?", evidence: str = "") -> dict[str, QueryFinding]:
        asked = Question("1", "towns", question, evidence, "")
        return {one.code: one for one in findings(sql, database.run(sql), asked, schema, values)}

    return find
