"""The scripts that make bundled data, and the modules beside them that find faults in it."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

DATA = Path(__file__).parents[2] / "data"


def loaded(file: str) -> ModuleType:
    """A module of the data folder."""
    spec = importlib.util.spec_from_file_location(file.removesuffix(".py").replace("/", "_"), DATA / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def ran(script: str, *arguments: str) -> tuple[int, str]:
    """The exit status of a script of the data folder, and what it printed, elsewhere in the world."""
    command = [sys.executable, "-B", str(DATA / script), *arguments]
    environment = {"PYTHONPATH": str(DATA.parent), "PYTHONHASHSEED": "11", "TZ": "Asia/Tokyo", "PATH": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout + done.stderr
