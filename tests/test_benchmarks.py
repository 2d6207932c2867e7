"""The benchmarks: targets hold on any machine, and every file of the folder is a benchmark."""

import ast
import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "benchmarks").glob("*.py"))
TIMES = {"us", "ms", "s", "min"}


@pytest.fixture
def reference(load_benchmark: Callable[[str], Any]) -> Any:
    return load_benchmark("reference")


def ticking(step_s: float) -> Callable[[], float]:
    """A clock that goes on by a step whenever it is read."""
    ticks = count()
    return lambda: step_s * next(ticks)


def test_the_piece_of_work_is_fixed(reference: Any) -> None:
    canonical = json.dumps(reference.RECORD, sort_keys=True, separators=(",", ":"))
    assert (len(canonical.encode()), reference.N_RECORDS) == (1024, 10_000)
    assert reference.write_record() == "ff9e90100df4f4bf3f70289298971ca2eb84d32f9c337784b48927ba1d6f4278"


def test_a_target_is_met_or_missed_alike_on_slow_and_fast_machines(reference: Any, capsys: Any) -> None:
    for slowness in (1.0, 3.0, 0.5):
        record_s = slowness * reference.TARGETS_RECORD_US / 1e6
        timed = reference.Reference(ticking(record_s), ticking(2 * record_s), n_records=1)
        timed.sample()
        timed.figure("met", 29 * slowness, "us", n=3, target=30)
        timed.figure("missed", 31e-3 * slowness, "ms", target=30e-3)
        timed.figure("by_cpu", 59 * slowness, "us", target=30, clock="cpu")
        timed.figure("met_rate", 31 / slowness, "pages/s", target=30)
        timed.figure("missed_rate", 29 / slowness, "pages/s", target=30)
        timed.report()
        lines = {line["metric"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
        expected = {"met": True, "missed": False, "by_cpu": True, "met_rate": True, "missed_rate": False}
        expected |= {"reference_us": None, "reference_cpu_us": None}
        assert {name: line["meets"] for name, line in lines.items()} == expected
        met, wall, cpu = lines["met"], lines["reference_us"]["value"], lines["reference_cpu_us"]["value"]
        assert list(met) == ["metric", "value", "unit", "baseline", "ratio", "target", "better", "meets", "n"]
        assert (met["value"], met["target"], met["baseline"]) == (pytest.approx(29 * slowness), 30 / 8, wall)
        assert met["ratio"] == pytest.approx(29 / 8, rel=1e-4)
        assert (lines["missed"]["baseline"], lines["by_cpu"]["baseline"]) == (pytest.approx(wall / 1000), cpu)


def absolute_targets(path: Path) -> Iterator[str]:
    """Calls of the bare `figure` that give a time, or a rate, a target."""
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match call:
            case ast.Call(ast.Name("figure"), [name, _, ast.Constant(unit), *_], keywords):
                is_time = unit in TIMES or str(unit).endswith("/s")
                if is_time and any(word.arg == "target" for word in keywords):
                    yield ast.unparse(name)


def test_no_time_has_an_absolute_target_and_make_bench_runs_every_file(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("figure('open_s', 1.0, 's', target=3)\nreference.figure('ok_s', 1.0, 's', target=3)\n")
    assert list(absolute_targets(wrong)) == ["'open_s'"]
    bench = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nbench:")[2].partition("\n\n")[0]
    assert "for file in benchmarks/*.py; do" in bench
    for path in FILES:
        assert list(absolute_targets(path)) == [], path.name
        assert '__name__ == "__main__"' in path.read_text(encoding="utf-8"), path.name
