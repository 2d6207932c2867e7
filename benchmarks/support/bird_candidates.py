"""Builds sets of candidates by which verifiers of `IAD/BIRD-v0` are fitted and measured, and labels them.

Candidates are predictions of published systems, samples of the rule-based agent at several temperatures, and queries of
both with an error put in. The labels are the official EX. No verifier sees them.

What may be fitted and what is held out is fixed: bundled tasks by their split, other questions by a hash of their id,
and two systems entirely.
"""

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from support.figures import ROOT

from iad_envs.bird.env import BirdEnv
from iad_envs.bird.policy.agent import BirdAgent
from iad_envs.bird.predictions import BirdPredictions
from iad_envs.bird.sql import SqlToken, tokens
from iad_policy.ledger.predictions.prediction_files import read_predictions
from iad_policy.types import Candidate, PublicInfo, State
from iad_policy.types.hashing import seed_of

Part = Literal["tuning", "held_out"]
BUNDLED = ROOT / "data" / "bird"
TEMPERATURES = (0.3, 0.7, 1.0, 1.5)
N_SAMPLES = 8
"""Samples of the rule-based agent per task and temperature. A set has candidates of one temperature only."""
N_BROKEN = 16
"""Queries with an error per task."""
SIZES = (1, 2, 3, 4, 6)
LEFT_OUT = frozenset({"codes-15b", "dail"})
"""Systems that are never used for fitting: the first two by hash of those that answered every question."""
TUNING_SPLITS = frozenset({"train", "dev"})
N_SETS = 4
"""Sets of each size per task and source."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A candidate with its preview.

    Attributes:
        source: A system's name, `linker:<temperature>`, or `broken:<source>`.
        candidate: The candidate.
        is_right: Whether it is a submitted query with EX 1.
    """

    source: str
    candidate: Candidate
    is_right: bool


class CandidateSet(NamedTuple):
    """Candidates of one state, as a strategy holds them. Only those with a source in `counted` are measured, if any."""

    task_id: str
    state: State
    members: tuple[Labelled, ...]
    counted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TaskPool:
    """All candidates of one task."""

    task_id: str
    state: State
    labelled: tuple[Labelled, ...]

    def of(self, *sources: str) -> list[Labelled]:
        """Return those of some sources."""
        return [one for one in self.labelled if one.source in sources]

    def systems(self) -> list[Labelled]:
        """Return those of published systems."""
        return [one for one in self.labelled if ":" not in one.source]

    def broken(self) -> list[Labelled]:
        """Return those with an error put in."""
        return [one for one in self.labelled if one.source.startswith("broken:")]


def sources(part: Part) -> tuple[str, ...]:
    """Return the names of the sources of candidates. Without `$IAD_REAL_DATA` and `$IAD_VECTORS`, only bundled ones."""
    if not (os.environ.get("IAD_REAL_DATA") and os.environ.get("IAD_VECTORS")):
        return tuple(ON_BUNDLED)
    on_superhero = [name for name in ON_SUPERHERO if part == "held_out" or name != "left_out_systems"]
    return (*ON_BUNDLED, *on_superhero)


def candidate_sets(source: str, part: Part, *, n_sets: int = N_SETS, n_tasks: int | None = None) -> list[CandidateSet]:
    """Return sets of 1 to 6 candidates of one source.

    Args:
        source: One of `sources(part)`.
        part: What may be fitted, or what is held out.
        n_sets: Sets of each size per task.
        n_tasks: Maximum number of tasks. None takes all.
    """
    if source in ON_BUNDLED:
        return list(ON_BUNDLED[source](bundled_pools(part, n_tasks), n_sets))
    return list(ON_SUPERHERO[source](superhero_pools(part, n_tasks), n_sets))


def recorded_sets(files: Sequence[Path], data_dir: Path | None = None) -> list[CandidateSet]:
    """Return sets of candidates of other agents on held-out tasks: those of one source for one task.

    Args:
        files: JSON Lines with `task_id`, `source` and `action`: `submit[SQL]`, `execute[SQL]` or a bare query.
        data_dir: The data folder. Default: the bundled one.
    """
    given: dict[str, dict[str, list[str]]] = {}
    for file in files:
        for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            given.setdefault(str(line["task_id"]), {}).setdefault(line["source"], []).append(line["action"])
    env = BirdEnv(data_dir=data_dir or BUNDLED)
    chosen = held_out(env.task_ids, is_bundled=data_dir is None)
    found = []
    for task_id in (task for task in chosen if task in given):
        state = _start(env, task_id)
        for source, actions in given[task_id].items():
            members = tuple(Labelled(source, *_labelled(env, action)) for action in actions)
            found.append(CandidateSet(task_id, state, members))
    env.close()
    return found


