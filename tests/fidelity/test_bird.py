"""The official evaluator's verdicts on recorded pairs, and published verdicts of real systems."""

from pathlib import Path
from typing import Any

import pytest

from iad_envs.bird.scoring import QueryScorer, ScoringJob, run_jobs
from tests.iad_envs.bird.small_bird import make_database

EXPLOITS = {"delete_then_gold", "temp_shadow", "drop_then_gold", "blank_pred_empty_gold", "explain", "pragma"}


def test_every_recorded_pair_gets_the_official_ex_and_soft_f1(vectors: Any, tmp_path: Path) -> None:
    wrong = []
    for vector in vectors("bird_ex_softf1.json"):
        path = make_database(tmp_path / f"{vector['id']}.sqlite", vector["schema"])
        before = path.read_bytes()
        timeout_s = 0.3 if vector["category"] == "timeout_pred" else vector["timeout_s"]  # that one never ends
        with QueryScorer(path, timeout_s=timeout_s) as scorer:
            score = scorer.score(vector["predicted"], vector["gold"])
            alone = scorer.ex(vector["predicted"], vector["gold"])
        expected = (vector["ex"], vector["ex"], pytest.approx(vector["soft_f1"], abs=1e-6))
        is_refused = (score.verdict, score.sound) == ("rejected", 0.0)
        is_right = (score.ex, alone, score.soft_f1) == expected and path.read_bytes() == before
        if not is_right or (vector["category"] in EXPLOITS and not is_refused):
            wrong.append((vector["id"], vector["category"], expected, score))
    assert not wrong


def test_every_published_verdict_on_superhero_is_reproduced(vectors: Any, real_data: Path) -> None:
    path = real_data / "bird" / "dev_databases" / "superhero" / "superhero.sqlite"
    pairs = [pair for system in vectors("bird_superhero_published_ex.json").values() for pair in system]
    jobs = [ScoringJob(path, pair["gold_sql"], [pair["predicted_sql"]]) for pair in pairs]
    scores = run_jobs(jobs, QueryScorer.score, workers=2)
    wrong = [(pair, found) for pair, (found,) in zip(pairs, scores, strict=True) if found.ex != pair["ex"]]
    assert not wrong
    assert pairs
