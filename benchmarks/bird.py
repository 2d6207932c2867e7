"""Measures IAD/BIRD-v0: scoring compared with the official procedure, and voting and verifying of real predictions.

It reads `$IAD_REAL_DATA/bird`, which holds a database, its questions, and the predictions of real systems.
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from reference import Reference
from support.bird_candidates import is_held_out, queries_of
from support.bundled import bundled_tasks
from support.figures import ROOT, figure

from iad_envs.bird.data import BirdData, load_data
from iad_envs.bird.database import DatabaseClient
from iad_envs.bird.env import BirdEnv
from iad_envs.bird.evaluation import ScoringJob, majority_right, run_jobs
from iad_envs.bird.policy.verifier import BirdVerifier
from iad_envs.bird.schema import RENDERERS, SchemaSource, load_schema
from iad_envs.bird.scoring import GOLDS, QueryScorer
from iad_policy.report.statistics import pass_at_k
from iad_policy.types import Candidate, State

TIMEOUT_S = 30.0
KS = (1, 3, 5, 7)
Pair = tuple[str, str, str]


# The official procedure: a pool of processes. Each pair gets a helper thread and a new connection for both queries.


def official_pair(pair: Pair) -> int:
    """Score one pair as the official evaluator does."""
    found = [0]
    helper = threading.Thread(target=_official_execution, args=(pair, found), daemon=True)
    helper.start()
    helper.join(TIMEOUT_S)
    return found[0]


def _official_execution(pair: Pair, found: list[int]) -> None:
    predicted, gold, path = pair
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


def official_run(pairs: Sequence[Pair], n_processes: int) -> list[int]:
    """Score all pairs as the official command does."""
    with get_context("fork").Pool(n_processes) as pool:
        pending = [pool.apply_async(official_pair, (pair,)) for pair in pairs]
        return [one.get() for one in pending]


def our_run(jobs: Sequence[ScoringJob], n_workers: int) -> list[int]:
    """Score all pairs with hardened workers, without stored gold results."""
    GOLDS.clear()
    return [ex for found in run_jobs(jobs, QueryScorer.ex, workers=n_workers) for ex in found]


def measure_speed(folder: Path, n_cores: int, n_copies: int, n_runs: int) -> dict[str, float]:
    """Time both on the same pairs and cores, alternating. Return median seconds and the number of pairs."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:n_cores])
    jobs = distinct_jobs(load(folder), folder, n_copies)
    pairs = [(sql, job.gold, str(job.path)) for job in jobs for sql in job.predicted]
    ours, theirs = [], []
    for _ in range(n_runs):
        started = time.perf_counter()
        expected = official_run(pairs, n_cores)
        theirs.append(time.perf_counter() - started)
        started = time.perf_counter()
        given = our_run(jobs, n_cores)
        ours.append(time.perf_counter() - started)
        if given != expected:
            raise AssertionError(
                f"verdicts differ on {sum(a != b for a, b in zip(given, expected, strict=True))} pairs"
            )
    return {"ours_s": median(ours), "theirs_s": median(theirs), "n": len(pairs)}


def load(folder: Path) -> BirdData:
    return load_data(folder.resolve(), "dev")


def distinct_jobs(data: BirdData, folder: Path, n_copies: int) -> list[ScoringJob]:
    """Return the systems' different queries for each question. Copies after the first differ by a comment."""
    predictions = queries_of(BirdEnv(data_dir=folder), folder)
    jobs = []
    for task_id, gold in data.golds.items():
        every = [own[task_id] for own in predictions.values() if task_id in own]
        if n_copies > 1:
            every = [f"{sql} /* {place} */" for place, sql in enumerate(every * n_copies)]
        texts = dict.fromkeys(every)
        jobs.append(ScoringJob(data.database(data.questions[task_id].db_id), gold, list(texts)))
    return jobs


