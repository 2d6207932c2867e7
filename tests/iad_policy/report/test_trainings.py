"""What the page is told of model folders and of rounds, also while they are written and where they are damaged."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.errors import RunFolderError
from iad_policy.learn.experience import Experience
from iad_policy.learn.train import train
from iad_policy.report.viewer.server import create_app
from iad_policy.report.viewer.trainings import MAX_POINTS, Trainings, model_json, opened
from iad_policy.trained.models import EPOCHS, MODEL, ROUNDS, TRAINING, ModelFolderError
from tests.command_line import iad
from tests.iad_policy.report.conftest import STEPS, write_lines
from tests.iad_policy.report.snapshots import require_snapshot

SHOP = "IAD/WebShop-v0"


def curves(shown: dict[str, Any]) -> dict[tuple[str, str], list[Any]]:
    return {(one["unit"], one["figure"]): [list(point) for point in one["points"]] for one in shown["curves"]}


def test_a_model_and_its_rounds_are_shown_as_they_were_written(rounds: Path) -> None:
    lines = [json.loads(line) for line in (rounds / "model-1" / TRAINING).read_text().splitlines()]
    shown: Any = Trainings(rounds).as_json()
    model = model_json(rounds / "model-1")
    for figure in ("loss", "kl"):
        assert curves(model)["epoch", figure] == [[line["epoch"] + 1, line[figure]] for line in lines]
    for one in shown["models"]:
        del one["curves"]  # whose digits are a machine's
    shown["rounds"]["points"] = [place for place, _ in shown["rounds"]["points"]]
    require_snapshot("trainings.json", shown)


def test_rows_of_several_runs_are_told_apart(rounds: Path, tmp_path: Path) -> None:
    both = Experience.of([rounds / "round-1", rounds / "demos"])
    of_runs = train("bc", both, out=tmp_path, epochs=2).trained_on["n_rows_of"]
    said = ", ".join(f"{name} = {n}" for name, n in of_runs.items())
    assert dict(model_json(tmp_path)["facts"])["rows"] == f"{sum(of_runs.values())} ({said})"


def test_updates_have_rewards_and_the_value_models_loss(rounds: Path, tmp_path: Path) -> None:
    train("ppo", SHOP, out=tmp_path / "ppo", start=rounds / "model-0", updates=3, tasks=1, group=2)
    shown, said = (model := model_json(tmp_path / "ppo")), dict(model["facts"])
    assert {figure for _, figure in curves(shown)} == {"reward", "loss", "kl", "value_loss"}
    assert [place for place, _ in curves(shown)["update", "reward"]] == [1, 2, 3]
    assert (shown["kept"], shown["stopped"], shown["planned"]) == (3, None, 3)
    assert (said["episodes played"], "rows" in said) == ("6", False)


def test_a_language_model_has_steps_and_epochs(language: Path) -> None:
    require_snapshot("training.json", model_json(language))
    # Steps that a kill repeated are shown once, as they were at last.
    write_lines(language, [*STEPS, *({**line, "loss": 9.0} for line in STEPS[3:])])
    assert [loss for _, loss in curves(model_json(language))["step", "loss"]] == [1, 1 / 2, 1 / 3, 9, 9, 9]


def test_a_training_that_goes_on_is_shown_and_followed(rounds: Path, tmp_path: Path) -> None:
    write_lines(tmp_path, [{"epoch": 0, "loss": 1.0, "is_kept": True}])
    client = create_app([tmp_path]).test_client()
    before = client.get("/api/version").get_json()
    (training,) = client.get("/api/trainings").get_json()
    assert [(one["is_over"], one["facts"]) for one in training["models"]] == [(False, [])]
    shutil.copytree(rounds / "model-1", tmp_path, dirs_exist_ok=True)
    assert client.get("/api/version").get_json() != before
    assert client.get("/api/trainings").get_json()[0]["models"][0]["is_over"]


def test_a_long_curve_keeps_its_ends_and_its_marks(tmp_path: Path) -> None:
    n = 7 * MAX_POINTS
    lines = [{"epoch": place, "loss": place / n, "is_kept": place < n - 1} for place in range(n)]
    write_lines(tmp_path, lines)
    (tmp_path / MODEL).write_text(json.dumps({"recipe": "bc"}))
    (curve,) = model_json(tmp_path)["curves"]
    places = [place for place, _ in curve["points"]]
    assert curve["every"] == 7
    assert len(places) <= MAX_POINTS + 2
    assert (places[0], places[-2:]) == (1, [n - 1, n])


def test_models_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("model-10", "model-2", "other"):
        (tmp_path / name).mkdir()
        write_lines(tmp_path / name, [{"epoch": 0, "loss": 1.0}])
    (tmp_path / "demos").mkdir()
    assert [one["name"] for one in Trainings(tmp_path).as_json()["models"]] == ["model-2", "model-10", "other"]


def test_runs_and_models_are_told_apart(rounds: Path) -> None:
    runs, trainings = opened([rounds / "model-0", rounds / "dev-1", rounds])
    assert [run.folder.name for run in runs] == ["dev-1"]
    assert [one.folder.name for one in trainings] == ["model-0", "rounds"]
    client = create_app([rounds / "model-0", rounds / "dev-1"]).test_client()
    assert len(client.get("/api/runs").get_json()) == 1
    line = client.get("/api/episodes/0/0").get_json()["lines"][0]
    assert client.get(f"/api/episode/0/{line['key']}").status_code == 200


ODD: dict[str, Any] = {"number": 7, "list": [1], "text": "x", "none": None, "NaN": float("nan"), "huge": 10**400}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_facts_and_figures_of_any_type_are_shown_or_left_out(value: Any, language: Path) -> None:
    facts = json.loads((language / MODEL).read_text())
    (language / MODEL).write_text(json.dumps(dict.fromkeys(facts, value)))
    write_lines(language, [{"step": value, "loss": value}, {"step": 1, "loss": value}, *STEPS[1:]])
    (language / EPOCHS).write_text(json.dumps([value, {"kl": value}]))
    shown = create_app([language]).test_client().get("/api/trainings")
    json.loads(shown.text, parse_constant=lambda name: pytest.fail(name))
    (language / ROUNDS).write_text(json.dumps({"dev": value, "best": value, "method": value}))
    (language / MODEL).unlink()
    (language / TRAINING).unlink()
    Trainings(language).as_json()


@pytest.mark.parametrize("name", [MODEL, EPOCHS])
def test_a_file_that_cant_be_read_is_one_sentence(name: str, language: Path) -> None:
    (language / name).write_text("{")
    with pytest.raises(ModelFolderError, match="restore it"):
        opened([language])


@pytest.mark.parametrize("name", [MODEL, TRAINING, EPOCHS])
def test_links_are_not_followed(name: str, language: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("[]" if name == EPOCHS else '{"recipe": "secret"}')
    (language / name).unlink()
    (language / name).symlink_to(secret)
    with pytest.raises(ModelFolderError, match="regular file"):
        opened([language])
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "linked").symlink_to(language)
    with pytest.raises(RunFolderError):
        opened([tmp_path / "all"])


def test_reports_are_written_beside_models_and_of_runs_as_before(rounds: Path, tmp_path: Path) -> None:
    shutil.copytree(rounds, tmp_path / "rounds")
    evaluate(SHOP, ["single"], tasks=1, out=tmp_path / "run")
    folders = [tmp_path / "rounds", tmp_path / "rounds" / "model-1", tmp_path / "run"]
    done = iad("report", *folders)
    assert done.exit_code == 0, done.output
    for folder in folders:
        addresses = set(re.findall(r"https?://[^\s\"']*", (folder / "report.html").read_text()))
        assert addresses == {"http://www.w3.org/2000/svg"}  # a name: nothing is fetched
