"""Measures the shop with many products: 100,000 synthetic ones, or with --full as many as in the original.

It uses the same commands as a user. `iad data synth` writes the data, `iad index build` indexes them, and `gym.make`
opens them in new processes. Queries have the length and word frequencies of human ones, and no query is repeated. The
engines `dense` and `hybrid` are measured if faiss is installed. Other work on the machine makes a build and a search
take longer; it changes their CPU time less. `--keep DIR` keeps data and indexes for the next run.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from reference import Reference
from support.figures import ROOT, figure, in_fresh_process

sys.path.insert(0, str(ROOT))

SMALL, FULL = 100_000, 1_180_000
ENGINES = ("bm25", "dense", "hybrid") if find_spec("faiss") else ("bm25",)

OPEN = """
import gymnasium as gym, iad_envs
start = time.perf_counter()
env = gym.make("IAD/WebShop-v0", data_dir=sys.argv[1])
env.reset(seed=0)
print(json.dumps({"open_s": time.perf_counter() - start}))
"""
SEARCH = """
import random
from pathlib import Path
from webshop_server.goals import load_goals
from webshop_server.storage.loading import open_shop
folder = Path(sys.argv[1])
catalog, engine = open_shop(folder, sys.argv[2])
draw = random.Random(0)
queries, found = {}, []
for goal in load_goals(folder, catalog):
    words = [*goal.name.split(), *" ".join((*goal.attributes, *goal.option_values)).split(), *goal.query.split()]
    asked = [draw.choice(words) for _ in range(draw.choice((3, 4, 5, 6, 7, 8, 10)))]
    asked += ["color", draw.choice(("black", "blue"))] if draw.random() < 0.3 else []
    asked += ["size", draw.choice(("8", "large"))] if draw.random() < 0.3 else []
    queries[" ".join(asked)] = goal
times, cpu_times = [], []
for query in list(queries)[:1000]:
    start, cpu = time.perf_counter(), time.process_time()
    engine.search(query)
    times.append(time.perf_counter() - start)
    cpu_times.append(time.process_time() - cpu)
times.sort()
cpu_times.sort()
recalled = [goal.asin in [hit.asin for hit in engine.search(goal.instruction)] for goal in queries.values()]
print(json.dumps({
    "p50_ms": 1000 * times[len(times) // 2], "p95_ms": 1000 * times[len(times) * 95 // 100], "n": len(times),
    "p95_cpu_ms": 1000 * cpu_times[len(times) * 95 // 100],
    "recall": sum(recalled) / len(recalled), "n_goals": len(recalled),
}))
"""
MANY = """
import gymnasium as gym, iad_envs
envs = [gym.make("IAD/WebShop-v0", data_dir=sys.argv[1], split=None) for _ in range(64)]
for number, env in enumerate(envs):
    for episode in range(4):
        _, info = env.reset(seed=10 * number + episode)
        words = info["instruction"].split(",")[0].split()[4:]
        *_, info = env.step(f"search[{' '.join(words)}]")
        for _ in range(4):
            *_, info = env.step("click[next >]")
        shown = [action for action in info["available_actions"] if action.startswith("click[b0")]
        for action in (*shown[:1], "click[description]", "click[< prev]", "click[buy now]"):
            env.step(action)
print(json.dumps({"rss_gb": rss_mb() / 1024}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true", help=f"{FULL:,} products")
    parser.add_argument("--keep", type=Path, help="a folder that keeps data and indexes")
    options = parser.parse_args()
    if options.keep:
        measure(options.keep, options.full)
        return
    with tempfile.TemporaryDirectory(prefix="iad-scale-") as folder:
        measure(Path(folder), options.full)


def measure(home: Path, full: bool) -> None:
    reference = Reference()
    n_products = FULL if full else SMALL
    data = home / f"data-{n_products}"
    os.environ["IAD_INDEX"] = str(home / "indexes")
    if not data.is_dir():
        synth = run_iad("data", "synth", "--products", n_products, "--out", data)
        figure("synth_min", synth.minutes, "min", n=n_products)
    reference.sample()
    build = run_iad("index", "build", "--rebuild", "--data-dir", data)
    reference.sample()
    reference.figure("index_build_min", build.minutes, "min", target=8 if full else None, n=n_products)
    figure("index_build_cpu_min", build.cpu_minutes, "min", n=n_products)
    figure("index_build_rss_gb", build.rss_gb, "GB", n=n_products)
    n_bytes = sum(path.stat().st_size for path in (home / "indexes").rglob("bm25*/*"))
    figure("index_gb", n_bytes / 2**30, "GB", n=n_products)

    opened = in_fresh_process(OPEN, data, before_each=reference.sample)
    reference.figure("open_s", opened["open_s"], "s", target=3 if full else 1, n=5)
    for engine in ENGINES:
        searches(engine, data, reference, full=full, n_products=n_products)
    reference.report()
    held = in_fresh_process(MANY, data, n=1)
    figure("rss_gb", held["rss_gb"], "GB", target=1.5 if full else None, n=64)
    bundled_recall()


def searches(engine: str, data: Path, reference: Reference, *, full: bool, n_products: int) -> None:
    """Print the time of an engine's searches, and of building what `dense` needs beside the index of `bm25`."""
    name = "" if engine == "bm25" else f"_{engine}"
    if engine == "dense":
        build = run_iad("index", "build", "--rebuild", "--search", engine, "--data-dir", data)
        figure("index_build_min_dense", build.minutes, "min", n=n_products)
        figure("index_build_cpu_min_dense", build.cpu_minutes, "min", n=n_products)
    searched = in_fresh_process(SEARCH, data, engine, n=1)
    reference.sample()
    n = int(searched["n"])
    reference.figure(f"p50_ms{name}", searched["p50_ms"], "ms", target=25 if full else 5, n=n)
    reference.figure(f"p95_ms{name}", searched["p95_ms"], "ms", target=40 if full else None, n=n)
    reference.figure(f"p95_cpu_ms{name}", searched["p95_cpu_ms"], "ms", target=40 if full else None, n=n, clock="cpu")
    figure(f"recall50_{engine}_{n_products}", searched["recall"], "share", better="higher", n=int(searched["n_goals"]))


class Ran(NamedTuple):
    """Cost of a command: time, CPU time of all its processes, and the memory of the largest process so far."""

    minutes: float
    cpu_minutes: float
    rss_gb: float


def run_iad(*arguments: Any) -> Ran:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "iad_policy.cli", *map(str, arguments)]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ran(seconds / 60, cpu_s / 60, after.ru_maxrss / 2**20)


def bundled_recall() -> None:
    """Print how often the goal's product is among the first 50 (and 10, and 1), for all bundled goals' instructions."""
    from webshop_server.catalog import index_text, load_catalog
    from webshop_server.goals import load_goals
    from webshop_server.search import load_engine

    folder = ROOT / "data" / "webshop"
    catalog = load_catalog(folder)
    goals = load_goals(folder, catalog)
    documents = [(product.asin, index_text(product)) for product in catalog]
    for name in ENGINES:
        engine = load_engine(name, documents)
        found = [[hit.asin for hit in engine.search(goal.instruction)] for goal in goals]
        for k in (1, 10, 50):
            share = sum(goal.asin in asins[:k] for goal, asins in zip(goals, found, strict=True)) / len(goals)
            figure(f"recall{k}_{name}", share, "share", better="higher", n=len(goals))


if __name__ == "__main__":
    main()
