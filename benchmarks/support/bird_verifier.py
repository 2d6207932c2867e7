"""Fits the proxy verifier of `IAD/BIRD-v0`, and measures what its scores say about success.

    python benchmarks/support/bird_verifier.py        the evidence, on candidates that it was not fitted to
    python benchmarks/support/bird_verifier.py --fit  the numbers of iad_envs/bird/policy/calibration.py

Candidates are predictions of published systems, samples of the rule-based agent at several temperatures, and queries of
both with an error put in. The labels are the official EX. What may be fitted and what is held out is fixed: bundled
tasks by their split, other questions by a hash of their id, and two systems entirely. Published systems need
`IAD_REAL_DATA` and `IAD_VECTORS`.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, Literal, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from support.evidence import CandidateSet, Labelled, SetScores, evidence_on, logistic, scored_sets
from support.figures import ROOT

from iad_envs.bird.env import BirdEnv
from iad_envs.bird.policy.agent import BirdAgent
from iad_envs.bird.policy.calibration import probability, vote_odds
from iad_envs.bird.policy.verifier import BirdVerifier, ReadPreview, read_preview
from iad_envs.bird.predictions import BirdPredictions
from iad_envs.bird.sql import tokens
from iad_policy.ledger.predictions.prediction_files import read_predictions
from iad_policy.report.verifier_evidence import VerifierEvidence
from iad_policy.strategies.building_blocks.voting import majority
from iad_policy.types import Candidate, PublicInfo, State
from iad_policy.types.hashing import seed_of

Part = Literal["tuning", "held_out"]
BUNDLED = ROOT / "data" / "bird"
TEMPERATURES = (0.3, 0.7, 1.0, 1.5)
LEFT_OUT = frozenset({"codes-15b", "dail"})
"""Systems that are never used for fitting."""
N_SETS = 4
"""Sets of each size per task and source."""
PENALTY = 3e-4
"""Weight of the squared weights of the findings in the loss. Of 1e-6 to 1e-3 it is the largest whose loss, in five-fold
cross-validation over tasks (0.280), is within a standard error (0.024) of the smallest one (0.272, with 3e-5)."""


@dataclass(frozen=True, slots=True)
class TaskPool:
    """All candidates of one task. A source is a system's name, `linker:<temperature>`, or `broken:<source>`."""

    task_id: str
    state: State
    labelled: tuple[Labelled, ...]

    def of(self, *sources: str) -> list[Labelled]:
        """Return those of some sources; of published systems without any."""
        return [one for one in self.labelled if (one.source in sources if sources else ":" not in one.source)]

    def broken(self) -> list[Labelled]:
        """Return those with an error put in."""
        return [one for one in self.labelled if one.source.startswith("broken:")]


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


@lru_cache(maxsize=8)
def pools(part: Part, is_bundled: bool) -> tuple[TaskPool, ...]:
    """Return the candidates on bundled tasks, or on the questions about `superhero`."""
    predictions: dict[str, dict[str, str]] = {}
    if is_bundled:
        env, chosen = BirdEnv(data_dir=BUNDLED), bundled_ids(part)
    else:
        folder = Path(os.environ["IAD_REAL_DATA"]) / "bird"
        env = BirdEnv(data_dir=folder)
        chosen = [task for task in env.task_ids if is_held_out(task) == (part == "held_out")]
        predictions = queries_of(env, folder)
        vectors = Path(os.environ["IAD_VECTORS"]) / "bird_superhero_published_ex.json"
        for name, pairs in json.loads(vectors.read_text()).items():
            for pair in pairs:
                predictions.setdefault(name, {}).setdefault(str(pair["question_id"]), pair["predicted_sql"])
        if part == "tuning":
            predictions = {name: own for name, own in predictions.items() if name not in LEFT_OUT}
    found = tuple(
        _pool(env, task, {name: own[task] for name, own in predictions.items() if task in own}) for task in chosen
    )
    env.close()
    return found


