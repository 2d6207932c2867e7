"""Draw the pictures of the viewer in the documents, from the run that `make demo` makes."""

from pathlib import Path

from iad_envs.browser.selenium import SeleniumBrowser
from iad_policy.ledger.run import Run

HERE = Path(__file__).parent
RUN = HERE.parents[1] / "runs" / "demo"
TASK, STEP = "test-0014", 1


def main() -> None:
    """Draw the list of episodes, and a step of two methods side by side."""
    keys = {record.strategy: key for key, record in Run(RUN).records.items() if record.task_id == TASK}
    page = f"file://{RUN / 'report.html'}"
    beside = f"#episode=0.{keys['iad']},0.{keys['bon-sc']}&step={STEP}"
    for name, place, size in (("runs", "", (1200, 900)), ("viewer", beside, (1200, 1080))):
        browser = SeleniumBrowser(size=size)
        browser.driver.get(page + place)
        browser.driver.implicitly_wait(10)
        browser.driver.find_element("id", "main")
        browser.driver.save_screenshot(str(HERE / f"{name}.png"))
        browser.close()


if __name__ == "__main__":
    main()
