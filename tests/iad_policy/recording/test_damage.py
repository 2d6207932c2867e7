"""Damage to a finished run costs the episodes that it touches, for every reader, and the same command repairs it."""

import json
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pytest

from iad_envs.core import View
from iad_policy.analysis.agentboard import write_agentboard
from iad_policy.analysis.exports import export_runs
from iad_policy.analysis.results import read_results
from iad_policy.analysis.viewer.server import create_app
from iad_policy.analysis.viewer.shown import ShownTable, episode_json
from iad_policy.evaluate import Finished, execute
from iad_policy.evaluation.runner import Runner
from iad_policy.recording.trace import RunTraces
from tests.iad_policy.evaluation_toy import DialsEnv, Guesser, cast, config
from tests.iad_policy.recording.damage import DAMAGES, touched

N_DAMAGES = 500
N_RUN_AGAIN = 60
SEED = 16
Episodes = dict[str, Any]


class Hall(DialsEnv):
    """Dials in a hall that takes long to describe, so that its states are kept in blobs."""

    def _view(self, state: str, complaint: str) -> View:
        view = super()._view(state, complaint)
        return view._replace(observation=f"{view.observation} {'The hall is long. ' * 80}")


def command(folder: Path) -> Finished:
    """Run what `iad compare` runs."""
    here = cast(Guesser())
    runner = Runner(config(strategies=("single", "iad"), n=2, tasks=3), Hall, lambda *_: here)
    return execute(runner, folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert command(folder).stopped is None
    return folder


@contextmanager
def warned() -> Iterator[list[str]]:
    """Collect warnings. They are what a user sees beside the result."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
        said += [str(one.message) for one in caught]


def timeless(value: Any) -> Any:
    """Return what was read without what was measured."""
    if isinstance(value, dict):
        return {name: timeless(part) for name, part in value.items() if name not in ("seconds", "wall_s")}
    return [timeless(part) for part in value] if isinstance(value, list) else value


def shown(folder: Path) -> Episodes:
    """The steps of the episodes as report and viewer show them, without those that are said to be damaged."""
    run = RunTraces(folder)
    episodes: Episodes = {}
    for key in run.records:
        table = ShownTable()
        steps = episode_json(run, key, table)
        if "damaged" not in steps:
            episodes[key] = timeless([steps, table.texts])
    return episodes


def exported(folder: Path, out: Path) -> Episodes:
    """The rows of the episodes in an export of decisions, and those in one of episodes."""
    export_runs([RunTraces(folder)], "jsonl", out / "rows.jsonl")
    episodes: Episodes = {}
    for name in ("rows.jsonl", "rows.episodes.jsonl"):
        for line in (out / name).read_text().splitlines():
            row = timeless(json.loads(line))
            episodes.setdefault(row["episode"], []).append({**row, "run": ""})
    return episodes


def boarded(folder: Path, out: Path) -> int:
    """The number of episodes in AgentBoard's files."""
    paths = write_agentboard([RunTraces(folder)], out / "board")
    return sum(len(path.read_text().splitlines()) for path in paths if path.suffix == ".jsonl")


def without(episodes: Episodes, keys: set[str]) -> Episodes:
    return {key: one for key, one in episodes.items() if key not in keys}


def damaged(whole: Path, folder: Path, seed: int) -> str:
    """Copy the run, damage the copy, and return what was done."""
    random = Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    name = random.choice(sorted(DAMAGES))
    DAMAGES[name](folder, random)
    return f"{name}, seed {seed}"


SEEDS = (*range(SEED, SEED + N_DAMAGES), *(SystemRandom().randrange(2**32) for _ in range(20)))


def test_all_readers_read_all_that_damage_did_not_touch(whole: Path, tmp_path: Path) -> None:
    before, rows = shown(whole), exported(whole, tmp_path)
    assert len(before) == len(rows) == 6
    n_hurt = 0
    for seed in SEEDS:
        done = damaged(whole, tmp_path / "run", seed)
        keys = touched(whole, tmp_path / "run")
        with warned():
            after = shown(tmp_path / "run")
            assert without(after, keys) == without(before, keys), done
            n_hurt += after != before
            if len(keys) < len(before):
                after = exported(tmp_path / "run", tmp_path)
                assert without(after, keys) == without(rows, keys), done
    assert n_hurt > N_DAMAGES / 2


def test_the_same_command_repairs_the_run(whole: Path, tmp_path: Path) -> None:
    before, rows = shown(whole), exported(whole, tmp_path)
    folder = tmp_path / "run"
    for seed in SEEDS[:: len(SEEDS) // N_RUN_AGAIN]:
        done = damaged(whole, folder, seed)
        with warned():
            assert command(folder).stopped is None, done
        with warned() as said:
            assert shown(folder) == before, done
            assert exported(folder, tmp_path) == rows, done
            assert read_results(folder).n_episodes == 6
        assert said == [], done


def test_an_intact_run_is_not_run_again(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    before = {path: path.read_bytes() for path in (folder / "answers.jsonl", folder / "episodes.jsonl")}
    with warned() as said:
        finished = command(folder)
    assert (finished.damaged, said) == ((), [])
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", sorted(DAMAGES))
def test_viewer_results_and_agentboard_go_on_without_the_damaged_episodes(
    name: str, whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    DAMAGES[name](folder, Random(SEED))
    with warned():
        n_whole = 6 - len(touched(whole, folder))
        assert read_results(folder).n_episodes >= n_whole
        assert boarded(folder, tmp_path) >= n_whole
        client = create_app([folder]).test_client()
        assert client.get("/").status_code == 200
        (head,) = client.get("/api/runs").get_json()
        answers = [client.get(f"/api/episode/0/{one['key']}") for one in head["episodes"]]
    assert [one.status_code for one in answers] == [200] * len(answers)
    assert all("steps" in one.get_json() or "damaged" in one.get_json() for one in answers)
