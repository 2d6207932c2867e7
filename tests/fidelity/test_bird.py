"""The official evaluator's verdicts on recorded pairs, and published verdicts of real systems."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from iad_envs.bird.scoring import QueryScorer, ScoringJob, run_jobs
from iad_policy.cli import app
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
        expected = (vector["ex"], vector["soft_f1"])
        is_same = (score.ex, alone) == (expected[0], expected[0]) and math.isclose(
            score.soft_f1, expected[1], abs_tol=1e-6
        )
        is_refused = (score.verdict, score.sound) == ("rejected", 0.0)
        if not is_same or (vector["category"] in EXPLOITS and not is_refused) or path.read_bytes() != before:
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


@pytest.mark.parametrize("n_systems", [1, pytest.param(None, marks=pytest.mark.slow)])
def test_iad_score_reproduces_every_published_verdict(
    n_systems: int | None, vectors: Any, real_data: Path, tmp_path: Path
) -> None:
    """Each system's file as it would be submitted, on the golds that its verdicts are published for."""
    questions = {one["question_id"]: one for one in json.loads((real_data / "bird" / "dev.json").read_text())}
    n_pairs = 0
    systems = list(vectors("bird_superhero_published_ex.json").items())[:n_systems]
    for number, (system, pairs) in enumerate(systems):
        folder = tmp_path / f"data-{number}"
        folder.mkdir()
        (folder / "dev_databases").symlink_to(real_data / "bird" / "dev_databases")
        golds = [{**questions[pair["question_id"]], "SQL": pair["gold_sql"]} for pair in pairs]
        (folder / "dev.json").write_text(json.dumps(golds))
        submitted = {str(n): f"{pair['predicted_sql']}\t----- bird -----\tsuperhero" for n, pair in enumerate(pairs)}
        (tmp_path / f"{system}.json").write_text(json.dumps(submitted))
        given = ("score", tmp_path / f"{system}.json", "--env", "IAD/BIRD-v0", "--data-dir", folder)
        out = tmp_path / f"{system}.jsonl"
        done = CliRunner().invoke(app, [*map(str, given), "--out", str(out), "--json"])
        assert done.exit_code == 0, done.output
        lines = {line["task_id"]: line for line in map(json.loads, out.read_text().splitlines())}
        wrong = [pair for pair in pairs if lines[str(pair["question_id"])]["ex"] != pair["ex"]]
        assert not wrong, system
        (arm,) = json.loads(done.stdout)["arms"].values()
        assert math.isclose(arm["success"]["value"], sum(pair["ex"] for pair in pairs) / len(pairs))
        n_pairs += len(pairs)
    assert n_pairs
