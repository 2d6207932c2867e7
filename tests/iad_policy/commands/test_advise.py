"""`iad advise` and `iad reselect` on real runs: what they read and print, and that replayed proposals are exact."""

import json
import re
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers the environments)
from iad_policy import evaluate
from iad_policy.commands.terminal import TextConsole
from iad_policy.ledger.answer_log import BLOBS
from iad_policy.ledger.episode_record import EPISODES, NOT_RECORDED, EpisodeRecord
from iad_policy.ledger.run import DamagedEpisode, Run
from iad_policy.report.advice import AdviceSettings, advise
from iad_policy.report.advice.pilot import read_pilot
from iad_policy.report.reselection import bounds, reselecting
from iad_policy.report.results import read_results
from iad_policy.report.table import ShortTable
from iad_policy.types.plan import load_plan
from tests import command_line
from tests.iad_policy.report.snapshots import require_snapshot

AGENT = "solution:0.6:sigma=0.4:rho=0.6"
QUERIES: dict[str, Any] = {"split": "train", "env_args": {"mode": "answer"}, "feedback": "best-worst", "agent": AGENT}
N_TASKS = 8
STRATEGIES = ["single", "bon-sc", "bon", "iad"]
COMPARE = ["compare", "IAD/BIRD-v0", "--env-arg", "mode=answer"]


def iad(*arguments: object) -> Any:
    return command_line.iad(*arguments, env={"COLUMNS": "100"})


def said(*arguments: object) -> str:
    """What a command that succeeds prints, on one line."""
    done = iad(*arguments)
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "pilot"
    evaluate("IAD/BIRD-v0", STRATEGIES, N_TASKS, n=3, out=folder, **QUERIES)
    return folder


def outcome(record: EpisodeRecord) -> tuple[object, ...]:
    return record.success, record.progress, record.actions, record.spent.proposals, record.spent.verifications


def outcomes(folder: Path) -> dict[tuple[object, ...], tuple[object, ...]]:
    return {(one.arm, one.task_id, one.seed): outcome(one) for one in Run(folder).records.values()}


def test_the_result_of_every_candidate_is_what_its_episode_gave(pilot: Path) -> None:
    run = Run(pilot)
    found = read_pilot(run)
    assert (found.one_decision, found.axis, found.split, len(found.tasks)) == (True, "calls", "train", N_TASKS)
    rights = []
    for record in run.records.values():
        attempts = found.lines[record.strategy].attempts[record.task_id][0]
        committed = run.episode(record.key).steps[0].decision.committed
        assert {one.is_right for one in attempts if one.key and one.key == committed.key} == {record.success == 1}
        rights.append(record.success == 1)
    assert set(rights) == {False, True}
    assert {one.is_told for one in found.lines["iad"].attempts[found.tasks[0]][0]} == {False, True}


def test_what_the_largest_decisions_come_to_is_what_the_run_committed(pilot: Path) -> None:
    """BIRD's verifier compares, so paths ask it again."""
    run = Run(pilot)
    found = read_pilot(run, with_paths=True)
    assert not read_pilot(run).paths
    sampled, chained = found.planned_lines
    assert sampled is not None
    assert chained is not None
    for task, paths in found.paths.items():
        assert {path[sampled.n, 0][1] for path in paths} == {sampled.success[sampled.n][task] == 1}
        longest = [path[1, chained.n - 1] for path in paths if (1, chained.n - 1) in path]
        assert {is_right for _, is_right in longest} == {chained.success[chained.n][task] == 1}


def test_it_prints_what_was_looked_at_and_keeps_to_what_is_asked(pilot: Path) -> None:
    shown = iad("advise", pilot, "--worth", 100)
    assert shown.exit_code == 0, shown.output
    require_snapshot("advice_pilot.txt", shown.output.replace(str(pilot), "PILOT"))
    found = json.loads(iad("advise", pilot, "--json", "--n", "5", "--per", "proposals", "--tasks", 50).output)
    assert (found["pilot"]["n_tasks"], found["n_tasks"], found["pilot"]["axis"]) == (N_TASKS, 50, "proposals")
    rows = {(one["strategy"], one["n"]): one for one in found["predictions"]}
    assert set(rows) == {("single", 1), *((name, n) for name in ("bon-sc", "bon", "iad") for n in (3, 5))}
    assert [rows["bon", n]["source"] for n in (3, 5)] == ["pilot", "model"]
    assert (rows["bon", 5]["spent"], found["choice"]) == (pytest.approx(5), None)
    limited = json.loads(iad("advise", pilot, "--json", "--metric", "reward", "--max-calls", "4").output)
    assert limited["pilot"]["metric"] == "reward"
    calls = {(one["strategy"], one["n"]): one["calls"] for one in limited["predictions"]}
    assert max(calls.values()) > 4 >= max(calls[tuple(one["option"].values())] for one in limited["steps"])


