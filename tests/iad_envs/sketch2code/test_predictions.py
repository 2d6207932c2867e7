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


@pytest.fixture
def form(folder: Path) -> Iterator[PagePredictions]:
    env = gym.make("IAD/Sketch2Code-v0", data_dir=folder)
    yield PagePredictions(env)
    env.close()


def item(key: str | None, value: Any) -> tuple[str, int, str | None, Any]:
    return f"folder/{key}.html", 0, key, value


def test_an_id_is_a_tasks_or_a_pages_what_is_no_page_is_named_and_times_are_refused(form: PagePredictions) -> None:
    found = form.read([item("1_0", "<p>a"), item("2", "<p>b"), item("3_1", ["<p>c", "<p>d"])])
    pages = [("1_0", "<p>a"), ("2_0", "<p>b"), ("2_1", "<p>b"), ("3_1", "<p>c"), ("3_1", "<p>d")]
    assert [(one.task_id, one.text, one.action) for one in found.answers] == [(*one, one[1]) for one in pages]
    assert (found.problems, found.unknown) == ([], [])
    assert found.notes == ["Predictions named after a page, which count for each of its sketches: 1"]
    found = form.read([item("99_0", "<p>"), item("1_7", "<p>"), item(None, "<p>"), item("1_0", 5)])
    assert (found.answers, found.unknown, found.notes) == ([], ["99_0", "1_7"], [])
    assert [problem.split(", got")[0] for problem in found.problems] == [
        "folder/None.html: expected HTML by id",
        "folder/1_0.html: expected HTML",
    ]
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
