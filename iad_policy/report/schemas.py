"""JSON Schemas of the files of a run folder, made of the types that write them, and what in a folder doesn't fit.

`docs/schemas/` has them as files. `python -m iad_policy.report.schemas docs/schemas` writes them.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from iad_policy.ledger.answer_log import ANSWERS
from iad_policy.ledger.episode_record import EPISODES, EpisodeRecord
from iad_policy.ledger.run_folder import CONFIG, SUMMARY
from iad_policy.report.metrics import SPENT, LevelSummary, StrategySummary
from iad_policy.run.config import OPTIONS, RunConfig
from iad_policy.types.regular_file import read_regular

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
PLAIN: Mapping[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
ONE_OR_ALL = ("agent", "verifier", "n", "seed")
"""Keys of a configuration that hold one value or several."""


def schemas() -> dict[str, Schema]:
    """Return the schema of each file; of a file of lines that of a line."""
    return {
        CONFIG: _named("The configuration of a run", _config()),
        EPISODES: _named("A finished episode", fields_of(EpisodeRecord)),
        SUMMARY: _named("The figures of a run", _summary()),
        ANSWERS: _named("An answer", _answer()),
    }


def fields_of(kind: type) -> Schema:
    """Return the schema of an object with the fields of a dataclass or a NamedTuple. Further keys are allowed."""
    hints = get_type_hints(kind)
    return {
        "type": "object",
        "properties": {name: _of(hint) for name, hint in hints.items()},
        "required": list(hints),
    }


def _of(hint: Any) -> Schema:
    """Return the schema of a value that a type annotation describes."""
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    origin, parts = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return {"anyOf": [_of(part) for part in parts]}
    if origin is tuple:
        of_parts: Schema = {} if parts[-1] is Ellipsis else {"minItems": len(parts), "maxItems": len(parts)}
        return {"type": "array", "items": _of(parts[0]), **of_parts}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(parts[1])}
    if isinstance(hint, type) and issubclass(hint, tuple):  # JSON has no names for its parts
        parts = tuple(get_type_hints(hint).values())
        return {"type": "array", "items": _of(parts[0]), "minItems": len(parts), "maxItems": len(parts)}
    if isinstance(hint, type) and hint is not Any and get_type_hints(hint):
        return fields_of(hint)
    return {}  # anything


def _named(title: str, schema: Schema) -> Schema:
    return {"$schema": DRAFT, "title": title, **schema}


def _config() -> Schema:
    properties = {name: schema for name, schema in fields_of(RunConfig)["properties"].items() if name in OPTIONS}
    for name in ONE_OR_ALL:
        properties[name] = {"anyOf": [properties[name]["items"], properties[name]]}
    properties |= {"format": _of(int), "iad_version": _of(str), "data": _of(Mapping[str, Any])}
    properties |= {"identity": _of(Mapping[str, Any]), "sources": _of(Mapping[str, Mapping[str, str]])}
    required = ["env", "agent", "verifier", "strategies", "n", "seed", "identity", "data", "iad_version", "format"]
    return {"type": "object", "properties": properties, "required": required}


def _summary() -> Schema:
    row = fields_of(StrategySummary)
    spent = row["properties"].pop("spent")["additionalProperties"]
    row["properties"] |= dict.fromkeys(SPENT, spent)
    row["properties"]["by_difficulty"] = {"type": "object", "additionalProperties": fields_of(LevelSummary)}
    row["required"] = [name for name in row["required"] if name != "spent"]
    rows = {"type": "object", "additionalProperties": row}
    properties = {"env": _of(str), "baseline": _of(str), "is_complete": _of(bool), "n_tasks": _of(int)}
    properties |= {"alarms": _of(tuple[str, ...]), "strategies": rows, "differences": _of(Mapping[str, Any])}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _answer() -> Schema:
    properties = {"episode": _of(str), "item": _of(str), "kind": _of(str), "question": _of(str)}
    return {"type": "object", "properties": properties, "required": ["episode", "item", "kind"]}


def problems(folder: Path | str) -> Iterator[str]:
    """Yield what in the files of a run folder doesn't fit their schemas: the file, the line and the field.

    Raises:
        OSError: A file can't be read.
    """
    from jsonschema import Draft202012Validator

    for name, schema in schemas().items():
        path = Path(folder) / name
        if not path.exists():
            if name != SUMMARY:
                yield f"{name}: expected the file, which a run writes, found none"
            continue
        validator = Draft202012Validator(schema)
        for where, text in _documents(name, read_regular(path)):
            try:
                content = json.loads(text)
            except ValueError as error:
                yield f"{where}: expected JSON, got {error}"
                continue
            for found in validator.iter_errors(content):
                yield f"{where}{_place(found.absolute_path)}: {found.message:.300}"


def _documents(name: str, text: bytes) -> Iterable[tuple[str, bytes]]:
    if not name.endswith(".jsonl"):
        return [(name, text)]
    return ((f"{name}, line {number}", line) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def _place(path: Iterable[Any]) -> str:
    parts = ".".join(map(str, path))
    return f", {parts}" if parts else ""


def main(folder: str) -> None:
    """Write the schemas into a folder, each as `<file>.schema.json`."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        path = Path(folder) / f"{name.partition('.')[0]}.schema.json"
        path.write_text(f"{json.dumps(schema, indent=1)}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