def test_a_verifier_that_reads_gold_is_labelled_and_never_what_to_take(pilot: Path, tmp_path: Path) -> None:
    folder = tmp_path / "both"
    said("reselect", pilot, "--verifier", "proxy,oracle", "--ask", "--out", folder)
    records = [one for one in Run(folder).records.values() if one.verifier != "oracle"]
    of_proxy = {(one.arm, one.task_id): outcome(one) for one in records}
    assert of_proxy == {name[:2]: own for name, own in outcomes(pilot).items()}, "the same verifier, the same run"
    shown = said("advise", folder, "--worth", 10_000)
    assert "*** oracle: oracle verifier" in shown
    assert "Rows whose verifier reads gold are for diagnosis." in shown
    found = advise(folder, AdviceSettings(worth=10_000))
    taken = [one.option.line for one in found.steps] + [found.choice.option.line if found.choice else ""]
    assert any("oracle" in option.line for option in found.predictions)
    assert not any("oracle" in one for one in taken)


def test_what_was_not_run_is_no_reason_to_choose(tmp_path: Path) -> None:
    evaluate("IAD/WebShop-v0", ["single", "iad"], 2, n=[4, 8], split="dev", out=tmp_path)
    found = advise(tmp_path, AdviceSettings(ns=(2, 6, 8, 16), worth=1e6))
    of_iad = [one.source for option, one in found.predictions.items() if option.line == "iad"]
    assert of_iad == ["between", "pilot", "between", "pilot", "trend"]
    assert found.choice is not None
    assert {one.option.n for one in found.steps} | {found.choice.option.n} <= {1, 4, 8}
    shown = iad("advise", tmp_path).output
    assert "Tasks take several decisions" in shown
    assert "Rows from between and trend are no reason to choose" in shown


def test_it_is_the_same_twice_and_reads_an_unfinished_run(pilot: Path, tmp_path: Path) -> None:
    assert said("advise", pilot, "--json", "--n", 3) == said("advise", pilot, "--json", "--n", 3)
    folder = shutil.copytree(pilot, tmp_path / "run")
    lines = (folder / EPISODES).read_bytes().splitlines(keepends=True)
    (folder / EPISODES).write_bytes(b"".join(lines[:30]))
    found = read_pilot(Run(folder))
    assert (len(found.tasks), found.n_left_out) == (7, 1)
    shutil.rmtree(folder / BLOBS)
    with pytest.raises(DamagedEpisode, match="repeat the run's command"):
        read_pilot(Run(folder))


def test_dollars_are_no_price_where_the_cache_has_answered(pilot: Path, tmp_path: Path) -> None:
    """Of strategies that share samples, the first one pays for all of them."""
    folder = shutil.copytree(pilot, tmp_path / "run")
    lines = [json.loads(line) for line in (folder / EPISODES).read_text().splitlines()[:8]]
    for n_cached, axis in ((0, "usd"), (1, "tokens")):
        for line in lines:
            line["usage"]["agent"] |= {"usd": 0.1, "prompt_tokens": 10, "n_cached": n_cached}
        (folder / EPISODES).write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert read_pilot(Run(folder)).axis == axis
    with pytest.raises(ValueError, match="answers from the cache, which cost 0 dollars"):
        read_pilot(Run(folder), axis="usd")
    results, shown = read_results(folder), StringIO()
    TextConsole(width=100, file=shown).print(ShortTable(results.heading, results.figures()))
    assert "From the cache: 8 answers." in shown.getvalue()


