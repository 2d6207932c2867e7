"""Fresh logs of the packages themselves are read as they read them. Each needs an environment with its package."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from iad_policy.report.other_logs import read_logs
from tests.iad_policy.report.other_logs.fixtures import require_samples_of_inspect, require_samples_of_verifiers

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]  # theirs


@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="the package inspect_ai is not installed")
def test_logs_of_inspect_ai(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.full.inspect_logs import make

    monkeypatch.setenv("GIT_DIR", "")  # `make` changes it
    make(tmp_path / "logs")
    expected = json.loads((tmp_path / "logs" / "expected.json").read_text(encoding="utf-8"))
    assert len(expected) > 10
    for path, theirs in expected.items():
        require_samples_of_inspect(read_logs("inspect", [tmp_path / "logs" / path]).samples, theirs)


@pytest.mark.skipif(find_spec("verifiers") is None, reason="the package verifiers is not installed")
def test_runs_of_verifiers(tmp_path: Path) -> None:
    from tests.full.verifiers_runs import make

    make(tmp_path / "runs")
    expected = json.loads((tmp_path / "runs" / "expected.json").read_text(encoding="utf-8"))
    assert len(expected) >= 3
    for name, theirs in expected.items():
        require_samples_of_verifiers(read_logs("verifiers", [tmp_path / "runs" / name]).samples, theirs)
