"""Measures what is made of run folders: the report's size and time, the first page that is served, and exports.

The run compares bon-sc and iad in the shop on 100 tasks with five seeds. Larger run folders repeat its episodes under
new keys. Parquet (10^5 decisions) is written with one process per core, like `iad export`, and with a single process.
"""

import json
import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from reference import Reference
from support.figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.ledger.answer_log import ANSWERS, BLOBS
from iad_policy.ledger.episode_record import EPISODES
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import CONFIG, RunFolder, read_config
from iad_policy.report.exports import export_runs
from iad_policy.report.results import read_results
from iad_policy.report.viewer.report import write_report
from iad_policy.report.viewer.server import create_app
from iad_policy.run.config import FREE
from iad_policy.types.hashing import digest

N_EPISODES = 1000
MANY = {10_000: ("first_page_s", 1.0), 100_000: ("first_page_1e5_s", 2.0)}
"""Number of episodes -> metric of the first page, and its target in seconds."""
N_DECISIONS, N_OTHERS = 100_000, 5_000


def repeated(real: Path, folder: Path, times: int, *, has_answers: bool) -> Path:
    """Write a run folder that repeats the episodes of another one several times, as other tasks, and return it."""
    folder.mkdir()
    (folder / CONFIG).write_bytes((real / CONFIG).read_bytes())
    lines = [json.loads(line) for line in (real / EPISODES).read_bytes().splitlines()]
    with (folder / EPISODES).open("w") as file:
        for place in range(times):
            for line in lines:
                copy = {**line, "key": digest(line["key"], place), "task_id": f"{line['task_id']}-{place}"}
                file.write(f"{json.dumps(copy, separators=(',', ':'))}\n")
    if not has_answers:
        (folder / ANSWERS).touch()
        results = read_results(folder)
        with RunFolder(folder, read_config(folder), free=FREE) as run:
            run.write_summary(results.as_json(results.figures()))
        return folder
    shutil.copytree(real / BLOBS, folder / BLOBS)  # a run folder is refused if a part of it is a link
    head = b'{"episode":"'
    answers = [line[len(head) :] for line in (real / ANSWERS).read_bytes().splitlines(keepends=True)]
    with (folder / ANSWERS).open("wb") as log:
        for place in range(times):
            log.writelines(head + digest(one[:32].decode(), place).encode() + one[32:] for one in answers)
    return folder


def pages(folder: Path, reference: Reference) -> None:
    """Print the report's figures, and the time to open large runs and to serve their first page."""
    start = perf_counter()
    path = write_report(folder)
    figure("report_write_s", perf_counter() - start, "s", n=N_EPISODES)
    figure("report_1000_mb", path.stat().st_size / 1e6, "MB", target=10, n=N_EPISODES)
    for n_episodes, (metric, target) in MANY.items():
        many = repeated(folder, folder.with_name(str(n_episodes)), n_episodes // N_EPISODES, has_answers=False)
        start = perf_counter()
        client = create_app([many]).test_client()
        for page in ("/", "/api/runs", "/api/trainings", "/api/episodes/0/0"):
            assert client.get(page).status_code == 200
        seconds = perf_counter() - start
        reference.sample()
        reference.figure(metric, seconds, "s", target=target, n=n_episodes)


def exports(folder: Path, reference: Reference) -> None:
    """Print the time of exports: from the folder to the file."""

    def measured(run: Path, form: str, workers: int = 1) -> tuple[float, float, int]:
        start, before = perf_counter(), os.times()
        out = folder.with_name(f"data.{'parquet' if form == 'parquet' else 'jsonl'}")
        n_rows = export_runs([Run(run)], form, out, workers=workers)[out]
        cpu_s = sum(now - then for now, then in zip(os.times()[:4], before[:4], strict=True))
        return perf_counter() - start, cpu_s, n_rows

    n_real = sum(record.n_steps for record in Run(folder).records.values())
    few, many = (
        repeated(folder, folder.with_name(name), -(-n // n_real), has_answers=True)
        for name, n in (("few", N_OTHERS), ("many", N_DECISIONS))
    )
    if find_spec("pyarrow"):
        measured(few, "parquet")  # imports pyarrow
        alone_s, alone_cpu_s, _ = measured(many, "parquet")
        reference.sample()
        wall_s, used_s, n_rows = measured(many, "parquet", os.cpu_count() or 1)
        per = N_DECISIONS / n_rows
        reference.figure("export_parquet_1e5_s", wall_s * per, "s", target=10.0, n=n_rows)
        figure("export_parquet_1e5_gain", alone_s / wall_s, "x", better="higher", n=n_rows, baseline=1.0)
        figure("export_parquet_1e5_cpu_s", used_s * per, "s", n=n_rows, baseline=alone_cpu_s * per)
    for form in ("jsonl", "sft", "preference", "kto"):
        wall_s, _, n_rows = measured(few, form)
        figure(f"export_{form}_rows_per_s", n_rows / wall_s, "rows/s", better="higher", n=n_rows)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        evaluate("IAD/WebShop-v0", ["bon-sc", "iad"], tasks=N_EPISODES // 10, n=3, seed=list(range(5)), out=folder)
        reference = Reference()
        reference.sample()
        pages(folder, reference)
        exports(folder, reference)
        reference.report()


if __name__ == "__main__":
    main()
