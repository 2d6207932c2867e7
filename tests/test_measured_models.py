"""The tables of real models' runs are read from run folders, with what every candidate would have scored."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from iad_policy import evaluate

FOLDER = Path(__file__).parents[1] / "benchmarks"
PAGE = Path(__file__).parents[1] / "docs" / "models-measured.md"
KEPT = sorted((PAGE.parent / "measurements").glob("*.json"))


@pytest.fixture(scope="module")
def measured() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        from support import measured_models

        yield measured_models
    for name in [name for name in sys.modules if name.partition(".")[0] == "support"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def run(measured: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("measured") / "run"
    given = {"n": (1, 3), "tasks": 4, "env_args": {"mode": "answer"}, "verifier": "oracle", "temperature": 1.0}
    evaluate("IAD/BIRD-v0", ["single", "bon", "iad"], out=out, feedback="best-worst", **given)
    return measured.MeasuredRun(out)


def test_every_refinement_is_counted_once(measured: Any, run: Any) -> None:
    assert set(run.arms) == {"single 1", "bon 1", "bon 3", "iad 1", "iad 3"}
    told = run.uptake("iad 3")
    assert told.n == 4 * 2
    assert told.n_repeats + told.n_unreadable <= told.n
    assert run.uptake("bon 3") == run.uptake("iad 1") == measured.Uptake()
    assert run.cached_share() == 0.0
    # improvements are those of the true score
    solved = sum(record.success for record in run.arms["iad 3"])
    assert solved - sum(record.success for record in run.arms["single 1"]) <= told.n_better <= told.n_open


def test_the_true_score_of_a_candidate_is_what_the_oracle_said_of_it(run: Any) -> None:
    scored = list(run.scored("bon 3"))
    assert len(scored) == 4 * 3
    assert {is_right for _, _, is_right in scored} == {True, False}
    assert all(is_right == (score == 1.0) for _, score, is_right in scored)


def test_the_true_score_in_the_middle_of_an_episode_is_the_oracles(measured: Any, tmp_path: Path) -> None:
    given = {"n": 3, "tasks": 6, "verifier": "oracle", "temperature": 1.0}
    evaluate("IAD/InterCodeBash-v0", ["bon"], out=tmp_path / "run", **given)
    run = measured.MeasuredRun(tmp_path / "run")
    verified = [
        (moment, one, one.verdict.score)
        for moment, decision in run._decisions("bon 3")
        for one in decision.candidates
        if one.verdict is not None
    ]
    assert max(len(moment.actions) for moment, _, _ in verified) >= 1
    assert len({score for _, _, score in verified}) > 2
    assert [run._true_score(moment, one) for moment, one, _ in verified] == [score for _, _, score in verified]


def test_what_is_kept_of_a_run_is_read_again_as_it_was(measured: Any, run: Any, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps(measured.figures_of(run)))
    figures = measured.read(kept)
    assert figures == measured.read(run.folder)
    assert str(run.folder) not in kept.read_text()
    assert list(figures["arms"]) == ["bon 1", "bon 3", "iad 1", "iad 3", "single 1"]
    for arm, one in figures["arms"].items():
        assert one["solved"].count("1") == sum(record.success for record in run.arms[arm])
    rows = measured.table([figures, figures]).splitlines()[2:]
    assert [row.split(" | ")[1] for row in rows] == ["`bon 3`", "`iad 3`"] * 2


def test_runs_are_compared_by_task(measured: Any) -> None:
    def made(feedback: str, solved: str, tasks: int = 4, verifier: str = "proxy") -> Any:
        arms = {"iad 1": {"solved": "0000"}, "iad 3": {"solved": solved}}
        settings = {"verifier": verifier, "feedback": feedback, "temperature": None}
        return {"name": feedback, "arms": arms, "tasks": list(range(tasks)), "data": {}, **settings}

    runs = [made("a", "1110"), made("b", "0011"), made("c", "1111", 5), made("d", "1111", verifier="oracle")]
    rows = measured.between(runs).splitlines()
    assert rows[2:] == ["| `a` | `b` | 4 | +0.250 | 2:1 | 1.000 |"]
    assert measured.between([made("a", "1110")]) == ""


def test_the_page_shows_what_is_kept(measured: Any) -> None:
    kept = {one["name"]: one["arms"] for one in map(measured.read, KEPT)}
    shown = dict(re.findall(r"^\| ((?:BIRD|Inter)[^|]+\.5B) \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    runs = {"BIRD `superhero`, 0.5B": "superhero-0.5b", "BIRD bundled, 0.5B": "bundled-0.5b"}
    assert shown.keys() == {*runs, "InterCode Bash, 1.5B"}
    for row, run in {**runs, "InterCode Bash, 1.5B": "bash-1.5b"}.items():
        forms = ("best-worst", "findings", "hints")
        arms = [kept.get(f"{run}-proxy-{form}", {}).get("iad 4") for form in forms]
        base = kept[f"{run}-proxy-findings"]
        expected = [one and f"{one['success']:.3f}"[1:] for one in (base["single 1"], base["bon 4"], *arms)]
        assert [cell.strip(" *") or None for cell in shown[row].split("|")] == expected


def test_the_page_shows_the_second_round(measured: Any) -> None:
    kept = {one["name"].removeprefix("bundled-0.5b-"): one for one in map(measured.read, KEPT)}
    shown = re.findall(r"^\| (`[^|]+) \|((?:[^|]*\|){5})$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    rows = {
        "`single`": ("facts", "single 1"),
        "`bon`": ("facts", "bon 4"),
        "`adaptive` (plan with `hints`)": ("adaptive", "adaptive 4"),
        "`iad`, `hints`": ("hints", "iad 4"),
        "`iad`, `facts`": ("facts", "iad 4"),
        "`iad`, `findings`, `improve`": ("findings-improve", "iad 4"),
        "`iad`, `findings`, `differ`": ("findings-differ", "iad 4"),
        "`iad`, `best-worst`, `improve`": ("bw-improve", "iad 4"),
        "`iad`, `best-worst`, `differ`": ("bw-differ", "iad 4"),
    }
    assert [name for name, _ in shown] == list(rows)
    for name, row in shown:
        run, arm = rows[name]
        own = kept[run]["arms"][arm]
        expected = [f"{own['success']:.3f}", f"{own['tokens']:,.0f}", "", "", ""]
        if minus := own.get("minus_bon"):
            expected[2:4] = f"{minus['won']}:{minus['lost']}", f"{minus['p']:.3f}" if minus["p"] >= 0.001 else "<.001"
        if again := (kept[run]["refinements"] | kept[run]["samples"]).get(arm):
            expected[4] = f"{100 * again['n_repeats'] / again['n']:.0f} %"
        assert [cell.strip(" *") for cell in row.split("|")[:5]] == [re.sub(r"^0\.", ".", one) for one in expected], (
            name
        )


def test_the_page_shows_adaptive_on_every_set(measured: Any) -> None:
    kept = {one["name"]: one["arms"] for one in map(measured.read, KEPT)}
    runs = {
        "bundled, 0.5B": "bundled-0.5b",
        "a half of `superhero`, 0.5B": "superhero-0.5b-a",
        "its other half": "superhero-0.5b-b",
        "bundled, 1.5B": "bundled-1.5b",
        "InterCode Bash, 1.5B, without a plan": "bash-1.5b",
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, run in runs.items():
        bon, adaptive = (kept[f"{run}-adaptive"][arm] for arm in ("bon 4", "adaptive 4"))
        minus = adaptive["minus_bon"]
        cells = [f"{one['success']:.3f} | {one['tokens']:,.0f}"[1:] for one in (bon, adaptive)]
        ahead = ""
        if at := adaptive.get("minus_bon_at_equal_tokens"):
            low, high = (f"{max(end, 0.0):.3f}"[1:] for end in at["interval"])
            ahead = f"+{at['success']:.3f} [{low}, {high}] ".replace("0.", ".", 1)
        assert f"| {name} | {' | '.join(cells)} | {minus['won']}:{minus['lost']} | {ahead}|" in text
    runs = [measured.read(path) for path in KEPT if path.stem.endswith("-adaptive")]
    assert measured.pooled(runs) == "Minus `bon` at equal mean tokens, 329 tasks: +0.025 [+0.012, +0.041]"
    assert ".025 [.012, .041]\n  over the 329 BIRD questions" in text


def test_the_page_says_what_the_larger_model_and_the_lower_temperature_gave(measured: Any) -> None:
    kept = {one["name"]: one["arms"] for one in map(measured.read, KEPT)}
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    for run, said in (
        ("bundled-1.5b-hints", "{iad} against {bon} on the 100 test questions ({apart}, p .125)"),
        ("bundled-1.5b-bw-improve", "with `best-worst`, {iad} ({apart})"),
        ("bundled-1.5b-bw-improve", "it loses {lost}, and the 0.5B .120"),
        ("bundled-0.5b-t01-bw-improve", "over `single` ({single}) than `bon` does. **No**: both gain .010 ({apart})"),
    ):
        arms = kept[run]
        minus = arms["iad 4"]["minus_bon"]
        found = {
            name: f"{arms[f'{name} {n}']['success']:.3f}"[1:] for name, n in (("single", 1), ("bon", 4), ("iad", 4))
        }
        lost = f"{arms['bon 4']['success'] - arms['iad 4']['success']:.3f}"[1:]
        assert said.format(**found, lost=lost, apart=f"{minus['won']}:{minus['lost']}") in text
