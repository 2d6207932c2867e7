"""Checks access to language models: API keys (never their values), endpoints, models on this machine, the cache."""

import json
import shlex
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from iad_policy.commands.doctor.findings import Deadline, Finding, FindingGroup, shortened, started
from iad_policy.models.local import EXTRA, PACKAGE
from iad_policy.models.local.files import KNOWN, models_folder
from iad_policy.types.secrets import without_secrets

KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "MISTRAL_API_KEY",
    "OPENROUTER_API_KEY",
    "AZURE_API_KEY",
    "HF_TOKEN",
)
LOCAL = "local:"


def check_models(variables: Mapping[str, str], cache: Path, deadline: Deadline) -> FindingGroup:
    """Return a finding for the keys, one for each endpoint, one for models on this machine, and one for the cache.

    Args:
        variables: Environment variables of the process.
        cache: File with the cached model answers.
        deadline: Common deadline of all checks.
    """
    endpoints = ("OPENAI_BASE_URL", "_API_BASE")  # how their names end
    named = {name: variables[name] for name in sorted(variables) if name.endswith(endpoints) and variables[name]}
    pending = {name: started(partial(answers, url, 2.0)) for name, url in named.items()}
    findings = [check_keys(variables, has_endpoint=bool(named))]
    for name, work in pending.items():
        url = without_secrets(named[name])
        try:
            code, said = deadline.result(work)
            ends_in_v1 = name in ("OPENAI_API_BASE", "OPENAI_BASE_URL", "HOSTED_VLLM_API_BASE")
            is_lost = code == 404 and ends_in_v1 and not urlsplit(url).path.rstrip("/").endswith("/v1")
            hint = "; such an address usually ends in /v1" if is_lost else ""
            findings.append(Finding(name, "broken" if is_lost else "ok", f"{url}: {said}{hint}"))
        except TimeoutError as error:
            findings.append(deadline.slow(name, f"{url}: {shortened(error)}"))
        except (OSError, ValueError, HTTPException) as error:
            findings.append(Finding(name, "broken", f"{url} does not answer: {shortened(error)}"))
    findings.append(check_local())
    if not named:
        findings.append(Finding("endpoint", "not set", fix="export OPENAI_API_BASE=http://localhost:8080/v1"))
    return FindingGroup("Models", (*findings, check_cache(cache)))


def check_keys(variables: Mapping[str, str], *, has_endpoint: bool) -> Finding:
    """Return a finding with the API keys that are set."""
    given = [name for name in KEYS if variables.get(name)]
    others = ", ".join(name for name in KEYS if name not in given)
    if given:
        return Finding("keys", "set", ", ".join(given))
    fix = "" if has_endpoint else f"export {KEYS[0]}=..."
    return Finding("keys", "not set", f"none of {others}", fix)


def check_local(folder: Path | None = None, *, is_installed: bool | None = None) -> Finding:
    """Return whether language models can run on this machine, and which were fetched.

    Args:
        folder: Folder of fetched models.
        is_installed: Whether llama.cpp is installed; by default it is looked for.
    """
    folder = models_folder() if folder is None else folder
    if not (find_spec(PACKAGE) is not None if is_installed is None else is_installed):
        return Finding(LOCAL, "missing", f"needs the extra {EXTRA}")
    files = [f"{LOCAL}{name}" for name in KNOWN if (folder / f"{name}.gguf").is_file()]
    said = f"{', '.join(files)} in {folder}" if files else "none fetched; local:smollm2 fetches one"
    return Finding(LOCAL, "ok", said)


def check_cache(path: Path) -> Finding:
    """Return a finding with the size and place of the cached model answers."""
    files = [path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))]
    size = sum(file.stat().st_size for file in files if file.exists())
    if not path.exists():
        return Finding("answer cache", "ok", f"no answers yet, {path}")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            (n,) = connection.execute("SELECT count(*) FROM completions").fetchone()
    except sqlite3.Error as error:
        fix = shlex.join(["mv", str(path), f"{path}.old"])  # moved, not deleted: it may be of use to the user
        return Finding("answer cache", "broken", f"{path} can't be read: {error}", fix, is_needed=True)
    return Finding("answer cache", "ok", f"{n} answers, {size / 2**20:.1f} MB, {path}")


def answers(url: str, limit_s: float) -> tuple[int, str]:
    """Ask an endpoint for its models, without a key. Return the HTTP status and a description of the answer."""
    is_local = urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")
    opener = build_opener(ProxyHandler({})) if is_local else build_opener()
    try:
        with opener.open(f"{url.rstrip('/')}/models", timeout=limit_s) as answer:
            body = answer.read(1 << 20)
    except HTTPError as error:
        error.close()
        return error.code, f"answers with status {error.code}"
    try:
        names = [str(one["id"]) for one in json.loads(body)["data"]]
    except (ValueError, KeyError, TypeError):
        names = []
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return 200, f"answers with the models {', '.join(names[:3])}{more}" if names else "answers"
