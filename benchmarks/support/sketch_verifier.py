"""Measures the proxy verifier of `IAD/Sketch2Code-v0` on pages that were written from ten sketches by eye.

python benchmarks/support/sketch_verifier.py

Six pages each, by a reader who knew nothing of the verifier: `tests/fixtures/sketch2code/pages.jsonl`.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gymnasium as gym
import numpy as np
from scipy.stats import spearmanr

import iad_envs  # noqa: F401 (registers)
from iad_envs.sketch2code.policy.verifier import Sketch2CodeVerifier
from iad_policy.types import Candidate, State

PAGES = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "sketch2code" / "pages.jsonl"


class PageEvidence(NamedTuple):
    """Rank correlation with the layout score within a sketch; layout of the mean, the chosen and the best page."""

    correlation: float
    mean: float
    chosen: float
    best: float


def page_evidence() -> PageEvidence:
    """Return what the proxy tells of the pages, as means over sketches."""
    written: defaultdict[str, list[str]] = defaultdict(list)
    for line in PAGES.read_text(encoding="utf-8").splitlines():
        written[(row := json.loads(line))["task_id"]].append(row["html"])
    env: Any = gym.make("IAD/Sketch2Code-v0", split=None).unwrapped
    found = []
    for task_id, pages in written.items():
        scores, layouts = [], []
        for html in pages:
            observation, info = env.reset(options={"task_id": task_id})
            seen = env.simulate(env.snapshot(), html)
            candidate = Candidate(html, preview=State(seen.observation, seen.info, done=True))
            scores.append(Sketch2CodeVerifier().verify(State(observation, info), [candidate])[0].score)
            layouts.append(env.step(html)[4]["reward_parts"]["layout"])
        chosen = layouts[int(np.argmax(scores))]
        found.append((spearmanr(scores, layouts).statistic, np.mean(layouts), chosen, max(layouts)))
    env.close()
    return PageEvidence(*map(float, np.mean(found, axis=0)))


if __name__ == "__main__":
    print(", ".join(f"{name} {value:.3f}" for name, value in page_evidence()._asdict().items()))
