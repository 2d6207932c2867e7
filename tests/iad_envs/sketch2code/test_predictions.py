"""Predicted pages: a folder with a file for each, by the id of a task or of a page."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from typer.testing import CliRunner

import iad_envs  # noqa: F401 (registers)
from iad_envs.sketch2code.predictions import PagePredictions
from iad_policy.cli import app
from tests.browser import Browsers
from tests.iad_envs.sketch2code.sketch_pages import GIF, make_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, browsers: Browsers) -> Iterator[Path]:
    with browsers.leased(assets={"rick.jpg": GIF}):
        yield make_folder(tmp_path_factory.mktemp("data") / "sketch2code")


@pytest.fixture
def form(folder: Path) -> Iterator[PagePredictions]:
    env = gym.make("IAD/Sketch2Code-v0", data_dir=folder)
    yield PagePredictions(env)
    env.close()


def item(key: str | None, value: Any) -> tuple[str, int, str | None, Any]:
    return f"folder/{key}.html", 0, key, value


def test_an_id_is_a_tasks_or_a_pages(form: PagePredictions) -> None:
    found = form.read([item("1_0", "<p>a"), item("2", "<p>b"), item("3_1", ["<p>c", "<p>d"])])
    assert [(one.task_id, one.text, one.action) for one in found.answers] == [
        ("1_0", "<p>a", "<p>a"),
        ("2_0", "<p>b", "<p>b"),
        ("2_1", "<p>b", "<p>b"),
        ("3_1", "<p>c", "<p>c"),
        ("3_1", "<p>d", "<p>d"),
    ]
    assert (found.problems, found.unknown) == ([], [])
    assert found.notes == ["Predictions named after a page, which count for each of its sketches: 1"]


def test_what_is_no_page_is_named(form: PagePredictions) -> None:
    found = form.read([item("99_0", "<p>"), item("1_7", "<p>"), item(None, "<p>"), item("1_0", 5)])
    assert (found.answers, found.unknown, found.notes) == ([], ["99_0", "1_7"], [])
    assert [problem.split(", got")[0] for problem in found.problems] == [
        "folder/None.html: expected HTML by id",
        "folder/1_0.html: expected HTML",
    ]


def test_the_environment_scores_pages_and_nothing_is_timed_or_voted_on(form: PagePredictions) -> None:
    assert form.score([("1_0", "<p>")], workers=1, timings=0, advance=bool) is None  # type: ignore[func-returns-value]
    assert form.majority_right(["a"], [True]) is None  # type: ignore[func-returns-value]
    assert form.result_of({}) == ""
    with pytest.raises(ValueError, match="--r-ves"):
        form.score([], workers=1, timings=1, advance=bool)


def test_a_folder_of_pages_is_scored(folder: Path, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    shutil.copy(folder / "1.html", pages / "1_0.html")
    shutil.copy(folder / "1.html", pages / "1_1.html")
    (pages / "2_0.html").write_text("no page")
    (pages / "nope.html").write_text("<p>no task")
    given = ("score", str(pages), "--env", "IAD/Sketch2Code-v0", "--data-dir", str(folder))
    done = CliRunner().invoke(app, [*given, "--json"])
    assert done.exit_code == 0, done.output
    read = json.loads(done.stdout)
    (one,) = read["arms"].values()
    assert read["unknown"] == {str(pages): ["nope"]}
    assert (one["n_attempts"], one["n_missing"], one["verdicts"]) == (3, 5, {"done": 2, "unfinished": 1})
    assert one["success"]["value"] == one["scores"]["layout"]["value"] == 2 / 8
    shown = CliRunner().invoke(app, [*given, "--missing", "left-out"], env={"COLUMNS": "100"}).stdout
    assert "(layout >= 0.75)" in shown
    assert "These zeros count in the means." in shown
