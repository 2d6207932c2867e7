"""Fits the proxy verifier of `IAD/BIRD-v0`, and measures what its scores say about success.

    python benchmarks/support/bird_verifier.py        the evidence, on candidates that it was not fitted to
    python benchmarks/support/bird_verifier.py --fit  the numbers of iad_envs/bird/policy/calibration.py

Candidates are predictions of published systems for the questions about `superhero` of BIRD's dev set, and nothing else.
The labels are the official EX. What may be fitted and what is held out is fixed: questions by a hash of their id, and
two systems entirely. It needs `IAD_REAL_DATA` and `IAD_VECTORS`.
"""

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Literal, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from support.evidence import CandidateSet, Labelled, SetScores, evidence_on, logistic, scored_sets
from support.figures import ROOT

from iad_envs.bird.env import BirdEnv
from iad_envs.bird.policy.calibration import WEIGHTS, probability, vote_odds
from iad_envs.bird.policy.verifier import BirdVerifier, ReadPreview, read_preview
from iad_envs.bird.predictions import BirdPredictions
from iad_policy.ledger.predictions.prediction_files import read_predictions
from iad_policy.report.verifier_evidence import VerifierEvidence
from iad_policy.strategies.building_blocks.voting import majority
from iad_policy.types import Candidate, PublicInfo, State
from iad_policy.types.hashing import seed_of

Part = Literal["tuning", "held_out"]
BUNDLED = ROOT / "data" / "bird"
LEFT_OUT = frozenset({"codes-15b", "dail"})
"""Systems that are never used for fitting."""
N_SETS = 4
"""Sets of each size per task and source."""
PENALTIES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
PENALTY = 1e-2
"""Weight of the squared weights of the findings in the loss: of `PENALTIES` the one with the smallest loss in five-fold
cross-validation over tasks, 0.196 (standard error 0.056)."""
FITTED = sorted(WEIGHTS)
"""The findings with a weight. `empty` is never right, and quoted literals and texts as numbers say nothing."""


@dataclass(frozen=True, slots=True)
class TaskPool:
    """All candidates of one task. The source of each is a system's name."""

    task_id: str
    state: State
    labelled: tuple[Labelled, ...]


def is_held_out(task_id: str) -> bool:
    """Whether a question of data without splits is only for reports."""
    return blake2b(task_id.encode(), digest_size=4).digest()[-1] % 2 == 1


def bundled_ids(part: Part) -> list[str]:
    """Return the bundled tasks of a part: train and dev for tuning, test for reports."""
    questions = json.loads((BUNDLED / "dev.json").read_text(encoding="utf-8"))
    return [str(one["question_id"]) for one in questions if (one["split"] in ("train", "dev")) == (part == "tuning")]


def held_out(task_ids: Collection[str], *, is_bundled: bool) -> list[str]:
    """Return the tasks to which the proxy verifier was not fitted."""
    bundled = set(bundled_ids("held_out")) if is_bundled else set()
    return [task for task in task_ids if (task in bundled if is_bundled else is_held_out(task))]


def queries_of(env: BirdEnv, folder: Path) -> dict[str, dict[str, str]]:
    """Return every system's queries by task id, from prediction files."""
    form, files = BirdPredictions(env), sorted((folder / "predictions").glob("*.json"))
    read = {file.stem: read_predictions(file, form, env.tasks) for file in files}
    return {name: {one.task_id: one.answer or "" for one in file.attempts} for name, file in read.items()}


@lru_cache(maxsize=2)
def pools(part: Part) -> tuple[TaskPool, ...]:
    """Return the systems' candidates for the questions about `superhero`."""
    folder = Path(os.environ["IAD_REAL_DATA"]) / "bird"
    env = BirdEnv(data_dir=folder)
    predictions = queries_of(env, folder)
    vectors = Path(os.environ["IAD_VECTORS"]) / "bird_superhero_published_ex.json"
    for name, pairs in json.loads(vectors.read_text()).items():
        for pair in pairs:
            predictions.setdefault(name, {}).setdefault(str(pair["question_id"]), pair["predicted_sql"])
    if part == "tuning":
        predictions = {name: own for name, own in predictions.items() if name not in LEFT_OUT}
    found = tuple(
        _pool(env, task, {name: own[task] for name, own in predictions.items() if task in own})
        for task in env.task_ids
        if is_held_out(task) == (part == "held_out")
    )
    env.close()
    return found


def _pool(env: BirdEnv, task_id: str, predictions: Mapping[str, str]) -> TaskPool:
    state = start(env, task_id)
    actions = {name: f"submit[{sql}]" for name, sql in predictions.items()}
    known = {action: labelled(env, action) for action in dict.fromkeys(actions.values())}
    return TaskPool(task_id, state, tuple(Labelled(name, *known[action]) for name, action in actions.items()))


