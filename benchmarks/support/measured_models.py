"""Reads run folders of language models: the tables of docs/models-measured.md, and figures of refinements and caches.

`python benchmarks/support/measured_models.py FOLDER... --keep docs/measurements` prints a table of the runs and keeps
their figures; given the kept files, it prints them again. What a candidate would have scored is computed with the
environment's oracle, after the run, and never shown to a verifier or an agent.
"""

import argparse
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gymnasium as gym
from support.bird_verifier import held_out

import iad_envs  # noqa: F401 (registers)
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.report.compare import differences
from iad_policy.report.matching import matched
from iad_policy.report.metrics import summarise
from iad_policy.report.statistics import mcnemar_exact, paired_interval
from iad_policy.report.verifier_evidence import VerifierEvidence, evidence
from iad_policy.types import Candidate, Decision


@dataclass(frozen=True)
class Uptake:
    """What became of the refinements of a run, or of the further samples of a method without feedback.

    Attributes:
        n: Refinements: proposals that were made with feedback. Or all samples but the first.
        n_unreadable: Those that are no action.
        n_repeats: Those with the action of an earlier attempt of the decision.
        n_better: Those that would score higher than every earlier attempt. None where that can't be computed.
        n_open: Refinements with no earlier attempt that scores 1, so that a better one was possible.
    """

    n: int = 0
    n_unreadable: int = 0
    n_repeats: int = 0
    n_better: int = 0
    n_open: int = 0

    def __add__(self, other: "Uptake") -> "Uptake":
        return Uptake(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    @property
    def better(self) -> float:
        """Share of the refinements that improve, of those that could."""
        return self.n_better / self.n_open if self.n_open else float("nan")


class Moment(NamedTuple):
    """Where in which task a decision was made: after these committed actions."""

    task: str
    actions: tuple[Any, ...] = ()


@dataclass
class MeasuredRun:
    """One run folder."""

    folder: Path
    _truth: dict[tuple[Moment, str], float] = field(default_factory=dict)
    _reached: Moment | None = None

    @cached_property
    def traces(self) -> Run:
        """The folder's episodes."""
        return Run(self.folder)

    @cached_property
    def arms(self) -> dict[str, list[EpisodeRecord]]:
        """Scored episodes by `strategy n`."""
        found: dict[str, list[EpisodeRecord]] = {}
        for record in self.traces.records.values():
            if record.is_scored:
                found.setdefault(f"{record.strategy} {record.n}", []).append(record)
        return found

    def cached_share(self) -> float:
        """Return the share of the prompt tokens that the server had in its cache."""
        asked: dict[tuple[str, str, str], tuple[int, int]] = {}  # what the client's cache answered was read once, too
        for moment, decision in (one for arm in self.arms for one in self._decisions(arm)):
            for one in decision.candidates:
                if one.exchanges and one.exchanges[-1].cached_tokens is not None and one.usage.prompt_tokens:
                    name = moment.task, str([dict(m) for m in one.exchanges[-1].prompt]), one.id
                    asked.setdefault(name, (one.usage.prompt_tokens, one.exchanges[-1].cached_tokens))
        return sum(cached for _, cached in asked.values()) / max(1, sum(n for n, _ in asked.values()))

    def uptake(self, arm: str, *, is_told: bool = True) -> Uptake:
        """Return what became of an arm's refinements, or of its further samples, which are told nothing."""
        total = Uptake()
        for moment, decision in self._decisions(arm):
            for place, one in enumerate(decision.candidates):
                if (one.feedback is not None) is not is_told or not place:
                    continue
                earlier = decision.candidates[:place]
                best = max(self._true_score(moment, other) for other in earlier)
                total += Uptake(
                    n=1,
                    n_unreadable=int(bool(one.error)),
                    n_repeats=int(not one.error and any(one.key == other.key for other in earlier)),
                    n_better=int(self._true_score(moment, one) > best),
                    n_open=int(best < 1.0),
                )
        return total

    def scored(self, arm: str) -> Iterator[tuple[str, float, bool]]:
        """Yield task, score and truth of the verified candidates that may end the episode."""
        for moment, decision in self._decisions(arm):
            for one in decision.candidates:
                if not one.error and one.verdict is not None and one.preview is not None and one.preview.done:
                    yield moment.task, one.verdict.score, self._true_score(moment, one) == 1.0

    def verifier_evidence(self, arm: str, tasks: Collection[str] | None = None) -> VerifierEvidence:
        """Return what the verifier's scores say about success, on an arm's candidates, for all tasks or for some."""
        # In the order of the tasks, as the interval depends on the order and the episodes end in any.
        rows = sorted((one for one in self.scored(arm) if tasks is None or one[0] in tasks), key=lambda one: one[0])
        names, scores, labels = ([one[place] for one in rows] for place in range(3))
        return evidence(scores, labels, tasks=names)

    def _true_score(self, moment: Moment, candidate: Candidate) -> float:
        """Return what the oracle verifier would say of a candidate; 0 for one that is no action."""
        if candidate.error:
            return 0.0
        if (moment, candidate.key) not in self._truth:
            if moment != self._reached:
                self._reached = None
                self._env.reset(options={"task_id": moment.task})
                for action in moment.actions:
                    self._env.step(action)
                self._reached = moment
            env: Any = self._env.unwrapped
            outcome = env.simulate(env.snapshot(), candidate.action)
            gold = env.oracle(outcome.token)
            self._truth[moment, candidate.key] = float(gold["reward"] if outcome.done else gold["progress"])
        return self._truth[moment, candidate.key]

    @cached_property
    def _env(self) -> "gym.Env[Any, Any]":
        config = self.traces.config
        places = {name: config[name] for name in ("data_dir", "split") if config[name]}
        return gym.make(config["env"], **config["env_args"], **places)

    def _decisions(self, arm: str) -> Iterator[tuple[Moment, Decision]]:
        for record in self.arms[arm]:
            for step in self.traces.episode(record.key).steps:
                yield Moment(record.task_id, tuple(record.actions[: step.index])), step.decision


Figures = dict[str, Any]
"""What is kept of a run, as JSON: figures of each arm, and which tasks it solved."""


def figures_of(run: MeasuredRun) -> Figures:
    """Return the figures of a run, without a path of the machine that made it."""
    config = run.traces.config
    arms = sorted(run.arms, key=lambda arm: (arm.split()[0], int(arm.split()[1])))
    pairs = {arm: f"bon {arm.split()[1]}" for arm in arms if not arm.startswith(("bon ", "single"))}
    compared = differences(run.arms, {arm: other for arm, other in pairs.items() if other in run.arms})
    tasks = sorted({record.task_id for records in run.arms.values() for record in records})
    found: dict[str, Figures] = {}
    for arm in arms:
        solved, one = {record.task_id: record.success for record in run.arms[arm]}, summarise(run.arms[arm])
        found[arm] = {
            "n_tasks": one.n_episodes,
            "success": one.success,
            "progress": one.progress,
            "valid_actions": one.grounding,
            "tokens": one.spent.get("tokens", 0.0),
            "solved": "".join("-" if task not in solved else "1" if solved[task] else "0" for task in tasks),
        }
        if arm in compared and (other := compared[arm].success) is not None:
            won, lost = len(other.won), len(other.lost)
            minus = {"success": other.value, "interval": other.interval_95, "won": won, "lost": lost, "p": other.p}
            found[arm]["minus_bon"] = minus
    lines: dict[str, dict[float, list[EpisodeRecord]]] = {}
    for arm in arms:
        lines.setdefault(arm.split()[0], {})[int(arm.split()[1])] = run.arms[arm]
    if len(lines.get("bon", ())) > 1 and any(one["tokens"] for one in found.values()):
        for strategy, at in matched(lines, "bon", axis="tokens").own.items():
            if at is not None and strategy != "single":
                found[f"{strategy} {max(lines[strategy]):g}"]["minus_bon_at_equal_tokens"] = {
                    "tokens": at.budget,
                    "success": at.difference,
                    "interval": at.difference_95,
                }
    largest, on = _largest(arms, "bon"), {}
    if largest is not None:
        on[f"`{largest}`"] = run.verifier_evidence(largest)._asdict()
        if config["env"] == "IAD/BIRD-v0" and config["verifier"] == "proxy":
            others = held_out(tasks, is_bundled=not config["data_dir"])
            name = f"`{largest}`, {len(others)} tasks to which it was not fitted"
            on[name] = run.verifier_evidence(largest, frozenset(others))._asdict()
    names = ("env", "env_args", "split", "seed", "n", "verifier", "feedback", "temperature", "data", "iad_version")
    return {
        "name": run.folder.name,
        **{name: config[name] for name in names},
        "agent": config["identity"][config["agent"]]["agent"],
        "tasks": tasks,
        "arms": found,
        "cached_share": run.cached_share(),
        "refinements": {arm: asdict(run.uptake(arm)) for arm in arms if arm.startswith("iad ") and arm != "iad 1"},
        "samples": {} if largest is None else {largest: asdict(run.uptake(largest, is_told=False))},
        "verifier_on": on,
    }


def _largest(arms: Iterable[str], strategy: str) -> str | None:
    """Return a strategy's arm with the largest n; None if there is none."""
    own = (arm for arm in arms if arm.startswith(f"{strategy} "))
    return max(own, key=lambda arm: int(arm.split()[1]), default=None)


def table(runs: Sequence[Figures]) -> str:
    """Return the methods of runs with their largest n as Markdown, and what became of attempts.

    The AUC is that of the verifier on the candidates to which it was not fitted.
    """
    lines = [
        "| run | method | success | - bon | won:lost | p | repeat | improve | AUC |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        for arm, one in run["arms"].items():
            strategy, n = arm.split()
            if n == "1" or arm != _largest(run["arms"], strategy):
                continue
            cells = ["", "", ""]
            if other := one.get("minus_bon"):
                low, high = other["interval"]
                interval = f"{other['success']:+.3f} [{low:+.2f},{high:+.2f}]"
                cells = [interval, f"{other['won']}:{other['lost']}", _p(other["p"])]
            told = {**run["refinements"], **run["samples"]}.get(arm)
            cells += ["", ""]
            if told:
                uptake = Uptake(**told)
                cells[3:] = [f"{uptake.n_repeats / uptake.n:.2f}", f"{uptake.better:.2f}"]
            area = [on["auc"] for name, on in run["verifier_on"].items() if name.startswith(f"`{arm}`")]
            cells += [f"{area[-1]:.3f}" if area and area[-1] is not None else ""]
            lines.append(f"| {run['name']} | `{arm}` | {one['success']:.3f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _p(value: float) -> str:
    return "<.001" if value < 0.0005 else f"{value:.3f}"


def between(runs: Sequence[Figures]) -> str:
    """Return as Markdown how the largest `iad` of runs that differ in one thing compare by task; "" for none."""
    lines = [
        "| `iad` in | minus in | tasks | success | won:lost | p |",
        "|---|---|---|---|---|---|",
    ]
    for one, other in combinations(runs, 2):
        arm = _largest(one["arms"], "iad")
        if arm not in other["arms"] or one["tasks"] != other["tasks"] or one["data"] != other["data"]:
            continue
        if sum(one[name] != other[name] for name in ("verifier", "feedback", "temperature")) != 1:
            continue
        pairs = list(zip(one["arms"][arm]["solved"], other["arms"][arm]["solved"], strict=True))
        won, lost = pairs.count(("1", "0")), pairs.count(("0", "1"))
        names = " | ".join(f"`{run['name']}`" for run in (one, other))
        p = _p(mcnemar_exact(won, lost))
        lines.append(f"| {names} | {len(pairs)} | {(won - lost) / len(pairs):+.3f} | {won}:{lost} | {p} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def pooled(runs: Sequence[Figures]) -> str:
    """Say what lies above `bon` at its own mean tokens, over the tasks of all runs; "" for nothing.

    Between two n of `bon` each task counts with the same share of both, which has these tokens.
    """
    ahead: list[float] = []
    for run in runs:
        points = sorted((one["tokens"], one["solved"]) for arm, one in run["arms"].items() if arm.startswith("bon "))
        for one in run["arms"].values():
            if at := one.get("minus_bon_at_equal_tokens"):
                (low, before), (high, after) = next(pair for pair in pairwise(points) if at["tokens"] <= pair[1][0])
                share = (at["tokens"] - low) / (high - low)
                rows = zip(one["solved"], before, after, strict=True)
                ahead += [int(own) - (1 - share) * int(less) - share * int(more) for own, less, more in rows]
    if not ahead:
        return ""
    low, high = paired_interval(ahead)
    mean = sum(ahead) / len(ahead)
    return f"Minus `bon` at equal mean tokens, {len(ahead)} tasks: {mean:+.3f} [{low:+.3f}, {high:+.3f}]"


def read(path: Path) -> Figures:
    """Return the figures of a run folder, or those that a file keeps."""
    if path.is_dir():
        return cast("Figures", json.loads(json.dumps(figures_of(MeasuredRun(path)))))
    return cast("Figures", json.loads(path.read_text(encoding="utf-8")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="run folders, or files that --keep wrote")
    parser.add_argument("--keep", type=Path, help="folder for a file per run with its figures")
    arguments = parser.parse_args()
    runs = [read(path) for path in arguments.runs]
    for run in runs if arguments.keep else ():
        arguments.keep.mkdir(parents=True, exist_ok=True)
        text = json.dumps(run, indent=1, ensure_ascii=False)
        (arguments.keep / f"{run['name']}.json").write_text(f"{text}\n", encoding="utf-8")
    print("\n\n".join(filter(None, (table(runs), between(runs), pooled(runs)))))


if __name__ == "__main__":
    main()
