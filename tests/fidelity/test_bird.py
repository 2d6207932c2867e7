"""The official evaluator's verdicts on recorded pairs, and published verdicts of real systems."""

import json
import math
from pathlib import Path
from typing import Any

from iad_envs.bird.scoring import QueryScorer, ScoringJob, run_jobs
from tests.command_line import iad
from tests.effort import some
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


def test_iad_score_reproduces_published_verdicts(vectors: Any, real_data: Path, tmp_path: Path) -> None:
    """A system's file as it would be submitted, on the golds that its verdicts are published for."""
    questions = {one["question_id"]: one for one in json.loads((real_data / "bird" / "dev.json").read_text())}
    for system, pairs in some([*vectors("bird_superhero_published_ex.json").items()], 100):
        folder = tmp_path / f"data-{system}"
        folder.mkdir()
        (folder / "dev_databases").symlink_to(real_data / "bird" / "dev_databases")
        golds = [{**questions[pair["question_id"]], "SQL": pair["gold_sql"]} for pair in pairs]
        (folder / "dev.json").write_text(json.dumps(golds))
        submitted = {str(n): f"{pair['predicted_sql']}\t----- bird -----\tsuperhero" for n, pair in enumerate(pairs)}
        given, out = tmp_path / f"{system}.json", tmp_path / f"{system}.jsonl"
        given.write_text(json.dumps(submitted))
        done = iad("score", given, "--env", "IAD/BIRD-v0", "--data-dir", folder, "--out", out, "--json")
        lines = {line["task_id"]: line for line in map(json.loads, out.read_text().splitlines())}
        assert [pair for pair in pairs if lines[str(pair["question_id"])]["ex"] != pair["ex"]] == [], system
        (arm,) = json.loads(done.stdout)["arms"].values()
        assert math.isclose(arm["success"]["value"], sum(pair["ex"] for pair in pairs) / len(pairs))
