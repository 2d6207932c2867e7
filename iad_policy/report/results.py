"""Collects the episodes of a run and computes its summaries, differences and curves."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from iad_policy.errors import IADError, MissingExtra, UnknownName
from iad_policy.ledger.episode_record import Arm, EpisodeRecord
from iad_policy.ledger.gc_pause import without_collector
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import CONFIG, RunFolder, read_config
from iad_policy.report.compare import Difference, Resampling, differences, over_seeds
from iad_policy.report.curves import curves
from iad_policy.report.figures import Figures, Heading, heading_of
from iad_policy.report.matching import Matched, matched
from iad_policy.report.metrics import summarise
from iad_policy.report.samples import METRICS
from iad_policy.report.statistics import N_RESAMPLES
from iad_policy.report.verifier_evidence import scores_against_success
from iad_policy.run.config import FREE, MATCHED_AXES, REFERENCE, RunConfig, one_or_all


class Results:
    """The episodes of a run so far, and the figures computed from them.

    Args:
        heading: The facts shown above the table.

    Attributes:
        n_kept: Number of episodes that were run earlier and are kept.
        baselines: Row of the table -> the row that it is compared with.
    """

    def __init__(self, heading: Heading) -> None:
        self.heading = heading
        self.n_kept = 0
        arms = heading.config.arms
        self._labels = {arm: heading.config.label(arm) for arm in arms}
        self.baselines = {
            self._labels[arm]: self._labels[baseline]
            for arm in arms
            if (baseline := heading.config.baseline_of(arm)) is not None
        }
        self._records: dict[str, list[EpisodeRecord]] = {label: [] for label in self._labels.values()}
        n_episodes = max(heading.n_tasks, 1) * len(heading.config.seed)
        charged = heading.config.plans if heading.config.charge_pilot else {}
        self._pilots = {
            strategy: {axis: spent / n_episodes for axis, spent in plan.pilot_usage().as_dict().items()}
            for strategy, plan in charged.items()
        }

    def add(self, record: EpisodeRecord) -> None:
        """Add an episode, with its share of a charged pilot as the usage of a role of that name."""
        if record.strategy in self._pilots:
            record = replace(record, usage={**record.usage, "pilot": self._pilots[record.strategy]})
        if record.n_dropped and record.agent not in self.heading.unheard:
            self.heading = replace(self.heading, unheard=(*self.heading.unheard, record.agent))
        self._records[self.label(record)].append(record)

    def label(self, record: EpisodeRecord) -> str:
        """Return the row of the table that an episode belongs to."""
        return self._labels[record.arm]

    @property
    def rows(self) -> dict[Arm, str]:
        """The rows of the table, in its order."""
        return dict(self._labels)

    @property
    def records(self) -> dict[str, list[EpisodeRecord]]:
        """Row of the table -> its episodes. The order does not depend on which episode ended first."""
        return {label: sorted(own, key=lambda one: (one.seed, one.task_id)) for label, own in self._records.items()}

    @property
    def n_episodes(self) -> int:
        """Number of episodes so far."""
        return sum(map(len, self._records.values()))

    @property
    def n_expected(self) -> int:
        """Number of episodes of the whole run."""
        return self.heading.n_tasks * len(self._records) * len(self.heading.config.seed)

    @without_collector()
    def figures(self, n_resamples: int = N_RESAMPLES) -> Figures:
        """Return every row's summary, its difference to the baseline, and the curves over n, if there are several."""
        records = self.records
        match, unmatched = self.heading.config.match, ""
        try:
            equal = self.matched(match, n_resamples=n_resamples) if match else {}
        except ValueError as error:
            equal, unmatched = {}, str(error)
        config = self.heading.config
        by_line: dict[str, dict[float, Sequence[EpisodeRecord]]] = {}
        for arm in config.arms:
            name = config.named_line(arm) if len(config.agent) == 1 else f"{config.named_line(arm)} {arm.agent}"
            by_line.setdefault(name, {})[arm.n] = records[config.label(arm)]
        has_curves = max(map(len, by_line.values())) > 1
        resampling = Resampling(n_resamples=n_resamples)
        passes = over_seeds(records, resampling=resampling) if len(config.seed) > 1 else {}
        return Figures(
            {label: summarise(own, n_resamples=n_resamples) for label, own in records.items()},
            differences(records, self.baselines, resampling=resampling),
            tuple(
                curve
                for name, own in by_line.items()
                for metric in METRICS * has_curves
                for curve in curves(name, own, metric=metric, n_resamples=n_resamples)
            ),
            passes,
            equal,
            unmatched,
            _failed(records),
        )

    def matched(
        self, axis: str = "proposals", *, metric: str = "", seed: int = 0, n_resamples: int = N_RESAMPLES
    ) -> dict[str, Matched]:
        """Return, for each agent, all strategies at the baseline's mean spending per episode.

        Args:
            axis: `proposals`, `tokens`, `calls` or `usd`.
            metric: `success`, `progress` or `reward`; by default success where the environment has it.
            seed: Seed of the bootstrap.
            n_resamples: Number of resamples.

        Raises:
            ValueError: The baseline has a single n, no task of every arm is scored, or there is no such spending.
        """
        config, records = self.heading.config, self.records
        if axis in MATCHED_AXES:
            config.require_curve(axis)
        if not metric:
            known = any(one.success is not None for own in records.values() for one in own)
            metric = "success" if known else "reward"
        found = {}
        for agent in config.agent:
            lines: dict[str, dict[float, Sequence[EpisodeRecord]]] = {}
            reference: Sequence[EpisodeRecord] = ()
            for arm in config.arms:
                if arm.agent == agent:
                    own = lines.setdefault(config.named_line(arm), {})
                    own[arm.n] = records[config.label(arm)]
                    if arm.strategy == REFERENCE:
                        reference = own[arm.n]
            for arm in config.arms:
                if arm.agent == agent and config.starts_at_reference(arm.strategy, axis):
                    lines[config.named_line(arm)].setdefault(1, reference)
            baseline = next(config.named_line(arm) for arm in config.arms if arm.strategy == config.compared_with)
            found[agent] = matched(lines, baseline, axis=axis, metric=metric, seed=seed, n_resamples=n_resamples)
        return found

    def compare(self, one: str, other: str) -> Difference:
        """Return one row minus another, over the tasks of which both have a scored episode.

        Args:
            one: Name of a row as in the table, such as `iad`, or `iad n=3` if the run has several n.
            other: Name of the row to subtract.

        Raises:
            UnknownName: The table has no such row.
        """
        records = self.records
        for name in (one, other):
            if name not in records:
                raise UnknownName("row of the table", name, records)
        return differences(records, {one: other})[one]

    def table(self, width: int = 100, figures: Figures | None = None) -> str:
        """Return the whole table, as `iad compare --full` prints it.

        Args:
            width: Columns of the text.
            figures: The figures, if they are known already.
        """
        from iad_policy.report.console import TextConsole
        from iad_policy.report.table import RunTable

        console = TextConsole(width=width, file=StringIO(), record=True)
        console.print(RunTable(self.heading, self.figures() if figures is None else figures))
        return console.export_text()

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with one line per episode: its record, its row, and its spending on each axis.

        Raises:
            MissingExtra: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise MissingExtra("pandas", "pandas") from None
        lines = [
            {"row": label, **record.as_json(), **record.spent._asdict(), "tokens": record.spent.tokens}
            for label, own in self.records.items()
            for record in own
        ]
        return pandas.DataFrame(lines)

    def as_json(self, figures: Figures) -> dict[str, Any]:
        """Return the content of `summary.json`."""
        config, heading = self.heading.config, self.heading
        of_several = {"informations": dict(heading.informations), "verifiers": heading.verifier_texts}
        equal = {"matched": {agent: one.as_json() for agent, one in figures.matched.items()}}
        passes = {name: one.passes_as_json() for name, one in figures.passes.items()}
        return {
            "env": config.env,
            "split": config.split,
            "seed": one_or_all(config.seed),
            "n_tasks": heading.n_tasks,
            "data": dict(heading.data),
            "agent": one_or_all(config.agent),
            "alarms": heading.alarms,
            "verifier": one_or_all(config.verifier),
            "roles": dict(config.roles),
            "simulator": heading.simulator_text(figures.summaries.values()),
            "information": heading.information,
            "label": heading.verifier_text,
            **(of_several if len(config.verifier) > 1 else {}),
            "success_rule": heading.success_rule,
            "equal_on": config.equal_on(),
            "baseline": config.baseline_name,
            "is_complete": self.n_episodes == self.n_expected,
            "strategies": {name: one.as_json() for name, one in figures.summaries.items()},
            "differences": {name: one.as_json() for name, one in figures.differences.items()},
            "curves": [one.as_json() for one in figures.curves],
            "comparisons": [one._asdict() for metric in METRICS for one in figures.comparisons(metric)],
            "verifier_scores": [one.as_json() for one in scores_against_success(self.records)],
            **(equal if figures.matched else {}),
            **({"passes": passes} if passes else {}),
        }


