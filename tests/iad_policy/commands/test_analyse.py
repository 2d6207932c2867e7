import json
from pathlib import Path

import pytest

from tests.command_line import iad

FIXTURES = Path(__file__).parents[2] / "fixtures"
LOGS = FIXTURES / "other_logs"


@pytest.mark.parametrize(
    ("arguments", "baseline", "n_pairs"),
    [
        (["--inspect", LOGS / "inspect/models"], "rule/large", 8),
        ([LOGS / "verifiers_0_1", "--verifiers", "--success-at", "1"], "failing", 5),
        ([FIXTURES / "run_folders/webshop"], "bon-sc", 3),
    ],
)
def test_each_format_gives_a_table_and_json(arguments: list[object], baseline: str, n_pairs: int) -> None:
    done = iad("analyse", *arguments)
    assert done.exit_code == 0, done.output
    assert f"Difference to {baseline} on the same tasks" in done.output
    differences = json.loads(iad("analyse", *arguments, "--json").output)["differences"].values()
    assert {(one["baseline"], one["n_pairs"]) for one in differences} == {(baseline, n_pairs)}


def test_the_rules_reach_the_figures() -> None:
    given = ("analyse", "--inspect", LOGS / "inspect/errors/left_out.json", "--json")
    assert json.loads(iad(*given).output)["arms"]["rule/small"]["n_samples"] == 14
    counted = json.loads(iad(*given, "--errors", "wrong", "--pair-by", "id").output)
    assert counted["arms"]["rule/small"]["n_samples"] == 16
    assert (counted["errors"], counted["pair_by"]) == ("wrong", "id")


def test_the_table_in_the_documents_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    text = (FIXTURES.parents[1] / "docs/analyse-other-logs.md").read_text(encoding="utf-8")
    shown = text.partition("```text\n")[2].partition("```")[0]
    printed = iad("analyse", "--inspect", LOGS / "inspect/models", "--baseline", "rule/small").output
    lines = shown.splitlines()  # warnings and a legend follow
    assert [line.rstrip() for line in printed.splitlines()][: len(lines)] == lines
