"""Hostile texts in every place of a run where text comes from outside, through all that shows, writes or asks it.

Agents, models, verifiers, roles and data say them. They go through the comparison with its table and a second run from
the log, the next prompts, the report, the viewer, and every format of an export.
"""

import base64
import io
import json
import math
import os
import re
import shutil
import sys
import zlib
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from rich.console import Console

from iad_envs.core import View
from iad_envs.spaces import UnicodeText
from iad_policy.agents.language import LanguageAgent
from iad_policy.commands.terminal_run import run_session
from iad_policy.ledger.run import Run
from iad_policy.models import Completion, Messages
from iad_policy.models.component import MAX_ANSWER
from iad_policy.report.agentboard import write_agentboard
from iad_policy.report.exports import FORMATS, export_runs
from iad_policy.report.viewer.report import write_report
from iad_policy.report.viewer.server import create_app
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.types import Candidate, Part, State, Verdict
from iad_policy.types.texts import shortened, well_formed
from tests.command_line import iad
from tests.effort import times
from tests.iad_policy.evaluation_toy import DIGITS, DialsEnv, Liker, config, runner

SHORT = (
    "a \ud83d",  # half a character, its other half, halves the wrong way round, and two
    "\ude00 b\0c" + os.fsdecode(b"\xff\xfe") + "\x1b[2J\x1b]0;x\x07\r\x9b2J",
    "\ude00\ud83d\u2028b\u2029c\x85d\ve\fg</script><!--[/bold]{{data}}$x ${y}",
    "\ud83d\ude00 \u202enwod edispu\u202b\u05d0 a\u2069\u2069\u202e\u2067b \uffff\ufeff\U0010ffff",
)
LONG = ("x" * times(10**6), "\ud83d" * times(10**5))


class Task(NamedTuple):
    task_id: str
    said: str

    @property
    def instruction(self) -> str:
        return f"Open {self.said}"

    @property
    def difficulty(self) -> str:
        return self.said[:60]


class OddDials(DialsEnv):
    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(len(texts), max_steps=3 if texts == SHORT else 1)  # a long text makes a large log
        self._tasks = {f"{said[:60]} {place}": Task(f"{said[:60]} {place}", said) for place, said in enumerate(texts)}
        self._task_ids = list(self._tasks)
        self.action_space = self.observation_space = UnicodeText(10**6)

    def _start(self, task: Any) -> str:
        self._said = task.said
        return ""

    def _view(self, state: str, complaint: str) -> View:
        view, said = super()._view(state, complaint), self._said
        return view._replace(observation=f"{view.observation} {said}", facts={said: said}, page={said: said})