def _failed(records: Mapping[str, Sequence[EpisodeRecord]]) -> dict[str, dict[str, list[str]]]:
    """Return why episodes are no success, the most frequent reason first, with their tasks by row of the table."""
    found: dict[str, dict[str, list[str]]] = {}
    for row, own in records.items():
        for record in own:
            if record.why and not record.error_kind:
                found.setdefault(record.why, {}).setdefault(row, []).append(record.task_id)
    return dict(sorted(found.items(), key=lambda one: -sum(map(len, one[1].values()))))


def read_results(folder: Path | str) -> Results:
    """Return the results stored in a run folder.

    Raises:
        RunFolderError: The folder holds no run.
        OSError: A file of it can't be read, or is no regular file.
        ValueError: Its `config.json` is not one of a run.
    """
    run = Run(folder, is_whole=True)
    return results_of(run.config, list(run.records.values()))


def rebase(folder: Path | str, baseline: str) -> Results:
    """Record another baseline in a run folder, with the summary that follows from it, and return the results.

    Another baseline changes no answer.

    Raises:
        UnknownName: The run has no such strategy.
        RunFolderError: The folder holds no run, or is in use.
        StorageError: It can't be written.
    """
    recorded = {**read_config(Path(folder)), "baseline": baseline}
    RunConfig.of(recorded)  # refuses a strategy that the run has not
    with RunFolder(folder, recorded, free=FREE) as run:
        results = results_of(recorded, list(run.episodes.values()))
        figures = results.figures()
        run.write_summary(results.as_json(figures), results.table(figures=figures))
    return results


def results_of(recorded: Mapping[str, Any], records: Sequence[EpisodeRecord]) -> Results:
    """Return the results of a run from the content of its `config.json` and its episodes so far."""
    n_tasks = len({record.task_id for record in records})
    try:
        config = RunConfig.of(recorded)
        results = Results(heading_of(config, recorded, n_tasks))
    except IADError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise ValueError(
            f"expected the configuration of a run in {CONFIG}, got another one, which iad "
            f"{recorded.get('iad_version')!s:.40} wrote ({type(error).__name__}: {error!s:.200}); restore it, or name "
            "another folder"
        ) from error
    arms = set(config.arms)
    for record in records:
        if record.arm in arms:
            results.add(record)
        else:
            warnings.warn(
                f"expected an episode of {CONFIG}, got {record.key} of {record.arm}; it is left out", stacklevel=2
            )
    return results
