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


@pytest.fixture(scope="module")
def measured() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        from support import bird_verifier

        yield bird_verifier
    for name in [name for name in sys.modules if name.partition(".")[0] == "support"]:
        del sys.modules[name]


def test_tasks_for_fitting_and_for_reports_are_apart(measured: Any) -> None:
    tuning, held_out = (set(measured.bundled_ids(part)) for part in ("tuning", "held_out"))
    assert (len(tuning), len(held_out)) == (116, 100)
    assert not tuning & held_out
    assert 40 < sum(measured.is_held_out(str(number)) for number in range(100)) < 60


def test_every_kind_of_error_changes_a_query_that_has_its_part(measured: Any) -> None:
    for error in measured.ERRORS:
        changed = {" ".join(error(measured.BrokenQuery(SQL, TABLES, Random(seed)))) for seed in range(12)}
        assert changed - {" ".join(part.text for part in measured.tokens(SQL))}, error
    assert measured.broken("SELECT 1 FROM nothing", [], Random(1)) != "SELECT 1 FROM nothing"


class Second:
    """Prefers the second candidate."""

    def verify(self, state: State, given: Any) -> list[Verdict]:
        return [Verdict(float(place == 1)) for place in range(len(given))]


def test_candidates_are_labelled_by_running_them_and_the_gap_to_the_best_choice_is_what_a_verifier_can_close(
    measured: Any,
) -> None:
    task = measured.bundled_ids("held_out")[0]
    questions = json.loads((measured.BUNDLED / "dev.json").read_text())
    gold = next(one["SQL"] for one in questions if str(one["question_id"]) == task)
    env = measured.BirdEnv(data_dir=measured.BUNDLED)
    state = measured.start(env, task)
    actions = ["submit[SELECT 1]", f"submit[{gold}]", "submit[SELECT 1 AS one]", f"execute[{gold}]"]
    members = [measured.Labelled("me", *measured.labelled(env, action)) for action in actions]
    env.close()
    assert [member.is_right for member in members] == [False, True, False, False]
    scored = measured.scored_sets([measured.CandidateSet(task, state, tuple(members[:3]))], Second())
    choice = measured.choice_among(scored, 3)
    assert choice == (0.0, 0.0, 1.0, 1.0, 1)
    assert choice.gap_closed == 1.0
    found = measured.evidence_on(measured.scored_sets([measured.CandidateSet(task, state, tuple(members))], Second()))
    assert (found.auc, found.n_pos, found.n_neg) == (None, 1, 2)
