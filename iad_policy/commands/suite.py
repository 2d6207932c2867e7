"""Reads runs from a TOML file. Common options are at the top, and each `[[run]]` adds its own.

    tasks = 50
    strategies = ["single", "bon-sc", "iad"]
    n = [1, 2, 4]
    seed = [0, 1]

    [[run]]
    env = "IAD/WebShop-v0"
    agent = ["shopper:0.5", "shopper:2"]

    [[run]]
    env = "IAD/BIRD-v0"
    agent = "solution:0.4"

Keys are those of `config.json`, and `name`, the folder of a run. Without `[[run]]` the file is one run, or one for each
of several environments.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iad_policy.errors import UnknownName
from iad_policy.run.config import OPTIONS, RunOption

KINDS: Mapping[type, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a text"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    bool: ((bool,), "true or false"),
    dict: ((dict,), "a table"),
}
"""Kind of an option -> the types of its value in TOML, and the words for it in messages."""


def read_suite(path: Path) -> list[dict[str, Any]]:
    """Return the runs in a file, each as fields of a `RunConfig` by name.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not TOML, or a value has the wrong type for its key.
        UnknownName: A key is not an option. The message names similar ones.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"expected a file with runs in TOML, got {path}, which does not exist") from None
    except ValueError as error:
        raise ValueError(f"expected TOML in {path}, got a parse error: {error}") from None
    runs = content.pop("run", [{}])
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise ValueError(f"expected each run of {path} under a heading [[run]], got [run]; double the brackets")
    found = []
    for run in runs:
        checked: dict[str, Any] = {}
        for key, value in {**content, **run}.items():
            if key not in (*OPTIONS, "name"):
                raise UnknownName(f"key in {path}", key, (*OPTIONS, "name", "run"))
            option = OPTIONS.get(key, RunOption(help="Folder of the run."))
            takes_several = option.takes_several or key == "env"
            kinds, expected = KINDS[option.kind]
            many = isinstance(value, list)
            is_right = bool(value) and takes_several if many else True
            for one in value if many else [value]:
                is_right = is_right and isinstance(one, kinds) and (bool in kinds or not isinstance(one, bool))
            if not is_right:
                also = ", or a list of them," if takes_several else ""
                raise ValueError(f"expected {expected}{also} for {key} in {path}, got {value!r}")
            checked[key] = tuple(value) if many else (value,) if key == "strategies" else value
        envs = checked.get("env")
        found += [{**checked, "env": env} for env in envs] if isinstance(envs, tuple) else [checked]
    return found
