"""Measures the report: the size of `report.html`, and the time to write it, to open it and to serve the first page.

The run compares bon-sc and iad in the shop on 100 tasks with five seeds. A larger run of 10,000 episodes repeats it.
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
from iad_policy.analysis.viewer.report import write_report
from iad_policy.analysis.viewer.server import create_app

N_EPISODES = 1000
N_MANY = 10_000


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
        opened = _open_s(path)
        reference.sample()
        if opened is not None:
            reference.figure("report_open_s", opened, "s", target=2, n=1)
        first_page(folder, Path(name) / "many", reference)
        reference.report()


def _open_s(path: Path) -> float | None:
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
        browser.driver.get(f"file://{path}")
        WebDriverWait(browser.driver, 60, 0.02).until(
            lambda driver: driver.execute_script("return document.querySelector('.tasks')")
        )
        return perf_counter() - start
    finally:
        browser.close()


def first_page(run: Path, many: Path, reference: Reference) -> None:
    """Print the time to serve the page and the head of a run with 10,000 episodes."""
    many.mkdir()
    for name in ("config.json", "answers.jsonl"):
        (many / name).write_bytes((run / name).read_bytes())
    lines = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    with (many / "episodes.jsonl").open("w") as file:
        for place in range(N_MANY):
            line = lines[place % len(lines)]
            copy = {**line, "key": f"{place:032d}", "task_id": f"{line['task_id']}-{place // len(lines)}"}
            file.write(json.dumps(copy) + "\n")
    start = perf_counter()
    client = create_app([many]).test_client()
    for path in ("/", "/api/runs"):
        assert client.get(path).status_code == 200
    seconds = perf_counter() - start
    reference.sample()
    reference.figure("first_page_s", seconds, "s", target=1, n=N_MANY)


if __name__ == "__main__":
    main()
