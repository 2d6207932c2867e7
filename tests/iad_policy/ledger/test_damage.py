"""Damage to a finished run costs the episodes that it touches, for every reader, and the same command repairs it."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random, SystemRandom

import pytest

from iad_policy.report.results import read_results
from iad_policy.report.viewer.server import create_app
from tests.command_line import iad
from tests.effort import some, times
from tests.iad_policy.ledger.finished_run import Episodes, boarded, command, exported, shown, warned

LINES = ("answers.jsonl", "episodes.jsonl")
ODD = (b"[1]", b"null", b"7", b"{}", b'"text"', b'{"key": "x"}', b'{"episode": [], "kind": {}}')
REQUIRED = {"episode", "item", "question", "kind", "action", "key", "score", "observation", "info", "done", "candidate"}
"""Fields of a log's line without which it can't be read. Without another one it reads as one that never had it."""


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


@contextmanager
def parts_of(folder: Path, random: Random) -> Iterator[list[bytes]]:
    """The lines of one of the files, or all blobs, to be changed."""
    name = random.choice([*LINES, "blobs"])
    if name in LINES:
        yield (lines := lines_of(folder / name))
        (folder / name).write_bytes(b"".join(lines))
        return
    paths = sorted((folder / name).iterdir())
    yield (blobs := [path.read_bytes() for path in paths])
    for path, content in zip(paths, blobs, strict=False):
        path.write_bytes(content)


def zeroed(line: bytes, random: Random) -> bytes:
    start = random.randrange(len(line))
    end = random.randint(start + 1, len(line))
    return line[:start] + bytes(end - start) + line[end:]


LINE_CHANGES: dict[str, Callable[[bytes, Random], bytes]] = {
    "cut": lambda line, random: line[: random.randrange(len(line))] + random.choice([b"", b"\n"]),
    "zeroed": zeroed,
    "turned": lambda line, random: line[(place := random.randrange(1, len(line))) :] + line[:place],
    "in latin 1": lambda line, random: line[: (at := random.randrange(len(line)))] + b"d\xe9j\xe0" + line[at:],
    "nested": lambda line, random: b"[" * random.choice([500, 5000, 200_000]) + b"\n",
    "of another kind": lambda line, random: random.choice(ODD) + b"\n",
}
"""What happens to one line of a file, or to a whole blob."""


def in_a_line(change: Callable[[bytes, Random], bytes]) -> Callable[[Path, Random], None]:
    def damage(folder: Path, random: Random) -> None:
        with parts_of(folder, random) as parts:
            place = random.randrange(len(parts))
            parts[place] = change(parts[place], random)

    return damage


def shortened(folder: Path, random: Random) -> None:
    """A file ends somewhere."""
    path = folder / random.choice(LINES)
    path.write_bytes(path.read_bytes()[: random.randrange(path.stat().st_size)])


def swapped(folder: Path, random: Random) -> None:
    """Two lines or two blobs change places."""
    with parts_of(folder, random) as parts:
        one, two = random.randrange(len(parts)), random.randrange(len(parts))
        parts[one], parts[two] = parts[two], parts[one]


def duplicated(folder: Path, random: Random) -> None:
    """A line comes twice, or a blob does and those after it lie under the names of others."""
    with parts_of(folder, random) as parts:
        parts.insert(random.randint(0, len(parts)), random.choice(parts))


def lacking(folder: Path, random: Random) -> None:
    """A line lacks a field."""
    path = folder / random.choice(LINES)
    lines = lines_of(path)
    place = random.randrange(len(lines))
    record = json.loads(lines[place])
    names = record.keys() & REQUIRED if path.name == "answers.jsonl" else {"key", "env", "task_id", "seed"}
    del record[random.choice(sorted(names - {"key"} if record.get("kind") == "outcome" else names))]
    lines[place] = f"{json.dumps(record)}\n".encode()
    path.write_bytes(b"".join(lines))


def lost(folder: Path, random: Random) -> None:
    """A blob is missing or empty."""
    blob = random.choice(sorted((folder / "blobs").iterdir()))
    blob.unlink()
    if random.random() < 0.5:
        blob.touch()


DAMAGES: dict[str, Callable[[Path, Random], None]] = {
    **{name: in_a_line(change) for name, change in LINE_CHANGES.items()},
    **{damage.__name__: damage for damage in (shortened, swapped, duplicated, lacking, lost)},
}


def touched(whole: Path, damaged: Path) -> set[str]:
    """The keys of the episodes of which a line or a blob is not as it was."""
    keys = set()
    for name, part in zip(LINES, ("episode", "key"), strict=True):
        missing = Counter(lines_of(whole / name)) - Counter(lines_of(damaged / name))
        keys |= {json.loads(line)[part] for line in missing}
    here = {blob.name: blob.read_bytes() for blob in (damaged / "blobs").iterdir()}
    changed = [blob.stem.encode() for blob in (whole / "blobs").iterdir() if here.get(blob.name) != blob.read_bytes()]
    lines = [line for line in lines_of(whole / "answers.jsonl") if any(name in line for name in changed)]
    return keys | {json.loads(line)["episode"] for line in lines}


N_DAMAGES, N_RUN_AGAIN, SEED = times(300), times(40), 16


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


SEEDS = (*range(SEED, SEED + N_DAMAGES), SystemRandom().randrange(2**32))


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


@pytest.mark.parametrize("name", some(sorted(DAMAGES), 3))
def test_viewer_and_agentboard_go_on_without_damaged_episodes(name: str, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    DAMAGES[name](folder, Random(SEED))
    with warned():
        n_whole = 6 - len(touched(whole, folder))
        assert read_results(folder).n_episodes >= n_whole
        assert boarded(folder, tmp_path) >= n_whole
        client = create_app([folder]).test_client()
        assert (client.get("/").status_code, len(client.get("/api/runs").get_json())) == (200, 1)
        lines = client.get("/api/episodes/0/0").get_json()["lines"]
        assert len(lines) >= n_whole
        answers = [client.get(f"/api/episode/0/{one['key']}") for one in lines]
    assert [one.status_code for one in answers] == [200] * len(answers)
    assert all("steps" in one.get_json() or "damaged" in one.get_json() for one in answers)


def test_the_commands_say_what_is_damaged_in_a_plain_line_each_and_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = ("run", "IAD/WebShop-v0", "--strategy", "bon", "--tasks", 3, "--out", folder)
    assert iad(*run).exit_code == 0
    log = folder / "answers.jsonl"
    lines = lines_of(log)
    log.write_bytes(b"".join([lines[0], lines[1][:50] + bytes(20) + lines[1][70:], *lines[2:]]))
    with (folder / "episodes.jsonl").open("a") as file:
        file.write("torn\n[]\n")
    for asked in (("export", folder, "--out", tmp_path / "rows.jsonl"), ("report", folder)):
        said = iad(*asked).stderr.splitlines()
        assert all(line.startswith("iad: ") for line in said), said
        assert [line.partition("episodes.jsonl, line ")[2] for line in said if "episodes.jsonl" in line] == [
            f"{number}: expected a JSON object; the line is skipped" for number in (4, 5)
        ]
        assert any("answers.jsonl" in line and "expected a JSON object" in line for line in said)
    assert "1 of 3 episodes had damaged answers. They are run again." in iad(*run).stdout
    done = iad("report", folder)
    assert (done.exit_code, done.stderr, "Report: " in done.stdout) == (0, "", True)
    (folder / "config.json").write_text("{")
    for asked in (run, ("view", folder)):
        refused = iad(*asked)
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert refused.stderr.startswith("iad: expected the configuration of a run in ")