def start(env: BirdEnv, task_id: str) -> State:
    """Return the state in which a task begins."""
    observation, info = env.reset(options={"task_id": task_id})
    return State(observation, PublicInfo(info, frozenset(env.GOLD_INFO)), steps_left=env.max_steps or 1)


def labelled(env: BirdEnv, action: str) -> tuple[Candidate, bool]:
    """Return an action as a candidate with its preview, and whether it is a submitted query with EX 1."""
    outcome = env.simulate(env.snapshot(), action)
    is_right = outcome.done and env.oracle(outcome.token)["reward_parts"]["ex"] == 1.0
    preview = State(outcome.observation, outcome.info, done=outcome.done, key=outcome.key)
    candidate = Candidate(action, key=env.action_key(action), preview=preview, is_terminal=env.terminal(action))
    return candidate, is_right


# Sets of 1 to 6 candidates


def candidate_sets(part: Part) -> list[CandidateSet]:
    """Return `N_SETS` sets of each size per task, each with different systems."""
    found = []
    for pool in pools(part):
        rng = Random(seed_of("sets", pool.task_id))
        for size in [size for size in (1, 2, 3, 4, 6) for _ in range(N_SETS)]:
            if size <= len(pool.labelled):
                found.append(CandidateSet(pool.task_id, pool.state, tuple(rng.sample(pool.labelled, size))))
    return found


def has_systems() -> bool:
    """Say whether the systems' predictions are there: `$IAD_REAL_DATA` and `$IAD_VECTORS`."""
    return bool(os.environ.get("IAD_REAL_DATA") and os.environ.get("IAD_VECTORS"))


# The evidence


class Choice(NamedTuple):
    """Success of a choice among n candidates: the first, the majority's, the verifier's, and the best one (pass@n)."""

    single: float
    vote: float
    chosen: float
    passed: float
    n_tasks: int

    @property
    def gap_closed(self) -> float:
        """The share of the gap between vote and pass@n that the verifier closes. NaN if there is none."""
        gap = self.passed - self.vote
        return (self.chosen - self.vote) / gap if gap > 0 else float("nan")


def bird_evidence() -> VerifierEvidence:
    """Return how well the proxy verifier's scores of submitted queries tell success, on held-out questions."""
    return evidence_on(scored_sets(candidate_sets("held_out"), BirdVerifier()))


def choice_among(scored: Sequence[SetScores], size: int) -> Choice:
    """Return how good the choices among `size` candidates are."""
    by_task: dict[str, list[tuple[bool, ...]]] = defaultdict(list)
    for one, scores in (found for found in scored if len(found.scores) == size):
        is_right = [member.is_right for member in one.members]
        voted = majority([member.candidate for member in one.members])
        vote = next(member.is_right for member in one.members if member.candidate is voted)
        by_task[one.task_id].append((is_right[0], vote, is_right[scores.index(max(scores))], any(is_right)))
    means = [[fmean(column) for column in zip(*own, strict=True)] for own in by_task.values()]
    single, vote_mean, chosen, passed = map(fmean, zip(*means, strict=True))
    return Choice(single, vote_mean, chosen, passed, len(by_task))


def print_evidence() -> None:
    """Print the evidence for the proxy verifier: of all queries, of those with rows, and of the systems left out."""
    scored = scored_sets(candidate_sets("held_out"), BirdVerifier())
    print(f"all submits: {evidence_on(scored)}")
    print(f"with rows:   {evidence_on(scored, lambda one: bool(one.preview and one.preview.info['page']['n_rows']))}")
    alone = [
        CandidateSet(pool.task_id, pool.state, (one,))
        for pool in pools("held_out")
        for one in pool.labelled
        if one.source in LEFT_OUT
    ]
    print(f"left out:    {evidence_on(scored_sets(alone, BirdVerifier()))}")
    for size in (4, 6):
        choice = choice_among(scored, size)
        print(
            f"n={size}: single {choice.single:.3f}, vote {choice.vote:.3f}, verifier {choice.chosen:.3f}, "
            f"pass@n {choice.passed:.3f}, gap closed {choice.gap_closed:.2f} ({choice.n_tasks} tasks)"
        )


# The fit


class Example(NamedTuple):
    """A submitted query that gave rows, in a set of candidates, with the other ones that vote."""

    task_id: str
    codes: frozenset[str]
    others: tuple[tuple[frozenset[str], bool], ...]
    """Findings of the others, and whether their result is the same."""
    is_right: bool