def is_held_out(task_id: str) -> bool:
    """Whether a question of data without splits is only for reports."""
    return blake2b(task_id.encode(), digest_size=4).digest()[-1] % 2 == 1


def held_out(task_ids: Collection[str], *, is_bundled: bool) -> list[str]:
    """Return the tasks to which the proxy verifier was not fitted."""
    bundled = set(_bundled_ids("held_out")) if is_bundled else set()
    return [task for task in task_ids if (task in bundled if is_bundled else is_held_out(task))]


@lru_cache(maxsize=4)
def bundled_pools(part: Part, n_tasks: int | None = None) -> tuple[TaskPool, ...]:
    """Return the candidates on bundled tasks: train and dev for tuning, test for reports."""
    env = BirdEnv(data_dir=BUNDLED)
    pools = tuple(_pool(env, task_id, {}) for task_id in _bundled_ids(part)[:n_tasks])
    env.close()
    return pools


def _bundled_ids(part: Part) -> list[str]:
    questions = json.loads((BUNDLED / "dev.json").read_text(encoding="utf-8"))
    return [str(one["question_id"]) for one in questions if (one["split"] in TUNING_SPLITS) == (part == "tuning")]


@lru_cache(maxsize=4)
def superhero_pools(part: Part, n_tasks: int | None = None) -> tuple[TaskPool, ...]:
    """Return the candidates on the questions about `superhero`: one half for tuning, the other for reports."""
    folder, vectors = Path(os.environ["IAD_REAL_DATA"]) / "bird", Path(os.environ["IAD_VECTORS"])
    env = BirdEnv(data_dir=folder)
    predictions = _predictions(env, folder, vectors)
    if part == "tuning":
        predictions = {name: own for name, own in predictions.items() if name not in LEFT_OUT}
    chosen = [task for task in env.task_ids if is_held_out(task) == (part == "held_out")][:n_tasks]
    pools = tuple(
        _pool(env, task, {name: own[task] for name, own in predictions.items() if task in own}) for task in chosen
    )
    env.close()
    return pools


def queries_of(env: BirdEnv, folder: Path) -> dict[str, dict[str, str]]:
    """Return every system's queries by task id."""
    form = BirdPredictions(env)
    read = {
        file.stem: read_predictions(file, form, env.tasks) for file in sorted((folder / "predictions").glob("*.json"))
    }
    return {name: {one.task_id: one.answer or "" for one in file.attempts} for name, file in read.items()}


def _predictions(env: BirdEnv, folder: Path, vectors: Path) -> dict[str, dict[str, str]]:
    """Return every system's queries by task id: those of the prediction files, else those of the verdicts."""
    found = queries_of(env, folder)
    published = json.loads((vectors / "bird_superhero_published_ex.json").read_text())
    for name, pairs in published.items():
        own = found.setdefault(name, {})
        for pair in pairs:
            own.setdefault(str(pair["question_id"]), pair["predicted_sql"])
    return found


def _pool(env: BirdEnv, task_id: str, predictions: Mapping[str, str]) -> TaskPool:
    state = _start(env, task_id)
    actions = [(name, f"submit[{sql}]") for name, sql in predictions.items()]
    agent = BirdAgent()
    for temperature in TEMPERATURES:
        for sample in range(N_SAMPLES):
            rng = Random(seed_of("sample", task_id, temperature, sample))
            made = agent.propose(state, feedback=None, temperature=temperature, rng=rng)
            actions.append((f"linker:{temperature:g}", str(made.action)))
    submitted = [(source, action) for source, action in actions if action.startswith("submit[")]
    originals = [one for one in submitted if one[0] in predictions] or submitted
    rng = Random(seed_of("broken", task_id))
    for _ in range(N_BROKEN):
        source, action = rng.choice(originals)
        sql = broken(action[len("submit[") : -1], state.info["page"]["tables"], rng)
        if sql:
            actions.append((f"broken:{source}", f"submit[{sql}]"))
    known: dict[str, tuple[Candidate, bool]] = {}
    for _, action in actions:
        if action not in known:
            known[action] = _labelled(env, action)
    return TaskPool(task_id, state, tuple(Labelled(source, *known[action]) for source, action in actions))


