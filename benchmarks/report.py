"""Measures what is made of run folders: the report's size and time, and the first page that is served.

The run compares bon-sc and iad in the shop on 100 tasks with five seeds. Larger run folders repeat its episodes under
new keys.
"""

import json
import tempfile
from pathlib import Path
from time import perf_counter

from reference import Reference
from support.figures import figure, timed

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.ledger.answer_log import ANSWERS
from iad_policy.ledger.episode_record import EPISODES
from iad_policy.ledger.run_folder import CONFIG, RunFolder, read_config
from iad_policy.report.results import read_results
from iad_policy.report.viewer.report import write_report
from iad_policy.report.viewer.server import create_app
from iad_policy.run.config import FREE
from iad_policy.types.hashing import digest

N_EPISODES = 1000
MANY = {10_000: ("first_page_s", 1.0), 100_000: ("first_page_1e5_s", 2.0)}
"""Number of episodes -> metric of the first page, and its target in seconds."""


def repeated(real: Path, folder: Path, times: int) -> Path:
    """Write a run folder that repeats the episodes of another one several times, as other tasks, and return it."""
    folder.mkdir()
    (folder / CONFIG).write_bytes((real / CONFIG).read_bytes())
    lines = [json.loads(line) for line in (real / EPISODES).read_bytes().splitlines()]
    with (folder / EPISODES).open("w") as file:
        for place in range(times):
            for line in lines:
                copy = {**line, "key": digest(line["key"], place), "task_id": f"{line['task_id']}-{place}"}
                file.write(f"{json.dumps(copy, separators=(',', ':'))}\n")
    (folder / ANSWERS).touch()
    results = read_results(folder)
    with RunFolder(folder, read_config(folder), free=FREE) as run:
        run.write_summary(results.as_json(results.figures()), results.table())
    return folder


def pages(folder: Path, reference: Reference) -> None:
    """Print the report's figures, and the time to open large runs and to serve their first page."""
    figure("report_write_s", timed(lambda: write_report(folder)), "s", n=N_EPISODES)
    figure("report_1000_mb", (folder / "report.html").stat().st_size / 1e6, "MB", target=10, n=N_EPISODES)
    for n_episodes, (metric, target) in MANY.items():
        many = repeated(folder, folder.with_name(str(n_episodes)), n_episodes // N_EPISODES)
        start = perf_counter()
        client = create_app([many]).test_client()
        for page in ("/", "/api/runs", "/api/trainings", "/api/episodes/0/0"):
            assert client.get(page).status_code == 200
        seconds = perf_counter() - start
        reference.sample()
        reference.figure(metric, seconds, "s", target=target, n=n_episodes)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        evaluate("IAD/WebShop-v0", ["bon-sc", "iad"], tasks=N_EPISODES // 10, n=3, seed=list(range(5)), out=folder)
        reference = Reference()
        reference.sample()
        pages(folder, reference)
        reference.report()


if __name__ == "__main__":
    main()
