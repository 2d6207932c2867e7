"""Measures a run on a Ray cluster of two nodes, both on this machine: what it costs per episode, and what grows.

The episodes are those of `evaluation.py`: two steps, and a language agent whose model answers at once. So the
process with the run folder is the busiest one, as it would be on a large cluster. 20,000 episodes, or with `--full` a
million, which takes half an hour and 11 GB of disk. `--out FOLDER` keeps the run there. Needs `iad[ray]`.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

from evaluation import Corridor, FakeModel, InstantVerifier
from support.figures import ROOT, figure, in_fresh_process

from iad_policy.agents.language import LanguageAgent
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.report.figures import Heading
from iad_policy.report.results import Results
from iad_policy.roles import TemplateRoles
from iad_policy.run.config import RunConfig
from iad_policy.run.engines.ray_cluster import load_ray
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components

N_SHORT, N_FULL = 20_000, 1_000_000
N_PARTS = 10
N_NODES, N_WORKERS = 2, 8
N_STEPS = 2
OBJECT_STORE_BYTES = 2**27


def components(*_: Any) -> Components:
    """Return the agent and its verifier. Workers import this function."""
    return Components(LanguageAgent(FakeModel()), InstantVerifier(), TemplateRoles())


@contextmanager
def two_nodes() -> Iterator[None]:
    """Start a cluster whose head runs nothing, and two nodes with a processor each."""
    ray = load_ray()
    from ray.cluster_utils import Cluster

    os.environ.update(RAY_USAGE_STATS_ENABLED="0", PYTHONPATH=f"{ROOT}:{ROOT / 'benchmarks'}", OMP_NUM_THREADS="1")
    small = {"object_store_memory": OBJECT_STORE_BYTES}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small})
    try:
        for _ in range(N_NODES):
            cluster.add_node(num_cpus=1, **small)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        yield
    finally:
        ray.shutdown()
        cluster.shutdown()


class Sample(NamedTuple):
    """What the run has cost so far.

    Attributes:
        n: Number of episodes.
        s: Seconds.
        cpu_s: CPU seconds of this process, which has the run folder.
        held_mb: Its resident memory.
        others_mb: Resident memory of the largest other process of each kind: workers, and Ray's own.
    """

    n: int
    s: float
    cpu_s: float
    held_mb: float
    others_mb: dict[str, float]


def sample(n: int) -> Sample:
    """Look at this process and those that it started."""
    return Sample(n, perf_counter(), process_time(), _resident_mb("self"), _others_mb())


def _resident_mb(process: str) -> float:
    return int(Path("/proc", process, "statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def _others_mb() -> dict[str, float]:
    """Return the memory of the largest process of each name that this process or a child of it has started."""
    parents, names = {}, {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                name, _, rest = (place / "stat").read_text().partition("(")[2].rpartition(")")
            except OSError:  # it has ended
                continue
            parents[int(place.name)], names[int(place.name)] = int(rest.split()[1]), name
    found: dict[str, float] = {}
    for process, name in names.items():
        ancestor = process
        while (ancestor := parents.get(ancestor, 0)) not in (0, os.getpid()):
            pass
        if ancestor:
            try:
                found[name] = max(found.get(name, 0.0), round(_resident_mb(str(process)), 1))
            except OSError:
                continue
    return found


def records(n: int, path: Path) -> Iterator[EpisodeRecord]:
    """Run the episodes that the folder lacks. Yield every record, and write the summary."""
    import ray_nodes  # under its own name, so that workers find what it defines

    asked = RunConfig("Corridor", "fake", "instant", ("single",), tasks=n, engine="ray", workers=N_WORKERS)
    runner = Runner(asked, partial(Corridor, N_STEPS, n), ray_nodes.components)
    results = Results(Heading(asked, "proxy", n, {}))
    with RunFolder(path, runner.recorded_config()) as folder:
        for record in runner.episodes(folder):
            assert not record.error_kind, record.error
            results.add(record)
            yield record
        runner.close()
        folder.write_summary(results.as_json(results.figures()))


def measured(n: int, path: Path) -> None:
    """Run the episodes, print what each tenth cost, and the figures of the whole."""
    samples = [sample(0)]
    for place, _ in enumerate(records(n, path), 1):
        if place == 1 or place % (n // N_PARTS) == 0:
            samples.append(sample(place))
            told(samples[-2], samples[-1], samples[0])
    first, begun, last = samples[0], samples[1], samples[-1]
    n_run, parts = last.n - begun.n, list(pairwise(samples[1:]))
    figure("nodes_start_s", begun.s - first.s, "s")
    figure("nodes_episodes_per_s", n_run / (last.s - begun.s), "1/s", better="higher", n=n_run)
    figure("driver_cpu_ms_per_episode", 1e3 * (last.cpu_s - begun.cpu_s) / n_run, "ms", n=n_run)
    for name, (before, after) in (("first", parts[0]), ("last", parts[-1])):
        cpu_ms = 1e3 * (after.cpu_s - before.cpu_s) / (after.n - before.n)
        figure(f"driver_cpu_ms_per_episode_{name}_tenth", cpu_ms, "ms", n=after.n - before.n)
    figure("driver_kb_per_episode", 1024 * (last.held_mb - begun.held_mb) / n_run, "kB", n=n_run)
    figure("driver_peak_gb", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, "GB", n=n)
    files = [one.stat() for one in path.rglob("*") if one.is_file()]
    figure("folder_gb", sum(one.st_blocks * 512 for one in files) / 1e9, "GB", n=n)
    figure("folder_files", len(files), "files", n=n)


def told(before: Sample, after: Sample, first: Sample) -> None:
    """Print one part of the run."""
    n = after.n - before.n
    line = {
        "episodes": after.n,
        "s": round(after.s - first.s, 1),
        "episodes_per_s": round(n / (after.s - before.s), 1),
        "driver_cpu_ms": round(1e3 * (after.cpu_s - before.cpu_s) / n, 3),
        "driver_mb": round(after.held_mb),
        "others_mb": after.others_mb,
    }
    print(json.dumps(line), file=sys.stderr, flush=True)


AGAIN = """
from pathlib import Path
sys.path.insert(0, "benchmarks")
from ray_nodes import records
start, cpu = time.perf_counter(), cpu_s()
n = sum(1 for _ in records(int(sys.argv[1]), Path(sys.argv[2])))
print(json.dumps({"n": n, "s": time.perf_counter() - start, "cpu_s": cpu_s() - cpu, "rss_mb": rss_mb()}))
"""


def resumed(n: int, path: Path) -> None:
    """Print what the same command costs when every episode is recorded, with the summary. It needs no cluster."""
    again = in_fresh_process(AGAIN, n, path, n=1)
    figure("nodes_resume_s", again["s"], "s", n=int(again["n"]))
    figure("nodes_resume_cpu_s", again["cpu_s"], "s", n=int(again["n"]))
    figure("nodes_resume_peak_gb", again["rss_mb"] / 1024, "GB", n=int(again["n"]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="a million episodes")
    parser.add_argument("--out", type=Path, help="folder that keeps the run")
    given = parser.parse_args()
    n = N_FULL if given.full else N_SHORT
    with tempfile.TemporaryDirectory() as temporary:
        path = given.out or Path(temporary, "run")
        with two_nodes():
            measured(n, path)
        resumed(n, path)


if __name__ == "__main__":
    if find_spec("ray") is None:
        print("Skipped: pip install -e '.[ray]'", file=sys.stderr)
    else:
        main()
