"""Measures the report: the size of `report.html`, and the time to write it, to open it and to serve the first page.

The run compares bon-sc and iad in the shop on 100 tasks with five seeds. Runs of 10,000 and 100,000 episodes repeat it.
"""

import argparse
import json
import tempfile
from pathlib import Path
from time import perf_counter

from reference import Reference
from support.figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.ledger.episode_record import EPISODES
from iad_policy.ledger.run_folder import RunFolder, read_config
from iad_policy.report.results import read_results
from iad_policy.report.viewer.report import write_report
from iad_policy.report.viewer.server import create_app
from iad_policy.run.config import FREE
from iad_policy.types.hashing import dumps
from webshop_server.site.server import Server

N_EPISODES = 1000
MANY = {10_000: ("first_page_s", 1.0), 100_000: ("first_page_1e5_s", 2.0)}
"""Number of episodes -> metric of the first page, and its target in seconds."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        seeds = list(range(5))
        evaluate("IAD/WebShop-v0", ["bon-sc", "iad"], tasks=N_EPISODES // 10, n=3, seed=seeds, out=folder)
        reference = Reference()
        reference.sample()
        start = perf_counter()
        path = write_report(folder)
        figure("report_write_s", perf_counter() - start, "s", n=N_EPISODES)
        figure("report_1000_mb", path.stat().st_size / 1e6, "MB", target=10, n=N_EPISODES)
        reference.sample()
        opened = _open_s(f"file://{path}")
        reference.sample()
        if opened is not None:
            reference.figure("report_open_s", opened, "s", target=2, n=1)
        for n_episodes, (metric, target) in MANY.items():
            many = repeated(folder, Path(name) / str(n_episodes), n_episodes)
            first_page(many, metric, target, n_episodes, reference)
        reference.report()


def _open_s(address: str) -> float | None:
    """Return the seconds until the page's list of tasks appears in Chromium, or None without a browser."""
    try:
        from iad_envs.browser.selenium import SeleniumBrowser

        browser = SeleniumBrowser(size=(1400, 900))
    except Exception as missing:  # without a browser the other figures are still printed
        print(json.dumps({"metric": "report_open_s", "value": None, "why": str(missing)}), flush=True)
        return None
    try:
        from selenium.webdriver.support.ui import WebDriverWait

        browser.driver.get("about:blank")
        start = perf_counter()
        browser.driver.get(address)
        WebDriverWait(browser.driver, 60, 0.02).until(
            lambda driver: driver.execute_script("return document.querySelector('.tasks')")
        )
        return perf_counter() - start
    finally:
        browser.close()


def repeated(run: Path, many: Path, n_episodes: int) -> Path:
    """Write a finished run of many episodes, whose tasks repeat those of a run, and return its folder."""
    many.mkdir()
    for name in ("config.json", "answers.jsonl"):
        (many / name).write_bytes((run / name).read_bytes())
    lines = [json.loads(line) for line in (run / EPISODES).read_text().splitlines()]
    with (many / EPISODES).open("w") as file:
        for place in range(n_episodes):
            line = lines[place % len(lines)]
            copy = {**line, "key": f"{place:032d}", "task_id": f"{line['task_id']}-{place // len(lines)}"}
            file.write(f"{dumps(copy)}\n")
    results = read_results(many)
    with RunFolder(many, read_config(many), free=FREE) as folder:
        folder.write_summary(results.as_json(results.figures()))
    return many


def first_page(many: Path, metric: str, target: float, n_episodes: int, reference: Reference) -> None:
    """Print the time to open a run and to serve its first page, and the time until a browser shows that."""
    start = perf_counter()
    client = create_app([many]).test_client()
    for path in ("/", "/api/runs", "/api/trainings", "/api/episodes/0/0"):
        assert client.get(path).status_code == 200
    seconds = perf_counter() - start
    reference.sample()
    reference.figure(metric, seconds, "s", target=target, n=n_episodes)
    with Server(create_app([many])) as server:
        opened = _open_s(server.address)
    reference.sample()
    if opened is not None:
        reference.figure(metric.replace("page", "page_open"), opened, "s", target=target, n=n_episodes)


if __name__ == "__main__":
    main()
