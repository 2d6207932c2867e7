"""A run folder under bad luck: a full disk, torn lines, lost blobs, a second runner; and what it keeps in memory."""

import json
import re
from collections.abc import Sequence
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from iad_policy.agents.language import LanguageAgent
from iad_policy.budget import Meter
from iad_policy.commands.terminal_run import run_session
from iad_policy.errors import RunFolderError, StorageError
from iad_policy.ledger.answer_log import AnswerLine, AnswerLog
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.models import Completion
from iad_policy.run.journal import RunJournal, RunStopped
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.types import Candidate, Part, State, Usage, Verdict
from iad_policy.types.jsonl import MAX_LINE, LineFile
from tests.command_line import iad, limited
from tests.iad_policy.evaluation_toy import DialsEnv, Guesser, config, kept, runner

SHOP = "IAD/WebShop-v0"
RUN = ("run", SHOP, "--strategy", "bon", "--tasks", 4, "--workers", 3, "--out")


def outcomes(folder: Path) -> dict[str, Any]:
    return {key: (one.actions, one.reward, one.success) for key, one in Run(folder).records.items()}


@pytest.mark.parametrize("n_bytes", [*(pytest.param(n, marks=pytest.mark.slow) for n in (900, 20_000)), 60_001])
def test_a_full_disk_is_said_and_costs_nothing(n_bytes: int, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    assert iad(*RUN, whole).exit_code == 0
    full = limited(n_bytes, *RUN, tmp_path / "full")
    assert (full.returncode, full.stderr.count("\n")) == (2, 1)
    assert re.match("iad: expected to write .*repeat the command to continue", full.stderr)
    path = tmp_path / "full" / "answers.jsonl"
    assert not path.exists() or all(json.loads(line) for line in path.read_text().splitlines())
    again = iad(*RUN, tmp_path / "full")
    assert (again.exit_code, again.stderr, "incomplete" in again.stdout) == (0, "", False)
    assert outcomes(tmp_path / "full") == outcomes(whole)
    if n_bytes > 1000:  # what was kept is not asked again
        items = [(line["episode"], line["item"]) for line in map(json.loads, path.read_text().splitlines())]
        assert len(items) == len(set(items)) == len((whole / "answers.jsonl").read_text().splitlines())


OTHERS = ("train bc explored --out model", f"explore {SHOP} --how outcomes --tasks 1 --out model", "report explored")
OTHERS += ("reselect explored --verifier proxy --out again",)
SLOW_OTHERS = [pytest.param(other, marks=pytest.mark.slow) for other in OTHERS]


@pytest.mark.parametrize("other", ["export explored --out rows.jsonl", *SLOW_OTHERS])
def test_other_commands_say_so_too(other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert iad("explore", SHOP, "--tasks", 3, "--episodes", 1, "--out", "explored").exit_code == 0
    before = {path: path.read_bytes() for path in Path("explored").rglob("*.jsonl")}
    full = limited(900, *other.split())
    assert (full.returncode, full.stderr.count("\n"), full.stderr.count("expected to write")) == (2, 1, 1), full.stderr
    assert "Free some space, then repeat the command" in full.stderr
    assert {path: path.read_bytes() for path in Path("explored").rglob("*.jsonl")} == before
    again = iad(*other.split())
    assert again.exit_code == 0, again.output


class Brimful:
    """A raw file with room for some bytes."""

    def __init__(self, path: Path, room: int) -> None:
        self._file, self._room = path.open("ab", buffering=0), room

    def write(self, content: bytes) -> int:
        n = min(self._room, len(content), 7)  # a little at a time, as a kernel may
        self._room -= n
        if not n:
            raise OSError(28, "No space left on device")
        return self._file.write(content[:n])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_a_line_that_does_not_fit_leaves_no_part_of_it(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "lines", opened=lambda path: Brimful(path, 50))
    one, two, three = (f'{{"{letter}": "0123456789"}}\n'.encode() for letter in "abc")
    file.append(one)
    file.append(two)
    with pytest.raises(StorageError, match="No space left on device; earlier results are kept"):
        file.append(three)
    file.close()
    assert (tmp_path / "lines").read_bytes() == one + two


@pytest.mark.parametrize("name", ["answers.jsonl", "episodes.jsonl"])
def test_a_torn_last_line_is_repaired_and_that_is_said(name: str, tmp_path: Path) -> None:
    agent = Guesser()

    def session() -> str:
        console = Console(file=StringIO(), width=200)
        assert run_session(runner(agent, strategies=("iad",)), tmp_path, console) == 0
        return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]

    assert "incomplete" not in session()
    whole, n_calls = outcomes(tmp_path), agent.n_calls
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-9])
    assert f"{name}: the last line was incomplete" in session()
    assert (outcomes(tmp_path), agent.n_calls) == (whole, n_calls)  # an episode's line is made of its answers
    assert "incomplete" not in session()


