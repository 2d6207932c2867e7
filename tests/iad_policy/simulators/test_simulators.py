"""Simulators: what they show, what they can't touch, and who may not be run on them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

import iad_envs  # noqa: F401 (registers)
from iad_policy import IADPolicyWrapper, Outcome, State, evaluate
from iad_policy.errors import ModelError, SimulationError, UnknownName
from iad_policy.models.scripted import ScriptedModel
from iad_policy.simulators import load_simulator
from iad_policy.simulators.llm import LanguageSimulator, PredictedOutcome, read_prediction
from iad_policy.simulators.noisy import NoisySimulator
from iad_policy.simulators.recorded import Recorded, read, record, with_typos, write
from iad_policy.simulators.retrieval import RetrievalSimulator
from iad_policy.types import PublicInfo
from iad_policy.types.hashing import decode, encode
from iad_policy.types.outcome_types import type_of
from iad_policy.verifiers.judge import judge
from iad_policy.world import World, adapt
from iad_policy.world.simulator import Simulator
from tests.contract.components import TAXI, Hunch, Wanderer, decide
from tests.contract.foreign import Words
from tests.contract.toy import LANDMARKS, Digger
from tests.iad_policy.models.openai_server import OpenAIServer
from tests.iad_policy.playing import play

PREDICTED = "Valid: yes\nOver: no\nObservation:\nYou are at the mill."


def begun(env: gym.Env[Any, Any], **reset: Any) -> tuple[World, State]:
    observation, info = env.reset(**reset)
    (world := adapt(env)).begin(observation)
    return world, State(observation, PublicInfo(info, world.gold_keys), steps_left=world.max_steps, id="here")


def predicting(text: str = PREDICTED) -> LanguageSimulator:
    return LanguageSimulator(Digger(), ScriptedModel(lambda messages: text))


def remembering() -> RetrievalSimulator:
    return RetrievalSimulator(record(Digger(), Wanderer(), tasks=LANDMARKS[:4]))


def everything(outcome: Outcome) -> str:
    return json.dumps(encode([outcome.observation, dict(outcome.info), outcome.done, outcome.key]))


@pytest.mark.parametrize("make", [Digger, lambda: gym.make("IAD/WebShop-v0"), lambda: gym.make("IAD/BFCL-v0")])
def test_an_outcome_depends_on_state_action_and_draw_alone(make: Callable[[], Any]) -> None:
    seen = []
    for draws in ((0, 1), (1, 0)):
        world, state = begun(make(), seed=3)
        simulator = NoisySimulator(fidelity=0.5)
        action = next(iter(state.info.get("available_actions", [0])))
        token = simulator.begin(world, state)
        outcomes = {draw: simulator.simulate(world, token, action, draw) for draw in draws}
        after = {draw: simulator.simulate(world, one.token, action, 0) for draw, one in outcomes.items()}
        seen.append([everything(each[draw]) for each in (outcomes, after) for draw in (0, 1)])
    assert seen[0] == seen[1]


@given(st.lists(st.sampled_from(["go north", "go west", "dig", "fly"]), min_size=1, max_size=5), st.integers(0, 3))
def test_what_is_shown_instead_is_what_another_action_leads_to_all_of_it(actions: list[str], draw: int) -> None:
    world, state = begun(Digger(max_steps=9), seed=1)
    simulator = NoisySimulator(fidelity=0.0)
    token, inner = simulator.begin(world, state), world.snapshot()
    for action in actions:
        outcome = simulator.simulate(world, token, action, draw)
        if not token.done:
            other_actions = (*state.info["available_actions"], *with_typos(action))
            others = [world.simulate(inner, other, draw) for other in other_actions]
            assert everything(outcome) in map(everything, others)
            assert type_of(outcome.info, outcome.done) != type_of(*world.simulate(inner, action, draw)[2:4])
        token, inner = outcome.token, outcome.token.inner


def test_a_simulator_errs_as_often_as_it_is_told_to_and_by_type() -> None:
    simulator, n = NoisySimulator(fidelity="success=0.8,end=1,failure=0.3"), 400
    world, state = begun(Digger(max_steps=90), seed=1)
    token = simulator.begin(world, state)
    for kind, action, rate in (("success", "go west", 0.2), ("end", "dig", 0.0), ("invalid", "fly", 0.7)):
        shown = [simulator.simulate(world, token, action, draw) for draw in range(n)]
        n_wrong = sum(type_of(one.info, one.done) != kind for one in shown)
        spread = NormalDist().inv_cdf(0.9995) * (rate * (1 - rate) / n) ** 0.5
        assert abs(n_wrong / n - rate) <= spread


def test_with_full_fidelity_nothing_but_the_fork_is_shown() -> None:
    def previewed(simulator: str) -> list[str | None]:
        env = Digger()
        with IADPolicyWrapper(Wanderer(), env, strategy="artis", verifier=Hunch(), simulator=simulator) as policy:
            play(env, policy, seed=4)
            return [one.preview and one.preview.id for made in policy.decisions for one in made.candidates]

    assert previewed("perfect") == previewed("noisy:1")


def test_a_garbled_action_has_two_letters_swapped_and_a_failed_command_is_a_type_of_its_own() -> None:
    assert with_typos("cat[/a/b.txt]") == ["act[/a/b.txt]", "cat[a//b.txt]", "cat[/a/b.ttx]"]
    assert list(map(with_typos, ("go", "a", "aa", "", 7, None))) == [["og"], [], [], [], [], []]
    finding = {"code": "no_such_column", "severity": "error", "message": ""}
    for info, done, expected in (
        ({"invalid_action": False, "facts": {"findings": [finding]}}, True, "no_such_column"),
        *(({"facts": {"exit_code": 2}}, False, "exit 2"), ({}, True, "end"), ({}, False, "success")),
        ({"facts": {"timed_out": True, "exit_code": 124}}, False, "timed out"),
        ({"invalid_action": True, "facts": {"exit_code": 127}}, False, "invalid"),
    ):
        assert type_of(info, done) == expected


@pytest.mark.parametrize(
    ("name", "error", "known"),
    [
        ("clairvoyant", UnknownName, "llm, .*noisy, .*perfect, retrieval"),
        ("noisy", UnknownName, "0.8"),
        ("noisy:much", UnknownName, "success=0.9"),
        ("noisy:1.5", ValueError, "0 to 1, got 1.5"),
        ("noisy:end=-1", ValueError, "0 to 1 for end"),
        ("retrieval:nowhere.jsonl", FileNotFoundError, "recorded outcomes at nowhere.jsonl"),
        ("retrieval", SimulationError, "split train or dev"),
        ("llm", ValueError, "a model's name"),
        (7, TypeError, "begin"),
    ],
)
def test_a_name_that_is_none_says_what_is_known(name: Any, error: type[Exception], known: str) -> None:
    with pytest.raises(error, match=known):
        load_simulator(name, Digger())


def test_the_perfect_simulator_alone_takes_verifiers_that_read_gold() -> None:
    for simulator in ("noisy:0.9", remembering(), predicting()):
        with pytest.raises(SimulationError, match="the perfect simulator with OracleVerifier"):
            IADPolicyWrapper(Wanderer(), Digger(), verifier="oracle", simulator=simulator)
    assert IADPolicyWrapper(Wanderer(), Digger(), verifier="oracle", simulator="perfect")


class Sealed(Digger):
    """An environment that can't be simulated, nor looked at, other than by stepping it."""

    def snapshot(self) -> Any:
        raise AssertionError("the environment was asked")

    def simulate(self, token: Any, action: str, draw: int = 0) -> Any:
        self.snapshot()