def _pool(env: BirdEnv, task_id: str, predictions: Mapping[str, str]) -> TaskPool:
    state = start(env, task_id)
    actions = [(name, f"submit[{sql}]") for name, sql in predictions.items()]
    agent = BirdAgent()
    for temperature in TEMPERATURES:
        for sample in range(8):
            rng = Random(seed_of("sample", task_id, temperature, sample))
            made = agent.propose(state, feedback=None, temperature=temperature, rng=rng)
            actions.append((f"linker:{temperature:g}", str(made.action)))
    submitted = [(source, action) for source, action in actions if action.startswith("submit[")]
    originals = [one for one in submitted if one[0] in predictions] or submitted
    rng = Random(seed_of("broken", task_id))
    for _ in range(16):
        source, action = rng.choice(originals)
        if sql := broken(action[len("submit[") : -1], state.info["page"]["tables"], rng):
            actions.append((f"broken:{source}", f"submit[{sql}]"))
    known = {action: labelled(env, action) for action in dict.fromkeys(action for _, action in actions)}
    return TaskPool(task_id, state, tuple(Labelled(source, *known[action]) for source, action in actions))


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


def candidate_sets(source: str, part: Part) -> list[CandidateSet]:
    """Return `N_SETS` sets of each size per task, with candidates of one of `sources()`."""
    is_bundled, draw = SOURCES[source]
    found = []
    for pool in pools(part, is_bundled):
        rng = Random(seed_of("sets", pool.task_id))
        for size in [size for size in (1, 2, 3, 4, 6) for _ in range(N_SETS)]:
            members = draw(pool, size, rng)
            if len(members) == size:
                rng.shuffle(members)
                found.append(CandidateSet(pool.task_id, pool.state, tuple(members)))
    return found


def _of_systems(pool: TaskPool, size: int, rng: Random) -> list[Labelled]:
    return rng.sample(pool.of(), min(size, len(pool.of())))


def _of_one_temperature(pool: TaskPool, size: int, rng: Random) -> list[Labelled]:
    return rng.sample(pool.of(f"linker:{rng.choice(TEMPERATURES):g}"), size)


def _mixed(pool: TaskPool, size: int, rng: Random) -> list[Labelled]:
    """Return a set of which a random share has errors put in, as a weak model makes them."""
    n_broken = min(rng.randint(0, size), len(pool.broken()))
    others = [*pool.of(), *pool.of("linker:0.3", "linker:1")]
    return [*rng.sample(pool.broken(), n_broken), *rng.sample(others, size - n_broken)]


SOURCES: Mapping[str, tuple[bool, Callable[[TaskPool, int, Random], list[Labelled]]]] = {
    "rule_based": (True, _of_one_temperature),
    "mixed": (True, _mixed),
    "systems": (False, _of_systems),
    "rule_based_superhero": (False, _of_one_temperature),
    "mixed_superhero": (False, _mixed),
}
"""Source -> whether it is of bundled tasks, and how a set is drawn. `mixed` has queries with errors put in."""


def sources() -> tuple[str, ...]:
    """Return the names of the sources of candidates. Without `$IAD_REAL_DATA` and `$IAD_VECTORS`, only bundled ones."""
    has_real = os.environ.get("IAD_REAL_DATA") and os.environ.get("IAD_VECTORS")
    return tuple(name for name, (is_bundled, _) in SOURCES.items() if is_bundled or has_real)


# Errors that weak models make


def broken(sql: str, tables: Sequence[Mapping[str, Any]], rng: Random) -> str:
    """Return a query with a random error, or "" if none of the kinds tried fits."""
    for _ in range(4):
        changed = rng.choice(ERRORS)(BrokenQuery(sql, tables, rng))
        if changed:
            return re.sub(r"\s*\.\s*", ".", " ".join(changed))
    return ""