def _start(env: BirdEnv, task_id: str) -> State:
    observation, info = env.reset(options={"task_id": task_id})
    return State(observation, PublicInfo(info, frozenset(env.GOLD_INFO)), steps_left=env.max_steps or 1)


def _labelled(env: BirdEnv, action: str) -> tuple[Candidate, bool]:
    outcome = env.simulate(env.snapshot(), action)
    is_right = outcome.done and env.oracle(outcome.token)["reward_parts"]["ex"] == 1.0
    preview = State(outcome.observation, outcome.info, done=outcome.done, key=outcome.key)
    candidate = Candidate(action, key=env.action_key(action), preview=preview, is_terminal=env.terminal(action))
    return candidate, is_right


# Sets


def _sets(
    draw: Callable[[TaskPool, int, Random], list[Labelled]], pools: Sequence[TaskPool], n_sets: int
) -> Iterator[CandidateSet]:
    for pool in pools:
        rng = Random(seed_of("sets", pool.task_id))
        for size in SIZES:
            for _ in range(n_sets):
                members = draw(pool, size, rng)
                if len(members) == size:
                    rng.shuffle(members)
                    yield CandidateSet(pool.task_id, pool.state, tuple(members))


def _of_systems(pool: TaskPool, size: int, rng: Random) -> list[Labelled]:
    systems = pool.systems()
    return rng.sample(systems, min(size, len(systems)))


def _of_one_temperature(pool: TaskPool, size: int, rng: Random) -> list[Labelled]:
    return rng.sample(pool.of(f"linker:{rng.choice(TEMPERATURES):g}"), size)


def _mixed(pool: TaskPool, size: int, rng: Random) -> list[Labelled]:
    """Return a set of which a random share has errors put in, as a weak model makes them."""
    n_broken = min(rng.randint(0, size), len(pool.broken()))
    others = [*pool.systems(), *pool.of("linker:0.3", "linker:1")]
    return [*rng.sample(pool.broken(), n_broken), *rng.sample(others, size - n_broken)]


def _with_left_out(pools: Sequence[TaskPool], n_sets: int) -> Iterator[CandidateSet]:
    """Yield sets of a left-out system's query among those of other systems. Only the former is measured."""
    for pool in pools:
        rng = Random(seed_of("left out", pool.task_id))
        for own in pool.of(*LEFT_OUT):
            others = [one for one in pool.systems() if one.source not in LEFT_OUT]
            for size in SIZES:
                for _ in range(n_sets if size <= len(others) else 0):
                    members = [own, *rng.sample(others, size - 1)]
                    rng.shuffle(members)
                    yield CandidateSet(pool.task_id, pool.state, tuple(members), LEFT_OUT)


Sets = Callable[[Sequence[TaskPool], int], Iterator[CandidateSet]]
ON_BUNDLED: Mapping[str, Sets] = {
    "rule_based": partial(_sets, _of_one_temperature),
    "mixed": partial(_sets, _mixed),
}
ON_SUPERHERO: Mapping[str, Sets] = {
    "systems": partial(_sets, _of_systems),
    "left_out_systems": _with_left_out,
    "rule_based_superhero": partial(_sets, _of_one_temperature),
    "mixed_superhero": partial(_sets, _mixed),
}
"""Source -> its sets, of pools and a number of sets of each size per task. `mixed` has queries with errors put in."""


# Errors


Tables = Sequence[Mapping[str, Any]]


def broken(sql: str, tables: Tables, rng: Random) -> str:
    """Return a query with a random error of the kinds that weak models make, or "" if none of the kinds tried fits."""
    for _ in range(4):
        parts = tokens(sql)
        changed = rng.choice(ERRORS)(_Text(parts, tables), rng)
        if changed:
            return re.sub(r"\s*\.\s*", ".", " ".join(changed))
    return ""


class _Text:
    """A query's tokens, with the positions of columns, words and literals."""

    def __init__(self, parts: Sequence[SqlToken], tables: Tables) -> None:
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

    def beside(self, place: int, rng: Random) -> str:
        """Return a column of the table that the column at a position is in."""
        table = self.table_of[self.texts[place].strip('"`[]').lower()]
        return str(rng.choice([column["name"] for column in table["columns"]]))

    def replaced(self, place: int, text: str) -> list[str]:
        """Return the texts with another one at a position."""
        return [*self.texts[:place], text, *self.texts[place + 1 :]]

    def places(self, *words: str) -> list[int]:
        """Return the positions of keywords."""
        return [place for place, word in enumerate(self.words) if word in words]