def test_answers_of_finished_episodes_are_not_even_read(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with closing(AnswerLog(tmp_path)) as log:
        for key in ("done", "open"):
            said = {"kind": "text", "role": "critic", "text": key, "source": "template"}
            log.episode(key).write(AnswerLine("0.0.0", "q", said))
    path.write_bytes(path.read_bytes().replace(b'"text":"done"', b'"text":done"'))  # would be noticed if it were read
    with closing(AnswerLog(tmp_path, without={"done"})) as log:
        assert log.episode("done").recorded("0.0.0", "q") is None
        assert (log.episode("open").recorded("0.0.0", "q") or {})["text"] == "open"
    with closing(AnswerLog(tmp_path)) as log, pytest.warns(UserWarning, match="byte 0: expected a JSON object"):
        assert log.episode("done").recorded("0.0.0", "q") is None


def test_a_folder_in_which_nothing_was_answered_takes_another_run(tmp_path: Path) -> None:
    def opened(model: str, kind: str = "x", **given: Any) -> RunFolder:
        return RunFolder(tmp_path, {"agent": "a", "identity": {"a": {"model": model, "kind": kind}}}, **given)

    reset = b'{"episode":"e","item":"reset","question":"step","kind":"step"}\n'
    lost = EpisodeRecord("e", SHOP, "t", "single", 0, error_kind="connection")
    with opened("at 8099") as folder:
        folder.add(lost)
    (tmp_path / "answers.jsonl").write_bytes(reset)
    with opened("at 8080") as folder:
        assert folder.episodes == {}
        folder.add(lost)
    (tmp_path / "answers.jsonl").write_bytes(reset + reset.replace(b"reset", b"0.0.0"))
    with pytest.raises(RunFolderError) as caught:
        opened("at 8082", "x y")
    difference = 'a: kind (there "x", now "y"), identity: a: model (there "8080", now "8082")'
    assert all(part in str(caught.value) for part in (difference, "--fresh"))
    with opened("at 8082", is_fresh=True) as folder:
        assert folder.config["identity"]["a"]["model"] == "at 8082"


def test_a_server_that_is_not_there_ends_a_run_at_once_but_not_one_that_was_answered(tmp_path: Path) -> None:
    lost = EpisodeRecord("e", SHOP, "t", "single", 0, error_kind="connection", error="nobody\nlistens")
    with RunFolder(tmp_path, {}) as folder:
        meter = Meter({})
        with pytest.raises(RunStopped, match="nobody listens") as caught:
            RunJournal(folder, meter).refuse_if_fatal(lost)
        assert caught.value.is_failure
        meter.charge("agent", Usage(completion_tokens=1))
        RunJournal(folder, meter).refuse_if_fatal(lost)


LARGE = "\U0001f600" * 750_000
"""A text of 12 bytes a character in a line: the line that has it is beyond `MAX_LINE` as soon as it has it twice."""


class Large:
    """Agent, verifier, roles and model whose one part says much, and which count what they are asked."""

    information, needs_preview, source, name = "proxy", False, "large", "large"

    def __init__(self, part: str) -> None:
        self._said, self.n_asked = {part: LARGE}, 0

    def _part(self, part: str) -> str:
        self.n_asked += 1
        return self._said.get(part, "")

    def propose(self, state: State, **given: Any) -> Candidate:
        if self._part("error"):
            raise RuntimeError(LARGE * 4)
        thought = self._said.get("thought", "")
        return Candidate(f"turn[1]{self._said.get('action', '')}", thought, parts=(Part("plan", thought),))

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        said = self._part("critique")
        return [Verdict(0.5, said, details={"why": said}) for _ in candidates]

    def answer(self, role: str, state: State, subject: Any) -> str:
        return self._part("role") * 2

    def complete(self, messages: Any, **given: Any) -> Completion:
        return Completion(f"Action: turn[1]\n{self._part('answer') * 3}")


SLOW_PARTS = [pytest.param(one, marks=pytest.mark.slow) for one in ("thought", "action", "critique")]


@pytest.mark.parametrize("part", ["answer", "role", "error", *SLOW_PARTS])
def test_the_largest_of_everything_is_read_again_and_not_asked_again(part: str, tmp_path: Path) -> None:
    large = Large(part)
    here = Components(LanguageAgent(large) if part == "answer" else large, large, large)
    asked = config(strategies=("iad",), tasks=1, n=(2,), feedback="best-worst-judge", keep_going=True)

    def play() -> int:
        large.n_asked = 0
        kept(Runner(asked, lambda: DialsEnv(max_steps=1), lambda *_: here), tmp_path)
        return large.n_asked

    assert play() > 0
    written = [(tmp_path / name).read_bytes() for name in ("answers.jsonl", "episodes.jsonl")]
    assert max(len(line) for text in written for line in text.split(b"\n")) < MAX_LINE
    (record,) = Run(tmp_path).records.values()
    assert (record.error_kind != "") is (part == "error")
    if part != "error":
        assert len(Run(tmp_path).episode(record.key).steps) == record.n_steps
        (tmp_path / "episodes.jsonl").unlink()
        assert play() == 0
        assert Run(tmp_path).records[record.key].actions == record.actions
