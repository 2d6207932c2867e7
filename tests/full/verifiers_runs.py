"""Makes runs of verifiers with its own command and a local server that answers by rule.

`python -m tests.full.verifiers_runs FOLDER` writes what is in `tests/fixtures/other_logs/verifiers`, and beside the
runs `expected.json`: what the package's own reader says of each rollout. `verifiers_0_1` was written in the same way by
the last version of that number, and stays as it is.
"""

import json
import shutil
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from tests.full.processes import told
from tests.iad_policy.models.openai_server import Reply, completion, serving

REFUSED = 2
"""The question that the server refuses to the model `failing`."""
SKILLS = {"small": 4, "large": 7}
"""Name of a model -> how many of ten tries are right. Others are as good as `large`."""


def number_in(question: str) -> int:
    return int(question.rpartition("+")[0].split()[-1])


def answer_to(question: str, model: str, turn: int) -> str:
    """The answer at a try, counted from 1. A model that is better solves what a worse one solves."""
    n = number_in(question)
    return str(n + 1) if (7 * n + 3 * turn) % 10 < SKILLS.get(model, 7) else "no idea"


class RuleServer:
    """Answers by rule, and counts the tries of each question."""

    def __init__(self) -> None:
        self._turns: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def reply_to(self, request: dict[str, Any]) -> Reply:
        model, question = request["model"], request["messages"][-1]["content"]
        if model == "failing" and number_in(question) == REFUSED:
            return Reply({"error": {"message": "no such deployment"}}, status=400)
        with self._lock:
            self._turns[model, question] += 1
            turn = self._turns[model, question]
        return Reply(completion(answer_to(question, model, turn), model=model))


def run(folder: Path, name: str, model: str, *options: str) -> Path:
    """The folder of a run of six questions with four rollouts each."""
    command: list[Any] = [Path(sys.executable).with_name("vf-eval"), "vf-arithmetic", "-r", 4, "-c", 1]
    command += ["--env.agent.runtime.type", "subprocess", "--client.api-key-var", "RULE_KEY", "--no-push", "--no-rich"]
    with serving() as server:
        server.reply_to = RuleServer().reply_to
        command += ["-m", model, "-o", folder, "--run.name", name, "--client.base-url", server.address, *options]
        told(command, cwd=folder, path=[Path(__file__).parent], RULE_KEY="none")
    return folder / name


def rollouts(folder: Path) -> list[dict[str, Any]]:
    """What the package's own reader says of each rollout."""
    from verifiers.v1.trace import WireTrace
    from verifiers.v1.utils.trace_store import read_episodes

    return [
        {"task": episode.task.data.id, "reward": trace.reward, "is_failed": not trace.ok}
        for episode in read_episodes(folder, WireTrace)
        for trace in episode.traces
    ]


def small(value: Any) -> Any:
    """Without transcripts, and without the paths of a machine, which are in tracebacks and runtimes."""
    if isinstance(value, dict):
        return {key: small(part) for key, part in value.items() if key not in ("traceback", "runtime", "nodes")}
    return [small(part) for part in value] if isinstance(value, list) else value


def make(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    raw, expected = Path(tempfile.mkdtemp()), {}
    for name, model, options in (
        ("small", "small", ""),
        ("large", "large", ""),
        ("failing", "failing", "--env.taskset.fails-at 4"),
        ("best-of-2", "small", "--env.id best-of-n --env.n 2"),
    ):
        made = run(raw, name, model, *options.split())
        expected[name] = rollouts(made)
        (folder / name).mkdir(parents=True)
        lines = [json.loads(line) for line in (made / "traces.jsonl").read_text(encoding="utf-8").splitlines()]
        kept = "".join(json.dumps(small(line)) + "\n" for line in lines)
        (folder / name / "traces.jsonl").write_text(kept, encoding="utf-8")
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