def test_another_verifier_selects_as_in_a_run_with_it_and_says_where_it_can_not(tmp_path: Path) -> None:
    how: dict[str, Any] = {"n": 3, "feedback": "best-worst", "split": "train"}
    for verifier in ("proxy", "oracle"):
        evaluate("IAD/WebShop-v0", STRATEGIES, N_TASKS, verifier=verifier, out=tmp_path / verifier, **how)
    asked = ("reselect", tmp_path / "proxy", "--verifier", "oracle", "--out", tmp_path / "again")
    shown = said(*asked)
    assert "episodes are exact; the others part from the record" in shown
    assert "Run the same command again" not in shown
    records = list(Run(tmp_path / "again").records.values())
    expected = outcomes(tmp_path / "oracle")
    exact = [one for one in records if one.error_kind != NOT_RECORDED]
    assert all(outcome(one) == expected[one.arm, one.task_id, one.seed] for one in exact)
    assert {one.information for one in records} == {"oracle"}
    others = {one.strategy for one in records if one.error_kind}
    assert set() < others <= {"bon", "iad"}
    for name, of_row in bounds({name: [one for one in records if one.strategy == name] for name in others}).items():
        assert of_row.n_other == sum(one.strategy == name and one.error_kind == NOT_RECORDED for one in records)
        came = sum(own[0] for (arm, *_), own in expected.items() if arm.strategy == name) / N_TASKS
        assert of_row.low <= came <= of_row.high
    # In the same folder, asking on gives what a run with that verifier gives.
    shown = said(*asked, "--ask")
    assert "part from the record" not in shown
    assert f"{len(exact)} episodes kept" in shown
    assert outcomes(tmp_path / "again") == expected


def test_what_can_not_be_run_again_is_refused(pilot: Path, tmp_path: Path) -> None:
    config = json.loads((pilot / "config.json").read_text())
    changed = {AGENT: {**config["identity"][AGENT], "agent": "an earlier one"}}
    for told, asks, error in (
        ({"identity": changed}, True, "agent to ask on"),
        ({"trained_here": {"agent": 2}}, True, "trained"),
        ({"strategies": ["own"], "feedback": None}, False, "got a run with own"),
    ):
        (tmp_path / "config.json").write_text(json.dumps({**config, **told}))
        with pytest.raises(ValueError, match=error):
            reselecting(Run(tmp_path), ["oracle"], asks=asks)


def test_a_plan_is_made_of_a_pilot_and_acted_on(pilot: Path, tmp_path: Path) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "run"
    shown = said("advise", pilot, "--policy", plan, "--worth", 1000)
    assert f"Plan for IAD/BIRD-v0, agent {AGENT}, verifier proxy" in shown
    assert "It only samples: the" in shown
    compare = [*COMPARE, "--split", "dev", "--tasks", 4, "--n", 3, "--agent", AGENT]
    compare += ["--feedback", "best-worst", "--strategies", "bon,adaptive", "--strategy-arg", f"adaptive.plan={plan}"]
    assert "per task of this run, not counted" in said(*compare, "--out", out)
    plan.unlink()  # the run has it
    said("report", out)
    assert {one.strategy for one in Run(out).records.values()} == {"bon", "adaptive"}
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert config["strategy_args"]["adaptive.plan"]["env"]
    assert "n = 3; as the plan says for adaptive" in (out / "report.txt").read_text(encoding="utf-8")

    (tmp_path / "again.toml").write_text(load_plan(config["strategy_args"]["adaptive.plan"]).as_toml())
    again = [str(one).replace("plan.toml", "again.toml") for one in compare]
    before = json.loads((out / "summary.json").read_text(encoding="utf-8"))["strategies"]
    assert "per task of this run, counted" in said(*again, "--charge-pilot", "--out", out)
    after = json.loads((out / "summary.json").read_text(encoding="utf-8"))["strategies"]
    of_pilot = sum(one.spent.proposals for one in Run(pilot).records.values()) / 4
    assert after["adaptive"]["proposals"] == pytest.approx(before["adaptive"]["proposals"] + of_pilot)
    assert after["adaptive"]["by_role"]["pilot"]["proposals"] == pytest.approx(of_pilot)
    assert after["bon"] == before["bon"]


@pytest.mark.parametrize(
    ("agent", "option", "refused"),
    [
        (AGENT, ["--feedback", "hints"], "the feedback best-worst, .*, got hints"),
        ("random", ["--feedback", "best-worst"], f"the agent {AGENT}, "),
        (AGENT, ["--verifier", "oracle", "--feedback", "best-worst"], "the verifier proxy, "),
    ],
)
def test_a_plan_of_another_run_is_refused(pilot: Path, tmp_path: Path, agent: str, option: Any, refused: str) -> None:
    plan = tmp_path / "plan.toml"
    said("advise", pilot, "--policy", plan)
    how = ["--tasks", 2, "--strategies", "adaptive", "--strategy-arg", f"adaptive.plan={plan}", "--agent", agent]
    ran = iad(*COMPARE, *how, *option, "--out", tmp_path / "run")
    assert (ran.exit_code, bool(re.search(refused, ran.stderr))) == (2, True), ran.stderr
