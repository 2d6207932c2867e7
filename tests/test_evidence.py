"""What verifiers and prompts are measured by: labelled candidates, tasks held out, faults put in, recorded prompts."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.webshop.policy.fit import WEIGHTS
from iad_policy.types import Verdict

Benchmark = Callable[[str], Any]
BUNDLED = Path(__file__).parents[1] / "data"


def test_tasks_for_fitting_and_for_reports_are_apart(load_benchmark: Benchmark, tmp_path: Path) -> None:
    shell = load_benchmark("support.bash_verifier")
    rows = [{"query": f"Count {number}", "gold": f"echo {number}"} for number in range(100)]
    (tmp_path / "tasks_fs_1.json").write_text(json.dumps(rows), encoding="utf-8")
    halves = [{one.task_id for one in shell.TaskSet(tmp_path, held_out=held).tasks} for held in (False, True)]
    assert not halves[0] & halves[1]
    assert min(map(len, halves)) > 30
    bird = load_benchmark("support.bird_verifier")
    assert 40 < sum(bird.is_held_out(str(number)) for number in range(100)) < 60
    shop = load_benchmark("support.webshop_verifier")
    products = []
    for is_held_out in (False, True):
        sets = shop.purchases(shop.TaskSet(shop.BUNDLED, ("dev",), is_held_out=is_held_out), n_tasks=8)
        products.append({one.state.info["page"]["asin"] for one in sets if one.members[0].source == "gold"})
    assert [len(asins) for asins in products] == [8, 8]
    assert not products[0] & products[1]


@pytest.mark.slow
def test_attempts_are_labelled_by_running_them(load_benchmark: Benchmark, tmp_path: Path) -> None:
    measured = load_benchmark("support.bash_verifier")
    tasks = measured.TaskSet(BUNDLED / "intercode", held_out=True)
    task = tasks.tasks[0]
    recorded = tmp_path / "attempts.jsonl"
    attempts = [["ls", task.gold], ["no-such-command"], [task.gold, "ls /"]]
    lines = [json.dumps({"task_id": task.task_id, "source": "me", "commands": commands}) for commands in attempts]
    recorded.write_text("\n".join(lines), encoding="utf-8")
    rows = list(measured.run_attempts(tasks, recorded))
    assert [row.is_right for row in rows] == [True, False, False]
    assert [turn.action for turn in rows[0].after.history] == ["ls", task.gold]
    assert rows[0].submit.preview.info["page"]["submitted"]
    found = measured.evidence_on(rows)
    assert (found.auc, found.n_pos, found.n_neg) == (None, 1, 2)


def test_candidates_are_labelled_and_the_gap_to_the_best_choice_can_be_closed(load_benchmark: Any) -> None:
    measured = load_benchmark("support.bird_verifier")
    env = measured.BirdEnv(data_dir=BUNDLED / "bird")
    task = env.task_ids[0]
    env.reset(options={"task_id": task})
    submit = env.oracle(env.snapshot())["solution"][-1]
    state = measured.start(env, task)
    actions = ["submit[SELECT 1]", submit, "submit[SELECT 1 AS one]", submit.replace("submit", "execute", 1)]
    members = [measured.Labelled("me", *measured.labelled(env, action)) for action in actions]
    env.close()
    assert [member.is_right for member in members] == [False, True, False, False]

    class Second:
        def verify(self, state: Any, given: Any) -> list[Verdict]:
            return [Verdict(float(place == 1)) for place in range(len(given))]

    few, every = (
        measured.scored_sets([measured.CandidateSet(task, state, tuple(members[:n]))], Second()) for n in (3, 4)
    )
    choice = measured.choice_among(few, 3)
    assert (choice, choice.gap_closed) == ((0.0, 0.0, 1.0, 1.0, 1), 1.0)
    found = measured.evidence_on(every)
    assert (found.auc, found.n_pos, found.n_neg) == (None, 1, 2)


@pytest.mark.slow
def test_final_pages_are_right_or_wrong_in_exactly_one_part_and_the_same_again(load_benchmark: Benchmark) -> None:
    booking_pages = load_benchmark("support.booking_pages")
    env = gym.make("IAD/Booking-v0", split=None)
    found, again = (list(booking_pages.final_pages(env, 36, seed=3)) for _ in range(2))
    assert [page.state.observation for page in found] == [page.state.observation for page in again]
    parts = dict.fromkeys(booking_pages.WRONG, "user_info") | {"day": "date_time", "time": "date_time"}
    parts |= {name: name for name in ("restaurant", "party", "seating")}
    assert [page.wrong for page in found[::2]] == [""] * 36
    assert sorted(page.wrong for page in found[1::2]) == sorted([*parts] * 4)
    for page in found:
        assert page.wrong_parts == ([parts[page.wrong]] if page.wrong else [])
        assert (page.state.done, page.state.info["page"]["kind"]) == (True, "confirmation")
        assert not set(page.state.info) & env.unwrapped.GOLD_INFO  # type: ignore[attr-defined]


def test_purchases_are_those_that_the_environment_rewards(load_benchmark: Benchmark) -> None:
    shop = load_benchmark("support.webshop_verifier")
    found = list(shop.purchases(shop.HELD_OUT, n_tasks=4))
    sources = {one.members[0].source for one in found}
    assert sources == {"agents", "random", "gold", "open option", "other value", "other product"}
    env = gym.make("IAD/WebShop-v0", split=None)
    for one in found:
        source, candidate, is_right = one.members[0]
        env.reset(options={"task_id": one.task_id})
        for turn in one.state.history:
            env.step(turn.action)
        *_, info = env.step(candidate.action)
        assert info["success"] == is_right == (source == "gold" or is_right)
        assert candidate.preview.gold is None


def test_purchases_are_told_apart_once_tabs_were_opened(load_benchmark: Any) -> None:
    """The figures of docs/webshop.md."""
    shop = load_benchmark("support.webshop_verifier")
    blind, seeing = (shop.reader_evidence(is_open=is_open) for is_open in (False, True))
    assert (round(blind[0].value, 3), round(seeing[0].value, 3)) == (0.603, 0.935)
    assert [shares["the verifier's"] for _, shares in (blind, seeing)] == [0.667, 1.0]
    assert seeing[1]["any one"] == 0.7


@pytest.mark.slow
def test_the_weights_are_those_that_the_script_prints(load_benchmark: Any) -> None:
    shop = load_benchmark("support.webshop_verifier")
    assert shop.fit(list(shop.purchases(shop.FITTING))) == pytest.approx(WEIGHTS, abs=0.01)


ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "benchmarks").glob("*.py"))
TIMES = {"us", "ms", "s", "min"}


@pytest.fixture
def reference(load_benchmark: Callable[[str], Any]) -> Any:
    return load_benchmark("reference")


def ticking(step_s: float) -> Callable[[], float]:
    """A clock that goes on by a step whenever it is read."""
    ticks = count()
    return lambda: step_s * next(ticks)


def test_a_target_is_met_or_missed_alike_on_slow_and_fast_machines(reference: Any, capsys: Any) -> None:
    for slowness in (1.0, 3.0, 0.5):
        record_s = slowness * reference.TARGETS_RECORD_US / 1e6
        timed = reference.Reference(ticking(record_s), ticking(2 * record_s), n_records=1)
        timed.sample()
        timed.figure("met", 29 * slowness, "us", n=3, target=30)
        timed.figure("missed", 31e-3 * slowness, "ms", target=30e-3)
        timed.figure("by_cpu", 59 * slowness, "us", target=30, clock="cpu")
        timed.figure("met_rate", 31 / slowness, "pages/s", target=30)
        timed.figure("missed_rate", 29 / slowness, "pages/s", target=30)
        timed.report()
        lines = {line["metric"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
        expected = {"met": True, "missed": False, "by_cpu": True, "met_rate": True, "missed_rate": False}
        expected |= {"reference_us": None, "reference_cpu_us": None}
        assert {name: line["meets"] for name, line in lines.items()} == expected
        met, wall, cpu = lines["met"], lines["reference_us"]["value"], lines["reference_cpu_us"]["value"]
        assert list(met) == ["metric", "value", "unit", "baseline", "ratio", "target", "better", "meets", "n"]
        assert (met["value"], met["target"], met["baseline"]) == (pytest.approx(29 * slowness), 30 / 8, wall)
        assert met["ratio"] == pytest.approx(29 / 8, rel=1e-4)
        assert (lines["missed"]["baseline"], lines["by_cpu"]["baseline"]) == (pytest.approx(wall / 1000), cpu)
    canonical = json.dumps(reference.RECORD, sort_keys=True, separators=(",", ":"))
    assert (len(canonical.encode()), reference.N_RECORDS) == (1024, 10_000)
    assert reference.write_record() == "ff9e90100df4f4bf3f70289298971ca2eb84d32f9c337784b48927ba1d6f4278"