def _other_column(text: _Text, rng: Random) -> list[str]:
    if not text.columns:
        return []
    place = rng.choice(text.columns)
    name = text.texts[place]
    return text.replaced(place, rng.choice([*text.every_column, f"{name}s", name.replace("_", "")]))


def _other_alias(text: _Text, rng: Random) -> list[str]:
    owned = [place for place in text.columns if place > 1 and text.texts[place - 1] == "."]
    owners = sorted({text.texts[place - 2] for place in owned})
    if len(owners) < 2:
        return []
    place = rng.choice(owned) - 2
    return text.replaced(place, rng.choice([owner for owner in owners if owner != text.texts[place]]))


def _no_condition(text: _Text, rng: Random) -> list[str]:
    starts = text.places("WHERE", "AND")
    if not starts:
        return []
    start = rng.choice(starts)
    ends = [place for place in text.places("AND", "OR", "GROUP", "ORDER", "LIMIT", "HAVING") if place > start]
    ends += [place for place in range(start, len(text.texts)) if text.texts[place] == ")"]
    end = min(ends, default=len(text.texts))
    if text.words[start] == "WHERE" and end < len(text.texts) and text.words[end] == "AND":
        return [*text.texts[: start + 1], *text.texts[end + 1 :]]
    return [*text.texts[:start], *text.texts[end:]]


def _other_literal(text: _Text, rng: Random) -> list[str]:
    if not text.literals:
        return []
    place, part = rng.choice(text.literals)
    if part.kind == "number":
        return text.replaced(place, f"{float(part.value) + rng.choice((1, 10, -1)):g}" if "x" not in part.text else "1")
    changed = rng.choice((part.value.lower(), part.value.upper(), part.value[:-1], f"{part.value}s"))
    return text.replaced(place, "'" + changed.replace("'", "''") + "'")


def _other_sign(text: _Text, rng: Random) -> list[str]:
    signs = ("<", ">", "<=", ">=")
    places = [place for place, one in enumerate(text.texts) if one in signs]
    return text.replaced(rng.choice(places), rng.choice(signs)) if places else []


def _other_aggregate(text: _Text, rng: Random) -> list[str]:
    aggregates = ("COUNT", "SUM", "AVG", "MAX", "MIN")
    places = text.places(*aggregates)
    return text.replaced(rng.choice(places), rng.choice(aggregates)) if places else []


def _other_key(text: _Text, rng: Random) -> list[str]:
    places = [place for place in text.columns if "ON" in text.words[max(0, place - 7) : place]]
    if not places:
        return []
    place = rng.choice(places)
    return text.replaced(place, text.beside(place, rng))


def _no_join(text: _Text, rng: Random) -> list[str]:
    places = text.places("JOIN")
    if not places:
        return []
    place = rng.choice(places)
    start = place - (text.words[place - 1] in ("INNER", "LEFT"))
    ends = text.places("INNER", "LEFT", "JOIN", "WHERE", "GROUP", "ORDER", "LIMIT")
    end = min((one for one in ends if one > place), default=len(text.texts))
    return [*text.texts[:start], *text.texts[end:]]


def _other_selection(text: _Text, rng: Random) -> list[str]:
    end = min(text.places("FROM"), default=0)
    places = [place for place in text.columns if place < end]
    if not places:
        return []
    place = rng.choice(places)
    if rng.random() < 0.5:
        return text.replaced(place, text.beside(place, rng))
    owner = f"{text.texts[place - 2]}." if place > 1 and text.texts[place - 1] == "." else ""
    return text.replaced(place, f"{text.texts[place]}, {owner}{text.beside(place, rng)}")


def _other_order(text: _Text, rng: Random) -> list[str]:
    if "ORDER" not in text.words:
        return []
    if descending := text.places("DESC"):
        return text.replaced(rng.choice(descending), "ASC")
    limits = text.places("LIMIT")
    return text.replaced(limits[-1], "DESC LIMIT") if limits else []


def _no_distinct(text: _Text, rng: Random) -> list[str]:
    places = text.places("DISTINCT")
    return text.replaced(rng.choice(places), "") if places else []


ERRORS = (
    _other_column,
    _other_column,
    _other_alias,
    _no_condition,
    _other_literal,
    _other_sign,
    _other_aggregate,
    _other_key,
    _no_join,
    _other_selection,
    _other_order,
    _no_distinct,
)
"""Kinds of errors. Columns that don't exist there are the most frequent one of small models."""