def speed(folder: Path, *, is_full: bool) -> None:
    cases = (
        ("pairs_ratio_1core", 1, 1, 3.3, 3),
        ("pairs_ratio_2cores", 2, 1, 2.5, 3),
        ("pairs_ratio_14_1core", 1, 2, None, 1),
        ("pairs_ratio_14_2cores", 2, 2, None, 1),
    )
    for metric, n_cores, n_copies, target, n_runs in cases:
        n_runs = 5 if is_full else n_runs
        command = [sys.executable, __file__, "--speed", *map(str, (folder, n_cores, n_copies, n_runs))]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        took = json.loads(done.stdout)
        n = int(took["n"])
        ratio = took["theirs_s"] / took["ours_s"]
        figure(metric, ratio, "x", n=n, target=target, better="higher", baseline=1.0)
        figure(
            metric.replace("ratio", "per_s"), n / took["ours_s"], "pairs/s", n=n, better="higher",
            baseline=n / took["theirs_s"],
        )  # fmt: skip


def latencies(folder: Path, reference: Reference) -> None:
    data = load(folder)
    jobs = distinct_jobs(data, folder, 1)
    with QueryScorer(jobs[0].path) as scorer:
        for job in jobs:
            scorer.gold(job.gold)
        pairs = [(sql, job.gold) for job in jobs for sql in job.predicted]
        reference.sample()
        executed = [_timed(lambda pair=pair: scorer.ex(*pair)) for pair in pairs]
        results = [scorer.database.run(sql) for sql, _ in pairs]
        kept = [
            _timed(lambda pair=pair, result=result: scorer.ex(*pair, result))
            for pair, result in zip(pairs, results, strict=True)
            if result.status != "rejected"
        ]
        reference.sample()
        official = 1e6 * median(
            _timed(lambda job=job: official_pair((job.predicted[0], job.gold, str(job.path)))) for job in jobs
        )
        # With both results cached, as when a previewed query is committed, and with only the gold result cached.
        reference.figure("ex_cached_us", 1e6 * median(kept), "us", n=len(kept), target=100)
        figure("ex_cached_ratio", official / (1e6 * median(kept)), "x", n=len(kept), better="higher", baseline=1.0)
        figure("ex_gold_cached_us", 1e6 * median(executed), "us", n=len(executed), baseline=official)
        trips = [_timed(lambda: scorer.database.run("SELECT 1")) for _ in range(3000)]
        reference.sample()
        reference.figure("worker_roundtrip_us", 1e6 * median(trips), "us", n=len(trips), target=100)
    restarts = []
    with DatabaseClient(jobs[0].path) as database:
        for _ in range(30):
            database.close()
            restarts.append(_timed(lambda: database.run("SELECT 1")))
    figure("worker_restart_ms", 1e3 * median(restarts), "ms", n=len(restarts))


