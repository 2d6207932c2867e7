"""The candidates by which BIRD's verifier is fitted and measured: what is held out, errors put in, and choices."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from iad_policy.types import State, Verdict

FOLDER = Path(__file__).parents[1] / "benchmarks"
TABLES = [
    {"name": "city", "columns": [{"name": "id"}, {"name": "name"}, {"name": "country"}]},
    {"name": "shop", "columns": [{"name": "id"}, {"name": "city_id"}, {"name": "sales"}]},
]
SQL = (
    "SELECT DISTINCT T1.name FROM city AS T1 INNER JOIN shop AS T2 ON T1.id = T2.city_id "
    "WHERE T1.country = 'France' AND T2.sales > 5 ORDER BY T1.name DESC LIMIT 3"
)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(FOLDER)
    from support import bird_evidence

    yield bird_evidence
    for name in [name for name in sys.modules if name.partition(".")[0] == "support"]:
        del sys.modules[name]


@pytest.fixture
def candidates(measured: Any) -> Any:
    return sys.modules["support.bird_candidates"]


def test_tasks_for_fitting_and_for_reports_are_apart(candidates: Any) -> None:
    tuning, held_out = (set(candidates._bundled_ids(part)) for part in ("tuning", "held_out"))
    assert (len(tuning), len(held_out)) == (116, 100)
    assert not tuning & held_out
    assert 40 < sum(candidates.is_held_out(str(number)) for number in range(100)) < 60


def test_every_kind_of_error_changes_a_query_that_has_its_part(candidates: Any) -> None:
    for error in candidates.ERRORS:
        text = candidates._Text(candidates.tokens(SQL), TABLES)
        changed = {" ".join(error(text, Random(seed))) for seed in range(12)}
        assert changed - {" ".join(text.texts)}, error
    assert candidates.broken("SELECT 1 FROM nothing", [], Random(1)) != "SELECT 1 FROM nothing"


def test_recorded_candidates_are_labelled_by_running_them(measured: Any, candidates: Any, tmp_path: Path) -> None:
    questions = {str(one["question_id"]): one for one in json.loads((candidates.BUNDLED / "dev.json").read_text())}
    right, tuned = candidates._bundled_ids("held_out")[0], candidates._bundled_ids("tuning")[0]
    lines = [
        {"task_id": right, "source": "me", "action": f"submit[{questions[right]['SQL']}]"},
        {"task_id": right, "source": "me", "action": "execute[SELECT 1]"},
        {"task_id": right, "source": "you", "action": "SELECT nothing"},
        {"task_id": tuned, "source": "me", "action": "submit[SELECT 1]"},
    ]
    file = tmp_path / "recorded.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    mine, yours = candidates.recorded_sets([file])
    assert [member.is_right for member in mine.members] == [True, False]
    assert [member.is_right for member in yours.members] == [False]
    found = measured.bird_evidence(recorded=[file])
    assert (found.auc, found.n_pos, found.n_neg) == (None, 1, 1)


class Second:
    """Prefers the second candidate."""

    def verify(self, state: State, given: Any) -> list[Verdict]:
        return [Verdict(float(place == 1)) for place in range(len(given))]


def test_the_gap_between_vote_and_best_choice_is_what_a_verifier_can_close(
    measured: Any, candidates: Any, tmp_path: Path
) -> None:
    task = candidates._bundled_ids("held_out")[0]
    gold = next(
        one["SQL"]
        for one in json.loads((candidates.BUNDLED / "dev.json").read_text())
        if str(one["question_id"]) == task
    )
    actions = ["submit[SELECT 1]", f"submit[{gold}]", "submit[SELECT 1 AS one]"]
    lines = [json.dumps({"task_id": task, "source": "me", "action": action}) for action in actions]
    (tmp_path / "recorded.jsonl").write_text("\n".join(lines), encoding="utf-8")
    sets = candidates.recorded_sets([tmp_path / "recorded.jsonl"])
    choice = measured.choice_among(measured.scored_sets(sets, Second()), 3)
    assert choice == (0.0, 0.0, 1.0, 1.0, 1)
    assert choice.gap_closed == 1.0
