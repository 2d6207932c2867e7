"""Times a fixed piece of work, so that targets hold on slow and on fast machines.

The work is 10,000 records of 1 kB. Each is written as canonical JSON and hashed with SHA-256. Every benchmark times the
work between its own measurements. A target in microseconds is compared as a multiple of the time of one record.
"""

import hashlib
import json
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time
from typing import Literal

from support.figures import figure

N_RECORDS = 10_000
TARGETS_RECORD_US = 8.0
"""Microseconds per record on the machine where the targets were set. `request_overhead_us` was 26 there, so it should
take 3.2 records on any machine."""
RECORD = {
    "episode": "6f1ed002ab5595859014ebf0951522d9",
    "item": "propose-3",
    "kind": "candidate",
    "action": "search[canvas sneaker for women, size 8, color black]",
    "score": 0.625,
    "error": None,
    "done": False,
    "usage": {"prompt_tokens": 812, "completion_tokens": 37, "usd": 0.00042},
    "actions": [f"click[b{place:09d}]" for place in range(20)],
    "scores": [place / 16 for place in range(24)],
    "text": "The page lists sneakers of canvas, most of them black or white, and four cost less than the "
    "sum that was said. The third one has every size from 5 to 11; the others are sold out in size 8.",
}
MICROSECONDS = {"us": 1.0, "ms": 1e3, "s": 1e6, "min": 60e6}
Clock = Literal["wall", "cpu"]


def write_record() -> str:
    """Do the work once: write a record as canonical JSON and hash it."""
    canonical = json.dumps(RECORD, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


class Reference:
    """Times the reference work during a benchmark. Call `sample` between the measurements to compare with it."""

    def __init__(
        self,
        wall_s: Callable[[], float] = perf_counter,
        cpu_s: Callable[[], float] = process_time,
        *,
        n_records: int = N_RECORDS,
    ) -> None:
        self._clocks: dict[Clock, Callable[[], float]] = {"wall": wall_s, "cpu": cpu_s}
        self._samples: dict[Clock, list[float]] = {"wall": [], "cpu": []}
        self._n_records = n_records

    def sample(self) -> None:
        """Do the reference work once and time it."""
        starts = {name: clock() for name, clock in self._clocks.items()}
        for _ in range(self._n_records):
            write_record()
        for name, clock in self._clocks.items():
            self._samples[name].append(1e6 * (clock() - starts[name]) / self._n_records)

    def record_us(self, clock: Clock = "wall") -> float:
        """Return the median microseconds of a record, over the samples so far."""
        return median(self._samples[clock])

    def slowness(self, clock: Clock = "wall") -> float:
        """Return how many times slower this machine is than the one where targets were set and originals measured."""
        return self.record_us(clock) / TARGETS_RECORD_US

    def figure(
        self, metric: str, value: float, unit: str, *, n: int = 1, target: float | None = None, clock: Clock = "wall"
    ) -> None:
        """Print a time or a rate (`.../s`) and its ratio to a record, to which the target applies.

        `target` is that of the value on the machine where the targets were set. `n` is the number of measurements whose
        median is the value, and `clock` the clock of the measurement.
        """
        is_rate = unit.endswith("/s")

        def in_unit(record_us: float) -> float:
            return 1e6 / record_us if is_rate else record_us / MICROSECONDS[unit]

        figure(
            metric,
            value,
            unit,
            n=n,
            baseline=in_unit(self.record_us(clock)),
            ratio_target=None if target is None else target / in_unit(TARGETS_RECORD_US),
            better="higher" if is_rate else "lower",
        )

    def report(self) -> None:
        """Print the time per record in this run, which is the baseline of the compared figures."""
        for metric, clock in (("reference_us", "wall"), ("reference_cpu_us", "cpu")):
            figure(metric, self.record_us(clock), "us", n=len(self._samples[clock]))


if __name__ == "__main__":
    alone = Reference()
    for _ in range(15):
        alone.sample()
    alone.report()
