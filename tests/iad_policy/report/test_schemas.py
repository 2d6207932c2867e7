"""The schemas of a run's files are those of the types, are published, and fit what runs write."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.report.schemas import problems, schemas
from iad_policy.strategies import STRATEGIES
from tests.command_line import iad
from tests.iad_policy.evaluation_toy import DialsEnv, Guesser, Liker

PUBLISHED = Path(__file__).parents[3] / "docs" / "schemas"


def test_the_published_schemas_are_the_present_ones() -> None:
    """`python -m iad_policy.report.schemas docs/schemas` writes them."""
    found = {path.name: json.loads(path.read_text()) for path in PUBLISHED.glob("*.json")}
    assert found == {f"{name.partition('.')[0]}.schema.json": schema for name, schema in schemas().items()}
    for schema in found.values():
        Draft202012Validator.check_schema(schema)


RUNS: list[dict[str, Any]] = [
    {"env": DialsEnv, "strategies": ["single", "bon", "iad"], "n": [1, 2], "seed": [0, 1], "agent": Guesser()},
    {"env": DialsEnv, "strategies": ["bon"], "agent": [Guesser({2: ZeroDivisionError()}), lambda o, i: "turn[1]"]},
    {"env": "IAD/WebShop-v0", "strategies": [*sorted({*STRATEGIES} - {"try-again"})], "n": 2, "tasks": 1},
    {"env": "IAD/BFCL-v0", "strategies": ["bon-sc"], "verifier": "none", "n": 2},
]


@pytest.mark.parametrize("asked", RUNS)
def test_what_a_run_writes_fits(asked: dict[str, Any], tmp_path: Path) -> None:
    toy = {"verifier": Liker()} if asked["env"] is DialsEnv else {}
    evaluate(**{"tasks": 2, "out": tmp_path, **toy, **asked})
    assert list(problems(tmp_path)) == []


def test_what_does_not_fit_is_named_with_its_file_its_line_and_its_field(tmp_path: Path) -> None:
    evaluate(DialsEnv, ["bon"], 3, agent=Guesser(), verifier=Liker(), out=tmp_path)
    assert "every file fits its schema" in iad("validate", tmp_path).stdout
    episodes, config = tmp_path / "episodes.jsonl", tmp_path / "config.json"
    first, second, third = (json.loads(line) for line in episodes.read_text().splitlines())
    second["usage"]["agent"]["tokens"] = "many"
    del third["task_id"]
    episodes.write_text("\n".join([*map(json.dumps, (first, second, third)), "{"]))
    config.write_text(json.dumps({**json.loads(config.read_text()), "workers": "two"}))
    (tmp_path / "answers.jsonl").unlink()
    done = iad("validate", tmp_path)
    assert done.exit_code == 1
    for said in (
        "config.json, workers: 'two' is not of type 'integer'",
        "episodes.jsonl, line 2, usage.agent.tokens: 'many' is not of type 'number'",
        "episodes.jsonl, line 3: 'task_id' is a required property",
        "episodes.jsonl, line 4: expected JSON, got",
        "answers.jsonl: expected the file, which a run writes, found none",
    ):
        assert said in done.stdout
