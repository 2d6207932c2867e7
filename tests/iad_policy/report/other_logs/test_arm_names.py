import pytest

from iad_policy.report.other_logs.shared import named_apart, short_settings
from iad_policy.report.samples import SETUP

MAIN = ("model", "task")


def log(place: int, **parts: str) -> dict[str, str]:
    return {**parts, "file": f"{place}.json", "path": f"logs/{place}.json"}


@pytest.mark.parametrize(
    ("logs", "names"),
    [
        ([{"model": "a", "task": "t"}], ["a"]),
        ([{"model": "a", "task": "t"}, {"model": "b", "task": "t"}], ["a", "b"]),
        ([{"model": "a", "task": "t"}, {"model": "a", "task": "u"}], ["t", "u"]),
        ([{"model": "a", "task": "t"}, {"model": "b", "task": "u"}], ["a t", "b u"]),
        (
            [{"model": "a", "temperature": "0", "n": "8"}, {"model": "a", "temperature": "1", "n": "8"}],
            ["a temperature=0", "a temperature=1"],
        ),
        ([{"model": "a", "n": "8"}, {"model": "a"}], ["a n=8", "a"]),
        ([{"model": "a"}, {"model": "a"}], ["a 0.json", "a 1.json"]),
        ([{"model": "a"}, {"model": "a", "task": "t"}], ["a", "a t"]),
        (  # the setting that tells most apart comes first
            [{"model": "a", "twice": str(place // 2), "each": str(place)} for place in range(4)],
            [f"a each={place}" for place in range(4)],
        ),
    ],
)
def test_names_have_what_differs_and_no_more(logs: list[dict[str, str]], names: list[str]) -> None:
    assert named_apart([log(place, **parts) for place, parts in enumerate(logs)], MAIN) == names
    of_folders = [{"model": "a", "file": "log.json", "path": f"{folder}/log.json"} for folder in "xy"]
    assert named_apart(of_folders, MAIN) == ["a x/log.json", "a y/log.json"]


def test_settings_are_short_and_the_first_of_a_name_counts() -> None:
    found = short_settings([{"n": 8, "long": "x" * 100, "none": None}, None, {"n": 9, "flag": True}])
    assert {name: value for name, value in found.items() if name != SETUP} == {"n": "8", "flag": "true"}
    assert found[SETUP] != short_settings([{"n": 8, "flag": True}])[SETUP], "what is long counts, too"
