"""Short hashes of simulated states and of results, in the form of the recorded vectors."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from iad_envs.toolcalls.executor import ToolState, public_attributes


def state_digest(state: ToolState) -> str:
    return _digest(
        {
            kind: {name: canonical(value) for name, value in public_attributes(instance).items()}
            for kind, instance in state.instances.items()
        }
    )


def results_digest(results: Sequence[str]) -> str:
    return _digest(canonical(list(results)))


def canonical(value: Any) -> Any:
    """JSON of a value: types stay apart, and order counts only where it does in Python."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return {"n": repr(float(value))}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [canonical(item) for item in value]}
    if isinstance(value, set | frozenset):
        return {"set": sorted((canonical(item) for item in value), key=_text)}
    if isinstance(value, dict):
        pairs = [[canonical(key), canonical(item)] for key, item in value.items()]
        return {"dict": sorted(pairs, key=lambda pair: _text(pair[0]))}
    if type(value).__name__ == "File":
        return {"File": [value.name, value.content]}
    if type(value).__name__ == "Directory":
        return {"Directory": [value.name, {name: canonical(item) for name, item in value.contents.items()}]}
    raise TypeError(f"expected a value of a simulated state, got {type(value)}")


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _digest(value: Any) -> str:
    return sha256(_text(value).encode()).hexdigest()[:12]
