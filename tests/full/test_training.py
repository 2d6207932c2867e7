"""Exports in the hands of those who read them: `datasets` loads each, TRL trains on the pairs (`make training`)."""

import math
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.report.exports import FORMATS, export_runs
from iad_policy.run.config import FREE
from tests.full.tiny import byte_tokenizer, dpo_log
from tests.iad_policy.evaluation_toy import runner

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore"),  # theirs
    pytest.mark.skipif(find_spec("datasets") is None, reason="the package datasets is not installed: make training"),
]
needs_trl = pytest.mark.skipif(
    find_spec("trl") is None or find_spec("torch") is None,
    reason="the packages trl and torch are not installed: make training",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "dials"
    one = runner(strategies=("single", "bon", "iad"), n=3)
    with RunFolder(path, one.recorded_config(), free=FREE) as folder:
        for _ in one.episodes(folder):
            pass
    return path


def loaded(run: Path, form: str, ending: str, tmp_path: Path) -> dict[str, Any]:
    from datasets import load_dataset

    found = {}
    for path, n_rows in export_runs([Run(run)], form, tmp_path / f"dials{ending}").items():
        kind = "parquet" if ending == ".parquet" else "json"
        found[path.name] = load_dataset(kind, data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
        assert len(found[path.name]) == n_rows
    return found


@pytest.mark.parametrize(
    ("form", "ending"),
    [(form, ".jsonl") for form in FORMATS if form != "parquet"]
    + [(form, ".parquet") for form in FORMATS if form != "jsonl"],
)
def test_datasets_loads_every_format(run: Path, form: str, ending: str, tmp_path: Path) -> None:
    for name, data in loaded(run, form, ending, tmp_path).items():
        assert set(data["information"]) == {"proxy"}
        assert set(data["task_id"]) == {f"dials-{place}" for place in range(4)}
        (table,) = [one for one in FORMATS[form] if name.endswith(f"dials{one.suffix}{ending}")]
        assert data.column_names == list(table.kinds)


@needs_trl
def test_trl_takes_each_form_for_what_it_is(run: Path, tmp_path: Path) -> None:
    from trl.data_utils import apply_chat_template, is_conversational

    keys = {"sft": {"text"}, "preference": {"prompt", "chosen", "rejected"}, "kto": {"prompt", "completion", "label"}}
    for form, expected in keys.items():
        (data,) = loaded(run, form, ".parquet", tmp_path).values()
        assert is_conversational(data[0])
        names = ("messages", "prompt", "chosen", "rejected", "completion", "label")
        asked = {name: value for name, value in data[0].items() if name in names}
        assert set(apply_chat_template(asked, byte_tokenizer())) == expected


@needs_trl
def test_dpo_on_the_preferences_lowers_its_loss_on_a_tiny_random_model(run: Path, tmp_path: Path) -> None:
    n_steps = 10
    (data,) = loaded(run, "preference", ".jsonl", tmp_path).values()
    options = {"per_device_train_batch_size": 4, "learning_rate": 5e-3, "max_length": 2048, "seed": 0}
    log = dpo_log(data, tmp_path / "out", max_steps=n_steps, **options)
    losses = [line["loss"] for line in log if "loss" in line]
    accuracies = [line["rewards/accuracies"] for line in log if "rewards/accuracies" in line]
    assert len(losses) == n_steps
    assert losses[0] == pytest.approx(math.log(2), abs=0.01)
    assert mean(losses[n_steps // 2 :]) < 0.9 * losses[0]
    assert mean(accuracies[n_steps // 2 :]) > 0.6
