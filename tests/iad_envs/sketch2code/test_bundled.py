"""The bundled pages and sketches: made by their scripts, self-contained, varied, and each is its own perfect answer."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from iad_envs.browser.devtools import CHROMIUM_VARIABLE, NAMES
from iad_envs.browser.images import decoded
from iad_envs.sketch2code.page import score_pages
from iad_envs.sketch2code.renderer import Renderer
from iad_envs.sketch2code.tasks import load_assets, load_tasks

FOLDER = Path(__file__).resolve().parents[3] / "data" / "sketch2code"
PAGES = sorted(path.stem for path in FOLDER.glob("*.html"))
HAS_CHROMIUM = bool(os.environ.get(CHROMIUM_VARIABLE) or any(map(shutil.which, NAMES)))


def run_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", str(FOLDER / "make_pages.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "boxes.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_sketches", FOLDER / "draw_sketches.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_makes_every_page_byte_for_byte(tmp_path: Path) -> None:
    done = run_script("--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert sorted(path.stem for path in tmp_path.iterdir()) == PAGES
    for page in PAGES:
        assert (tmp_path / f"{page}.html").read_bytes() == (FOLDER / f"{page}.html").read_bytes(), page


def test_check_names_a_page_that_differs(tmp_path: Path) -> None:
    run_script("--output", str(tmp_path))
    (tmp_path / f"{PAGES[0]}.html").write_text("<p>other", encoding="utf-8")
    done = run_script("--check", "--output", str(tmp_path))
    assert done.returncode == 1
    assert PAGES[0] in done.stdout
    assert PAGES[1] not in done.stdout


def test_sketches_are_drawn_again_from_the_boxes_pixel_for_pixel(measured: dict[str, Any], drawing: ModuleType) -> None:
    for page in PAGES[::5]:
        for number, sheet in enumerate(drawing.draw_page(page, measured[page])):
            name = f"{page}_{number}.png"
            shipped = decoded((FOLDER / name).read_bytes(), name)
            assert np.array_equal(shipped[:, :, 0], sheet), name
            assert drawing.png(sheet) == (FOLDER / name).read_bytes(), name


def test_two_sketches_of_a_page_are_not_alike() -> None:
    for page in PAGES:
        one, other = (decoded((FOLDER / f"{page}_{k}.png").read_bytes(), page)[:, :, 0] for k in (0, 1))
        assert one.shape == other.shape
        inked = (one < 128) | (other < 128)
        assert ((one < 128) & (other < 128)).sum() < 0.5 * inked.sum(), page


def test_there_are_pages_of_many_kinds_in_official_names_with_splits_and_difficulties() -> None:
    tasks = load_tasks(FOLDER)
    assert len(PAGES) == 51
    assert len(tasks) == 2 * len(PAGES)
    assert len({page.partition("-")[0] for page in PAGES}) == 17
    assert all(task.sketch is not None and task.sketch.is_file() for task in tasks.values())
    splits = Counter(task.split for task in tasks.values())
    assert splits == {"test": 68, "dev": 18, "train": 16}
    hard = Counter(task.difficulty for task in tasks.values() if task.split == "test")["hard"]
    assert 0.3 * splits["test"] <= hard <= 0.7 * splits["test"]


def test_difficulty_is_the_number_of_parts(measured: dict[str, Any], drawing: ModuleType) -> None:
    assert drawing.task_lines(measured) == (FOLDER / "tasks.jsonl").read_text(encoding="utf-8")


def test_pages_are_self_contained_and_have_no_script() -> None:
    for page in PAGES:
        text = (FOLDER / f"{page}.html").read_text(encoding="utf-8").lower()
        assert text.startswith("<!doctype html>")
        assert not any(word in text for word in ("<script", "http", "www.", "url(", "@import", "<link", "<iframe")), (
            page
        )
        assert text.count("<img") == text.count('src="rick.jpg"') == text.count("src="), page


def test_pages_differ_in_their_parts(measured: dict[str, Any]) -> None:
    kinds = Counter(kind for found in measured.values() for kind in found["boxes"])
    assert set(kinds) == {"text_block", "image", "form_table", "button", "nav_bar", "divider"}
    assert min(kinds.values()) >= 10
    assert len({json.dumps(found["boxes"]) for found in measured.values()}) == len(PAGES)


def test_the_folder_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.suffix != ".pyc") < 3_000_000


@pytest.mark.skipif(not HAS_CHROMIUM, reason="needs Chromium: apt-get install chromium fonts-liberation")
def test_every_page_is_its_own_perfect_answer_and_no_others() -> None:
    with Renderer(assets=load_assets(FOLDER)) as renderer:
        pages = [renderer.page((FOLDER / f"{page}.html").read_text(encoding="utf-8")) for page in PAGES]
        again = [renderer.page((FOLDER / f"{page}.html").read_text(encoding="utf-8") + "\n") for page in PAGES]
    assert [page.failure for page in pages] == [""] * len(PAGES)
    assert [score_pages(one, same).layout for one, same in zip(pages, again, strict=True)] == [1.0] * len(PAGES)
    crossed = [score_pages(one, other).layout for one, other in pairwise(pages)]
    assert max(crossed) < 0.75