def examples(sets: Sequence[CandidateSet]) -> list[Example]:
    """Return all candidates that the model has to score."""

    def votes(preview: ReadPreview) -> bool:
        return not preview.has_failed and "empty" not in preview.codes

    found = []
    for one in sets:
        previews = [read_preview(member.candidate) for member in one.members]
        for member, preview in zip(one.members, previews, strict=True):
            if preview.kind == "submit" and votes(preview):
                others = [other for other in previews if other is not preview and votes(other)]
                same = tuple((other.codes, other.result == preview.result) for other in others)
                found.append(Example(one.task_id, preview.codes, same, member.is_right))
    return found


def fit(given: Sequence[Example], penalty: float = PENALTY) -> tuple[float, float, dict[str, float]]:
    """Return prior, agreement and weights of a logistic regression of success on findings and votes.

    The weight of a finding is one that all share and its own deviation, and both are drawn to 0. So a finding that few
    queries have, or none, weighs about as much as the others do: systems seldom make the mistakes of small models. No
    finding speaks for a query. As votes count by their probability, which the findings give, it is repeated until the
    numbers stay the same. Each task has equal weight.
    """
    features = np.array([[code in one.codes for code in FITTED] for one in given], float)
    labels = np.array([one.is_right for one in given], float)
    sizes = Counter(one.task_id for one in given)
    importance = np.array([1.0 / sizes[one.task_id] for one in given])
    importance /= importance.sum()
    penalties = [0.0, 0.0, *[penalty] * (1 + len(FITTED))]
    bounds = [(None, None), (0.0, None), (None, 0.0), *[(None, None)] * len(FITTED)]
    prior, agreement, weights = 0.0, 0.0, dict[str, float]()
    for _ in range(5):
        votes = [votes_of(one, prior, weights) for one in given]
        table = np.column_stack([np.ones(len(given)), votes, features.sum(1), features])
        prior, agreement, shared, *own = logistic(
            table, labels, importance, penalties=penalties, bounds=bounds
        ).tolist()
        weights = {code: min(0.0, shared + one) for code, one in zip(FITTED, own, strict=True)}
    return prior, agreement, weights


def votes_of(one: Example, prior: float, weights: Mapping[str, float]) -> float:
    """Return the log odds of the others' votes, each of which counts by the probability that its findings give."""
    sides = {True: 0.0, False: 0.0}
    for own, is_same in one.others:
        sides[is_same] += probability(prior + sum(weights.get(code, 0.0) for code in own))
    return vote_odds(sides[True], sides[False])


def losses(given: Sequence[Example], penalty: float, n_folds: int = 5) -> list[float]:
    """Return the loss of each task, in nats, by numbers that were fitted to other tasks."""
    order = {task: place % n_folds for place, task in enumerate(sorted({one.task_id for one in given}))}
    found: dict[str, list[float]] = defaultdict(list)
    for fold in range(n_folds):
        prior, agreement, weights = fit([one for one in given if order[one.task_id] != fold], penalty)
        for one in given:
            if order[one.task_id] == fold:
                odds = prior + sum(weights.get(code, 0.0) for code in one.codes)
                odds += agreement * votes_of(one, prior, weights)
                found[one.task_id].append(float(np.logaddexp(0.0, -odds if one.is_right else odds)))
    return [fmean(own) for own in found.values()]


def print_fit() -> None:
    """Print the share of wrong queries among those with each finding, the loss by penalty, and the model's numbers."""
    sets = candidate_sets("tuning")
    wrong: dict[str, list[bool]] = defaultdict(list)
    known = {(one.task_id, str(member.candidate.action)): member for one in sets for member in one.members}
    for member in known.values():
        preview = read_preview(member.candidate)
        for code in ("any", *sorted(preview.codes)) if preview.kind == "submit" else ():
            wrong[code].append(not member.is_right)
    for code, own in sorted(wrong.items()):
        print(f"{code:24} wrong: {np.mean(own):.2f} of {len(own)}")
    given = examples(sets)
    for penalty in PENALTIES:
        each = losses(given, penalty)
        print(f"penalty {penalty:g}: loss {fmean(each):.3f}, standard error {np.std(each) / len(each) ** 0.5:.3f}")
    prior, agreement, weights = fit(given)
    print(f"\nPRIOR = {prior:.2f}\nAGREEMENT = {agreement:.2f}\nWEIGHTS: Mapping[str, float] = {{")
    for code, weight in sorted(weights.items(), key=lambda item: item[1]):
        if round(weight, 2):
            print(f'    "{code}": {weight:.2f},')
    print("}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="fit the verifier again, and print its numbers")
    given = parser.parse_args()
    if not has_systems():
        raise SystemExit(
            "expected IAD_REAL_DATA and IAD_VECTORS in the environment, as they hold the systems' predictions, got less"
        )
    (print_fit if given.fit else print_evidence)()


if __name__ == "__main__":
    main()
