"""The table of logs, as it is printed: a case of each thing that it says, in one file; and the names of its rows."""

from typing import Any

import pytest

from iad_policy.report.compare import Resampling, compare
from iad_policy.report.comparison_table import LEAST_APART, pass_columns
from iad_policy.report.other_logs.log_table import LogTable
from iad_policy.report.other_logs.shared import named_apart, short_settings
from iad_policy.report.samples import SCORED, SETUP, WRONG, CountingRules, Samples, SampleScore, TaskSample
from iad_policy.report.statistics import mcnemar_exact, sign_flip
from tests.iad_policy.report.snapshots import printed, require_snapshot

SAME = {"model": "m", "file": "a.json"}
LONG = "a-lab/a-model-with-a-long-name-of-many-characters arithmetic plan+generate"


def logs(parts: dict[str, dict[str, str]] | None = None, /, **scores: list[Any]) -> Samples:
    """Samples of the tasks t0, t1 ...: a score of each, or a list of them."""
    found = Samples(score="match", parts={arm: (parts or {}).get(arm, {"arm": arm}) for arm in scores})
    for arm, values in scores.items():
        for place, value in enumerate(values):
            for n, one in enumerate(value if isinstance(value, list) else [value]):
                error = one if isinstance(one, str) else ""
                score = SampleScore(0.0 if error else one)
                found.samples.append(TaskSample(f"t{place}", arm, str(n), {"match": score}, error=error))
    return found


def shown(found: Samples, width: int = 100, **rules: Any) -> str:
    comparison = compare(found, CountingRules(**rules), resampling=Resampling(n_resamples=200))
    return printed(LogTable(comparison, "jsonl"), width)


def to_be_told() -> Samples:
    found = logs(a=[1] * 12, b=[0])
    found.problems = [f"mine.jsonl, line {n}: torn" for n in range(12)]
    found.alarms, found.notes = ["runs/led: reads the answer"], ["a note"]
    found.parts["c"] = {}
    cost: Any = {"tokens": 1200.0, "usd": 0.25, "seconds": 90.0}
    found.samples.append(TaskSample("u", "c", "0", {"match": SampleScore(1.0)}, **cost))
    return found


def test_every_part_of_the_table_is_as_it_was_looked_at() -> None:
    same_but = {"a": SAME, "b": {**SAME, "file": "b.json"}}, {"a": SAME, "b": {**SAME, "temperature": "1"}}
    failed, few = logs(a=[1, 0, "Timeout"], b=[0, 1]), logs(a=[0] * 7, b=[1] * 7, c=[1] * 2 + [0] * 5)
    long = logs(**{LONG: [1, 0, 0.5], f"{LONG} temperature=0.7": [1, 1, 0.5]})
    long.problems = [f"/a/long/path/{'x' * 120}.jsonl, line 3: expected a JSON object"]
    cases = {
        "two arms": shown(logs(weak=[1, 0, 0, 0], strong=[1, 1, 1, 0])),
        "some samples solve a task": shown(logs(a=[[1, 0], [1, 1, 1], [0, 0]], b=[[1, 1], [0, 0]])),
        "many tasks": shown(logs(a=[[1, 0]] * 10)),
        "repeats": shown(logs(same_but[0], a=[1, 0], b=[0, 0])),
        "no repeats": shown(logs(same_but[1], a=[1, 0], b=[0, 0])),
        "to be told": shown(to_be_told()),
        "errors left out": shown(failed),
        "errors are wrong": shown(failed, errors=WRONG),
        "errors are scored": shown(failed, errors=SCORED),
        "few tasks, one row hardly apart": shown(few),
        "enough tasks": shown(logs(a=[0] * 30, b=[1] * 30)),
        "success is not known": shown(logs(a=[0.5], b=[0.25])),
        "success from a score on": shown(logs(a=[0.5], b=[0.25]), success_at=0.5),
        "80 columns": shown(long, 80, success_at=0.5),
        "names that change a terminal": shown(logs(**{"a\x1b[31m": [1], "b\u202e": [0]})),
    }
    require_snapshot("log_table.txt", "\n".join(f"=== {name}\n{text}" for name, text in cases.items()))
    listed = compare(logs(a=[[1, 0]] * 10, b=[[1, 1]] * 10), resampling=Resampling(n_resamples=50)).as_json()
    assert len(listed["arms"]["a"]["flaky"]) == 10, "in full"
    require_snapshot("log_table.json", compare(failed, resampling=Resampling(n_resamples=200)).as_json())


def test_the_least_tasks_that_can_differ_by_more_than_chance() -> None:
    for test in (lambda n: mcnemar_exact(n, 0), lambda n: sign_flip([1.0] * n)):
        assert test(LEAST_APART) < 0.05 < test(LEAST_APART - 1) == 0.0625


def test_tasks_with_fewer_samples_than_k_are_told() -> None:
    found = logs(full=[[1, 1, 1], [0, 1], [1, 1]], part=[[1, 1], [0, 1], 1])
    comparison = compare(found, ks=(2, 3), resampling=Resampling(n_resamples=200))
    of_k = {name: [text(one) for _, text in pass_columns([one])][-1] for name, one in comparison.arms.items()}
    assert of_k == {"full": "3/1", "part": "2"}
    assert pass_columns(list(comparison.arms.values()))[-1][0] == "tasks\nk = 2/3"
    assert pass_columns(list(comparison.arms.values()))[-1][1](comparison.arms["part"]) == "2/-"


A, B = {"model": "a", "task": "t"}, {"model": "b", "task": "t"}


@pytest.mark.parametrize(
    ("logs", "names"),
    [
        ([A], ["a"]),
        ([A, B], ["a", "b"]),
        ([A, {**A, "task": "u"}], ["t", "u"]),
        ([A, {**B, "task": "u"}], ["a t", "b u"]),
        ([{"model": "a", "temperature": one, "n": "8"} for one in "01"], ["a temperature=0", "a temperature=1"]),
        ([{"model": "a", "n": "8"}, {"model": "a"}], ["a n=8", "a"]),
        ([{"model": "a"}, {"model": "a"}], ["a 0.json", "a 1.json"]),
        ([{"model": "a"}, A], ["a", "a t"]),
        # the setting that tells most apart comes first
        ([{"model": "a", "twice": str(n // 2), "each": str(n)} for n in range(4)], [f"a each={n}" for n in range(4)]),
    ],
)
def test_names_have_what_differs_and_no_more(logs: list[dict[str, str]], names: list[str]) -> None:
    own = [{**parts, "file": f"{n}.json", "path": f"logs/{n}.json"} for n, parts in enumerate(logs)]
    assert named_apart(own, ("model", "task")) == names
    of_folders = [{"model": "a", "file": "log.json", "path": f"{folder}/log.json"} for folder in "xy"]
    assert named_apart(of_folders, ("model", "task")) == ["a x/log.json", "a y/log.json"]


def test_settings_are_short_and_the_first_of_a_name_counts() -> None:
    found = short_settings([{"n": 8, "long": "x" * 100, "none": None}, None, {"n": 9, "flag": True}])
    assert {name: value for name, value in found.items() if name != SETUP} == {"n": "8", "flag": "true"}
    assert found[SETUP] != short_settings([{"n": 8, "flag": True}])[SETUP], "what is long counts, too"
