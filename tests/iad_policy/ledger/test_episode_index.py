"""The index of episodes reads every line, and parses no more of the file than it is asked for."""

import json
import warnings
from pathlib import Path

import pytest

from iad_policy.ledger.episode_index import EpisodeIndex
from iad_policy.ledger.episode_record import EPISODES, EpisodeRecord
from iad_policy.types.hashing import dumps

NAMES = [("b", 1), ("a", 0), ('quoted "a"', 0), ("b", 0), ("\u05d0 \\ b", 2), ("a", 0)]
RECORDS = [
    EpisodeRecord(f"{place:032x}", "Toy", name, "iad", seed, instruction=f"Do {name}", reward=float(place))
    for place, (name, seed) in enumerate(NAMES)
]


def written(folder: Path, *lines: str | EpisodeRecord) -> Path:
    path = folder / EPISODES
    path.write_text("".join(f"{one if isinstance(one, str) else dumps(one.as_json())}\n" for one in lines))
    return path


def test_it_holds_the_records_by_task_and_seed(tmp_path: Path) -> None:
    spaced = json.dumps(RECORDS[1].as_json())  # as others write JSON
    turned = json.dumps(dict(reversed(RECORDS[3].as_json().items())))
    path = written(tmp_path, RECORDS[0], spaced, RECORDS[2], turned, *RECORDS[4:])
    index = EpisodeIndex(path)
    assert index.refresh()
    assert not index.refresh()
    assert index.all() == {one.key: one for one in RECORDS}
    in_order = [index.record(key) for key in index.in_order]
    assert in_order == sorted(RECORDS, key=lambda one: (one.task_id, one.seed))
    assert index.read_to == path.stat().st_size
    assert RECORDS[0].key in index
    with pytest.raises(KeyError):
        index.record("f")


def test_only_what_is_asked_for_is_parsed(tmp_path: Path) -> None:
    damaged = dumps(RECORDS[1].as_json()).replace('"reward":1.0', '"reward":"much"')
    index = EpisodeIndex(written(tmp_path, RECORDS[0], damaged, "no record"))
    with pytest.warns(UserWarning, match="the line is skipped"):
        index.refresh()
    assert len(index) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(index.records([RECORDS[0].key])) == RECORDS[:1]
    with pytest.warns(UserWarning, match="line 2"):
        assert index.all() == {RECORDS[0].key: RECORDS[0]}
    assert index.in_order == [RECORDS[0].key]


def test_the_later_of_two_lines_counts_unless_it_is_damaged(tmp_path: Path) -> None:
    again = EpisodeRecord.of({**RECORDS[0].as_json(), "reward": 9.0})
    path = written(tmp_path, RECORDS[0], RECORDS[1])
    index = EpisodeIndex(path)
    index.refresh()
    assert index.record(again.key).reward == 0.0
    with path.open("a") as file:
        file.write(f"{dumps(again.as_json())}\n{dumps(RECORDS[2].as_json())[:40]}")
    assert index.refresh()
    assert index.record(again.key).reward == 9.0
    assert (len(index), list(index.all())) == (2, [again.key, RECORDS[1].key])
    damaged = dumps(again.as_json()).replace('"reward":9.0', '"reward":[]')
    index = EpisodeIndex(written(tmp_path, RECORDS[0], damaged))
    index.refresh()
    with pytest.warns(UserWarning, match="the line is skipped"):
        assert index.record(again.key) == RECORDS[0]