def _timed(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def schema_prompts(reference: Reference) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.sqlite"
        connection = sqlite3.connect(path)
        for table in range(20):
            columns = ", ".join(f"column_{place} TEXT" for place in range(8))
            connection.execute(f"CREATE TABLE table_{table} (id INTEGER PRIMARY KEY, {columns})")
            cells = ", ".join(["?"] * 9)
            rows = [(row, *(f"value {row} {place}" for place in range(8))) for row in range(200)]
            connection.executemany(f"INSERT INTO table_{table} VALUES ({cells})", rows)
        connection.commit()
        connection.close()
        for name, render in RENDERERS.items():
            took = []
            reference.sample()
            for _ in range(20):
                load_schema.cache_clear()
                took.append(_timed(lambda render=render: render(load_schema(path, SchemaSource(())))))
            target = 5 if name == "ddl+samples" else None
            metric = "schema_prompt_ms" if target else f"schema_prompt_{name.replace('-', '_')}_ms"
            reference.figure(metric, 1e3 * median(took), "ms", n=len(took), target=target)


# Quality on real predictions: facts, votes, and the verifier's choice.


class Judged:
    """A question's predictions with their previews, and whether each is right by the official EX."""

    def __init__(self, task_id: str, candidates: list[Candidate], is_right: list[bool]) -> None:
        self.task_id = task_id
        self.candidates = candidates
        self.is_right = is_right
        self.codes = [{finding["code"] for finding in _facts(one)["findings"]} for one in candidates]
        self.results = [_facts(one)["result"].partition(":")[2] for one in candidates]


def _facts(candidate: Candidate) -> Mapping[str, Any]:
    assert candidate.preview is not None
    facts: Mapping[str, Any] = candidate.preview.info["facts"]
    return facts


def judged(folder: Path) -> list[Judged]:
    env = BirdEnv(data_dir=folder)
    data = load(folder)
    predictions = queries_of(env, folder)
    found = []
    for task_id in data.golds:
        env.reset(options={"task_id": task_id})
        candidates, is_right = [], []
        for name, own in predictions.items():
            if task_id not in own:
                continue
            action = f"submit[{own[task_id]}]"
            outcome = env.simulate(env.snapshot(), action)
            preview = State(outcome.observation, outcome.info, done=outcome.done, key=outcome.key)
            candidates.append(Candidate(action, key=env.action_key(action), preview=preview, id=name))
            is_right.append(env.oracle(outcome.token)["reward_parts"]["ex"] == 1.0)
        found.append(Judged(task_id, candidates, is_right))
    env.close()
    return found


def facts_table(questions: Sequence[Judged]) -> None:
    flagged: dict[str, list[bool]] = defaultdict(list)
    for question in questions:
        for codes, is_right in zip(question.codes, question.is_right, strict=True):
            for code in codes or {"nothing"}:
                flagged[code].append(not is_right)
    wrong = [not is_right for question in questions for is_right in question.is_right]
    figure("wrong_share", fmean(wrong), "share", n=len(wrong))
    for code, is_wrong in sorted(flagged.items(), key=lambda item: -fmean(item[1])):
        figure(
            f"fact_precision_{code}", fmean(is_wrong), "share", n=len(is_wrong), better="higher", baseline=fmean(wrong)
        )


def votes(questions: Sequence[Judged]) -> None:
    """Print Majority@K, the verifier's choice among K, and Pass@K, each over all choices of K systems."""
    verifiers = {"proxy": BirdVerifier(), "proxy_alone": BirdVerifier(agreement=0.0)}
    for k in KS:
        majority, passed = [], []
        chosen: dict[str, list[float]] = {name: [] for name in verifiers}
        for question in questions:
            n = len(question.candidates)
            passed.append(pass_at_k(n, sum(question.is_right), min(k, n)))
            groups = list(combinations(range(n), min(k, n)))
            majority.append(
                fmean(
                    majority_right([question.results[i] for i in group], [question.is_right[i] for i in group])
                    for group in groups
                )
            )
            for name, verifier in verifiers.items():
                chosen[name].append(fmean(_choice(verifier, question, group) for group in groups))
        figure(f"majority_at_{k}", 100 * fmean(majority), "%", n=len(questions), better="higher")
        figure(f"pass_at_{k}", 100 * fmean(passed), "%", n=len(questions), better="higher")
        gap = fmean(passed) - fmean(majority)
        for name, values in chosen.items():
            figure(
                f"{name}_at_{k}",
                100 * fmean(values),
                "%",
                n=len(questions),
                better="higher",
                baseline=100 * fmean(majority),
            )
            if gap > 0:
                closed = (fmean(values) - fmean(majority)) / gap
                figure(f"gap_closed_{name}_at_{k}", closed, "share", n=len(questions), better="higher")


def _choice(verifier: BirdVerifier, question: Judged, group: Sequence[int]) -> float:
    """Return the probability that the verifier's best candidate is right, with ties broken at random."""
    candidates = [question.candidates[place] for place in group]
    state = State(None, {})
    scores = [verdict.score for verdict in verifier.verify(state, candidates)]
    best = [place for place, value in zip(group, scores, strict=True) if value == max(scores)]
    return fmean(question.is_right[place] for place in best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="more runs of each measurement")
    parser.add_argument("--speed", nargs=4, metavar=("FOLDER", "CORES", "COPIES", "RUNS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.speed:
        folder, n_cores, n_copies, n_runs = given.speed
        print(json.dumps(measure_speed(Path(folder), int(n_cores), int(n_copies), int(n_runs))))
        return
    reference = Reference()
    schema_prompts(reference)
    bundled_tasks("IAD/BIRD-v0", "bird", "linker", n_tasks=None if given.full else 100)
    real = os.environ.get("IAD_REAL_DATA")
    if not real:
        reference.report()
        print("IAD_REAL_DATA is not set: figures on real predictions are left out", file=sys.stderr)
        return
    folder = Path(real) / "bird"
    latencies(folder, reference)
    reference.report()
    speed(folder, is_full=given.full)
    questions = judged(folder)
    facts_table(questions)
    votes([question for question in questions if is_held_out(question.task_id)])  # the verifier was fitted to the rest


if __name__ == "__main__":
    main()
