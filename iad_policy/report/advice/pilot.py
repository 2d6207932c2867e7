"""Reads a run as a pilot: what every candidate would have given, and what every episode gave and spent.

The true result of a candidate is found by taking its action in the environment. This is known afterwards only, and no
agent or verifier is told, so the tasks must not be those that a result is reported on.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import gymnasium as gym

from iad_policy.errors import UnknownName
from iad_policy.ledger.episode_record import Arm, EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.report.advice.paths import Judge, PilotPath, paths_of
from iad_policy.report.curves import spent_on, usage_on
from iad_policy.report.figures import Heading, heading_of
from iad_policy.report.samples import REWARD, SUCCESS
from iad_policy.run.config import RunConfig
from iad_policy.run.resolve import env_of
from iad_policy.strategies.building_blocks.voting import rank_of
from iad_policy.types import NOTHING, Candidate, LoadedVerifier, Usage
from iad_policy.types.hashing import seed_of
from iad_policy.verifiers import load_verifier

NO_VOTE = (-1, "")


class PilotAttempt(NamedTuple):
    """One proposed answer to a task that takes one decision.

    Attributes:
        value: What the episode would give with it, 0 to 1: its success, or its reward where the pilot is read by that.
        score: The verifier's score; -inf for an answer that is no action, NaN without a verifier.
        vote: What it votes for: how much its vote counts, and the name of the action or result. `NO_VOTE` for none.
        key: Canonical form of the action; "" for an answer that is no action.
        is_told: Whether it was made with feedback.
        candidate: The candidate that it was; None without a run.
    """

    value: float
    score: float = math.nan
    vote: tuple[int, str] = NO_VOTE
    key: str = ""
    is_told: bool = False
    candidate: Candidate | None = None

    @property
    def is_right(self) -> bool:
        """Whether nothing is left to gain."""
        return self.value >= 1


def score_of(attempt: PilotAttempt) -> float:
    """Return the score that an attempt is ranked by: -inf without a verdict."""
    return -math.inf if math.isnan(attempt.score) else attempt.score


@dataclass(frozen=True)
class PilotLine:
    """A strategy of the pilot, with its verifier.

    Attributes:
        strategy: Name of the strategy.
        verifier: Name of the verifier; "" for none.
        success: n -> task -> mean success, or mean reward where the pilot is read by that.
        spent: n -> task -> mean spending of an episode.
        attempts: Task -> the attempts of each of its episodes, at the largest n. Empty if tasks take several decisions.
        starts_at_reference: Whether `single` is its n = 1.
        checking: n -> task -> the part of `spent` that is not the agent's: verdicts, and texts of roles.
        calls: n -> task -> mean number of calls: proposals, verdicts and texts of roles.
        knows_gold: Whether its verifier or a role is labelled `oracle`, so that the row is for diagnosis only.
    """

    strategy: str
    verifier: str
    success: Mapping[int, Mapping[str, float]]
    spent: Mapping[int, Mapping[str, float]]
    attempts: Mapping[str, Sequence[Sequence[PilotAttempt]]] = field(default_factory=dict)
    starts_at_reference: bool = False
    checking: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    calls: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    knows_gold: bool = False

    @property
    def n(self) -> int:
        """The largest n that was run."""
        return max(self.success)

    @property
    def is_scored(self) -> bool:
        """Whether a verifier has scored its attempts."""
        return any(not math.isnan(one.score) for given in self.attempts.values() for own in given for one in own)


@dataclass(frozen=True)
class Pilot:
    """A run as a pilot.

    Attributes:
        env: Id of the environment.
        split: Split of the tasks; "" for none.
        agent: Name of the agent.
        tasks: Tasks that every line has an episode of, each with a known success.
        n_left_out: Number of tasks that only some lines have.
        axis: What `spent` counts.
        one_decision: Whether every episode took one decision, so that a candidate's result is the episode's.
        lines: Name of the row -> strategy.
        heading: The facts above the run's table, among them the labels of its verifiers; None without a run.
        paths: Task -> what a decision would have come to with its samples and refinements, in several orders. Empty
            unless it was read with them, and where no verifier can be asked again.
        metric: What `success` and `value` mean: `success` or `reward`.
        usage: What its scored episodes spent together.
    """

    env: str
    split: str
    agent: str
    tasks: tuple[str, ...]
    n_left_out: int
    axis: str
    one_decision: bool
    lines: Mapping[str, PilotLine]
    heading: Heading | None = None
    paths: Mapping[str, Sequence[PilotPath]] = field(default_factory=dict)
    metric: str = SUCCESS
    usage: Usage = NOTHING

    @property
    def planned_lines(self) -> tuple[PilotLine | None, PilotLine | None]:
        """The row with independent, scored attempts, and the one with chains and the same verifier; None for none."""
        known = [own for own in self.lines.values() if own.is_scored or (not self.one_decision and own.verifier)]
        sampled = next((own for own in known if own.strategy == "bon"), None)
        chained = [own for own in known if own.strategy == "iad"]
        return sampled, next((own for own in chained if sampled and own.verifier == sampled.verifier), None)

    @property
    def grain(self) -> float:
        """Variance of what episodes give, as a share of that of successes with the same mean: 1 for successes."""
        if self.metric == SUCCESS:
            return 1.0
        values = [one for line in self.lines.values() for own in line.success.values() for one in own.values()]
        mean = math.fsum(values) / len(values)
        return math.fsum((one - mean) ** 2 for one in values) / len(values) / max(mean * (1 - mean), 1e-9)


def read_pilot(run: Run, *, agent: str = "", axis: str = "", with_paths: bool = False, metric: str = SUCCESS) -> Pilot:
    """Return a run as a pilot.

    Args:
        run: The run. It may be unfinished.
        agent: Which agent, if the run has several.
        axis: What a price counts: `proposals`, `calls`, `tokens`, `completion_tokens`, `usd` or `seconds`. By default
            it is dollars where every price is known and was paid, else tokens where some were counted, else calls.
        with_paths: Whether to find its paths, for which a verifier that compares is asked again, often.
        metric: `success`, or `reward` for tasks that are solved more or less well. Rewards have to be 0 to 1.

    Raises:
        UnknownName: The run has no such agent, or there is no such axis or metric.
        ValueError: It has several agents and none is named, no task that every strategy has finished, no known
            spending on the axis, or rewards outside of 0 to 1.
        DamagedEpisode: An episode of it can't be read.
    """
    if metric not in (SUCCESS, REWARD):
        raise UnknownName("metric of a pilot", metric, (SUCCESS, REWARD))
    config = RunConfig.of(run.config)
    if agent and agent not in config.agent:
        raise UnknownName("agent of the run", agent, config.agent)
    if not agent and len(config.agent) > 1:
        raise ValueError(f"expected one agent, got a run with {', '.join(config.agent)}; name one: --agent")
    chosen = agent or config.agent[0]
    records = [one for one in run.records.values() if one.agent == chosen and one.is_scored]
    records = [one for one in records if metric == REWARD or one.success is not None]
    beyond = next((one.reward for one in records if metric == REWARD and not 0 <= one.reward <= 1), None)
    if beyond is not None:
        raise ValueError(f"expected rewards from 0 to 1, got {beyond:g}; advise on successes: --metric success")
    arms: defaultdict[Arm, list[EpisodeRecord]] = defaultdict(list)
    for one in records:
        arms[one.arm].append(one)
    tasks = sorted(set.intersection(*({one.task_id for one in own} for own in arms.values()))) if arms else []
    if not tasks:
        raise ValueError(
            "expected tasks that every strategy has finished, with a known success, got none; run the pilot to its end"
        )
    heading = heading_of(config, run.config, len(tasks))
    axis = _axis(records, axis)
    one_decision = all(one.n_steps <= 1 for one in records)
    lines: dict[str, PilotLine] = {}
    with _truths(run, config, metric) as truths:
        for arm in config.arms:
            if arm not in arms or (name := config.named_line(arm)) in lines:
                continue
            own = {one.n: arms[one] for one in sorted(arms) if one._replace(n=arm.n) == arm}
            attempts: dict[str, list[Sequence[PilotAttempt]]] = {task: [] for task in tasks if one_decision}
            for one in sorted(own[max(own)], key=lambda one: (one.seed, one.task_id)):
                if one.task_id in attempts:
                    attempts[one.task_id].append(tuple(_attempts(run, one, truths)))
            lines[name] = PilotLine(
                arm.strategy,
                arm.verifier,
                success={
                    n: _means(own[n], tasks, lambda one: one.reward if metric == REWARD else float(one.success or 0))
                    for n in own
                },
                spent={n: _means(own[n], tasks, lambda one: spent_on(one, axis)) for n in own},
                attempts=attempts,
                starts_at_reference=config.starts_at_reference(arm.strategy, "proposals"),
                checking={n: _means(own[n], tasks, lambda one: _checking(one, axis)) for n in own},
                calls={n: _means(own[n], tasks, lambda one: spent_on(one, "calls")) for n in own},
                knows_gold=bool(heading.oracle_roles)
                or (config.asks_verifier(arm.strategy) and heading.informations[arm.verifier] == "oracle"),
            )
        n_all = len({one.task_id for one in records})
        split = config.split or ""
        n_left_out = n_all - len(tasks)
        pilot = Pilot(
            *(config.env, split, chosen, tuple(tasks), n_left_out, axis, one_decision, lines, heading),
            metric=metric,
            usage=sum((one.spent for one in records), NOTHING),
        )
        return replace(pilot, paths=_paths(pilot, records, truths)) if with_paths else pilot


def _axis(records: Sequence[EpisodeRecord], axis: str) -> str:
    known = ("proposals", "calls", "tokens", "completion_tokens", "usd", "seconds")
    if axis and axis not in known:
        raise UnknownName("axis of spending", axis, known)
    # An answer from the cache costs 0 dollars: of strategies that share samples, the first one pays for all.
    is_priced = any(one.spent.usd for one in records) and not any(
        one.spent.n_unpriced or one.spent.n_cached for one in records
    )
    has_tokens = any(one.spent.tokens for one in records)
    found = axis or ("usd" if is_priced else "tokens" if has_tokens else "calls")
    n_cached = sum(one.spent.n_cached for one in records)
    if found == "usd" and n_cached:
        raise ValueError(
            f"expected episodes that pay for all their answers, got {n_cached} answers from the cache, which cost 0 "
            "dollars; price a success in tokens: --per tokens"
        )
    if not any(spent_on(one, found) for one in records):
        raise ValueError(f"expected episodes that spend {found}, got none; price a success in calls: --per calls")
    return found


def _checking(record: EpisodeRecord, axis: str) -> float:
    return math.fsum(usage_on(own, axis) for role, own in record.spent_by_role.items() if role != "agent")


def _means(
    records: Sequence[EpisodeRecord], tasks: Sequence[str], value: Callable[[EpisodeRecord], float]
) -> dict[str, float]:
    of_task: dict[str, list[float]] = {task: [] for task in tasks}
    for one in records:
        if one.task_id in of_task:
            of_task[one.task_id].append(value(one))
    return {task: math.fsum(own) / len(own) for task, own in of_task.items()}


def _attempts(run: Run, record: EpisodeRecord, truths: "_Truths") -> Iterator[PilotAttempt]:
    with run.reading(record.key) as episode:
        for step in episode.steps[:1]:
            by_result = "result" in (step.decision.state.info.get("facts") or {})
            for one in step.decision.candidates:
                if one.error:
                    # Nothing but such answers makes the policy take a legal action, which may even be right.
                    yield PilotAttempt(0.0, -math.inf)
                    continue
                score = math.nan if one.verdict is None else one.verdict.score
                vote = 0, one.key
                if by_result and one.preview is not None:
                    vote = rank_of(one.preview), one.preview.result
                yield PilotAttempt(
                    truths.value(record, one),
                    score,
                    vote,
                    one.key,
                    one.feedback is not None,
                    one,
                )


def _paths(pilot: Pilot, records: Sequence[EpisodeRecord], truths: "_Truths") -> Mapping[str, Sequence[PilotPath]]:
    sampled, chained = pilot.planned_lines
    if sampled is None or not pilot.one_decision:
        return {}
    found: dict[str, list[PilotPath]] = {task: [] for task in pilot.tasks}
    of_bon = [one for one in records if (one.strategy, one.verifier, one.n) == ("bon", sampled.verifier, sampled.n)]
    of_task = {task: [one for one in of_bon if one.task_id == task] for task in pilot.tasks}
    for task, own in of_task.items():
        for place, record in enumerate(sorted(own, key=lambda one: one.seed)):
            if (judge := truths.judge(record)) is None:
                return {}
            chains = chained.attempts[task] if chained else ()
            chain = chains[place] if place < len(chains) else ()
            found[task] += paths_of(sampled.attempts[task][place], chain, judge, name=f"{task} {record.seed}")
    return found


class _Truths:
    """What a run does not say of its candidates, found in an environment of its own: each action is taken there once.

    Args:
        run: The run.
        config: Its configuration.
        metric: `success` or `reward`.
    """

    def __init__(self, run: Run, config: RunConfig, metric: str) -> None:
        self._run = run
        self._config = config
        self._metric = metric
        self._known: dict[tuple[str, int, str], float] = {}
        self._verifiers: dict[str, LoadedVerifier] = {}

    @cached_property
    def env(self) -> gym.Env[Any, Any]:
        """The environment, made when it is first asked for."""
        return env_of(self._config)

    def value(self, record: EpisodeRecord, candidate: Candidate) -> float:
        """Return what an episode would have given with a candidate as its only action."""
        name = record.task_id, record.seed, candidate.key
        if name not in self._known:
            self._reset(record)
            _, reward, _, _, info = self.env.step(candidate.action)
            self._known[name] = float(reward) if self._metric == REWARD else float(bool(info.get("success")))
        return self._known[name]

    def judge(self, record: EpisodeRecord) -> Judge | None:
        """Return how the verifier of an episode judges attempts together; None if a model would have to be asked."""
        if record.verifier not in self._verifiers:
            self._verifiers[record.verifier] = load_verifier(record.verifier, self.env)
        verifier = self._verifiers[record.verifier]
        if not verifier.compares:
            return lambda attempts: [one.score for one in attempts]
        if verifier.information != "proxy":
            return None
        with self._run.reading(record.key) as episode:
            state = next(iter(episode.steps)).decision.state
        self._reset(record)

        def together(attempts: Sequence[PilotAttempt]) -> Sequence[float]:
            usable = [replace(one.candidate, verdict=None) for one in attempts if one.key and one.candidate]
            verdicts = iter(verifier.verify(state, usable) if usable else ())
            return [next(verdicts).score if one.key else -math.inf for one in attempts]

        return together

    def _reset(self, record: EpisodeRecord) -> None:
        options = {"task_id": record.task_id} if hasattr(self.env.unwrapped, "task_ids") else None
        self.env.reset(seed=seed_of(record.seed, record.task_id) % 2**31, options=options)


@contextmanager
def _truths(run: Run, config: RunConfig, metric: str) -> Iterator[_Truths]:
    """Yield what a run does not say, and close its environment."""
    found = _Truths(run, config, metric)
    try:
        yield found
    finally:
        if "env" in vars(found):
            found.env.close()
