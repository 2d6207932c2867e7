"""Makes logs of inspect_ai with models that answer by rule, for fixtures and for tests with the package itself.

`python -m tests.full.inspect_logs FOLDER` writes what is in `tests/fixtures/other_logs/inspect`, without transcripts,
and beside the logs `expected.json`: what inspect_ai's own reader says of each sample.
"""

import base64
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval, eval_retry, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, EvalRetryError, ProvenanceData, invalidate_samples, read_eval_log, write_eval_log
from inspect_ai.model import ChatMessageSystem as System
from inspect_ai.model import ChatMessageUser as User
from inspect_ai.model import ContentImage, ContentText, ModelAPI, ModelOutput, ModelUsage, modelapi
from inspect_ai.scorer import Score, match, mean, scorer, value_to_float
from inspect_ai.solver import Generate, Solver, TaskState, solver

from tests.full.verifiers_runs import answer_to

DOT = "data:image/png;base64," + base64.b64encode(b"\x89PNG a dot").decode()
VALUES: tuple[Any, ...] = ("C", "I", "P", "N", True, False, "yes", "No", 0.25, 1, "0.5", math.nan, "perhaps")
REPAIRED = "IAD_TEST_REPAIRED"
"""Environment variable: the solver `failing` does not abort any more."""


@modelapi(name="rule")
class RuleModel(ModelAPI):
    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        question, _, turn = input[-1].text.partition(" Try ")
        made = ModelOutput.from_content(self.model_name, answer_to(question, self.model_name, int(turn)))
        n = len(question)
        made.usage = ModelUsage(input_tokens=n, output_tokens=5, total_tokens=n + 5, total_cost=0.001 * n)
        return made


@solver
def once_more() -> Solver:
    """Tells the model which try it is, so that epochs differ, in any order."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.messages[-1].content = f"{state.messages[-1].text} Try {state.epoch}"
        return await generate(state)

    return solve


def number_of(state: TaskState) -> int:
    return int(str(state.sample_id).rpartition("-")[2])


@solver
def failing(mode: str) -> Solver:
    """Fails at some samples, or ends the whole evaluation at one."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        n = number_of(state)
        if mode == "some" and n % 4 == 3 and state.epoch == 1:
            raise RuntimeError("the sandbox went away")
        if mode == "abort" and n == 3 and REPAIRED not in os.environ:
            raise RuntimeError("no key")
        if mode in ("interrupt", "kill") and n == 3:
            os.kill(os.getpid(), signal.SIGINT if mode == "interrupt" else signal.SIGKILL)
            time.sleep(0.2)
        return await once_more()(state, generate)

    return solve


def scored(value_of: Callable[[TaskState, Any], Any]) -> Any:
    async def score(state: TaskState, target: Any) -> Score:
        return Score(value=value_of(state, target))

    return score


@scorer(metrics={"*": [mean()]})
def parts() -> Any:
    """Two values by name."""
    said = attrgetter("output.completion")
    return scored(lambda state, target: {"right": float(said(state) == target.text), "length": len(said(state)) / 10})


@scorer(metrics=[])
def pair() -> Any:
    return scored(lambda state, target: [1, 0.5])


@scorer(metrics=[mean()])
def any_value() -> Any:
    """A value of each kind that a score can have, by sample."""
    return scored(lambda state, target: VALUES[number_of(state)])


@task
def arithmetic(n: int = 8, scorers: str = "match", fails: str = "") -> Task:
    known = {"match": match(), "several": [match(), parts(), pair()], "any": any_value()}
    data = [Sample(id=f"sum-{i}", input=f"What is {i}+1?", target=str(i + 1)) for i in range(n)]
    solving = failing(fails) if fails else once_more()
    return Task(dataset=MemoryDataset(data, name="sums"), solver=solving, scorer=known[scorers])


@task
def chats() -> Task:
    """Inputs that logs keep elsewhere or shortened: messages, pictures, and long texts."""
    inputs: list[Any] = [
        [System(content="Count."), User(content="What is 0+1?")],
        [User(content=[ContentText(text="What is 1+1?"), ContentImage(image=DOT)])],
        "x" * 6000 + " What is 2+1?",
        [User(content="y" * 6000 + " What is 3+1?")],
    ]
    data = [Sample(id=place + 1, input=one, target=str(place + 1)) for place, one in enumerate(inputs)]
    return Task(dataset=MemoryDataset(data), solver=once_more(), scorer=match())