class BrokenQuery:
    """A query's tokens, with the positions of columns, words and literals. Each method puts in one kind of error.

    A method returns the changed tokens, or none if the query has no part for it.
    """

    def __init__(self, sql: str, tables: Sequence[Mapping[str, Any]], rng: Random) -> None:
        parts = tokens(sql)
        self.rng = rng
        self.texts = [part.text for part in parts]
        self.words = [part.value if part.kind == "word" else "" for part in parts]
        self.table_of = {column["name"].lower(): table for table in tables for column in table["columns"]}
        self.every_column = [column["name"] for table in tables for column in table["columns"]]
        self.columns = [
            place
            for place, part in enumerate(parts)
            if part.kind in ("word", "name")
            and part.value.lower() in self.table_of
            and self.texts[place + 1 : place + 2] != ["."]
        ]
        self.literals = [(place, part) for place, part in enumerate(parts) if part.kind in ("string", "number")]

    def beside(self, place: int) -> str:
        """Return a column of the table that the column at a position is in."""
        table = self.table_of[self.texts[place].strip('"`[]').lower()]
        return str(self.rng.choice([column["name"] for column in table["columns"]]))

    def replaced(self, place: int, text: str) -> list[str]:
        """Return the texts with another one at a position."""
        return [*self.texts[:place], text, *self.texts[place + 1 :]]

    def places(self, *words: str) -> list[int]:
        """Return the positions of keywords."""
        return [place for place, word in enumerate(self.words) if word in words]

    def exchanged(self, places: Sequence[int], words: Sequence[str]) -> list[str]:
        """Return the texts with one of some words at one of some positions."""
        return self.replaced(self.rng.choice(places), self.rng.choice(words)) if places else []

    def other_column(self) -> list[str]:
        """The most frequent error of small models: a column that does not exist there."""
        if not self.columns:
            return []
        place = self.rng.choice(self.columns)
        name = self.texts[place]
        return self.replaced(place, self.rng.choice([*self.every_column, f"{name}s", name.replace("_", "")]))

    def other_alias(self) -> list[str]:
        """The alias of another table before a column."""
        owned = [place for place in self.columns if place > 1 and self.texts[place - 1] == "."]
        owners = sorted({self.texts[place - 2] for place in owned})
        if len(owners) < 2:
            return []
        place = self.rng.choice(owned) - 2
        return self.replaced(place, self.rng.choice([owner for owner in owners if owner != self.texts[place]]))

    def no_condition(self) -> list[str]:
        """A condition less."""
        starts = self.places("WHERE", "AND")
        if not starts:
            return []
        start = self.rng.choice(starts)
        ends = [place for place in self.places("AND", "OR", "GROUP", "ORDER", "LIMIT", "HAVING") if place > start]
        ends += [place for place in range(start, len(self.texts)) if self.texts[place] == ")"]
        end = min(ends, default=len(self.texts))
        if self.words[start] == "WHERE" and end < len(self.texts) and self.words[end] == "AND":
            return [*self.texts[: start + 1], *self.texts[end + 1 :]]
        return [*self.texts[:start], *self.texts[end:]]

    def other_literal(self) -> list[str]:
        """Another number, or a text with other letters."""
        if not self.literals:
            return []
        place, part = self.rng.choice(self.literals)
        if part.kind == "number":
            number = "1" if "x" in part.text else f"{float(part.value) + self.rng.choice((1, 10, -1)):g}"
            return self.replaced(place, number)
        changed = self.rng.choice((part.value.lower(), part.value.upper(), part.value[:-1], f"{part.value}s"))
        return self.replaced(place, "'" + changed.replace("'", "''") + "'")

    def other_sign(self) -> list[str]:
        """Another comparison."""
        signs = ("<", ">", "<=", ">=")
        return self.exchanged([place for place, one in enumerate(self.texts) if one in signs], signs)

    def other_aggregate(self) -> list[str]:
        """Another aggregate."""
        aggregates = ("COUNT", "SUM", "AVG", "MAX", "MIN")
        return self.exchanged(self.places(*aggregates), aggregates)

    def other_key(self) -> list[str]:
        """Another column in a join."""
        places = [place for place in self.columns if "ON" in self.words[max(0, place - 7) : place]]
        if not places:
            return []
        place = self.rng.choice(places)
        return self.replaced(place, self.beside(place))

    def no_join(self) -> list[str]:
        """A join less."""
        places = self.places("JOIN")
        if not places:
            return []
        place = self.rng.choice(places)
        start = place - (self.words[place - 1] in ("INNER", "LEFT"))
        ends = self.places("INNER", "LEFT", "JOIN", "WHERE", "GROUP", "ORDER", "LIMIT")
        end = min((one for one in ends if one > place), default=len(self.texts))
        return [*self.texts[:start], *self.texts[end:]]

    def other_selection(self) -> list[str]:
        """Another column in the result, or one more."""
        end = min(self.places("FROM"), default=0)
        places = [place for place in self.columns if place < end]
        if not places:
            return []
        place = self.rng.choice(places)
        if self.rng.random() < 0.5:
            return self.replaced(place, self.beside(place))
        owner = f"{self.texts[place - 2]}." if place > 1 and self.texts[place - 1] == "." else ""
        return self.replaced(place, f"{self.texts[place]}, {owner}{self.beside(place)}")

    def other_order(self) -> list[str]:
        """The other end of an order."""
        if "ORDER" not in self.words:
            return []
        if descending := self.places("DESC"):
            return self.replaced(self.rng.choice(descending), "ASC")
        limits = self.places("LIMIT")
        return self.replaced(limits[-1], "DESC LIMIT") if limits else []

    def no_distinct(self) -> list[str]:
        """DISTINCT left out."""
        places = self.places("DISTINCT")
        return self.replaced(self.rng.choice(places), "") if places else []


