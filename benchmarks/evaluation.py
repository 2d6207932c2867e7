"""Measures the cost of an evaluation: how well it hides a slow model's latency, and the overhead of saving everything.

The environment is trivial, and the model is a fake that answers at once or after 0.5 s. Everything else is as in a real
run: prompts, the call cache, the answer log, budgets, records and the summary.
"""

import json
import math
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

from reference import Reference
from support.figures import figure

from iad_envs.core import IADEnv, Score, Snapshot, Transition, View
from iad_envs.spaces import UnicodeText
from iad_policy import Candidate, IADPolicyWrapper, State, Usage, Verdict
from iad_policy.agents.language import LanguageAgent
from iad_policy.ledger.episode_record import EPISODES, EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import CONFIG, RunFolder
from iad_policy.models import Completion, Messages
from iad_policy.models.cache import CachedModel
from iad_policy.report.figures import Heading
from iad_policy.report.results import Results
from iad_policy.roles import TemplateRoles
from iad_policy.run.config import RunConfig
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.types.call_context import current_call
from iad_policy.types.information import Information

N_STEPS, N_EPISODES = 5, 192
ANSWER_S = 0.5
N_ROUNDS = 3
N_LARGE = 100_000


class CorridorTask(NamedTuple):
    """Which corridor."""

    task_id: str
    instruction: str = "Walk through it."


class Corridor(IADEnv[str, int]):
    """A text environment that answers at once. An episode has a fixed number of steps."""

    observation_space = UnicodeText(2000)  # type: ignore[assignment]
    action_space = UnicodeText(200)  # type: ignore[assignment]

    def __init__(self, n_steps: int = N_STEPS, n_tasks: int = N_EPISODES) -> None:
        ids = [f"corridor-{place:05d}" for place in range(n_tasks)]
        super().__init__({task_id: CorridorTask(task_id) for task_id in ids}, max_steps=n_steps)

    def _start(self, task: CorridorTask) -> int:
        return 0

    def _transition(self, state: int, action: str, rng: Any) -> Transition:
        return Transition(state + 1, "", state + 1 == self.max_steps)

    def _view(self, state: int, complaint: str) -> View:
        seen = f"Door {state}. " + "The walls are painted green up to the shoulder. " * 12
        return View(seen, ("go[left]", "go[right]"), {"door": state}, {"door": state})

    def _score(self, task: CorridorTask, now: Snapshot, memory: Any) -> Score:
        progress = now.state / self.max_steps
        return Score(float(now.done), progress, now.done, {"doors": progress}, None)

    def _reference(self, task: CorridorTask) -> str:
        return "go[left]"

    def terminal(self, action: str) -> bool:
        """The last step ends the episode, whatever it is."""
        return True


