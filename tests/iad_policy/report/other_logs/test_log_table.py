from io import StringIO

import pytest
from rich.console import Console

from iad_policy.report.compare import Resampling, compare
from iad_policy.report.comparison_table import LEAST_APART, pass_columns
from iad_policy.report.other_logs.log_table import LogTable
from iad_policy.report.samples import SCORED, WRONG, CountingRules, Samples, SampleScore, TaskSample
from iad_policy.report.statistics import mcnemar_exact, sign_flip


def logs(**scores: list[float]) -> Samples:
    """One sample per task, of the tasks t0, t1 ..."""
    found = Samples(score="match", parts={arm: {"arm": arm} for arm in scores})
    for arm, values in scores.items():
        for place, value in enumerate(values):
            found.samples.append(TaskSample(f"t{place}", arm, "0", {"match": SampleScore(value)}))
    return found


def shown(found: Samples, width: int = 100, **rules: object) -> str:
    comparison = compare(found, CountingRules(**rules), resampling=Resampling(n_resamples=200))  # type: ignore[arg-type]
    console = Console(width=width, file=StringIO(), record=True)
    console.print(LogTable(comparison, "jsonl"))
    return console.export_text()


def line_of(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(start))


def test_the_table_has_each_arm_and_each_difference() -> None:
    text = shown(logs(weak=[1, 0, 0, 0], strong=[1, 1, 1, 0]))
    assert text.splitlines()[0] == "jsonl: 2 arms, 4 tasks, 8 samples; score: match"
    assert line_of(text, "weak").split() == ["weak", "0.250", "[.05,.70]", "4", "4"]
    assert "Difference to weak on the same tasks" in text
    assert line_of(text.partition("Difference")[2], "strong").split() == [
        *("strong", "+0.500", "[+.00,+1.00]", "2:0", "0.500", "0.991", "4")
    ]
    assert "exact McNemar test on success, adjusted by Holm for 1 row." in " ".join(text.split())


def test_tasks_with_fewer_samples_than_k_are_told() -> None:
    found = logs(full=[1, 0, 1], part=[1, 0, 1])
    assert "k = " not in shown(found)
    for arm, tasks in (("full", "t0 t1 t2"), ("part", "t0 t1")):
        found.samples += [TaskSample(task, arm, "1", {"match": SampleScore(1)}) for task in tasks.split()]
    found.samples.append(TaskSample("t0", "full", "2", {"match": SampleScore(1)}))
    comparison = compare(found, ks=(2, 3), resampling=Resampling(n_resamples=200))
    of_k = {name: [text(one) for _, text in pass_columns([one])][-1] for name, one in comparison.arms.items()}
    assert of_k == {"full": "3/1", "part": "2"}
    assert pass_columns(list(comparison.arms.values()))[-1][0] == "tasks\nk = 2/3"
    assert pass_columns(list(comparison.arms.values()))[-1][1](comparison.arms["part"]) == "2/-"


SAME = {"model": "m", "file": "a.json"}


@pytest.mark.parametrize(
    ("scores", "parts", "said"),
    [
        ({"a": [[1, 0], [1, 1], [0, 0]]}, {}, "samples solve and others don't. a: 1 (t0 1/2)."),
        ({"a": [[1, 0]] * 10}, {}, "a: 10 (t0 1/2, t1 1/2, t2 1/2 and 7 more)."),
        ({"a": [[1, 1]], "b": [[0, 0]]}, {}, ""),
        (
            {"a": [[1], [0]], "b": [[0], [0]]},
            {"a": SAME, "b": {**SAME, "file": "b.json"}},
            "repeats solve and others don't. a and b: 1 (t0 1/2).",
        ),
        ({"a": [[1], [0]], "b": [[0], [0]]}, {"a": SAME, "b": {**SAME, "temperature": "1"}}, ""),
    ],
)
def test_tasks_that_some_samples_solve_and_others_dont_are_listed(
    scores: dict[str, list[list[float]]], parts: dict[str, dict[str, str]], said: str
) -> None:
    found = Samples(score="match", parts={arm: parts.get(arm, {"arm": arm}) for arm in scores})
    for arm, tasks in scores.items():
        for place, values in enumerate(tasks):
            for n, value in enumerate(values):
                found.samples.append(TaskSample(f"t{place}", arm, str(n), {"match": SampleScore(value)}))
    text = " ".join(shown(found).split())
    assert (said in text, "Flaky tasks" in text) == (True, bool(said))
    listed = compare(found, resampling=Resampling(n_resamples=50)).as_json()
    n_listed = sum(map(len, listed["flaky"].values())) + sum(len(one["flaky"]) for one in listed["arms"].values())
    assert n_listed == (10 if "and 7 more" in said else bool(said)), "in full"