ERRORS = (
    BrokenQuery.other_column,
    BrokenQuery.other_column,
    BrokenQuery.other_alias,
    BrokenQuery.no_condition,
    BrokenQuery.other_literal,
    BrokenQuery.other_sign,
    BrokenQuery.other_aggregate,
    BrokenQuery.other_key,
    BrokenQuery.no_join,
    BrokenQuery.other_selection,
    BrokenQuery.other_order,
    BrokenQuery.no_distinct,
)


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


def bird_evidence(source: str = "mixed") -> VerifierEvidence:
    """Return how well the proxy verifier's scores of submitted queries tell success, on held-out tasks."""
    return evidence_on(scored_sets(candidate_sets(source, "held_out"), BirdVerifier()))


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
    """Print the evidence for the proxy verifier, with all queries and without those that any verifier finds."""
    for source in sources():
        scored = scored_sets(candidate_sets(source, "held_out"), BirdVerifier())
        with_rows = evidence_on(scored, lambda one: bool(one.preview and one.preview.info["page"]["n_rows"]))
        print(f"{source}\n  all submits: {evidence_on(scored)}\n  with rows:   {with_rows}")
        for size in (4, 6):
            choice = choice_among(scored, size)
            print(
                f"  n={size}: single {choice.single:.3f}, vote {choice.vote:.3f}, verifier {choice.chosen:.3f}, "
                f"pass@n {choice.passed:.3f}, gap closed {choice.gap_closed:.2f} ({choice.n_tasks} tasks)"
            )


# The fit


class Example(NamedTuple):
    """A submitted query that gave rows, in a set of candidates, with the other ones that vote."""

    group: tuple[str, str]
    codes: frozenset[str]
    others: tuple[tuple[frozenset[str], bool], ...]
    """Findings of the others, and whether their result is the same."""
    is_right: bool