def run(folder: Path, model: str, made: Task, **options: Any) -> EvalLog:
    settings = {"display": "none", "max_samples": 1, "log_dir": str(folder), "log_format": "eval", **options}
    (log,) = eval(made, model=f"rule/{model}", **settings)
    return log


def scores_of(path: Path) -> list[dict[str, Any]]:
    """What inspect_ai's own reader says of each sample, with scores as its metrics take them."""
    as_float = value_to_float()

    def flat(name: str, value: Any) -> list[tuple[str, Any]]:
        named = dict(enumerate(value)) if isinstance(value, list) else value
        return [(f"{name}.{key}", part) for key, part in named.items()] if isinstance(named, dict) else [(name, named)]

    def described(sample: Any) -> dict[str, Any]:
        values = (pair for name, score in (sample.scores or {}).items() for pair in flat(name, score.value))
        scores = {name: None if value != value else as_float(value) for name, value in values}
        error = sample.error.message if sample.error else None
        tokens = sum(usage.total_tokens for usage in sample.model_usage.values())
        return {"id": str(sample.id), "epoch": str(sample.epoch), "error": error, "tokens": tokens, "scores": scores}

    return [described(sample) for sample in read_eval_log(str(path)).samples or []]


def without_transcript(log: EvalLog) -> EvalLog:
    """Small, and without the paths of a machine, which are in tracebacks."""
    for sample in log.samples or []:
        sample.messages, sample.events, sample.timelines, sample.attachments = [], [], None, {}
        sample.output = ModelOutput()
        for failure in filter(None, (sample.error, log.error, *(sample.error_retries or ()))):
            failure.traceback = failure.traceback_ansi = ""
            if isinstance(failure, EvalRetryError):
                failure.events = None
    log.eval.task_file = None
    return log


def make(folder: Path) -> None:
    """Write all logs, each with the name of what it shows."""
    os.environ["GIT_DIR"] = "/nonexistent"  # logs say where a repository is from
    raw = Path(tempfile.mkdtemp())

    def keep(location: Any, *names: str) -> None:
        for name in names:
            write_eval_log(without_transcript(read_eval_log(str(location))), str(folder / name))

    def kept(made: Task, *names: str, model: str = "small", **options: Any) -> None:
        keep(run(raw, model, made, **options).location, *names)

    shutil.rmtree(folder, ignore_errors=True)
    for model in ("small", "large"):
        kept(arithmetic(), f"models/{model}.json", model=model, epochs=4)
        kept(arithmetic(n=40), f"once/{model}.eval", model=model)
    kept(chats(), "forms/chats.eval", "forms/chats.json")
    kept(arithmetic(n=13, scorers="any"), "values.json")
    kept(arithmetic(n=4, scorers="several"), "several.json", epochs=2)
    lenient = {"epochs": 2, "fail_on_error": False}
    kept(arithmetic(fails="some"), "errors/left_out.json", **lenient)
    kept(arithmetic(fails="some"), "errors/scored.json", score_on_error=True, **lenient)
    aborted = run(raw, "small", arithmetic(n=6, fails="abort"))
    os.environ[REPAIRED] = "1"
    (repaired,) = eval_retry(aborted, display="none", log_dir=str(raw), log_format="eval")
    del os.environ[REPAIRED]
    keep(aborted.location, "retried/first.json")
    keep(repaired.location, "retried/second.json")
    valid = run(raw, "small", arithmetic(n=3))
    wrong = ProvenanceData(timestamp=datetime.now(UTC), author="a test", reason="a wrong picture")
    (uuid,) = [str(sample.uuid) for sample in (valid.samples or ())[1:2]]
    write_eval_log(invalidate_samples(read_eval_log(valid.location), [uuid], wrong), valid.location)
    keep(valid.location, "invalidated.eval")
    for mode in ("interrupt", "kill"):
        shutil.rmtree(raw)
        subprocess.run([sys.executable, "-m", __spec__.name, mode, str(raw)], check=False, stderr=subprocess.DEVNULL)
        (path,) = raw.glob("*.eval")
        if mode == "kill":
            shutil.copy(path, folder / "killed.eval")
        else:
            keep(path, "cancelled.json")
    paths = sorted(path for path in folder.rglob("*") if path.suffix in (".eval", ".json"))
    expected = {path.relative_to(folder).as_posix(): scores_of(path) for path in paths}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        make(Path(sys.argv[1]))
    else:
        run(Path(sys.argv[2]), "small", arithmetic(n=5, fails=sys.argv[1]))
