"""Reads run folders of language models: the tables of docs/models-measured.md, and figures of refinements and caches.

`python benchmarks/support/measured_models.py FOLDER... --keep docs/measurements` prints the tables and keeps their
figures; given the kept files, it prints them again. What a candidate would have scored is computed with the
environment's oracle, after the run, and never shown to a verifier or an agent.
"""

import argparse
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gymnasium as gym
from support.bird_verifier import held_out

import iad_envs  # noqa: F401 (registers)
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.report.compare import Difference, differences
from iad_policy.report.metrics import StrategySummary, summarise
from iad_policy.report.statistics import mcnemar_exact
from iad_policy.report.verifier_evidence import VerifierEvidence, evidence
from iad_policy.types import Candidate, Decision

BASELINE = "bon"


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
    def differing(self) -> float:
        """Share of the refinements that are an action which was not tried yet."""
        return (self.n - self.n_unreadable - self.n_repeats) / self.n if self.n else float("nan")

    @property
    def better(self) -> float:
        """Share of the refinements that improve, of those that could."""
        return self.n_better / self.n_open if self.n_open else float("nan")


class Moment(NamedTuple):
    """Where in which task a decision was made: after these committed actions."""

    task: str
    actions: tuple[Any, ...] = ()


class Scored(NamedTuple):
    """A verified candidate that may end the episode, with what it would have scored."""

    task: str
    score: float
    is_right: bool


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

    def summaries(self) -> dict[str, StrategySummary]:
        """Return the figures of each arm."""
        return {arm: summarise(records) for arm, records in self.arms.items()}

    def against_best_of_n(self) -> dict[str, Difference]:
        """Return the difference of each arm to best-of-n with the same n."""
        pairs = {
            arm: f"{BASELINE} {arm.split()[1]}" for arm in self.arms if not arm.startswith((BASELINE + " ", "single"))
        }
        return differences(self.arms, {arm: other for arm, other in pairs.items() if other in self.arms})

    def cached_share(self) -> float:
        """Return the share of the prompt tokens that the server had in its cache."""
        exchanges = [(one.usage.prompt_tokens, one.exchanges[-1].cached_tokens) for one in self._candidates()]
        known = [(n, cached) for n, cached in exchanges if cached is not None and n]
        return sum(cached for _, cached in known) / max(1, sum(n for n, _ in known))

    def uptake(self, arm: str, *, is_told: bool = True) -> Uptake:
        """Return what became of an arm's refinements, or of its further samples, which are told nothing."""
        total = Uptake()
        for moment, decision in self._decisions(arm):
            for place, one in enumerate(decision.candidates):
                if (one.feedback is not None) is is_told and place:
                    total += self._refinement(moment, decision.candidates[:place], one)
        return total

    def verifier_evidence(self, arm: str, tasks: Collection[str] | None = None) -> VerifierEvidence:
        """Return what the verifier's scores say about success, on an arm's candidates, for all tasks or for some."""
        # In the order of the tasks, as the interval depends on the order and the episodes end in any.
        scored = sorted(self._scored(arm), key=lambda one: one.task)
        scored = [one for one in scored if tasks is None or one.task in tasks]
        return evidence(
            [one.score for one in scored], [one.is_right for one in scored], tasks=[one.task for one in scored]
        )

    def _scored(self, arm: str) -> Iterator[Scored]:
        for moment, decision in self._decisions(arm):
            for one in decision.candidates:
                if not one.error and one.verdict is not None and one.preview is not None and one.preview.done:
                    yield Scored(moment.task, one.verdict.score, self._true_score(moment, one) == 1.0)

    def _refinement(self, moment: Moment, earlier: Sequence[Candidate], one: Candidate) -> Uptake:
        best = max((self._true_score(moment, other) for other in earlier), default=0.0)
        is_repeat = not one.error and any(one.key == other.key for other in earlier)
        return Uptake(
            n=1,
            n_unreadable=int(bool(one.error)),
            n_repeats=int(is_repeat),
            n_better=int(self._true_score(moment, one) > best),
            n_open=int(best < 1.0),
        )

    def _true_score(self, moment: Moment, candidate: Candidate) -> float:
        """Return what the oracle verifier would say of a candidate; 0 for one that is no action."""
        if candidate.error:
            return 0.0
        known = self._truth.get((moment, candidate.key))
        if known is None:
            self._reach(moment)
            env: Any = self._env.unwrapped
            outcome = env.simulate(env.snapshot(), candidate.action)
            known = self._truth[moment, candidate.key] = _score_of(env.oracle(outcome.token), outcome.done)
        return known

    def _reach(self, moment: Moment) -> None:
        if moment != self._reached:
            self._reached = None
            self._env.reset(options={"task_id": moment.task})
            for action in moment.actions:
                self._env.step(action)
            self._reached = moment

    @cached_property
    def _env(self) -> "gym.Env[Any, Any]":
        config = self.traces.config
        given = dict(config["env_args"])
        if config["data_dir"]:
            given["data_dir"] = config["data_dir"]
        if config["split"]:
            given["split"] = config["split"]
        return gym.make(config["env"], **given)

    def _decisions(self, arm: str) -> Iterator[tuple[Moment, Decision]]:
        for record in self.arms[arm]:
            for step in self.traces.episode(record.key).steps:
                yield Moment(record.task_id, tuple(record.actions[: step.index])), step.decision

    def _candidates(self) -> Iterator[Candidate]:
        """Yield each candidate of a language model once: an answer from the client's cache was read once, too."""
        seen: set[tuple[str, str]] = set()
        for arm in self.arms:
            for moment, decision in self._decisions(arm):
                for one in decision.candidates:
                    asked = (
                        (moment.task, f"{[dict(m) for m in one.exchanges[-1].prompt]} {one.id}")
                        if one.exchanges
                        else None
                    )
                    if asked is not None and asked not in seen:
                        seen.add(asked)
                        yield one


