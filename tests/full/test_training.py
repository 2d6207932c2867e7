"""Exports in the hands of those who read them: `datasets` loads each, TRL trains on the pairs (`make training`)."""

import math
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.report.exports import FORMATS, export_runs
from iad_policy.run.config import FREE
from tests.full.processes import needing
from tests.full.tiny import QUIET, byte_tokenizer, tiny_model
from tests.iad_policy.evaluation_toy import runner

pytestmark = [*needing("datasets", how="make training"), pytest.mark.timeout(900)]
needs_trl = needing("trl", "torch", how="make training")[-1]
KINDS = ("jsonl", "parquet")
OPTIONS: dict[str, Any] = {"per_device_train_batch_size": 4, "learning_rate": 5e-3, "max_length": 2048, "seed": 0}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "dials"
    one = runner(strategies=("single", "bon", "iad"), n=3)
    with RunFolder(path, one.recorded_config(), free=FREE) as folder:
        list(one.episodes(folder))
    return path


def loaded(run: Path, form: str, kind: str, tmp_path: Path) -> dict[str, Any]:
    from datasets import load_dataset

    found, options = {}, {"split": "train", "cache_dir": str(tmp_path / "cache")}
    for path, n_rows in export_runs([Run(run)], form, tmp_path / f"dials.{kind}").items():
        found[path.name] = load_dataset(kind.replace("jsonl", "json"), data_files=str(path), **options)
        assert len(found[path.name]) == n_rows
    return found


@pytest.mark.parametrize(("form", "kind"), [(a, b) for a in FORMATS for b in KINDS if a not in KINDS or a == b])
def test_datasets_loads_every_format(run: Path, form: str, kind: str, tmp_path: Path) -> None:
    for name, data in loaded(run, form, kind, tmp_path).items():
        assert set(data["information"]) == {"proxy"}
        assert set(data["task_id"]) == {f"dials-{place}" for place in range(4)}
        (table,) = [one for one in FORMATS[form] if name.endswith(f"dials{one.suffix}.{kind}")]
        assert data.column_names == list(table.kinds)


@needs_trl
def test_trl_takes_each_form_for_what_it_is(run: Path, tmp_path: Path) -> None:
    from trl.data_utils import apply_chat_template, is_conversational

    keys = {"sft": {"text"}, "preference": {"prompt", "chosen", "rejected"}, "kto": {"prompt", "completion", "label"}}
    for form, expected in keys.items():
        (data,) = loaded(run, form, "parquet", tmp_path).values()
        assert is_conversational(data[0])
        names = ("messages", "prompt", "chosen", "rejected", "completion", "label")
        asked = {name: value for name, value in data[0].items() if name in names}
        assert set(apply_chat_template(asked, byte_tokenizer())) == expected


@needs_trl
def test_dpo_on_the_preferences_lowers_its_loss_on_a_tiny_random_model(run: Path, tmp_path: Path) -> None:
    from trl import DPOConfig, DPOTrainer

    (data,) = loaded(run, "preference", "jsonl", tmp_path).values()
    trainer = DPOTrainer(
        tiny_model(),
        ref_model=tiny_model(),  # by itself it would look one up by the name of the first, which has none
        args=DPOConfig(output_dir=str(tmp_path / "out"), max_steps=10, **QUIET, **OPTIONS),
        train_dataset=data,
        processing_class=byte_tokenizer(),
    )
    trainer.train()
    losses, accuracies = (
        [line[name] for line in trainer.state.log_history if name in line] for name in ("loss", "rewards/accuracies")
    )
    assert len(losses) == 10
    assert losses[0] == pytest.approx(math.log(2), abs=0.01)
    assert mean(losses[5:]) < 0.9 * losses[0]
    assert mean(accuracies[5:]) > 0.6
