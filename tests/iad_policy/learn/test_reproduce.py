"""The papers' comparisons: every one can be run, and what is said of its trends follows from the scores."""

import json
import re
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from rich.console import Console

import iad_envs  # noqa: F401 (registers)
from iad_policy.errors import UnknownName
from iad_policy.learn.explore import HOWS
from iad_policy.learn.laboratory import SeededLaboratory
from iad_policy.learn.recipes import load_recipe
from iad_policy.learn.reproduce import PAGE, RESULTS, Reproduction, as_markdown, coverage, judged, reproduce
from iad_policy.learn.simulators import SimulatorTraining
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run_folder import read_config
from iad_policy.papers import WEBSHOP, Claim, PaperComparison, compared_in, comparisons, load_comparison, what_differs
from iad_policy.papers.qstar import VALUE_NETWORK
from iad_policy.run.resolve import resolve
from iad_policy.strategies import find_strategy, options_of
from tests.iad_policy.models.openai_server import OpenAIServer, Reply

TINY: dict[str, Any] = {"seeds": (0,), "tasks": 3, "scale": 0.02}
COMPARISONS = [
    pytest.param(paper, one, id=f"{paper} {one.title}") for paper, own in comparisons().items() for one in own
]


class Dry:
    """A laboratory that looks at what is asked and does nothing."""

    def __init__(self, env: str, *, reads_text: bool) -> None:
        self.env, self.folder, self.scale, self.reads_text = env, Path("nowhere"), 1.0, reads_text
        self.models = {""}
        self.asked: dict[str, dict[str, Any]] = {}

    def explored(self, name: str, *, tasks: int, agent: str = "", **options: Any) -> str:
        self.asked[name] = {"agent": agent, **options}
        assert agent in self.models
        assert options.get("how", "rollouts") in HOWS
        return name

    def demonstrations(self, found: str, n: int) -> str:
        return f"{n} of {found}"

    def trained(self, name: str, recipe: str, found: Any, *, start: str = "", **options: Any) -> None:
        assert start in self.models
        assert found
        self.asked[name] = {"found": found, "start": start, **options}
        apart = ("backend", "max_kl", *VALUE_NETWORK)
        assert load_recipe(recipe, **{name: own for name, own in options.items() if name not in apart})
        self.models.add(name)

    def simulator(self, name: str, outcomes: str, *, tasks: int, **options: Any) -> None:
        assert SimulatorTraining(**options)
        self.models.add(name)


@pytest.mark.parametrize(("paper", "one"), COMPARISONS)
@pytest.mark.parametrize("reads_text", [False, True])
def test_stages_make_what_the_arms_need_and_claims_are_about_arms(
    paper: str, one: PaperComparison, reads_text: bool
) -> None:
    env = (one.envs or (WEBSHOP,))[0]
    assert load_comparison(paper, env) is one
    here, known = Dry(env, reads_text=reads_text), one.for_what_is_trained(reads_text=reads_text)
    if known.stages is not None:
        known.stages(here)
    for arm in known.arms.values():
        config = resolve({"env": env, "agent": "random", "strategies": (arm.strategy,), **arm.options})
        assert set(config.options(arm.strategy)) <= set(options_of(find_strategy(arm.strategy)))
        assert arm.agent in here.models or arm.agent.startswith("plan-following")  # "" is the agent that is asked for
        assert bool(arm.agent) == (known.stages is not None)
        assert arm.verifier in here.models
        assert arm.simulator in here.models | {"retrieval", "perfect"}
        assert not (arm.simulator and arm.needs_simulator)
        assert arm.evaluator in here.models or arm.evaluator.startswith("verifier:")
    assert all(claim.arms <= set(known.arms) for claim in known.claims)
    assert len({claim.name for claim in known.claims}) == len(known.claims) > 0
    assert what_differs(paper, "comparison", env)
    assert known.pictures
    assert {name for picture in known.pictures for name in picture.arms} <= set(known.arms)
    for claim in known.claims:
        said = re.fullmatch(r"([\d.]+) > ([\d.]+)", claim.published)
        drawn = [(one.arms.get(claim.more), one.arms.get(claim.less)) for one in known.pictures]
        drawn = [both for both in drawn if None not in both]
        assert not said or not drawn or tuple(map(float, said.groups())) in drawn


