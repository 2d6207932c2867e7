"""The bundled pages and sketches: made by scripts, self-contained, varied, each its own answer; and written pages."""

import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iad_envs.browser.images import decoded
from iad_envs.sketch2code.page import score_pages
from iad_envs.sketch2code.tasks import load_assets, load_tasks
from tests.browser import Browsers
from tests.effort import some
from tests.iad_envs.data_scripts import DATA, loaded, ran

FOLDER = DATA / "sketch2code"
PAGES = sorted(path.stem for path in FOLDER.glob("*.html"))


def test_the_script_makes_every_page_byte_for_byte_and_names_one_that_differs(tmp_path: Path) -> None:
    assert ran("sketch2code/make_pages.py", "--output", str(tmp_path))[0] == 0
    shipped = {path.name: path.read_bytes() for path in FOLDER.glob("*.html")}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == shipped
    (tmp_path / f"{PAGES[0]}.html").write_text("<p>other", encoding="utf-8")
    status, said = ran("sketch2code/make_pages.py", "--check", "--output", str(tmp_path))
    assert (status, PAGES[0] in said, PAGES[1] in said) == (1, True, False)


def test_sketches_are_drawn_again_from_the_boxes_and_tasks_are_varied() -> None:
    drawing, measured = loaded("sketch2code/draw_sketches.py"), json.loads((FOLDER / "boxes.json").read_text())
    for page in PAGES[::10]:
        for number, sheet in enumerate(drawing.draw_page(page, measured[page])):
            name = f"{page}_{number}.png"
            shipped = (FOLDER / name).read_bytes()
            assert np.array_equal(decoded(shipped, name)[:, :, 0], sheet), name
            assert drawing.png(sheet) == shipped, name
    tasks = load_tasks(FOLDER)
    assert (len(PAGES), len(tasks), len({page.partition("-")[0] for page in PAGES})) == (51, 102, 17)
    assert all(task.sketch is not None and task.sketch.is_file() for task in tasks.values())
    assert Counter(task.split for task in tasks.values()) == {"test": 68, "dev": 18, "train": 16}
    hard = Counter(task.difficulty for task in tasks.values() if task.split == "test")["hard"]
    assert 0.3 * 68 <= hard <= 0.7 * 68
    assert drawing.task_lines(measured) == (FOLDER / "tasks.jsonl").read_text(encoding="utf-8")
    kinds = Counter(kind for found in measured.values() for kind in found["boxes"])
    assert set(kinds) == {"text_block", "image", "form_table", "button", "nav_bar", "divider"}
    assert min(kinds.values()) >= 10


def test_every_page_is_its_own_perfect_answer_and_no_others(browsers: Browsers) -> None:
    sources = [(FOLDER / f"{page}.html").read_text(encoding="utf-8") for page in some(PAGES, 5)]
    with browsers.renderer(assets=load_assets(FOLDER)) as renderer:
        pages = [renderer.page(source) for source in sources]
        again = [renderer.page(f"{source}\n") for source in sources[::4]]
    assert {page.failure for page in pages} == {""}
    assert {score_pages(one, same).layout for one, same in zip(pages[::4], again, strict=True)} == {1.0}
    assert max(score_pages(one, other).layout for one, other in pairwise(pages)) < 0.75


@pytest.mark.slow
def test_the_proxy_ranks_pages_as_the_layout(load_benchmark: Callable[[str], Any], browsers: Browsers) -> None:
    assert browsers.chromium  # or it is skipped, with the reason
    found = load_benchmark("support.sketch_verifier").page_evidence()
    assert found.correlation > 0.6  # .75 with the fonts of Debian 12, which decide text boxes
    assert found.mean + 0.03 < found.chosen < found.best