def examples(sets: Mapping[str, Sequence[CandidateSet]]) -> list[Example]:
    """Return all candidates that the model has to score."""

    def votes(preview: ReadPreview) -> bool:
        return not preview.has_failed and "empty" not in preview.codes

    found = []
    for source, one in ((source, one) for source, own in sets.items() for one in own):
        previews = [read_preview(member.candidate) for member in one.members]
        for member, preview in zip(one.members, previews, strict=True):
            if preview.kind == "submit" and votes(preview):
                others = [other for other in previews if other is not preview and votes(other)]
                same = tuple((other.codes, other.result == preview.result) for other in others)
                found.append(Example((source, one.task_id), preview.codes, same, member.is_right))
    return found


def fit(given: Sequence[Example]) -> tuple[float, float, dict[str, float]]:
    """Return prior, agreement and weights of a logistic regression of success on findings and votes.

    Findings can only speak against a query. As votes count by their probability, which the findings give, it is
    repeated until the numbers stay the same. Each source of candidates, and each task in it, has equal weight.
    """
    # No query with the first was right, and the others are too rare to tell.
    codes = sorted(set().union(*(one.codes for one in given)) - {"empty", "quoted_literal", "text_as_number"})
    features = np.array([[code in one.codes for code in codes] for one in given], float)
    labels = np.array([one.is_right for one in given], float)
    sizes = Counter(one.group for one in given)
    n_tasks = Counter(source for source, _ in sizes)
    importance = np.array([1.0 / (sizes[one.group] * n_tasks[one.group[0]]) for one in given])
    importance /= importance.sum()
    penalties = [0.0, 0.0, *[PENALTY] * len(codes)]
    bounds = [(None, None), (0.0, None), *[(None, 0.0)] * len(codes)]
    prior, agreement, weights = 0.0, 0.0, dict[str, float]()
    for _ in range(8):
        votes = []
        for one in given:
            sides = {True: 0.0, False: 0.0}
            for own, is_same in one.others:
                sides[is_same] += probability(prior + sum(weights.get(code, 0.0) for code in own))
            votes.append(vote_odds(sides[True], sides[False]))
        table = np.column_stack([np.ones(len(given)), votes, features])
        prior, agreement, *rest = logistic(table, labels, importance, penalties=penalties, bounds=bounds).tolist()
        weights = dict(zip(codes, rest, strict=True))
    return prior, agreement, weights


def print_fit() -> None:
    """Print the share of wrong queries among those with each finding, by source, and the numbers of the model."""
    missing = [name for name in ("IAD_REAL_DATA", "IAD_VECTORS") if not os.environ.get(name)]
    if missing:
        raise SystemExit(f"expected {' and '.join(missing)} in the environment, got none; they hold the predictions")
    sets = {source: candidate_sets(source, "tuning") for source in sources()}
    wrong: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for source, own in sets.items():
        known = {(one.task_id, str(member.candidate.action)): member for one in own for member in one.members}
        for member in known.values():
            preview = read_preview(member.candidate)
            for code in ("any", *sorted(preview.codes)) if preview.kind == "submit" else ():
                wrong[code][source].append(not member.is_right)
    print(f"{'finding':24}", *(f"{source:>22}" for source in sets))
    for code, by_source in sorted(wrong.items()):
        shares = [f"{np.mean(by_source[one]):.2f} of {len(by_source[one])}" if by_source[one] else "-" for one in sets]
        print(f"{code:24}", *(f"{share:>22}" for share in shares))
    prior, agreement, weights = fit(examples(sets))
    print(f"\nPRIOR = {prior:.2f}\nAGREEMENT = {agreement:.2f}\nWEIGHTS: Mapping[str, float] = {{")
    for code, weight in sorted(weights.items(), key=lambda item: item[1]):
        if round(weight, 2):
            print(f'    "{code}": {weight:.2f},')
    print("}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="fit the verifier again, and print its numbers")
    (print_fit if parser.parse_args().fit else print_evidence)()


if __name__ == "__main__":
    main()