def _score_of(gold: dict[str, Any], is_over: bool) -> float:
    return float(gold["reward"] if is_over else gold["progress"])


Figures = dict[str, Any]
"""What is kept of a run, as JSON: figures of each arm, and which tasks it solved."""


def figures_of(run: MeasuredRun) -> Figures:
    """Return the figures of a run, without a path of the machine that made it."""
    config = run.traces.config
    arms = sorted(run.arms, key=lambda arm: (arm.split()[0], int(arm.split()[1])))
    summaries, compared = run.summaries(), run.against_best_of_n()
    tasks = sorted({record.task_id for records in run.arms.values() for record in records})
    largest = _largest(arms, BASELINE)
    names = ("env", "env_args", "split", "seed", "n", "verifier", "feedback", "temperature", "data", "iad_version")
    return {
        "name": run.folder.name,
        **{name: config[name] for name in names},
        "agent": config["identity"][config["agent"]]["agent"],
        "tasks": tasks,
        "arms": {arm: _arm(run, arm, tasks, summaries[arm], compared.get(arm)) for arm in arms},
        "cached_share": run.cached_share(),
        "refinements": {arm: asdict(run.uptake(arm)) for arm in arms if arm.startswith("iad ") and arm != "iad 1"},
        "samples": {} if largest is None else {largest: asdict(run.uptake(largest, is_told=False))},
        "verifier_on": {} if largest is None else _verifier(run, largest, tasks),
    }


def _largest(arms: Iterable[str], strategy: str) -> str | None:
    """Return a strategy's arm with the largest n; None if there is none."""
    return max(
        (arm for arm in arms if arm.startswith(f"{strategy} ")), key=lambda arm: int(arm.split()[1]), default=None
    )


def _verifier(run: MeasuredRun, arm: str, tasks: Sequence[str]) -> Figures:
    """Return what the verifier's scores say on an arm's candidates: of all tasks, and of those it was not fitted to."""
    found = {f"`{arm}`": run.verifier_evidence(arm)._asdict()}
    if run.traces.config["env"] == "IAD/BIRD-v0" and run.traces.config["verifier"] == "proxy":
        others = held_out(tasks, is_bundled=not run.traces.config["data_dir"])
        name = f"`{arm}`, {len(others)} tasks to which it was not fitted"
        found[name] = run.verifier_evidence(arm, frozenset(others))._asdict()
    return found


