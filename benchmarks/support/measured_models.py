"""Reads run folders of language models: the tables of docs/models-measured.md, and figures of refinements and caches.

`python benchmarks/support/measured_models.py FOLDER...` prints the tables. What a candidate would have scored is
computed with the environment's oracle, after the run, and never shown to a verifier or an agent.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gymnasium as gym
from support.verifier_evidence import VerifierEvidence, evidence

import iad_envs  # noqa: F401 (registers)
from iad_policy.analysis.metrics import Difference, StrategySummary, differences, summarise
from iad_policy.recording.episode_record import EpisodeRecord
from iad_policy.recording.trace import RunTraces
from iad_policy.types import Candidate, Decision

BASELINE = "bon"


@dataclass(frozen=True)
class Uptake:
    """What became of the refinements of a run.

    Attributes:
        n: Refinements: proposals that were made with feedback.
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


class Scored(NamedTuple):
    """A verified candidate that may end the episode, with what it would have scored."""

    task: str
    score: float
    is_right: bool


@dataclass
class MeasuredRun:
    """One run folder."""

    folder: Path
    _truth: dict[tuple[str, str], float] = field(default_factory=dict)

    @cached_property
    def traces(self) -> RunTraces:
        """The folder's episodes."""
        return RunTraces(self.folder)

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

    def uptake(self, arm: str) -> Uptake:
        """Return what became of an arm's refinements."""
        total = Uptake()
        for record, decision in self._decisions(arm):
            for place, one in enumerate(decision.candidates):
                if one.feedback is not None and place:
                    total += self._refinement(record.task_id, decision.candidates[:place], one)
        return total

    def verifier_evidence(self, arm: str) -> VerifierEvidence:
        """Return what the verifier's scores say about success, on an arm's candidates."""
        scored = list(self._scored(arm))
        return evidence(
            [one.score for one in scored], [one.is_right for one in scored], tasks=[one.task for one in scored]
        )

    def _scored(self, arm: str) -> Iterator[Scored]:
        for record, decision in self._decisions(arm):
            for one in decision.candidates:
                if not one.error and one.verdict is not None and one.preview is not None and one.preview.done:
                    yield Scored(record.task_id, one.verdict.score, self._reward(record.task_id, one) == 1.0)

    def _refinement(self, task: str, earlier: Sequence[Candidate], one: Candidate) -> Uptake:
        best = max((self._reward(task, other) for other in earlier), default=0.0)
        is_repeat = not one.error and any(one.key == other.key for other in earlier)
        return Uptake(
            n=1,
            n_unreadable=int(bool(one.error)),
            n_repeats=int(is_repeat),
            n_better=int(self._reward(task, one) > best),
            n_open=int(best < 1.0),
        )

    def _reward(self, task: str, candidate: Candidate) -> float:
        """Return what a candidate would have scored as the first action of its task; 0 for one that is no action."""
        if candidate.error:
            return 0.0
        known = self._truth.get((task, candidate.key))
        if known is None:
            env: Any = self._env.unwrapped
            self._env.reset(options={"task_id": task})
            outcome = env.simulate(env.snapshot(), candidate.action)
            known = self._truth[task, candidate.key] = float(env.oracle(outcome.token)["reward"])
        return known

    @cached_property
    def _env(self) -> "gym.Env[Any, Any]":
        config = self.traces.config
        given = dict(config["env_args"])
        if config["data_dir"]:
            given["data_dir"] = config["data_dir"]
        if config["split"]:
            given["split"] = config["split"]
        return gym.make(config["env"], **given)

    def _decisions(self, arm: str) -> Iterator[tuple[EpisodeRecord, Decision]]:
        for record in self.arms[arm]:
            for step in self.traces.trace(record.key).steps:
                yield record, step.decision

    def _candidates(self) -> Iterator[Candidate]:
        """Yield each candidate of a language model once: an answer from the client's cache was read once, too."""
        seen: set[tuple[str, str]] = set()
        for arm in self.arms:
            for record, decision in self._decisions(arm):
                for one in decision.candidates:
                    asked = (
                        (record.task_id, f"{[dict(m) for m in one.exchanges[-1].prompt]} {one.id}")
                        if one.exchanges
                        else None
                    )
                    if asked is not None and asked not in seen:
                        seen.add(asked)
                        yield one


def print_tables(runs: Sequence[MeasuredRun]) -> None:
    """Print the tables of the runs as Markdown."""
    for run in runs:
        config = run.traces.config
        print(f"\n### {run.folder.name}\n")
        print(f"{config['env']}, verifier {config['verifier']}, feedback {config['feedback']}\n")
        print("| method | n | tasks | success | progress | valid actions | tokens | - bon | won:lost | p |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        compared = run.against_best_of_n()
        for arm, one in run.summaries().items():
            strategy, n = arm.split()
            difference = compared.get(arm)
            versus = "| | | |"
            if difference is not None and difference.success is not None and difference.success_95 is not None:
                low, high = difference.success_95
                p = "" if difference.p_mcnemar is None else f"{difference.p_mcnemar:.3f}"
                won = f"{len(difference.won)}:{len(difference.lost)}"
                versus = f"| {difference.success:+.3f} [{low:+.3f}, {high:+.3f}] | {won} | {p} |"
            print(
                f"| `{strategy}` | {n} | {one.n_episodes} | {one.success:.3f} | {one.progress:.3f} "
                f"| {one.grounding:.3f} | {one.spent.get('tokens', 0.0):,.0f} {versus}"
            )
        print(f"\nPrompt tokens from the server's cache: {run.cached_share():.2f}.")
        for arm in (arm for arm in run.arms if arm.startswith("iad ") and not arm.endswith(" 1")):
            told = run.uptake(arm)
            print(
                f"`{arm}`: {told.n} refinements, {told.differing:.2f} differ from all earlier attempts, "
                f"{told.n_repeats} repeat one, {told.n_unreadable} are no action; "
                f"{told.better:.2f} of {told.n_open} improve."
            )
        largest = max((arm for arm in run.arms if arm.startswith(BASELINE + " ")), default=None)
        if largest is not None:
            print(f"Verifier on the candidates of `{largest}`: {run.verifier_evidence(largest)}.")


if __name__ == "__main__":
    print_tables([MeasuredRun(Path(folder)) for folder in sys.argv[1:]])