def asked_in(paper: str, env: str = WEBSHOP, *, reads_text: bool = False) -> dict[str, dict[str, Any]]:
    """What a paper's stages ask for, by name."""
    here = Dry(env, reads_text=reads_text)
    stages = load_comparison(paper, env).stages
    assert stages is not None
    stages(here)
    return here.asked


def test_on_open_table_the_policies_start_from_rft() -> None:
    for env, start in (("IAD/Booking-v0", "rft"), (WEBSHOP, "base")):
        asked = asked_in("agentq", env)
        trained = [asked[name] for name in ("outcome-dpo", "step-dpo", "agent-q")]
        assert {(one["start"], one["reference"]) for one in trained} == {(start, "behaviour")}
        searched = {"agent": start, "reward": "binary:oracle", "strategy_args": {"mcts.first_visits": "published"}}
        assert searched.items() <= asked["search"].items()


def test_labels_are_hard_and_no_kl_stops_training() -> None:
    preferred = {name: one for name, one in asked_in("agentq").items() if "reference" in one}
    labels = {name: one.get("labels") for name, one in preferred.items()}
    assert {name for name, one in labels.items() if one == "soft"} == {"agent-q soft"}
    assert (labels["step-dpo"], labels["agent-q"]) == ("hard", "hard")
    assert {one["max_kl"] for one in preferred.values()} == {None}


def test_agent_q_is_judged_by_success_and_has_beam_search() -> None:
    for known in (load_comparison("agentq", env) for env in ("IAD/Booking-v0", WEBSHOP)):
        assert {one.metric for one in known.claims} == {"success"}
        assert known.arms["outcome-dpo + beam"].strategy == "beam"


def test_q_star_explores_as_published_and_merges_the_experts_data() -> None:
    asked = asked_in("qstar")
    explored = [(one["temperature"], one["env_args"]) for one in asked.values() if one.get("agent")]
    assert explored == [(0.7, {"max_steps": 5})] * len(explored) != []
    for name, own in {"sft": "100 of demos", "sft-few": "3 of demos"}.items():
        found = [asked[one]["found"] for one in (name, f"rft-{name}", f"q-{name}")]
        assert found == [own, [f"episodes-{name}", own], [f"trees-{name}", own]]
    values = [asked[name] for name in ("q-sft", "q-averaged", "q-raw")]
    assert [one["targets"] for one in values] == ["bellman", "averaged", "raw"]
    assert all((one["scale"], one["experts"]) == ("tree", True) for one in values)
    for name, guide in (("self-trained", "sft"), ("self-trained averaged", "averaged"), ("self-trained raw", "raw")):
        assert asked[name]["found"] == [f"guided-{guide}", "100 of demos"]


def test_q_star_trains_a_language_models_value_network_as_published() -> None:
    published = {"network": "published", "loss_at": "every-token", "rate": 1e-5, "batch": 64, "epochs": 2}
    for reads_text in (True, False):
        asked = asked_in("qstar", reads_text=reads_text)
        assert [one.items() >= published.items() for name, one in asked.items() if name[:2] == "q-"] == [reads_text] * 5
        assert not any("network" in one for name, one in asked.items() if name[:2] != "q-")


@pytest.mark.parametrize("env", compared_in("artis"))
def test_artis_has_the_published_arms(env: str) -> None:
    arms = load_comparison("artis", env).arms
    assert {arm.options.get("n") for arm in arms.values() if arm.strategy == "artis"} >= {1, 3, 5, 8, 12, 15}
    left_out = arms["no evaluation, no summary"].options["strategy_args"]
    assert left_out == {"artis.evaluate": False, "artis.summarise": False}


def test_arms_that_nobody_can_play_are_left_out_with_their_claims() -> None:
    known = load_comparison("artis", "IAD/BFCL-v0")
    assert {one.metric for one in known.claims} == {"success"}
    assert {"weighted-bon", "sequential-revision"} <= {arm.strategy for arm in known.arms.values()}
    given, plain = (known.for_what_is_trained(reads_text=False, has_simulator=one) for one in (True, False))
    assert set(given.arms) - set(plain.arms) == {"trained"}
    assert {one.name for one in given.claims} - {one.name for one in plain.claims} == {
        "trained > untrained", "trained > direct", "perfect > trained"
    }  # fmt: skip
    paper = load_comparison("qstar")
    linear, language = (paper.for_what_is_trained(reads_text=one) for one in (False, True))
    assert {"q-guided perturbed", "ppo"} & set(language.arms) == {"q-guided perturbed"}
    assert {"q-guided perturbed", "ppo"} & set(linear.arms) == {"ppo"}
    assert len(linear.claims) < len(paper.claims)


