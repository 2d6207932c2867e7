"""The trackers with the real packages (`make trackers`), each in a process of its own, as the command line has it."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.full.processes import python

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]  # theirs
COMPARE = (*("compare", "IAD/WebShop-v0", "--strategies", "single,iad", "--tasks", "3"), "--fresh")


def needs(package: str) -> pytest.MarkDecorator:
    reason = f"the package {package} is not installed: make trackers"
    return pytest.mark.skipif(find_spec(package) is None, reason=reason)


def compared(folder: Path, tracker: str, **environment: str) -> None:
    command = ("-m", "iad_policy.cli", *COMPARE, "--out", folder, "--track", tracker)
    said = python(*command, cwd=folder.parent, **environment)
    assert "failed" not in said.replace("why tasks failed", "")


@needs("mlflow")
def test_mlflow_has_the_curves_the_table_and_the_labels(tmp_path: Path) -> None:
    from mlflow import MlflowClient

    store = f"sqlite:///{tmp_path / 'store.db'}"
    compared(tmp_path / "run", "mlflow", MLFLOW_TRACKING_URI=store, MLFLOW_EXPERIMENT_NAME="shop")
    client = MlflowClient(store)
    (run,) = client.search_runs([client.get_experiment_by_name("shop").experiment_id])
    assert (run.info.run_name, run.info.status) == ("run", "FINISHED")
    assert run.data.tags["information"] == "proxy"
    assert run.data.params["env"] == "IAD/WebShop-v0"
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
        curve: list[Any] = read.Tensors("iad/progress")
        (final,) = read.Tensors("summary/iad/progress")
        assert [point.step for point in curve] == [1, 2, 3]
        assert make_ndarray(curve[-1].tensor_proto) == pytest.approx(make_ndarray(final.tensor_proto))


@needs("wandb")
def test_wandb_writes_to_the_run_folder_and_sends_nothing(tmp_path: Path) -> None:
    compared(tmp_path / "run", "wandb")
    (written,) = (tmp_path / "run" / "wandb").glob("offline-run-*/run-*.wandb")
    content = written.read_bytes()
    for name in (b"single/progress", b"iad/progress", b"summary/iad/progress", b"information: proxy"):
        assert name in content
    assert not list(tmp_path.glob("wandb*"))