class Talker:
    """A model that says texts around its actions, and takes only what a request can hold."""

    name = "talker"

    def __init__(self, texts: Sequence[str]) -> None:
        acts = zip(texts * 3, cycle(DIGITS), strict=False)
        self._answers = cycle([*(f"Thought: {said}\nAction: turn[{digit}]" for said, digit in acts), *texts])
        self.sent: list[str] = []

    def complete(
        self, messages: Messages, *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Completion:
        json.dumps(list(messages), ensure_ascii=False).encode()
        self.sent.append(next(self._answers))
        return Completion(self.sent[-1])


class Sayer:
    """An agent, a verifier and roles that say the text of the task in all that they say, or fail with it."""

    information, needs_preview, source = "proxy", True, "critic"

    def __init__(self, texts: Sequence[str], fails: bool = False) -> None:
        self._texts, self._fails = texts, fails
        self.actions: list[str] = []

    def said(self, state: State) -> str:
        return self._texts[int(state.info["task_id"].rpartition(" ")[2])]

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        said, kind = self.said(state), rng.randrange(3)
        if self._fails:
            raise RuntimeError(said)
        if kind == 2:
            return Candidate(None, thought=said, error=said)
        self.actions.append(f"turn[{rng.choice(DIGITS)}]{said if kind else ''}")
        return Candidate(self.actions[-1], thought=said, parts=(Part("thought", said),))

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        said = self.said(state)
        return [Verdict(sum(map(ord, one.key)) % 7 / 7, said, details={said[:60]: said}) for one in candidates]

    def answer(self, role: str, state: State, subject: Any) -> str:
        return "0" if role == "ranker" else self.said(state)


def compared(agent: Any, texts: Sequence[str], folder: Path, *strategies: str, code: int = 0) -> str:
    """Run a comparison at a terminal that takes UTF-8 and nothing else; returns what it printed."""
    here = Components(agent, Sayer(texts), Sayer(texts))
    asked = config(strategies=strategies, tasks=len(texts), n=(2,), feedback="best-worst-judge", keep_going=True)
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8")
    made = Runner(asked, lambda: OddDials(texts), lambda *_: here)
    try:
        assert run_session(made, folder, Console(file=printed, width=100), is_full=True) == code
    finally:
        made.close()
    printed.flush()
    return printed.buffer.getvalue().decode()  # type: ignore[attr-defined]


def rows(path: Path) -> list[Any]:
    return [json.loads(line.decode()) for line in path.read_bytes().split(b"\n") if line]


def kept(said: str) -> str:
    """Return a text as JSON keeps it: two halves are a character."""
    return str(json.loads(json.dumps(said)))


@pytest.mark.parametrize(
    ("who", "texts"),
    [(who, texts) for texts in (SHORT, LONG) for who in ("model", "agent", "crash")],
    ids=[f"{who}-{size}" for size in ("short", "long") for who in ("model", "agent", "crash")],
)
def test_no_text_stops_what_shows_writes_or_asks_it(who: str, texts: Sequence[str], tmp_path: Path) -> None:
    folder, strategies = tmp_path / "run", ("iad", "bon", "self-refine") if texts == SHORT else ("iad",)
    agent: Any = LanguageAgent(Talker(texts)) if who == "model" else Sayer(texts, fails=who == "crash")
    printed = compared(agent, texts, folder, *strategies, code=2 * (who == "crash"))
    assert "95 % intervals" in printed
    assert "\x1b" not in printed

    run = Run(folder)
    assert len(run.records) == len(texts) * len(strategies)
    assert {one.error_kind for one in run.records.values()} == ({"crash"} if who == "crash" else {""})
    assert all(well_formed(one.actions) == one.actions for one in run.records.values())
    candidates = [one for key in run.records for step in run.episode(key).steps for one in step.decision.candidates]
    if who == "model":  # the log has what was sent
        sent = {kept(shortened(one, MAX_ANSWER)) for one in agent.model.sent}
        assert {each.text for one in candidates for each in one.exchanges} == sent
        n_sent = len(agent.model.sent)
        compared(agent, texts, folder, *strategies)
        assert len(agent.model.sent) == n_sent
    if who == "agent":
        assert {one.thought for one in candidates} == set(map(kept, texts))
        assert {one.action for one in candidates if not one.error} <= set(map(well_formed, agent.actions))

    page = (folder / "report.html").read_bytes().decode()
    (data,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page)
    held = json.loads(data)
    for packed in (held["run"], held["places"], *held["chunks"]):
        json.loads(zlib.decompress(base64.b64decode(packed)).decode())
    viewer = create_app([folder]).test_client()
    for address in ("/", "/api/runs", "/api/version", *(f"/api/episode/0/{key}" for key in run.records)):
        assert viewer.get(address).status_code == 200
    write_agentboard([run], tmp_path / "board")
    for path in (tmp_path / "board").rglob("*.jsonl"):
        rows(path)
    for form in () if who == "crash" else FORMATS if texts == SHORT else ("jsonl",):  # one step has nothing to prefer
        if form != "parquet" or find_spec("pyarrow"):
            for path in export_runs([run], form, tmp_path / f"x.{'parquet' if form == 'parquet' else 'jsonl'}"):
                assert form == "parquet" or rows(path)
    if who == "agent":  # a folder whose name is no Unicode, either
        shown = iad("report", folder.rename(tmp_path / os.fsdecode(b"run \xff")))
        assert (shown.exit_code, "Report: " in shown.output) == (0, True), shown.output


class Wrong(Liker):
    """An agent and a verifier that say what they are given, of whatever type."""

    def __init__(self, verdict: Any, **candidate: Any) -> None:
        super().__init__()
        self._verdict, self._candidate = verdict, candidate

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        return Candidate("turn[0]", **self._candidate)

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        return [self._verdict for _ in candidates]


def session(made: Runner, folder: Path) -> tuple[int, str]:
    printed = io.StringIO()
    return run_session(made, folder, Console(file=printed, width=100)), printed.getvalue()


def verdict(score: Any, critique: Any = "", **others: Any) -> Any:
    return Verdict(score, critique, **others)


@pytest.mark.parametrize(
    ("candidate", "given", "said"),
    [
        ({"thought": 42}, verdict(0.5), "thought Candidate text int"),
        ({"thought": ["a", "list"]}, verdict(0.5), "thought Candidate text list"),
        ({"error": b"bytes"}, verdict(0.5), "error Candidate text bytes"),
        ({}, verdict(0.5, ValueError()), "critique Verdict text ValueError"),
        ({}, verdict(0.5, True), "critique Verdict text bool"),
        ({}, 0.5, "Verdict each candidate 0.5"),
        ({}, None, "Verdict each candidate None"),
        ({}, verdict("high"), "score Verdict number 'high'"),
        ({}, verdict(None), "score Verdict number None"),
        ({}, verdict(1.0, details=None), "details Verdict mapping None"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_is_no_text_or_no_verdict_is_refused_in_words(
    candidate: dict[str, Any], given: Any, said: str, tmp_path: Path
) -> None:
    wrong = Wrong(given, **candidate)
    assert session(runner(wrong, wrong, strategies=("bon",), tasks=1), tmp_path)[0] == 2
    (record,) = Run(tmp_path).records.values()
    assert record.error_kind == "contract"
    assert all(word in record.error for word in ("Wrong", *said.split())), record.error
    assert write_report(tmp_path).stat().st_size


def test_none_stands_for_no_text_and_a_score_that_is_none_is_counted_and_said(tmp_path: Path) -> None:
    terse = Wrong(verdict(0.5, None), thought=None)
    assert session(runner(terse, terse, strategies=("iad",), tasks=1), tmp_path / "none")[0] == 0
    made = runner(None, Wrong(Verdict(math.nan, "I can't tell")), strategies=("bon",), n=(3,), keep_going=True)
    code, printed = session(made, tmp_path / "nan")
    assert (code, "VERDICTS ARE MISSING" in printed) == (0, True)
    thoughts, critiques = {}, {}
    for name in ("none", "nan"):
        run = Run(tmp_path / name)
        assert {one.error_kind for one in run.records.values()} == {""}
        found = [one for key in run.records for step in run.episode(key).steps for one in step.decision.candidates]
        thoughts[name] = {one.thought for one in found}
        critiques[name] = [one.verdict.critique for one in found if one.verdict is not None]
    assert (thoughts["none"], {*critiques["none"]}) == ({""}, {""})
    assert {*critiques["nan"]} == {"the score was not a number. I can't tell"}
    assert sum(one.n_failed_verdicts for one in run.records.values()) == len(critiques["nan"]) > 0


def test_a_thought_that_an_older_version_took_is_shown_as_text(tmp_path: Path) -> None:
    assert session(runner(strategies=("bon",), tasks=1), tmp_path)[0] == 0
    log = tmp_path / "answers.jsonl"
    lines = rows(log)
    for line in lines:
        line.update({"candidate": {"thought": 42}, "verdict": {"critique": [1]}}.get(line["kind"], {}))
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    write_report(tmp_path)
    for form in ("jsonl", "sft"):
        export_runs([Run(tmp_path)], form, tmp_path / f"{form}.jsonl")
    assert "42" in {one["thought"] for row in rows(tmp_path / "jsonl.jsonl") for one in row["candidates"]}


OBEYED = "[/bold][/nope] [link=http://e]x[/link] :smile: \x1b[31m\x1b]0;title\x07 \x9b31m\r"
"""What rich reads as markup, and what a terminal obeys."""
RECORDED = Path(__file__).parents[1] / "fixtures" / "run_folders" / "webshop"
CRASHES = f"def agent(observation, info):\n    raise ValueError({OBEYED!r})"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("analyse --jsonl log.jsonl", 0),
        ("analyse --jsonl log.jsonl --baseline other", 2),
        ("report run --baseline iad", 0),
        ("advise run", 0),
        ("compare FrozenLake-v1 --agent mine_crashes:agent --verifier none --strategies single --tasks 1", 2),
        ("compare FrozenLake-v1 --agent mine_crashes:agent --verifier none --strategies single --tasks 1 --full", 2),
    ],
)
def test_a_name_from_outside_is_a_name_and_no_order_to_the_terminal(
    command: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("mine_crashes.py").write_text(CRASHES)
    lines = [{"task": f"{OBEYED}{n}", "arm": f"{OBEYED}{arm}", "success": n % 2} for n in range(4) for arm in "ab"]
    Path("log.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    shutil.copytree(RECORDED, "run")
    for path in Path("run").glob("*.json*"):
        path.write_text(path.read_text().replace('"shopper"', json.dumps(OBEYED)))
    done = iad(*command.split())
    sys.modules.pop("mine_crashes", None)
    assert done.exit_code == code, done.output
    assert "[/bold][/nope] [link=http://e]x[/link] :smile:" in " ".join(done.output.split())
    assert not set(done.output) & {"\x1b", "\x07", "\x9b", "\r"}
