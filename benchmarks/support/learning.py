"""What the benchmarks of learning share: rewards by task and seed, and rows that compare two of them."""

import json
from collections.abc import Mapping
from typing import Any

from iad_policy import evaluate
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.statistics import bootstrap_mean, by_cluster, sign_flip

SHOP = "IAD/WebShop-v0"
Rewards = Mapping[tuple[str, int], float]
"""Reward by task and seed."""


def rewards(agent: str, strategy: str = "single", *, seed: int, tasks: int, env: str = SHOP, **options: Any) -> Rewards:
    """Return what an agent earns on the first tasks of the split that is measured."""
    split = domain_by_id(env).tested
    found = evaluate(env, [strategy], agent=agent, tasks=tasks, seed=seed, baseline=strategy, split=split, **options)
    (records,) = found.records.values()
    return {(record.task_id, record.seed): record.reward for record in records}


def row(name: str, ours: Rewards, theirs: Rewards, *, least: float | None = 0.0) -> None:
    """Print a comparison.

    Args:
        name: Name of the row.
        ours: Rewards of one side.
        theirs: Rewards of the other, on the same tasks with the same seeds.
        least: The interval has to be above it. None for a row that is reported only.
    """
    keys = sorted(ours)
    differences = [ours[key] - theirs[key] for key in keys]
    compared(name, differences, [task for task, _ in keys], least=least, ours=_mean(ours), theirs=_mean(theirs))


def compared(
    name: str,
    differences: list[float],
    clusters: list[str],
    *,
    least: float | None = 0.0,
    unit: str = "reward",
    about: str = "learning",
    **others: float,
) -> None:
    """Print differences that belong to clusters, with the interval of their mean."""
    interval = bootstrap_mean(differences, clusters=clusters)
    line = {
        "metric": f"{about}_{name}",
        "value": round(sum(differences) / len(differences), 4),
        "unit": unit,
        "interval": [round(interval.low, 4), round(interval.high, 4)],
        "p": round(sign_flip(by_cluster(differences, clusters)[0].tolist()), 4),
        **{key: round(value, 4) for key, value in others.items()},
        "target": least,
        "better": "higher",
        "meets": None if least is None else interval.low > least,
        "n": len(differences),
    }
    print(json.dumps(line), flush=True)


def _mean(found: Rewards) -> float:
    return sum(found.values()) / len(found)
