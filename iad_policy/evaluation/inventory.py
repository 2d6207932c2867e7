"""What there is: names with a line each, and whether what they need is installed."""

import inspect
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from iad_policy.agents import AGENTS
from iad_policy.feedback import FORMS
from iad_policy.names import load_object
from iad_policy.papers import PRESETS
from iad_policy.simulators import SIMULATORS
from iad_policy.strategies import STRATEGIES
from iad_policy.verifiers import VERIFIERS

DISTRIBUTION = "iad"
KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "MISTRAL_API_KEY",
    "OPENROUTER_API_KEY",
    "AZURE_API_KEY",
    "HF_TOKEN",
)


class Check(NamedTuple):
    """One finding: `is_good` None means that it is fine either way."""

    name: str
    finding: str
    is_good: bool | None = None


def names(environments: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return what can be named on the command line, by kind, with a line each.

    Args:
        environments: Id -> entry point ("module:Class").
    """
    return {
        "environments": dict(_described(name, path) for name, path in environments.items()),
        "agents": dict(_described(name, path) for name, path in AGENTS.items()),
        "strategies": dict(_described(name, path) for name, path in STRATEGIES.items()),
        "verifiers": dict(_described(name, path) for name, path in VERIFIERS.items()),
        "simulators": dict(_described(name, path) for name, path in SIMULATORS.items()),
        "feedback": {name: _summary(form) for name, form in FORMS.items()},
        "presets": {name: f"{preset.source}, in {preset.env}" for name, preset in PRESETS.items()},
    }


def check_packages() -> list[Check]:
    """Return which Python this is, and which required and optional packages are installed in which version."""
    checks = [Check("python", sys.version.split()[0], sys.version_info >= (3, 11))]
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return [*checks, Check(DISTRIBUTION, "not installed; pip install iad", False)]
    for requirement in requirements:
        package = re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", requirement)
        fix = f"pip install 'iad[{extra[1]}]'" if extra else f"pip install {package}"
        label = f"{package} ({extra[1]})" if extra else package
        try:
            checks.append(Check(label, metadata.version(package), None if extra else True))
        except metadata.PackageNotFoundError:
            checks.append(Check(label, f"not installed; {fix}", None if extra else False))
    return checks


def check_data(environments: Iterable[str], make: Callable[[str], Any]) -> list[Check]:
    """Return which data every environment finds."""
    checks = []
    for name in environments:
        try:
            env = make(name)
            data = env.unwrapped.data
            found = f"{data.name} data {data.digest} in {data.folder}, {len(env.unwrapped.task_ids)} tasks"
            checks.append(Check(name, found, True))
            env.close()
        except Exception as error:  # whatever is wrong with the data, the other checks go on
            checks.append(Check(name, f"{error!s:.300}", False))
    return checks


def check_cache(path: Path) -> list[Check]:
    """Return how large the cache of model answers is, and where."""
    files = [path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))]
    size = sum(file.stat().st_size for file in files if file.exists())
    if not path.exists():
        return [Check("model answers", f"none yet in {path}")]
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            (n,) = connection.execute("SELECT count(*) FROM completions").fetchone()
    except sqlite3.Error as error:
        return [Check("model answers", f"can't be read: {error}; delete {path}", False)]
    return [Check("model answers", f"{n} in {path}, {size / 2**20:.1f} MB", True)]


def check_keys(variables: Mapping[str, str] = os.environ) -> list[Check]:
    """Return which keys of language-model providers are set; never their content."""
    return [Check(name, "yes" if variables.get(name) else "no") for name in KEYS]


def _described(name: str, path: str) -> tuple[str, str]:
    """Return a name as it is written on the command line, and the first line of what it names."""
    try:
        thing = load_object(path)
    except ImportError as error:
        return name, f"not available here: {error}"
    takes_model = "model" in inspect.signature(thing).parameters
    return (f"{name}:<model>" if takes_model else name), _summary(thing)


def _summary(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0].rstrip(".")