def _arm(run: MeasuredRun, arm: str, tasks: Sequence[str], one: StrategySummary, other: Difference | None) -> Figures:
    solved = {record.task_id: record.success for record in run.arms[arm]}
    found: Figures = {
        "n_tasks": one.n_episodes,
        "success": one.success,
        "progress": one.progress,
        "valid_actions": one.grounding,
        "tokens": one.spent.get("tokens", 0.0),
        "solved": "".join("-" if task not in solved else "1" if solved[task] else "0" for task in tasks),
    }
    if other is not None and other.success is not None:
        found["minus_bon"] = {
            "success": other.success.value,
            "interval": other.success.interval_95,
            "won": len(other.success.won),
            "lost": len(other.success.lost),
            "p": other.success.p,
        }
    return found


def table(run: Figures) -> str:
    """Return the table of a run as Markdown, with what is known of its refinements and its verifier."""
    feedback = f"feedback `{run['feedback']}`, " if run["feedback"] else ""
    lines = [
        f"### {run['name']}",
        "",
        f"Verifier `{run['verifier']}`, {feedback}temperature {run['temperature']}.",
        "",
        "| method | n | tasks | success | progress | valid actions | tokens | - bon | won:lost | p |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for arm, one in run["arms"].items():
        strategy, n = arm.split()
        versus = "| | | |"
        if other := one.get("minus_bon"):
            low, high = other["interval"]
            p = "" if other["p"] is None else _p(other["p"])
            versus = f"| {other['success']:+.3f} [{low:+.3f}, {high:+.3f}] | {other['won']}:{other['lost']} | {p} |"
        lines.append(
            f"| `{strategy}` | {n} | {one['n_tasks']} | {one['success']:.3f} | {one['progress']:.3f} "
            f"| {one['valid_actions']:.3f} | {one['tokens']:,.0f} {versus}"
        )
    lines += ["", f"- Prompt tokens from the server's cache: {run['cached_share']:.2f}."]
    for arm, given in {**run["refinements"], **run["samples"]}.items():
        told = Uptake(**given)
        kind = "further samples" if arm in run["samples"] else "refinements"
        lines.append(
            f"- `{arm}`: {told.n} {kind}, {told.differing:.2f} differ from all earlier attempts, {told.n_repeats} "
            f"repeat one, {told.n_unreadable} are no action; {told.better:.2f} of {told.n_open} improve."
        )
    for on, given in run["verifier_on"].items():
        lines.append(f"- Verifier on the candidates of {on}: {VerifierEvidence(**given)}.")
    return "\n".join(lines)


def _p(value: float) -> str:
    return "<.001" if value < 0.0005 else f"{value:.3f}"


def between(runs: Sequence[Figures]) -> str:
    """Return how the runs' largest `iad` compare by task, as Markdown; "" for runs that can't be compared."""
    lines = [
        "| `iad` in | minus in | tasks | success | won:lost | p |",
        "|---|---|---|---|---|---|",
    ]
    for one, other in combinations(runs, 2):
        arm = _largest(one["arms"], "iad")
        if arm not in other["arms"] or one["tasks"] != other["tasks"] or one["data"] != other["data"]:
            continue
        pairs = list(zip(one["arms"][arm]["solved"], other["arms"][arm]["solved"], strict=True))
        won, lost = pairs.count(("1", "0")), pairs.count(("0", "1"))
        names = " | ".join(f"`{run['name']}`" for run in (one, other))
        p = _p(mcnemar_exact(won, lost))
        lines.append(f"| {names} | {len(pairs)} | {(won - lost) / len(pairs):+.3f} | {won}:{lost} | {p} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def read(path: Path) -> Figures:
    """Return the figures of a run folder, or those that a file keeps."""
    if path.is_dir():
        return cast("Figures", json.loads(json.dumps(figures_of(MeasuredRun(path)))))
    return cast("Figures", json.loads(path.read_text(encoding="utf-8")))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="run folders, or files that --keep wrote")
    parser.add_argument("--keep", type=Path, help="folder for a file per run with its figures")
    arguments = parser.parse_args()
    runs = [read(path) for path in arguments.runs]
    for run in runs:
        print(f"{table(run)}\n")
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            text = json.dumps(run, indent=1, ensure_ascii=False)
            (arguments.keep / f"{run['name']}.json").write_text(f"{text}\n", encoding="utf-8")
    print(between(runs))


if __name__ == "__main__":
    main()
