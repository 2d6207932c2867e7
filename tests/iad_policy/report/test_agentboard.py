import json
from pathlib import Path

import pytest

from iad_policy.ledger.run import Run
from iad_policy.report.agentboard import write_agentboard
from tests.iad_policy.evaluation_toy import RightOnOdd, kept, runner
from tests.iad_policy.report.snapshots import require_snapshot


def test_the_files_have_agentboards_names_and_what_was_looked_at(tmp_path: Path) -> None:
    """Lines of JSON; easy and hard are their own rates, and all is the mean."""
    run = Run(kept(runner(RightOnOdd(), strategies=("single", "iad")), tmp_path / "run"))
    written = write_agentboard([run], tmp_path / "board")
    names = sorted(str(path.relative_to(tmp_path / "board")) for path in written if "iad" in path.parts)
    assert names == ["iad/all_results.txt", "iad/dialsenv.txt", "iad/logs/dialsenv.jsonl"]
    texts = [f"=== {name}\n{(tmp_path / 'board' / name).read_text()}" for name in names]
    require_snapshot("agentboard.txt", "\n".join(texts))
    lines = (tmp_path / "board" / names[-1]).read_text().splitlines()
    played = [[turn["Action"] for turn in json.loads(line)["trajectory"].values()] for line in lines]
    assert played == [list(record.actions) for record in run.records.values() if record.strategy == "iad"]
    with pytest.raises(ValueError, match="two of dialsenv"):
        write_agentboard([run, run], tmp_path / "board")
