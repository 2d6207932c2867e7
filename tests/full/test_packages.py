"""Packages that read or write what we do: trackers (`make trackers`), other frameworks' logs, notebooks."""

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from iad_policy.report.other_logs import read_logs
from tests.full.processes import needing, python
from tests.iad_policy.report.other_logs import fixtures

pytestmark = [*needing(how="")[:2], pytest.mark.timeout(900)]


def needs(*packages: str, how: str = "make trackers") -> Any:
    return needing(*packages, how=how)[-1]


def compared(folder: Path, tracker: str, **environment: str) -> None:
    """A comparison that is tracked, in a process of its own, as the command line has it."""
    options = f"compare IAD/WebShop-v0 --strategies single,iad --tasks 3 --fresh --track {tracker} --out".split()
    said = python("-m", "iad_policy.cli", *options, folder, cwd=folder.parent, **environment)
    assert "failed" not in said.replace("why tasks failed", "")


@needs("mlflow")
def test_mlflow_has_the_curves_the_table_and_the_labels(tmp_path: Path) -> None:
    from mlflow import MlflowClient

    store = f"sqlite:///{tmp_path / 'store.db'}"
    compared(tmp_path / "run", "mlflow", MLFLOW_TRACKING_URI=store, MLFLOW_EXPERIMENT_NAME="shop")
    client = MlflowClient(store)
    (run,) = client.search_runs([client.get_experiment_by_name("shop").experiment_id])
    assert (run.info.run_name, run.info.status) == ("run", "FINISHED")
    assert (run.data.tags["information"], run.data.params["env"]) == ("proxy", "IAD/WebShop-v0")
    curve = client.get_metric_history(run.info.run_id, "iad/progress")
    assert [point.step for point in curve] == [1, 2, 3]
    assert curve[-1].value == pytest.approx(run.data.metrics["summary/iad/progress"])


@needs("tensorboard")
def test_tensorboard_has_the_curves_and_the_table_once_per_command(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    for number in range(2):
        compared(tmp_path / "run", "tensorboard")
        read = EventAccumulator(str(tmp_path / "run" / "tensorboard" / f"{number}-proxy"))
        read.Reload()
        curve, (final,) = read.Tensors("iad/progress"), read.Tensors("summary/iad/progress")
        assert [point.step for point in curve] == [1, 2, 3]
        assert make_ndarray(curve[-1].tensor_proto) == pytest.approx(make_ndarray(final.tensor_proto))


@needs("wandb")
def test_wandb_writes_to_the_run_folder_and_sends_nothing(tmp_path: Path) -> None:
    compared(tmp_path / "run", "wandb")
    (written,) = (tmp_path / "run" / "wandb").glob("offline-run-*/run-*.wandb")
    names = (b"single/progress", b"iad/progress", b"summary/iad/progress", b"information: proxy")
    assert [name in written.read_bytes() for name in names] == [True] * 4
    assert not list(tmp_path.glob("wandb*"))


@pytest.mark.parametrize(
    ("maker", "kind"),
    [
        pytest.param("inspect_logs", "inspect", marks=needs("inspect_ai", how="pip install inspect-ai")),
        pytest.param("verifiers_runs", "verifiers", marks=needs("verifiers", how="pip install verifiers")),
    ],
)
def test_fresh_logs_are_read_as_their_package_reads_them(
    maker: str, kind: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("GIT_DIR", "")  # `make` changes it
    import_module(f"tests.full.{maker}").make(tmp_path / "logs")
    expected = json.loads((tmp_path / "logs" / "expected.json").read_text(encoding="utf-8"))
    assert len(expected) >= 3
    for path, theirs in expected.items():
        samples = read_logs(kind, [tmp_path / "logs" / path]).samples
        getattr(fixtures, f"require_samples_of_{kind}")(samples, theirs)


@needs("jupytext", "nbclient", "ipykernel", how="pip install -e '.[notebook]'")
def test_the_tutorial_runs_as_a_notebook_and_answers_whether_it_is_better(tmp_path: Path) -> None:
    from docs.learning.notebook import executed

    cells = executed(tmp_path).cells
    (place,) = [i for i, cell in enumerate(cells) if cell.cell_type == "code" and "q-guided" in cell.source]
    printed = "".join(output.text for output in cells[place].outputs)
    said = cells[place + 1].source.splitlines()
    assert said[0].startswith("Not shown:")
    shares = {f"0.{share}0" for share in re.findall(r"(\d\d) %", " ".join(said))}
    assert len(shares) == 3
    assert shares <= set(printed.split())
    assert "\x1b" not in printed  # a bar, as on a terminal
