"""Settings of all tests, and fixtures: real data, vectors of the original systems, browsers and a model's server."""

import asyncio
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.browser import Browsers
from tests.iad_policy.models.openai_server import OpenAIServer, serving

# An example takes as long as the other tests on this machine let it. `pytest-timeout` ends one that never does.
# `make test-full` asks for the profile "full" (--hypothesis-profile), with ten times as many examples.
settings.register_profile("iad", deadline=None, max_examples=10)
settings.register_profile("full", deadline=None, max_examples=100)
settings.load_profile("iad")

# litellm asks for the main thread's event loop at each call. Once one was set, it is not given a new one, which nobody
# would close, and runs its callback in a loop of its own.
asyncio.set_event_loop(None)
# Nor is its table of prices looked for in the network, whoever imports it first.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


def _folder(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set: it names a folder that is not part of this project")
    return Path(value)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder with the official data (`webshop/` ...), from IAD_REAL_DATA."""
    return _folder("IAD_REAL_DATA")


@pytest.fixture(scope="session")
def vectors() -> Any:
    """Loader of a vector file by name, from IAD_VECTORS."""
    folder = _folder("IAD_VECTORS")
    return lambda name: json.loads((folder / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def browsers() -> Iterator[Browsers]:
    made = Browsers()
    yield made
    made.close()


@pytest.fixture(scope="session")
def _model_server() -> Iterator[OpenAIServer]:
    with serving() as running:
        yield running


@pytest.fixture
def model_server(_model_server: OpenAIServer) -> Iterator[OpenAIServer]:
    """The server of language models that all tests of this process share, as if it was new."""
    _model_server.begin()
    yield _model_server
    _model_server.end()


@pytest.fixture(scope="module")
def load_benchmark() -> Iterator[Callable[[str], Any]]:
    """Imports a module of benchmarks/ by its name; that folder is on the path of one file's tests only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
        yield importlib.import_module
    for name in [name for name in sys.modules if name.partition(".")[0] in ("reference", "support")]:
        del sys.modules[name]