class FakeModel:
    """Answers after a delay."""

    name = "fake"

    def __init__(self, answer_s: float = 0.0) -> None:
        self._answer_s = answer_s

    def complete(
        self, messages: Messages, *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Answer."""
        time.sleep(self._answer_s)
        usage = Usage(prompt_tokens=200, completion_tokens=8)
        current_call().report(usage)
        side = "left" if current_call().seed % 2 else "right"
        return Completion(f"I go {side}.\nAction: go[{side}]", usage)


class InstantVerifier:
    """Scores the action `go[left]` with 1 and all others with 0."""

    information: Information = "proxy"
    needs_preview = False

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        """Answer at once."""
        return [Verdict(float(candidate.action == "go[left]")) for candidate in candidates]


def run(folder: Path, model: Any, *, n_steps: int = N_STEPS, **config: Any) -> Iterator[EpisodeRecord]:
    """Run a configuration with everything saved, and write its summary."""
    asked = RunConfig(**{"env": "Corridor", "agent": "fake", "verifier": "instant", "strategies": ("single",)} | config)
    cached = CachedModel(model, folder.with_suffix(".sqlite"))
    components = Components(LanguageAgent(cached), InstantVerifier(), TemplateRoles())
    runner = Runner(asked, lambda: Corridor(n_steps, asked.tasks), lambda *_: components)
    results = Results(Heading(asked, "proxy", asked.tasks, {}))
    with RunFolder(folder, runner.recorded_config()) as kept:
        for record in runner.episodes(kept):
            results.add(record)
            yield record
        kept.write_summary(results.as_json(results.figures()), results.table())
    cached.close()


def seconds_of(folder: Path, model: Any, **config: Any) -> float:
    """Return the wall seconds of a run, from an empty folder to its summary."""
    start = perf_counter()
    for _ in run(folder, model, **config):
        pass
    return perf_counter() - start


def throughput(folder: Path) -> None:
    """Print the share of the run time that the model takes."""
    ideal_s = math.ceil(N_EPISODES / 64) * N_STEPS * ANSWER_S
    wall_s = seconds_of(folder / "slow", FakeModel(ANSWER_S), tasks=N_EPISODES, workers=64)
    figure("throughput_of_ideal", ideal_s / wall_s, "share", target=0.95, better="higher", n=N_EPISODES * N_STEPS)


def costs(folder: Path, reference: Reference) -> None:
    """Print the time of a candidate, saved and in a hand-written loop that saves nothing, and of a step."""
    n_tasks, n, times = 200, 8, defaultdict(list)
    for place in range(N_ROUNDS):
        reference.sample()
        given = {"strategies": ("bon",), "tasks": n_tasks, "n": n, "n_steps": 1}
        times["candidate_saved_ms"].append(seconds_of(folder / f"saved{place}", FakeModel(), **given) / (n_tasks * n))
        env, start = Corridor(1, n_tasks), perf_counter()
        agent = LanguageAgent(FakeModel())
        with IADPolicyWrapper(agent, env, strategy="bon", n=n, verifier=InstantVerifier()) as policy:
            for task_id in env.task_ids:
                observation, info = env.reset(options={"task_id": task_id})
                env.step(policy.act(observation, info))
        times["candidate_unsaved_ms"].append((perf_counter() - start) / (n_tasks * n))
        step_s = seconds_of(folder / f"step{place}", FakeModel(), tasks=n_tasks) / (n_tasks * N_STEPS)
        times["runner_overhead_ms"].append(step_s)
    for metric, target in (("candidate_saved_ms", 1.0), ("candidate_unsaved_ms", 0.1), ("runner_overhead_ms", 2.0)):
        reference.figure(metric, 1e3 * median(times[metric]), "ms", target=target, n=N_ROUNDS)


def summarise_1e5(folder: Path, reference: Reference) -> None:
    """Print the time to read 10^5 episodes from disk and to compute their summary, in one thread."""
    config = RunConfig("Corridor", "fake", "instant", ("single", "bon", "iad", "bon-sc"), tasks=N_LARGE // 4)
    path, rng = folder / "many", Random(0)
    path.mkdir()
    (path / CONFIG).write_text("{}")
    line = next(run(folder / "one", FakeModel(), tasks=1)).as_json()
    with (path / EPISODES).open("w") as file:
        for place in range(N_LARGE):
            task, strategy = divmod(place, 4)
            told = {"key": f"{place:032x}", "task_id": f"corridor-{task:05d}", "strategy": config.strategies[strategy]}
            told |= {"n": 1 if strategy == 0 else 3, "success": float(rng.random() < (1 + strategy) / 5)}
            file.write(json.dumps({**line, **told, "progress": rng.random(), "reward": rng.random()}) + "\n")
    seconds = []
    for _ in range(N_ROUNDS):
        reference.sample()
        start = process_time()
        results = Results(Heading(config, "proxy", config.tasks, {}))
        for record in Run(path, is_whole=True).records.values():
            results.add(record)
        json.dumps(results.as_json(results.figures()))
        seconds.append(process_time() - start)
    reference.figure("summarise_1e5_s", median(seconds), "s", target=3.0, n=N_ROUNDS, clock="cpu")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        throughput(folder)
        reference = Reference()
        costs(folder, reference)
        summarise_1e5(folder, reference)
        reference.report()


if __name__ == "__main__":
    main()
