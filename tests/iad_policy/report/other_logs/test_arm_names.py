import pytest

from iad_policy.report.other_logs.shared import named_apart, short_settings
from iad_policy.report.samples import SETUP

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