@pytest.mark.parametrize("make", [remembering, predicting])
@pytest.mark.parametrize("strategy", ["artis", "mcts"])
def test_a_simulator_without_the_environment_never_asks_it(make: Callable[[], Simulator], strategy: str) -> None:
    def listless(observation: str, info: Any, rng: Random) -> str:  # a model predicts no list of actions
        return rng.choice(["go north", "go west", "go east"])

    env = Sealed(max_steps=4)
    with IADPolicyWrapper(listless, env, strategy=strategy, n=2, verifier=Hunch(), simulator=make()) as policy:
        play(env, policy, options={"task_id": LANDMARKS[8]})
        assert policy.spent["simulator"].simulations > 0


def test_what_is_remembered_is_the_nearest_recorded_outcome_with_the_present_task_in_it() -> None:
    def recorded(action: str, seen: str, *, done: bool = False) -> Recorded:
        info = {"task_id": "other", "instruction": "Dig at the oak.", "step": 9, "stop_reason": "done" if done else ""}
        return Recorded("other", "Dig at the oak.", "Here.", action, seen, info | {"page": {"sub": [seen]}}, done, seen)

    def after(token: Any, action: str, draw: int = 0) -> Outcome:
        return simulator.simulate(world, token, action, draw)

    seen = "It is cold. Dig at the mill."
    records = [recorded("go north", "It is cold. Dig at the oak."), recorded("dig", "Dug.", done=True)]
    simulator = RetrievalSimulator(records)
    world, state = begun(Sealed(max_steps=3), options={"task_id": "mill"})
    start = simulator.begin(world, state)
    there = after(start, "go nort")
    assert (there.observation, there.done, set(there.info)) == (seen, False, set(state.info))
    now = {"task_id": "mill", "instruction": "Dig at the mill.", "step": 1, "page": {"sub": [seen]}}
    assert {key: there.info[key] for key in now} == now
    over = after(there.token, "dig!")
    assert (over.done, over.info["stop_reason"], over.info["step"]) == (True, "done", 2)
    assert after(over.token, "go north").observation == after(start, "go nort", 1).observation == "Dug."
    at_limit = after(after(there.token, "go").token, "go")
    assert (at_limit.done, at_limit.info["stop_reason"]) == (True, "max_steps")


