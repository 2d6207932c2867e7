"""The scripts that make the bundled tasks of BFCL and ACEBench, and what finds the faults of a task."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

DATA = Path(__file__).parents[3] / "data"


def checking(file: str) -> ModuleType:
    """Load a module of the data folder."""
    spec = importlib.util.spec_from_file_location(f"loaded_{Path(file).stem}", DATA / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def require_what_is_drawn(family: str, elsewhere: Path) -> str:
    """Demand that the files are what is drawn, and return how those of another seed differ."""

    def made(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, str(DATA / family / "make_tasks.py"), *arguments]
        environment = {"PYTHONPATH": str(DATA.parent), "PYTHONHASHSEED": "11", "TZ": "Asia/Tokyo", "PATH": ""}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
        return ran.returncode, ran.stdout + ran.stderr

    assert made("--check") == (0, "")
    code, said = made("--seed", "5", "--output", str(elsewhere))
    assert code == 0, said
    code, said = made("--output", str(elsewhere), "--check")
    assert code == 1
    return said