@pytest.mark.parametrize(
    ("paper", "given", "error", "said"),
    [
        ("react", {}, UnknownName, "agentq"),
        *(
            ("artis", {"env": "IAD/BFCL-v0", "agent": agent}, ValueError, r"model .* ARTIS .*--agent local:")
            for agent in (None, "random", "solution:0.5")
        ),
        ("artis", {"simulator": "perfect"}, ValueError, "no simulator for ARTIS.* got perfect"),
        ("agentq", {"agent": "random"}, ValueError, "no agent for Agent Q"),
    ],
)
def test_what_can_not_be_compared_is_refused_before_anything_runs(
    paper: str, given: Any, error: type[Exception], said: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=said):
        reproduce(paper, out=tmp_path / "none", **given)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def model(model_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """A language model in each role: what it says reads as a score, as a verdict, and as the end of a conversation."""
    monkeypatch.setenv("OPENAI_API_BASE", model_server.address)
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    model_server.script(Reply("Score: 5\nVerdict: fail\nfinish conversation"))
    return model_server


def test_an_arm_on_tools_has_the_papers_settings_and_the_given_simulator(model: OpenAIServer, tmp_path: Path) -> None:
    env = "IAD/ACEBench-v0"
    here = SeededLaboratory(env, tmp_path, tasks=1, agent="litellm:openai/toy-arm", given_simulator="noisy:0.8")
    here.measured("trained", load_comparison("artis", env).arms["trained"])
    config = read_config(tmp_path / "arms" / "trained")
    assert (config["verifier"], config["n"], config["temperature"]) == ("judge:openai/toy-arm", 5, 1.0)
    assert config["env_args"] == {"category": "agent_multi_step", "scoring": "official", "published": True}
    assert config["simulator"].startswith("noisy")
    assert {one["temperature"] for one in model.requests} == {0.0, 1.0}


def arm(*rewards: float, success: float = 0.0) -> list[EpisodeRecord]:
    """Episodes of an arm, one for each task."""
    given = enumerate(rewards)
    return [EpisodeRecord("k", WEBSHOP, f"t{task}", "bon", 0, reward=one, success=success) for task, one in given]


def test_coverage_says_what_is_compared_and_what_is_not() -> None:
    said = coverage("iad", "IAD/Sketch2Code-v0")
    for part in ("the gap shrinks, n = 2 to 6 (published: +3.33 > +1.00)", "nothing is trained", "--agent"):
        assert part in said
    assert "policies are trained" in coverage("agentq", "IAD/Booking-v0")
    assert compared_in("iad") == (WEBSHOP, "IAD/Sketch2Code-v0", "IAD/BIRD-v0", "IAD/InterCodeBash-v0")


@pytest.fixture(scope="module")
def iad(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Reproduction]:
    out = tmp_path_factory.mktemp("reproduced")
    return out, reproduce("iad", out=out, **TINY)


def test_a_comparison_is_written_down_and_not_repeated(iad: tuple[Path, Reproduction]) -> None:
    out, found = iad
    known = load_comparison("iad").for_what_is_trained(reads_text=False)
    record = found.record
    assert list(record["arms"]) == list(known.arms)
    assert [one["name"] for one in record["claims"]] == [claim.name for claim in known.claims]
    assert {one["verdict"] for one in record["claims"]} <= {"confirmed", "refuted", "undecidable"}
    assert record["n_tasks"] == 3
    assert json.loads((out / RESULTS).read_text()) == record
    assert (out / PAGE).read_text() == as_markdown(record, [out / "figure-1.png"])
    assert (out / "figure-1.svg").stat().st_size > 0
    for name, own in record["arms"].items():
        assert own["n"] == known.arms[name].options.get("n", 1)
        assert all(own[f"{one}_95"][0] <= own[one] <= own[f"{one}_95"][1] for one in ("reward", "success"))
    console = Console(width=100, record=True)
    console.print(found)
    text = console.export_text()
    assert all(part in text for part in ("iad > bon, n = 4", "3 test tasks"))
    assert all(len(line) <= 100 for line in text.splitlines())
    # Only training tasks are explored, and only test tasks measured.
    for path in out.rglob("config.json"):
        config, is_arm = read_config(path.parent), path.parents[1].name == "arms"
        assert config["tasks_of"] == ("test" if is_arm else "train")
        assert not is_arm or ("trained_here" not in config and config["verifier"] != "oracle")


def test_a_second_time_nothing_is_run_and_without_matplotlib_only_the_pictures_are_missing(
    iad: tuple[Path, Reproduction], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, found = iad
    before = {name: (out / name).read_text() for name in (PAGE, RESULTS)}
    files = {path: path.stat().st_mtime_ns for name in ("answers.jsonl", "model.json") for path in out.rglob(name)}
    assert files
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    told: list[str] = []
    assert reproduce("iad", out=out, **TINY, report=told.append).record == found.record
    assert any("no pictures: " in line and "'matplotlib'" in line for line in told)
    assert (out / RESULTS).read_text() == before[RESULTS]
    assert (out / PAGE).read_text() == as_markdown(found.record)
    monkeypatch.undo()
    assert reproduce("iad", out=out, **TINY).record == found.record
    assert (out / PAGE).read_text() == before[PAGE]
    assert {path: path.stat().st_mtime_ns for path in files} == files


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("paper", "one"), COMPARISONS)
def test_every_comparison_runs(paper: str, one: PaperComparison, model: OpenAIServer, tmp_path: Path) -> None:
    env = (one.envs or (WEBSHOP,))[0]
    given: dict[str, Any] = {**TINY, "tasks": 1}
    if paper == "agentq":
        given["scale"] = 0.2  # two trees with rewards of 0 or 1 order no actions
    if one.needs_model:
        given |= {"tasks": 2, "agent": "litellm:openai/toy"}
        if any(arm.needs_simulator for arm in one.arms.values()):
            given["simulator"] = "noisy:0.8"
    found = reproduce(paper, env=env, out=tmp_path, **given)
    assert found.record["title"] == one.title
    known = one.for_what_is_trained(reads_text=False, has_simulator="simulator" in given)
    assert list(found.record["arms"]) == list(known.arms)
    if one.needs_model:
        n_asked = len(model.requests)
        assert n_asked
        assert reproduce(paper, env=env, out=tmp_path, **given).record == found.record
        assert len(model.requests) == n_asked
    assert {read_config(path.parent)["env"] for path in tmp_path.rglob("config.json")} == {env}


HIGH, LOW = [0.9, 1.0, 0.8, 0.9, 1.0, 0.9], [0.2, 0.3, 0.1, 0.2, 0.3, 0.2]


@pytest.mark.parametrize(
    ("more", "less", "least", "verdict"),
    [
        (HIGH, LOW, 0.0, "confirmed"),
        (LOW, HIGH, 0.0, "refuted"),
        ([0.9, 0.1, 0.8, 0.2, 0.5, 0.5], [0.1, 0.9, 0.2, 0.8, 0.4, 0.6], 0.0, "undecidable"),
        ([0.5] * 6, [0.5] * 6, -0.01, "undecidable"),
        ([0.5] * 400, [0.5] * 400, -0.01, "confirmed"),
        ([0.5] * 6, [0.5] * 6, 0.0, "undecidable"),
    ],
)
def test_a_verdict_follows_from_the_interval(more: list[float], less: list[float], least: float, verdict: str) -> None:
    (found,) = judged([Claim("c", "a", "b", "", least)], {"a": arm(*more), "b": arm(*less)})
    assert found["verdict"] == verdict
    assert found["reward"] == pytest.approx(fmean(more) - fmean(less))


def test_a_claim_is_decided_by_its_own_metric_and_a_gap_may_be_compared_with_another_one() -> None:
    episodes = {"more": arm(*[0.5] * 40, success=1.0), "less": arm(*[0.9] * 40)}
    claims = [Claim(one, "more", "less", "", metric=one) for one in ("success", "reward")]
    by_success, by_reward = judged(claims, episodes)
    assert (by_success["verdict"], by_reward["verdict"]) == ("confirmed", "refuted")
    assert (by_success["reward"], by_success["success"]) == pytest.approx((-0.4, 1.0))
    rows = {"wide": arm(*[0.9] * 30), "narrow": arm(*[0.6] * 30), "none": arm(*[0.5] * 30)}
    for more, other, verdict in (("wide", "narrow", "confirmed"), ("narrow", "wide", "refuted")):
        (found,) = judged([Claim("shrinks", more, "none", "", beyond=(other, "none"))], rows)
        assert found["reward"] == pytest.approx(rows[more][0].reward - rows[other][0].reward)
        assert found["verdict"] == verdict
