"""Training curves as a person meets them: on a phone and on a wide screen, by pointer and by keys, and beside runs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy.report.viewer.report import write_any_report
from iad_policy.report.viewer.server import create_app
from iad_policy.trained.models import MODEL, ROUNDS, TRAINING
from tests.browser import missing
from tests.iad_policy.report.snapshots import require_snapshot
from tests.iad_policy.report.test_viewer_browser import (
    NASTY,
    driver,
    is_clean,
    opened,
    overflow,
    page,
    press,
    texts,
    wait,
)
from webshop_server.site.server import Server

__all__ = ["driver"]
pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "everything is there")
SHOP = "IAD/WebShop-v0"


@pytest.fixture(scope="module")
def shown(rounds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rounds with their reports."""
    folder = shutil.copytree(rounds, tmp_path_factory.mktemp("shown") / "rounds")
    for one in (folder, folder / "model-1"):
        write_any_report(one)
    return folder


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / TRAINING).read_text().splitlines()]


def test_a_training_shows_its_curves_where_it_was_stopped_and_what_it_was_on(driver: Any, language: Path) -> None:
    write_any_report(language)
    opened(driver, language)
    require_snapshot("page_training.txt", page(driver))
    assert driver.title == "language · iad"
    # No name of a mark lies on another or outside.
    inside = """
        const svg = document.querySelector('figure svg');
        const whole = svg.getBoundingClientRect();
        const boxes = [...svg.querySelectorAll('text')].map((one) => one.getBoundingClientRect());
        const beside = (a, b) => a.right <= b.left || b.right <= a.left;
        const above = (a, b) => a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
        return boxes.every((one, place) => one.left >= whole.left - 1 && one.right <= whole.right + 1
          && boxes.every((other, at) => at === place || beside(one, other) || above(one, other)));
    """
    assert driver.execute_script(inside)


def test_values_are_read_by_pointer_and_by_keys(driver: Any, shown: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    lines = lines_of(shown / "model-1")
    opened(driver, shown / "model-1")
    kept = len(lines) - 1
    assert texts(driver, "figure p")[0].startswith(f"Epoch {kept} (kept): loss ")
    chart = driver.find_element("css selector", "figure svg")
    driver.execute_script("arguments[0].scrollIntoView()", chart)
    ActionChains(driver).move_to_element_with_offset(chart, -chart.size["width"] // 2 + 2, 0).perform()
    assert texts(driver, "figure p")[0] == f"Epoch 1: loss {lines[0]['loss']:.4g}"
    table = "[...document.querySelectorAll('summary')].find((one) => one.innerText === 'Values by epoch')"
    driver.execute_script(f"{table}.focus()")
    press(driver, "ENTER")
    wait(driver, "document.querySelector('details[open] tbody tr')")
    rows = texts(driver, "details[open] tbody tr")
    assert len(rows) == len(lines)
    assert rows[0].split() == ["1", f"{lines[0]['loss']:.4g}", *rows[0].split()[2:3], "yes"]
    assert rows[-1].split()[-1] == "no"
    assert texts(driver, "details[open] th") == ["epoch", "loss", "KL (nat)", "kept"]
    press(driver, "/")  # there is no search to go to


def test_rounds_show_dev_rewards_and_the_chosen_one(driver: Any, shown: Path) -> None:
    known = json.loads((shown / ROUNDS).read_text())
    opened(driver, shown)
    rows = [row.split() for row in texts(driver, "[aria-label=Rounds] tbody tr")]
    assert [row[:2] for row in rows] == [[str(place), f"{reward:.3f}"] for place, reward in enumerate(known["dev"])]
    assert [place for place, row in enumerate(rows) if row[-1] == "chosen"] == [known["best"]]
    assert texts(driver, "[aria-label=Models] td.name") == ["model-0", "model-1"]
    assert texts(driver, "[aria-label=Models] tbody tr td:last-child") == ["as planned", "stopped early"]
    assert f"Round {known['best']} has the highest mean reward on dev tasks" in " ".join(texts(driver, "p"))
    assert texts(driver, ".skip") == ["Skip to the trainings"]
    assert overflow(driver) <= 0


def test_trainings_stand_beside_runs_and_are_followed(driver: Any, shown: Path, tmp_path: Path) -> None:
    growing = tmp_path / "growing"
    growing.mkdir()
    whole = (shown / "model-0" / TRAINING).read_text().splitlines(keepends=True)
    (growing / TRAINING).write_text("".join(whole[:5]))
    with Server(create_app([growing, shown / "dev-1"], every_s=0.2)) as server:
        driver.get(server.address)
        wait(driver, "document.querySelectorAll('.tasks tbody tr').length")
        assert texts(driver, "h1") == ["growing", SHOP]
        assert "The training is not complete." in " ".join(texts(driver, "p.warn"))
        assert texts(driver, ".skip") == ["Skip to the episodes"]
        driver.execute_script("document.querySelector('details').open = true")
        shutil.copytree(shown / "model-0", growing, dirs_exist_ok=True)
        wait(driver, "document.querySelector('dt')")
        assert f"Trained for {len(whole)} of {len(whole)} epochs." in " ".join(texts(driver, "p"))
        assert len(texts(driver, "details[open] tbody tr")) == len(whole)
        driver.execute_script("document.querySelectorAll('.tasks tbody a')[0].click()")
        wait(driver, "document.querySelector('.card pre.action')")
        assert overflow(driver) <= 0
        driver.get("about:blank")  # as it would ask on when the server has ended


def test_what_a_models_file_says_stays_text(driver: Any, language: Path) -> None:
    facts = json.loads((language / MODEL).read_text())
    on = {**facts["trained_on"], "tasks": [NASTY], "split": NASTY}
    said = {**facts, "recipe": NASTY, "stopped": NASTY, "start": NASTY, "trained_on": on}
    (language / MODEL).write_text(json.dumps(said))
    write_any_report(language)
    opened(driver, language)
    assert NASTY in texts(driver, "dd")
    assert (is_clean(driver), driver.title, overflow(driver) <= 0) == (True, "language · iad", True)