@pytest.mark.parametrize("width", [80, 100])
def test_lines_fit_the_terminal(width: int) -> None:
    name = "a-lab/a-model-with-a-long-name-of-many-characters arithmetic plan+generate"
    found = logs(**{name: [1, 0, 0.5], f"{name} temperature=0.7": [1, 1, 0.5]})
    found.problems = [f"/a/long/path/{'x' * 120}.jsonl, line 3: expected a JSON object"]
    text = shown(found, width, success_at=0.5)
    assert max(map(len, text.splitlines())) <= width
    assert "temperature=0.7" in text


def test_what_must_not_be_overlooked_is_told() -> None:
    found = logs(a=[1], b=[0])
    found.problems = [f"mine.jsonl, line {n}: torn" for n in range(12)]
    found.alarms = ["runs/led: reads the answer"]
    found.parts["c"] = {}
    found.samples.append(TaskSample("u", "c", "0", {"match": SampleScore(1.0)}))
    text = shown(found)
    assert text.splitlines()[1] == "*** runs/led: reads the answer ***", "before any figure"
    for said in (
        "NOT READ: mine.jsonl, line 0: torn",
        "NOT READ: 4 more, which are in --json",
        "COMPARED WITH NOTHING, because no other arm has the same tasks: c.",
    ):
        assert said in text
    text = " ".join(shown(logs(a=[1] * 12, b=[0])).split())
    assert "UNPAIRED TASKS of b and a: 11 only of a (t1, t2, t3, t4, t5, t6, t7, t8 and 3 more)." in text


def test_errors_are_told_with_what_can_be_done() -> None:
    found = logs(a=[1, 0], b=[0, 1])
    found.samples.append(TaskSample("t2", "a", "0", {"match": SampleScore(0.0)}, error="Timeout"))
    left_out = "ERRORED SAMPLES ARE LEFT OUT of every mean: 1 of a (1 Timeout). --errors wrong counts them as wrong."
    text = " ".join(shown(found).split())
    assert f"{left_out} Their logs score 1 of them all the same: --errors scored." in text
    assert "SAMPLES THAT FAILED COUNT AS WRONG: 1 of a (1 Timeout)." in shown(found, errors=WRONG)
    assert "1 SAMPLES THAT FAILED COUNT with the score in their log" in shown(found, errors=SCORED)
    assert "ERRORED" not in shown(logs(a=[1, 0], b=[0, 1]))


def test_few_tasks_are_told_and_what_their_tests_can_show() -> None:
    text = " ".join(shown(logs(a=[0] * 7, b=[1] * 7, c=[1] * 2 + [0] * 5)).split())
    assert "FEW TASKS: 7 tasks can tell large differences only. Below 30, intervals are rough." in text
    assert "Where 5 tasks differ or fewer, p is at least 0.0625, also unadjusted: c (2)." in text
    assert "p is at least" not in shown(logs(a=[0] * 7, b=[1] * 7))
    assert "FEW TASKS" not in shown(logs(a=[0] * 30, b=[1] * 30))
    for test in (lambda n: mcnemar_exact(n, 0), lambda n: sign_flip([1.0] * n)):
        assert test(LEAST_APART) < 0.05 < test(LEAST_APART - 1) == 0.0625


def test_success_that_is_not_known_is_told() -> None:
    assert "--success-at SCORE says what counts as one" in shown(logs(a=[0.5], b=[0.25]))
    text = shown(logs(a=[0.5], b=[0.25]), success_at=0.5)
    assert "--success-at" not in text
    assert "(match >= 0.5)" in text


def test_names_from_logs_can_not_change_the_terminal() -> None:
    text = shown(logs(**{"a\x1b[31m": [1], "b\u202e": [0]}))
    assert "\x1b" not in text
    assert "b\u202e" not in text.replace("\u2068b\u202e\u2069", "")
