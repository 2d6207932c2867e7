"""The tables of real models' runs are read from run folders, with what every candidate would have scored."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from iad_policy import evaluate
from iad_policy.learn.reproduce import as_markdown
from iad_policy.papers import WEBSHOP, compared_in, comparisons, load_comparison, what_differs

FOLDER = Path(__file__).parents[1] / "benchmarks"
PAGE = Path(__file__).parents[1] / "docs" / "models-measured.md"
KEPT = sorted((PAGE.parent / "measurements").glob("*.json"))
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def measured(load_benchmark: Any) -> Any:
    return load_benchmark("support.measured_models")


@pytest.fixture(scope="module")
def kept(measured: Any) -> dict[str, Any]:
    return {one["name"]: one for one in map(measured.read, KEPT)}


def guess(observation: str, info: Mapping[str, Any], feedback: Any, rng: Random) -> str:
    """An agent that is often right, and that can be told what was wrong."""
    questions = json.loads((FOLDER.parent / "data" / "bird" / "dev.json").read_text(encoding="utf-8"))
    golds = {str(one["question_id"]): one["SQL"] for one in questions}
    return f"submit[{rng.choice((golds[info['task_id']], 'SELECT 1', 'SELECT 2'))}]"


@pytest.mark.slow
def test_figures_are_those_of_a_run_and_are_read_again_as_they_were(measured: Any, tmp_path: Path) -> None:
    given = {"n": (1, 3), "tasks": 4, "env_args": {"mode": "answer"}, "verifier": "oracle", "temperature": 1.0}
    options: dict[str, Any] = {"agent": guess, "out": tmp_path / "run", "feedback": "best-worst", **given}
    evaluate("IAD/BIRD-v0", ["single", "bon", "iad"], **options)
    run = measured.MeasuredRun(tmp_path / "run")
    assert set(run.arms) == {"single 1", "bon 1", "bon 3", "iad 1", "iad 3"}
    told = run.uptake("iad 3")  # every refinement is counted once
    assert told.n == 4 * 2
    assert told.n_repeats + told.n_unreadable <= told.n
    assert run.uptake("bon 3") == run.uptake("iad 1") == measured.Uptake()
    assert run.cached_share() == 0.0
    # improvements are those of the true score
    solved = {name: sum(record.success for record in arm) for name, arm in run.arms.items()}
    assert solved["iad 3"] - solved["single 1"] <= told.n_better <= told.n_open
    scored = list(run.scored("bon 3"))
    assert len(scored) == 4 * 3
    assert {is_right for _, _, is_right in scored} == {True, False}
    assert all(is_right == (score == 1.0) for _, score, is_right in scored)
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps(measured.figures_of(run)))
    figures = measured.read(kept)
    assert figures == measured.read(run.folder)
    assert str(run.folder) not in kept.read_text()
    assert {name: arm["solved"].count("1") for name, arm in figures["arms"].items()} == solved
    rows = measured.table([figures, figures]).splitlines()[2:]
    assert [row.split(" | ")[1] for row in rows] == ["`bon 3`", "`iad 3`"] * 2


def rate(value: float, sign: str = "") -> str:
    """Three digits, as the page writes them: `.250`."""
    return sign + f"{value:.3f}".removeprefix("0")


def test_the_page_shows_what_is_kept(kept: dict[str, Any], measured: Any) -> None:
    shown = dict(re.findall(r"^\| ((?:BIRD|Inter)[^|]+\.5B) \|(.*)\|$", TEXT, re.MULTILINE))
    runs = {"BIRD `superhero`, 0.5B": "superhero-0.5b", "BIRD bundled, 0.5B": "bundled-0.5b"}
    runs["InterCode Bash, 1.5B"] = "bash-1.5b"
    assert shown.keys() == runs.keys()
    for row, run in runs.items():
        base = kept[f"{run}-proxy-findings"]["arms"]
        forms = (kept.get(f"{run}-proxy-{form}") for form in ("best-worst", "findings", "hints"))
        arms = [base["single 1"], base["bon 4"], *(one and one["arms"].get("iad 4") for one in forms)]
        cells = [cell.strip(" *") or None for cell in shown[row].split("|")]
        assert cells == [one and rate(one["success"]) for one in arms]
    # the second round
    second = re.findall(r"^\| (`[^|]+) \|((?:[^|]*\|){5})$", TEXT, re.MULTILINE)
    rows = {"`single`": ("facts", "single 1"), "`bon`": ("facts", "bon 4")}
    rows["`adaptive` (plan with `hints`)"] = ("adaptive", "adaptive 4")
    rows |= {f"`iad`, `{form}`": (form, "iad 4") for form in ("hints", "facts")}
    for form, short in (("findings", "findings"), ("best-worst", "bw")):
        rows |= {f"`iad`, `{form}`, `{how}`": (f"{short}-{how}", "iad 4") for how in ("improve", "differ")}
    assert [name for name, _ in second] == list(rows)
    for name, row in second:
        of, arm = kept[f"bundled-0.5b-{rows[name][0]}"], rows[name][1]
        own = of["arms"][arm]
        expected = [rate(own["success"]), f"{own['tokens']:,.0f}", "", "", ""]
        if minus := own.get("minus_bon"):
            expected[2:4] = f"{minus['won']}:{minus['lost']}", rate(minus["p"]) if minus["p"] >= 0.001 else "<.001"
        if again := (of["refinements"] | of["samples"]).get(arm):
            expected[4] = f"{100 * again['n_repeats'] / again['n']:.0f} %"
        assert [cell.strip(" *") for cell in row.split("|")[:5]] == expected, name
    pooled = [one for name, one in kept.items() if name.endswith("-adaptive")]
    for one in pooled:
        bon, adaptive = (one["arms"][arm] for arm in ("bon 4", "adaptive 4"))
        cells = [f"{rate(arm['success'])} | {arm['tokens']:,.0f}" for arm in (bon, adaptive)]
        assert f" | {' | '.join(cells)} | {adaptive['minus_bon']['won']}:{adaptive['minus_bon']['lost']} | " in TEXT
    assert measured.pooled(pooled) == "Minus `bon` at equal mean tokens, 329 tasks: +0.025 [+0.012, +0.041]"
    assert ".025 [.012, .041]\n  over the 329 BIRD questions" in TEXT


PAGES = Path(__file__).parent.parent / "docs/learning"
RESULTS = [
    (paper, env) for paper in comparisons() for env in compared_in(paper) if not load_comparison(paper, env).needs_model
]


@pytest.mark.parametrize(("name", "env"), RESULTS)
def test_a_page_has_what_its_results_say(name: str, env: str) -> None:
    place = "" if env == WEBSHOP else f"-{env.removeprefix('IAD/').removesuffix('-v0').lower()}"
    record = json.loads((PAGES / "reproductions" / f"{name}{place}.json").read_text(encoding="utf-8"))
    paper = load_comparison(name, env).for_what_is_trained(reads_text=record["backend"].startswith("hf:"))
    assert record["env"] == env
    assert list(record["arms"]) == list(paper.arms)
    assert [one["name"] for one in record["claims"]] == [one.name for one in paper.claims]
    assert record["differs"] == list(what_differs(name, "comparison", env))
    assert [(one["title"], one["arms"]) for one in record["pictures"]] == [(o.title, o.arms) for o in paper.pictures]
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    lines = as_markdown(record).splitlines()
    assert all(f"- {sentence}" in page for sentence in record["differs"])
    for one in record["claims"]:
        (row,) = [line for line in lines if line.startswith(f"| {one['name']} | {one['published']} |")]
        assert (f"`{one['name']}`" if one["verdict"] == "undecidable" else row) in page
    for k, one in enumerate(record["pictures"], 1):
        path = f"reproductions/{name}{place}-{k}.png"
        assert f"![{one['title']}: here and published]({path})" in page
        assert 0 < (PAGES / path).stat().st_size < 60_000