def test_recorded_outcomes_have_no_gold_and_survive_their_file(tmp_path: Path) -> None:
    records = record(Digger(), Wanderer(), tasks=LANDMARKS[:3])
    assert not any(set(one.info) & Digger.GOLD_INFO for one in records)
    assert {one.task_id for one in records} == set(LANDMARKS[:3])
    write(records, tmp_path / "outcomes.jsonl")
    again = list(read(tmp_path / "outcomes.jsonl"))
    assert [decode(encode(one)) for one in records] == again
    assert RetrievalSimulator(again).identity == RetrievalSimulator(records).identity
    (other := tmp_path / "other.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(ValueError, match="expected a recorded outcome with task_id"):
        list(read(other))
    with pytest.raises(ValueError, match="expected recorded outcomes"):
        RetrievalSimulator([])
    with pytest.raises(SimulationError, match=f"not recorded, got {LANDMARKS[0]}"):
        RetrievalSimulator(records).begin(*begun(Digger(), options={"task_id": LANDMARKS[0]}))
    # An environment without ids is recorded by seeds.
    records = record(gym.make(TAXI, max_episode_steps=2), "random", tasks=["7", "8"], n_episodes=1, n_proposals=1)
    assert {one.task_id for one in records} == {"7", "8"}
    world, state = begun(gym.make(TAXI), seed=9)
    simulator = RetrievalSimulator(records)
    assert isinstance(simulator.simulate(world, simulator.begin(world, state), 1, 0).observation, int)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PREDICTED, ("You are at the mill.", True, False)),
        ("**Valid:** No.\n**Over:** no\n**Observation:**\nRefused.\nTwice.", ("Refused.\nTwice.", False, False)),
        ("Over: YES\nObservation: Dug.", ("Dug.", True, True)),
        ("Over: no\nObservation:\n```\nObservation: a\n```", ("Observation: a", True, False)),
        ("Valid: yes\nOver: no\nObservation:", ("", True, False)),
        ("Valid: yes\nFailed: **Yes**\nOver: no\nObservation:\n{}", ("{}", True, False, True)),
    ],
)
def test_a_prediction_is_read_from_a_models_answer(text: str, expected: tuple[Any, ...]) -> None:
    assert read_prediction(text) == PredictedOutcome(*expected)
    assert read_prediction(PredictedOutcome(*expected).text()) == PredictedOutcome(*expected)
    assert read_prediction("I can't do that.") is None


