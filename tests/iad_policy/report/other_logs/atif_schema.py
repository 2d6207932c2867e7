"""The fields of ATIF, as a schema. Its newest version that was read is 1.7.

They are those of Harbor's own models (harbor-framework/harbor, src/harbor/models/trajectories), which refuse further
fields, and of its rfcs/0001-trajectory-format.md. Fields that iad doesn't write are left out.
"""

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator

TEXT, COUNT, AMOUNT, ANY = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "number"}, {"type": "object"}


def of(required: str, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": required.split(), "additionalProperties": False}


def many(items: Any, least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


STEP = of(
    "step_id source message",
    step_id={"type": "integer", "minimum": 1},
    source={"enum": ["system", "user", "agent"]},
    message=TEXT,
    reasoning_content=TEXT,
    tool_calls=many(
        of("tool_call_id function_name arguments", tool_call_id=TEXT, function_name=TEXT, arguments=ANY, extra=ANY)
    ),
    observation=of("results", results=many(of("", source_call_id=TEXT, content=TEXT, extra=ANY))),
    metrics=of("", prompt_tokens=COUNT, completion_tokens=COUNT, cached_tokens=COUNT, cost_usd=AMOUNT, extra=ANY),
    extra=ANY,
)
SCHEMA = of(
    "schema_version session_id agent steps",  # 1.7 does not require the second any more
    schema_version={"enum": [f"ATIF-v1.{minor}" for minor in range(8)]},
    session_id=TEXT,
    trajectory_id=TEXT,
    agent=of("name version", name=TEXT, version=TEXT, model_name=TEXT, extra=ANY),
    steps=many(STEP, 1),
    notes=TEXT,
    final_metrics=of(
        "",
        total_prompt_tokens=COUNT,
        total_completion_tokens=COUNT,
        total_cached_tokens=COUNT,
        total_cost_usd=AMOUNT,
        total_steps=COUNT,
        extra=ANY,
    ),
    extra=ANY,
)
OF_AGENTS = ("reasoning_content", "tool_calls", "metrics")


def require_valid(document: Mapping[str, Any]) -> None:
    """Check a document, also by the rules that a schema can't say."""
    Draft202012Validator(SCHEMA).validate(document)
    steps = document["steps"]
    assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
    for step in steps:
        assert step["source"] == "agent" or not any(name in step for name in OF_AGENTS)
        calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        answered = {one.get("source_call_id") for one in step.get("observation", {}).get("results", ())}
        assert answered - {None} <= calls
