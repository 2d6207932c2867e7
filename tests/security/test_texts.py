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
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from rich.console import Console
from typer.testing import CliRunner

from iad_envs.core import View
from iad_envs.spaces import UnicodeText
from iad_policy import cli
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

TEXTS = {
    "half a character": "a \ud83d",
    "the other half": "\ude00 b",
    "halves the wrong way round": "\ude00\ud83d",
    "two halves": "\ud83d\ude00",
    "bytes of a file name": os.fsdecode(b"\xff\xfe"),
    "NUL": "a\0b",
    "a terminal's commands": "\x1b[2J\x1b]0;x\x07\r\x9b2J",
    "right to left": "\u202enwod edispu\u202b\u05d0",
    "an isolate closed early": "a\u2069\u2069\u202e\u2067b",
    "ends of lines": "a\u2028b\u2029c\x85d\ve\fg",
    "no characters": "\uffff\ufeff\U0010ffff",
    "markup": "</script><!--[/bold]{{data}}$x ${y}",
    "a long line": "x" * times(10**6),
    "a long line of halves": "\ud83d" * times(10**5),
}
SHORT = 60
"""Characters of a text in a name."""
SIZES = {"short": [said for said in TEXTS.values() if len(said) <= SHORT]}
SIZES["long"] = [said for said in TEXTS.values() if said not in SIZES["short"]]


class Task(NamedTuple):
    """A task whose data has a hostile text."""

    task_id: str
    said: str

    @property
    def instruction(self) -> str:
        return f"Open {self.said}"

    @property
    def difficulty(self) -> str:
        return self.said[:SHORT]


class OddDials(DialsEnv):
    """Dials whose data have hostile texts, each task another one in all its parts."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(len(texts), max_steps=3 if texts == SIZES["short"] else 1)  # a long text makes a large log
        tasks = [Task(f"{said[:SHORT]} {place}", said) for place, said in enumerate(texts)]
        self._tasks = {task.task_id: task for task in tasks}
        self._task_ids = list(self._tasks)
        self.action_space = self.observation_space = UnicodeText(10**6)

    def _start(self, task: Any) -> str:
        self._said = task.said
        return ""

    def _view(self, state: str, complaint: str) -> View:
        view = super()._view(state, complaint)
        said = self._said
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
    """Whoever says a text in an episode: that of its task."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def said(self, state: State) -> str:
        return self._texts[int(state.info["task_id"].rpartition(" ")[2])]