def test_paragraphs_that_were_seen_before_are_counted_and_not_repeated() -> None:
    before, after = "Results:\n1\n\nUser: Go.\n\nFunctions: f", "Results:\n2\n\nUser: Go.\n\nFunctions: f"
    new, same = PredictedOutcome(after, True, False), PredictedOutcome(before, False, False, True)
    assert new.text(before).endswith("Observation:\nResults:\n2\n\n(the last 2 paragraphs as before)")
    assert [read_prediction(one.text(before), before) for one in (new, same)] == [new, same]
    # A number that is too great means all of them.
    too_many = read_prediction("Observation: (the last 9 paragraphs as before)", before)
    assert too_many == PredictedOutcome(before, True, False)


def test_a_predicted_state_has_the_environments_info_and_says_what_was_not_predicted() -> None:
    def kinds(info: Mapping[str, Any]) -> dict[str, type]:
        return {key: type(value).__mro__[-2] for key, value in info.items()}

    world, state = begun(Sealed(max_steps=5), seed=2)
    simulator = predicting("Valid: no\nOver: no\nObservation:\nNo.")
    outcome = simulator.simulate(world, simulator.begin(world, state), "fly", 0)
    assert kinds(outcome.info) == kinds(state.info)
    assert (outcome.info["invalid_action"], outcome.info["step"], outcome.observation) == (True, 1, "No.")
    for read_it in (lambda: outcome.info["page"]["landmark"], lambda: outcome.info["facts"].get("is_dug")):
        with pytest.raises(SimulationError, match="does not predict; use litellm"):
            read_it()


@pytest.mark.parametrize("verifier", [None, "proxy", "noisy:0.2:proxy"])
def test_a_verifier_that_reads_what_a_model_does_not_predict_is_refused(verifier: str | None) -> None:
    env, asked = gym.make("IAD/WebShop-v0"), ScriptedModel([])
    given: dict[str, Any] = {"simulator": LanguageSimulator(env, asked), "verifier": verifier}
    with pytest.raises(SimulationError, match=r"predicts no facts and no page, got .*pass --verifier judge:<model>"):
        IADPolicyWrapper(lambda *_: "search[lamp]", env, strategy="artis", **given)
    # A strategy without verdicts, a verifier that reads observations, and a simulator with facts have no such trouble.
    IADPolicyWrapper("random", env, strategy="single", **given)
    IADPolicyWrapper("random", env, strategy="artis", **{**given, "verifier": judge(env, asked)})
    IADPolicyWrapper("random", env, strategy="artis", **{**given, "simulator": "noisy:0.5"})


def test_a_run_with_one_is_refused_at_its_start(model_server: OpenAIServer, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", model_server.address)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    models: dict[str, Any] = {"agent": "litellm:openai/toy", "simulator": "llm:openai/toy", "cache": False}
    with pytest.raises(SimulationError, match=r"got WebShopVerifier, which reads them"):
        evaluate("IAD/WebShop-v0", ["single", "artis"], 1, out=tmp_path / "run", **models)
    assert (model_server.requests, (tmp_path / "run").exists()) == ([], False)


def test_a_model_that_does_not_predict_is_an_infrastructure_failure_and_pictures_are_refused() -> None:
    world, state = begun(env := Digger(), seed=2)
    simulator = predicting("I would rather not.")
    with pytest.raises(ModelError, match="to answer with Valid, Failed, Over and Observation"):
        simulator.simulate(world, simulator.begin(world, state), "dig", 0)
    with pytest.raises(SimulationError, match="expected text observations"):
        LanguageSimulator(gym.make(TAXI), ScriptedModel([]))
    env.observation_space = Words()  # texts of a library that is not ours
    LanguageSimulator(env, ScriptedModel([]))


def test_what_a_simulating_model_costs_is_charged_to_the_simulator() -> None:
    decision = decide(Digger(max_steps=2), agent=lambda *_: "go north", simulator=predicting())
    spent = decision.budget["simulator"]
    assert (spent.simulations, spent.tokens > 0, decision.budget["agent"].tokens) == (1, True, 0)
