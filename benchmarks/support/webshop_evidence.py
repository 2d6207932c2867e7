"""Measures what a verifier of `IAD/WebShop-v0` says about the success of purchases that it was not fitted to.

`python benchmarks/support/webshop_evidence.py` prints it for the proxy verifier, over all purchases and by source. With
`IAD_REAL_DATA` set, it includes the official products. The rules were written after half of them, and never fitted.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.webshop_candidates import BUNDLED, FITTING, Purchase, TaskSet, purchases

from iad_envs.webshop.policy.verifier import WebShopVerifier
from iad_policy.report.verifier_evidence import VerifierEvidence, evidence
from iad_policy.types import Verifier

HELD_OUT = TaskSet(BUNDLED, ("test",))
N_OFFICIAL = 600
"""Number of official synthetic goals of each half. There are thousands, of few products."""


def webshop_evidence(
    tasks: TaskSet = HELD_OUT,
    *,
    recorded: Sequence[Path] = (),
    n_tasks: int | None = None,
    verifier: Verifier | None = None,
) -> VerifierEvidence:
    """Return how well a verifier's scores of purchases tell success.

    Args:
        tasks: The tasks.
        recorded: Files with purchases of other agents; see `purchases`.
        n_tasks: Maximum number of tasks, evenly spread over the set. None takes all.
        verifier: The verifier. Default: the proxy verifier.
    """
    return evidence_on(list(purchases(tasks, recorded=recorded, n_tasks=n_tasks)), verifier)


def evidence_on(given: Sequence[Purchase], verifier: Verifier | None = None) -> VerifierEvidence:
    """Return how well a verifier's scores of given purchases tell success."""
    judge = verifier or WebShopVerifier()
    scores = [judge.verify(one.state, [one.candidate])[0].score for one in given]
    return evidence(scores, [one.is_right for one in given], tasks=[one.task_id for one in given])


def _task_sets() -> Mapping[str, tuple[TaskSet, int | None]]:
    sets: dict[str, tuple[TaskSet, int | None]] = {
        "bundled, fitted": (FITTING, None),
        "bundled, held out": (HELD_OUT, None),
    }
    if real := os.environ.get("IAD_REAL_DATA"):
        folder = Path(real) / "webshop"
        for name, is_held_out in (("seen", False), ("held out", True)):
            sets[f"official, {name}"] = (TaskSet(folder, goals="synthetic", is_held_out=is_held_out), N_OFFICIAL)
        sets["official, 13 human goals, seen"] = (TaskSet(folder, goals="human"), None)
    return sets


def main() -> None:
    """Print the evidence on each task set, over all purchases and by source."""
    for name, (tasks, n_tasks) in _task_sets().items():
        found = list(purchases(tasks, n_tasks=n_tasks))
        print(f"{name}: {evidence_on(found)}", flush=True)
        for source in dict.fromkeys(one.source for one in found):
            print(f"  {source}: {evidence_on([one for one in found if one.source == source])}", flush=True)


if __name__ == "__main__":
    main()
