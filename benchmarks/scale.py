"""Compares Ray processes with threads. Needs `pip install -e '.[ray]'`.

Ray runs on this machine and is started once. The two engines are measured in turn. The start of a run (its processes
and environments) is measured separately.
"""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

from support.figures import ROOT, figure

import iad_envs  # noqa: F401 (registers)
from iad_policy import Candidate, State, Verdict
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.roles import TemplateRoles
from iad_policy.run.components import load_components
from iad_policy.run.config import RunConfig
from iad_policy.run.engines.ray_cluster import connected, load_ray
from iad_policy.run.resolve import env_of
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components

N_ROUNDS = 3
N_TASKS, N_SEEDS = 100, 5
N_WAITING, ANSWER_S, N_WORKERS = 96, 0.5, 32


class Slow:
    """Answers after a delay, as a hosted model does."""

    identity = "slow"

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        """Wait, then search."""
        time.sleep(ANSWER_S)
        return Candidate("search[shoes]")


class Indifferent:
    """Gives every candidate the same score."""

    information = "proxy"
    needs_preview = False

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Score everything equally."""
        return [Verdict(0.5) for _ in candidates]


class Measured(NamedTuple):
    """One run: seconds to the first record, seconds from there to the last, CPU seconds, episodes, bytes."""

    first_s: float
    rest_s: float
    cpu_s: float
    n: int
    size: int

    @property
    def rate(self) -> float:
        """Episodes per second, without the start."""
        return (self.n - 1) / self.rest_s


def measured(runner: Runner) -> Measured:
    """Run everything in a new folder, and measure it."""
    with tempfile.TemporaryDirectory() as temporary, RunFolder(temporary, runner.recorded_config()) as folder:
        start, cpu, first = perf_counter(), process_time(), 0.0
        n = 0
        for record in runner.episodes(folder):
            assert not record.error_kind, record.error
            first = first or perf_counter()
            n += 1
        end, spent = perf_counter(), process_time() - cpu
        size = sum(path.stat().st_size for path in Path(temporary).rglob("*") if path.is_file())
    runner.close()
    return Measured(first - start, end - first, spent, n, size)


def shopping(engine: str, workers: int) -> Measured:
    """Run rule-based agents in the shop."""
    seeds = tuple(range(N_SEEDS))
    config = RunConfig(
        "IAD/WebShop-v0", "shopper", "proxy", tasks=N_TASKS, seed=seeds, engine=engine, workers=workers, split="test"
    )
    return measured(Runner(config, partial(env_of, config), load_components))


def waiting(engine: str) -> Measured:
    """Run an agent that waits."""
    config = RunConfig(
        *("IAD/WebShop-v0", "slow", "indifferent", ("single",)),
        tasks=N_WAITING,
        engine=engine,
        workers=N_WORKERS,
        env_args={"max_steps": 4},
    )
    here = Components(Slow(), Indifferent(), TemplateRoles())
    return measured(Runner(config, partial(env_of, config), lambda *_: here))


def middle(runs: Sequence[Measured], name: str) -> float:
    """Return the median of one figure."""
    return median(getattr(run, name) for run in runs)


def main() -> None:
    ray = load_ray()
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", PYTHONPATH=f"{ROOT}:{ROOT / 'benchmarks'}")
    start = perf_counter()
    ray.init(
        address="local", include_dashboard=False, log_to_driver=False, logging_level="error",
        object_store_memory=2**28, _node_ip_address="127.0.0.1",
    )  # fmt: skip
    figure("ray_start_s", perf_counter() - start, "s")
    with connected() as n_cpus:
        rounds: dict[str, list[Measured]] = {"threads": [], "ray": []}
        slow: dict[str, list[Measured]] = {"threads": [], "ray": []}
        for _ in range(N_ROUNDS):
            for engine in rounds:
                rounds[engine].append(shopping(engine, n_cpus))
                slow[engine].append(waiting(engine))
    ray.shutdown()
    threads, processes = rounds["threads"], rounds["ray"]
    n = processes[0].n
    figure(
        f"shop_episodes_per_s_ray_{n_cpus}_processes",
        middle(processes, "rate"), "1/s", baseline=middle(threads, "rate"), better="higher", n=n,
    )  # fmt: skip
    whole = [median(run.first_s + run.rest_s for run in runs) for runs in (processes, threads)]
    figure("shop_whole_run_s_ray", whole[0], "s", baseline=whole[1], n=n)
    figure("shop_first_record_s_ray", middle(processes, "first_s"), "s", baseline=middle(threads, "first_s"))
    figure("driver_cpu_ms_per_episode_ray", 1000 * middle(processes, "cpu_s") / n, "ms", n=n)
    figure("cpu_ms_per_episode_threads", 1000 * middle(threads, "cpu_s") / n, "ms", n=n)
    figure("folder_kb_per_episode", middle(processes, "size") / n / 1000, "kB", n=n)
    waits = [median(run.first_s + run.rest_s for run in slow[engine]) for engine in ("ray", "threads")]
    figure(f"slow_model_whole_run_s_ray_{N_WORKERS}_workers", waits[0], "s", baseline=waits[1], n=N_WAITING)


if __name__ == "__main__":
    if find_spec("ray") is None:
        print("Skipped: pip install -e '.[ray]'", file=sys.stderr)
    else:
        main()
