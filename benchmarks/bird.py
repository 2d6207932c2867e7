"""Measures IAD/BIRD-v0: scoring compared with the official procedure, and the bundled tasks.

It reads `$IAD_REAL_DATA/bird`, which holds a database, its questions, and the predictions of real systems. What the
verifier is worth is printed by `support/bird_verifier.py`.
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from multiprocessing import get_context
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from reference import Reference
from support.bird_verifier import queries_of
from support.bundled import bundled_tasks
from support.figures import ROOT, figure, timed

from iad_envs.bird.data import load_data
from iad_envs.bird.database import DatabaseClient
from iad_envs.bird.env import BirdEnv
from iad_envs.bird.scoring import GOLDS, QueryScorer, ScoringJob, run_jobs
from iad_policy.registry.domain import SMALL_MODEL

Pair = tuple[str, str, str]


def official_pair(pair: Pair) -> int:
    """Score one pair as the official evaluator does: a helper thread, and a new connection for both queries."""
    predicted, gold, path = pair
    found = [0]

    def execute() -> None:
        connection = sqlite3.connect(path)
        try:
            cursor = connection.cursor()
            cursor.execute(predicted)
            given = cursor.fetchall()
            cursor.execute(gold)
            found[0] = int(set(given) == set(cursor.fetchall()))
        except Exception:
            found[0] = 0
        finally:
            connection.close()

    helper = threading.Thread(target=execute, daemon=True)
    helper.start()
    helper.join(30.0)
    return found[0]


def measure_speed(folder: Path, n_cores: int, n_runs: int) -> dict[str, float]:
    """Time both procedures on the same pairs and cores, alternating. Return median seconds and the number of pairs."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:n_cores])
    jobs = distinct_jobs(folder)
    pairs = [(sql, job.gold, str(job.path)) for job in jobs for sql in job.predicted]
    ours, theirs = [], []
    for _ in range(n_runs):
        started = time.perf_counter()
        with get_context("fork").Pool(n_cores) as pool:  # the official command has a pool of processes
            pending = [pool.apply_async(official_pair, (pair,)) for pair in pairs]
            expected = [one.get() for one in pending]
        theirs.append(time.perf_counter() - started)
        started = time.perf_counter()
        GOLDS.clear()
        given = [ex for found in run_jobs(jobs, QueryScorer.ex, workers=n_cores) for ex in found]
        ours.append(time.perf_counter() - started)
        if given != expected:
            n_different = sum(a != b for a, b in zip(given, expected, strict=True))
            raise AssertionError(f"verdicts differ on {n_different} pairs")
    return {"ours_s": median(ours), "theirs_s": median(theirs), "n": len(pairs)}


def distinct_jobs(folder: Path) -> list[ScoringJob]:
    """Return the systems' different queries for each question."""
    data = load_data(folder.resolve(), "dev")
    predictions = queries_of(BirdEnv(data_dir=folder), folder)
    return [
        ScoringJob(data.database(data.questions[task].db_id), gold, list(dict.fromkeys(queries)))
        for task, gold in data.golds.items()
        for queries in [[own[task] for own in predictions.values() if task in own]]
    ]


def speed(folder: Path, *, is_full: bool) -> None:
    for metric, n_cores, target in (("pairs_ratio_1core", 1, 3.3), ("pairs_ratio_2cores", 2, 2.5)):
        command = [sys.executable, __file__, "--speed", *map(str, (folder, n_cores, 5 if is_full else 3))]
        took = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)
        n, theirs_s, ours_s = int(took["n"]), took["theirs_s"], took["ours_s"]
        figure(metric, theirs_s / ours_s, "x", n=n, target=target, better="higher", baseline=1.0)
        per_s = metric.replace("ratio", "per_s")
        figure(per_s, n / ours_s, "pairs/s", n=n, better="higher", baseline=n / theirs_s)


def latencies(folder: Path, reference: Reference) -> None:
    jobs = distinct_jobs(folder)
    with QueryScorer(jobs[0].path) as scorer:
        for job in jobs:
            scorer.gold(job.gold)
        pairs = [(sql, job.gold) for job in jobs for sql in job.predicted]
        reference.sample()
        executed = [timed(lambda pair=pair: scorer.ex(*pair)) for pair in pairs]
        results = [(pair, scorer.database.run(pair[0])) for pair in pairs]
        kept = [
            timed(lambda pair=pair, result=result: scorer.ex(*pair, result))
            for pair, result in results
            if result.status != "rejected"
        ]
        reference.sample()
        official = 1e6 * median(
            timed(lambda job=job: official_pair((job.predicted[0], job.gold, str(job.path)))) for job in jobs
        )
        # With both results cached, as when a previewed query is committed, and with only the gold result cached.
        reference.figure("ex_cached_us", 1e6 * median(kept), "us", n=len(kept), target=100)
        figure("ex_cached_ratio", official / (1e6 * median(kept)), "x", n=len(kept), better="higher", baseline=1.0)
        figure("ex_gold_cached_us", 1e6 * median(executed), "us", n=len(executed), baseline=official)
        trips = [timed(lambda: scorer.database.run("SELECT 1")) for _ in range(3000)]
        reference.sample()
        reference.figure("worker_roundtrip_us", 1e6 * median(trips), "us", n=len(trips), target=100)
    restarts = []
    with DatabaseClient(jobs[0].path) as database:
        for _ in range(30):
            database.close()
            restarts.append(timed(lambda: database.run("SELECT 1")))
    figure("worker_restart_ms", 1e3 * median(restarts), "ms", n=len(restarts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="more runs of each measurement")
    parser.add_argument("--speed", nargs=3, metavar=("FOLDER", "CORES", "RUNS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.speed:
        folder, n_cores, n_runs = given.speed
        print(json.dumps(measure_speed(Path(folder), int(n_cores), int(n_runs))))
        return
    reference = Reference()
    reference.sample()
    bundled_tasks("IAD/BIRD-v0", "bird", SMALL_MODEL, n_tasks=40, mode="answer")
    real = os.environ.get("IAD_REAL_DATA")
    if real:
        latencies(Path(real) / "bird", reference)
    reference.report()
    if real:
        speed(Path(real) / "bird", is_full=given.full)
    else:
        print("IAD_REAL_DATA is not set: figures on real predictions are left out", file=sys.stderr)


if __name__ == "__main__":
    main()