class Speaker(Sayer):
    """An agent without a model that says a text in all parts of a candidate."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(texts)
        self.actions: list[str] = []

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        said = self.said(state)
        kind = rng.randrange(3)
        if kind == 2:
            return Candidate(None, thought=said, error=said or "none")
        self.actions.append(f"turn[{rng.choice(DIGITS)}]{said if kind else ''}")
        return Candidate(self.actions[-1], thought=said, parts=(Part("thought", said),))


class Crasher(Sayer):
    """An agent that fails with a text."""

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        raise RuntimeError(self.said(state))


class Critic(Sayer):
    """A verifier and roles that say a text."""

    information = "proxy"
    needs_preview = True
    source = "critic"

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        said = self.said(state)
        return [Verdict(sum(map(ord, one.key)) % 7 / 7, said, details={said[:SHORT]: said}) for one in candidates]

    def answer(self, role: str, state: State, subject: Any) -> str:
        return "0" if role == "ranker" else self.said(state)


AGENTS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "model": lambda texts: LanguageAgent(Talker(texts)),
    "agent": Speaker,
    "crash": Crasher,
}


def compared(agent: Any, texts: Sequence[str], folder: Path, *strategies: str) -> str:
    """Run a comparison at a terminal that takes UTF-8 and nothing else; returns what it printed."""
    critic = Critic(texts)
    here = Components(agent, critic, critic)
    asked = config(strategies=strategies, tasks=len(texts), n=(2,), feedback="best-worst-judge", keep_going=True)
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8")
    made = Runner(asked, lambda: OddDials(texts), lambda *_: here)
    try:
        code = run_session(made, folder, Console(file=printed, width=100), is_full=True)
        assert code == (2 if isinstance(agent, Crasher) else 0)  # if every episode failed
    finally:
        made.close()
    printed.flush()
    return printed.buffer.getvalue().decode()  # type: ignore[attr-defined]


def rows(path: Path) -> list[Any]:
    """Return the rows of a file of JSON lines, which is UTF-8 throughout."""
    return [json.loads(line.decode()) for line in path.read_bytes().split(b"\n") if line]


def kept(said: str) -> str:
    """Return a text as JSON keeps it: two halves are a character."""
    return str(json.loads(json.dumps(said)))


def unpacked(page: str) -> Iterator[Any]:
    """Yield what a report holds."""
    (data,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page)
    held = json.loads(data)
    for packed in (held["run"], held["places"], *held["chunks"]):
        yield json.loads(zlib.decompress(base64.b64decode(packed)).decode())


@pytest.mark.parametrize("who", AGENTS)
@pytest.mark.parametrize("size", SIZES)
def test_no_text_stops_what_shows_writes_or_asks_it(size: str, who: str, tmp_path: Path) -> None:
    folder, texts = tmp_path / "run", SIZES[size]
    strategies = ("iad", "bon", "self-refine") if size == "short" else ("iad",)
    agent = AGENTS[who](texts)
    printed = compared(agent, texts, folder, *strategies)
    assert "95 % intervals" in printed
    assert "\x1b" not in printed

    run = Run(folder)
    assert len(run.records) == len(texts) * len(strategies)
    assert {one.error_kind for one in run.records.values()} == ({"crash"} if who == "crash" else {""})
    for record in run.records.values():
        assert well_formed(record.actions) == record.actions
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
    assert len(list(unpacked(page))) >= 3
    viewer = create_app([folder]).test_client()
    for address in ("/", "/api/runs", "/api/version", *(f"/api/episode/0/{key}" for key in run.records)):
        assert viewer.get(address).status_code == 200
    write_agentboard([run], tmp_path / "board")
    for path in (tmp_path / "board").rglob("*.jsonl"):
        rows(path)
    if who == "crash":
        return
    for form in FORMATS if size == "short" else ("jsonl",):  # a single step has nothing to prefer
        if form == "parquet" and find_spec("pyarrow") is None:
            continue
        for path in export_runs([run], form, tmp_path / f"x.{'parquet' if form == 'parquet' else 'jsonl'}"):
            assert form == "parquet" or rows(path)


def test_a_folder_whose_name_is_no_unicode_is_reported_at_a_terminal(tmp_path: Path) -> None:
    compared(Speaker(["x"]), ["x"], tmp_path / "run", "iad")
    folder = (tmp_path / "run").rename(tmp_path / os.fsdecode(b"run \xff"))
    shown = CliRunner().invoke(cli.app, ["report", str(folder)])
    assert (shown.exit_code, "Report: " in shown.output) == (0, True), shown.output


GOOD = Verdict(0.5)
WRONG: list[tuple[dict[str, Any], Any, str]] = [
    ({"thought": 42}, GOOD, "the thought of a Candidate of Wrong to be a text, got int"),
    ({"thought": ["a", "list"]}, GOOD, "the thought of a Candidate of Wrong to be a text, got list"),
    ({"error": b"bytes"}, GOOD, "the error of a Candidate of Wrong to be a text, got bytes"),
    ({}, Verdict(0.5, ValueError()), "the critique of a Verdict of Wrong to be a text, got ValueError"),  # type: ignore
    ({}, Verdict(0.5, True), "the critique of a Verdict of Wrong to be a text, got bool"),  # type: ignore[arg-type]
    ({}, 0.5, "a Verdict from Wrong for each candidate, got 0.5"),
    ({}, None, "a Verdict from Wrong for each candidate, got None"),
    ({}, Verdict("high"), "the score of a Verdict of Wrong to be a number, got 'high'"),  # type: ignore[arg-type]
    ({}, Verdict(None), "the score of a Verdict of Wrong to be a number, got None"),  # type: ignore[arg-type]
    ({}, Verdict(1.0, details=None), "the details of a Verdict of Wrong to be a mapping, got None"),  # type: ignore[arg-type]
]


class Wrong(Liker):
    """An agent and a verifier that say what they are given, of whatever type."""

    def __init__(self, verdict: Any, **candidate: Any) -> None:
        super().__init__()
        self._verdict, self._candidate = verdict, candidate

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        return Candidate("turn[0]", **self._candidate)

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        return [self._verdict for _ in candidates]


@pytest.mark.parametrize(("candidate", "verdict", "expected"), WRONG, ids=str)
def test_what_is_no_text_or_no_verdict_is_refused_in_words(
    candidate: dict[str, Any], verdict: Any, expected: str, tmp_path: Path
) -> None:
    wrong = Wrong(verdict, **candidate)
    made = runner(wrong, wrong, strategies=("bon",), tasks=1)
    assert run_session(made, tmp_path, Console(file=io.StringIO(), width=100)) == 2
    (record,) = Run(tmp_path).records.values()
    assert (record.error_kind, f"expected {expected}" in record.error) == ("contract", True), record.error
    assert write_report(tmp_path).stat().st_size


def test_none_stands_for_no_text(tmp_path: Path) -> None:
    terse = Wrong(Verdict(0.5, None), thought=None)  # type: ignore[arg-type]
    assert run_session(runner(terse, terse, strategies=("iad",), tasks=1), tmp_path, Console(file=io.StringIO())) == 0
    run = Run(tmp_path)
    (record,) = run.records.values()
    assert record.error_kind == ""
    candidates = [one for step in run.episode(record.key).steps for one in step.decision.candidates]
    assert {(one.thought, one.verdict.critique) for one in candidates if one.verdict} == {("", "")}


def test_a_verifier_without_a_single_score_is_counted_and_said(tmp_path: Path) -> None:
    unsure, printed = Wrong(Verdict(math.nan, "I can't tell")), io.StringIO()
    made = runner(None, unsure, strategies=("bon",), n=(3,), keep_going=True)
    assert run_session(made, tmp_path, Console(file=printed)) == 0
    run = Run(tmp_path)
    steps = [step for key in run.records for step in run.episode(key).steps]
    verdicts = [one.verdict for step in steps for one in step.decision.candidates if one.verdict is not None]
    assert verdicts
    assert sum(one.n_failed_verdicts for one in run.records.values()) == len(verdicts)
    assert {one.critique for one in verdicts} == {"the score was not a number. I can't tell"}
    assert "VERDICTS ARE MISSING" in printed.getvalue()


def test_a_thought_that_an_older_version_took_is_shown_as_text(tmp_path: Path) -> None:
    made = runner(strategies=("bon",), tasks=1)
    assert run_session(made, tmp_path, Console(file=io.StringIO(), width=100)) == 0
    log = tmp_path / "answers.jsonl"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line.update({"candidate": {"thought": 42}, "verdict": {"critique": [1]}}.get(line["kind"], {}))
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    write_report(tmp_path)
    run = Run(tmp_path)
    for form in ("jsonl", "sft"):
        export_runs([run], form, tmp_path / f"{form}.jsonl")
    assert "42" in {one["thought"] for row in rows(tmp_path / "jsonl.jsonl") for one in row["candidates"]}


COMPARE = (
    *("compare", "FrozenLake-v1", "--agent", "mine_crashes:agent", "--verifier", "none"),
    *("--strategies", "single", "--tasks", "1"),
)
OBEYED = "[/bold][/nope] [link=http://e]x[/link] :smile: \x1b[31m\x1b]0;title\x07 \x9b31m\r"
"""What rich reads as markup, and what a terminal obeys."""
RECORDED = Path(__file__).parents[1] / "fixtures" / "run_folders" / "webshop"
CRASHES = f"def agent(observation, info):\n    raise ValueError({OBEYED!r})"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("analyse", "--jsonl", "log.jsonl"), 0),
        (("analyse", "--jsonl", "log.jsonl", "--baseline", "other"), 2),
        (("report", "run", "--baseline", "iad"), 0),
        (("advise", "run"), 0),
        (COMPARE, 2),
        ((*COMPARE, "--full"), 2),
    ],
    ids=str,
)
def test_a_name_from_outside_is_a_name_and_no_order_to_the_terminal(
    arguments: tuple[str, ...], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("mine_crashes.py").write_text(CRASHES)
    lines = [{"task": f"{OBEYED}{n}", "arm": f"{OBEYED}{arm}", "success": n % 2} for n in range(4) for arm in "ab"]
    Path("log.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    shutil.copytree(RECORDED, "run")
    for path in Path("run").glob("*.json*"):
        path.write_text(path.read_text().replace('"shopper"', json.dumps(OBEYED)))
    done = iad(*arguments)
    sys.modules.pop("mine_crashes", None)
    assert done.exit_code == code, done.output
    assert "[/bold][/nope] [link=http://e]x[/link] :smile:" in " ".join(done.output.split())
    assert not set(done.output) & {"\x1b", "\x07", "\x9b", "\r"}
