import json
from pathlib import Path

import pytest

from iad_policy.ledger.run import Run
from iad_policy.report.agentboard import write_agentboard
from tests.iad_policy.evaluation_toy import kept, runner


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(kept(runner(), tmp_path_factory.mktemp("board") / "run"))


def test_every_file_is_lines_of_json_with_agentboards_names(traces: Run, tmp_path: Path) -> None:
    written = write_agentboard([traces], tmp_path / "board")
    names = sorted(str(path.relative_to(tmp_path / "board")) for path in written if "iad" in path.parts)
    assert names == ["iad/all_results.txt", "iad/dialsenv.txt", "iad/logs/dialsenv.jsonl"]
    examples = [json.loads(line) for line in (tmp_path / "board/iad/logs/dialsenv.jsonl").read_text().splitlines()]
    records = [one for one in traces.records.values() if one.strategy == "iad"]
    assert [one["task_id"] for one in examples] == [one.task_id for one in records]
    for example, record in zip(examples, records, strict=True):
        assert example["goal"] == f"Open {record.task_id}"
        reached = [progress for _, progress in example["score_change_record"]] or [0.0]
        assert reached[-1] == record.progress == example["progress_rate"]
        turns = example["trajectory"]
        assert [turn["Action"] for turn in turns.values()] == list(record.actions)
        assert [turn["Progress Rate"] for turn in turns.values()] == list(record.progress_by_step[1:])
        assert list(turns) == [f"Interaction Turn {place}" for place in range(record.n_steps)]
    lines = (tmp_path / "board/iad/dialsenv.txt").read_text().splitlines()
    assert len(lines) == len(records)
    assert lines[0].startswith("[EXP] 0: [success_rate]: ")


def test_easy_and_hard_are_their_own_rates_and_all_is_the_mean(traces: Run, tmp_path: Path) -> None:
    write_agentboard([traces], tmp_path / "board")
    for strategy in ("single", "iad"):
        text = (tmp_path / "board" / strategy / "all_results.txt").read_text()
        own, group, every = (json.loads(line) for line in text.splitlines())
        records = [one for one in traces.records.values() if one.strategy == strategy]
        for name in ("easy", "hard"):
            rates = [one.success for one in records if one.difficulty == name]
            assert own[f"success_rate_{name}"] == sum(rates) / len(rates)
        assert (group["task_name"], every["task_name"]) == ("other_summary", "all_summary")
        assert every["progress_rate"] == group["progress_rate"] == pytest.approx(own["progress_rate"])
    with pytest.raises(ValueError, match="different environments, got two of dialsenv"):
        write_agentboard([traces, traces], tmp_path / "board")
