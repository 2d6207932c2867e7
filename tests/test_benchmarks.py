"""The benchmarks: targets hold on any machine, and every file of the folder is a benchmark."""

import ast
import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
FILES = sorted(FOLDER.glob("*.py"))
TIMES = {"us", "ms", "s", "min"}


@pytest.fixture
def reference(load_benchmark: Callable[[str], Any]) -> Any:
    return load_benchmark("reference")


def ticking(step_s: float) -> Callable[[], float]:
    """A clock that goes on by a step whenever it is read."""
    ticks = count()
    return lambda: step_s * next(ticks)


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return {line["metric"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}


def test_the_piece_of_work_is_fixed(reference: Any) -> None:
    canonical = json.dumps(reference.RECORD, sort_keys=True, separators=(",", ":"))
    assert len(canonical.encode()) == 1024
    assert reference.write_record() == "ff9e90100df4f4bf3f70289298971ca2eb84d32f9c337784b48927ba1d6f4278"
    assert reference.N_RECORDS == 10_000


@pytest.mark.parametrize("slowness", [1.0, 3.0, 0.5])
def test_a_target_is_met_or_missed_alike_on_slow_and_fast_machines(
    reference: Any, capsys: pytest.CaptureFixture[str], slowness: float
) -> None:
    record_s = slowness * reference.TARGETS_RECORD_US / 1e6
    timed = reference.Reference(ticking(record_s), ticking(2 * record_s), n_records=1)
    timed.sample()
    timed.figure("met", 29 * slowness, "us", target=30)
    timed.figure("missed", 31e-3 * slowness, "ms", target=30e-3)
    timed.figure("by_cpu", 59 * slowness, "us", target=30, clock="cpu")
    timed.figure("met_rate", 31 / slowness, "pages/s", target=30)
    timed.figure("missed_rate", 29 / slowness, "pages/s", target=30)
    timed.report()
    lines = printed(capsys)
    found = {name: line["meets"] for name, line in lines.items()}
    assert found == {
        "met": True,
        "missed": False,
        "by_cpu": True,
        "met_rate": True,
        "missed_rate": False,
        "reference_us": None,
        "reference_cpu_us": None,
    }
    assert lines["met"]["value"] == pytest.approx(29 * slowness)
    assert lines["met"]["ratio"] == pytest.approx(29 / 8, rel=1e-4)
    assert lines["met"]["target"] == pytest.approx(30 / 8)
    assert lines["met"]["baseline"] == lines["reference_us"]["value"]
    assert lines["missed"]["baseline"] == pytest.approx(lines["reference_us"]["value"] / 1000)
    assert lines["by_cpu"]["baseline"] == lines["reference_cpu_us"]["value"]


def test_a_line_has_the_agreed_keys(reference: Any, capsys: pytest.CaptureFixture[str]) -> None:
    timed = reference.Reference(n_records=10)
    timed.sample()
    timed.figure("met", 1.0, "s", n=3, target=10.0)
    line = printed(capsys)["met"]
    assert list(line) == ["metric", "value", "unit", "baseline", "ratio", "target", "better", "meets", "n"]


def calls(path: Path) -> Iterator[ast.Call]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def absolute_targets(path: Path) -> Iterator[str]:
    """Calls of the bare `figure` that give a time, or a rate, a target."""
    for call in calls(path):
        if not isinstance(call.func, ast.Name) or call.func.id != "figure" or len(call.args) < 3:
            continue
        unit = call.args[2]
        is_time = isinstance(unit, ast.Constant) and (unit.value in TIMES or str(unit.value).endswith("/s"))
        if is_time and any(word.arg == "target" for word in call.keywords):
            yield ast.unparse(call.args[0])


def test_no_time_has_an_absolute_target(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("figure('open_s', 1.0, 's', target=3)\nreference.figure('ok_s', 1.0, 's', target=3)\n")
    assert list(absolute_targets(wrong)) == ["'open_s'"]
    assert {path.name: list(absolute_targets(path)) for path in FILES} == {path.name: [] for path in FILES}


def test_make_bench_runs_every_file_and_each_can_be_run_by_itself() -> None:
    bench = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nbench:")[2].partition("\n\n")[0]
    assert "for file in benchmarks/*.py; do" in bench
    assert [path.name for path in FILES if '__name__ == "__main__"' not in path.read_text(encoding="utf-8")] == []
