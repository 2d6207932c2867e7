"""Roles with players of their own, simulators in a run's key, and the evaluations that a run counts."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from iad_policy import Ask, IADPolicyWrapper, Propose, State, per_step
from iad_policy.agents import load_agent
from iad_policy.errors import SimulationError, UnknownName
from iad_policy.evaluation import evaluate
from iad_policy.models.scripted import ScriptedModel
from iad_policy.roles import AssignedRoles, TemplateRoles, component_for, load_roles
from iad_policy.roles.language_model import ModelRoles
from iad_policy.run.components import load_components
from iad_policy.run.config import Arm, RunConfig
from iad_policy.run.runner import Runner
from tests.contract.components import Hunch, Wanderer
from tests.contract.toy import Digger


def scripted(text: str, name: str) -> ModelRoles:
    return ModelRoles(ScriptedModel(lambda messages: text, name=name))


def test_every_role_is_answered_by_its_own_player_and_charged_by_itself() -> None:
    players = {"evaluator": scripted("Verdict: pass", "wise"), "summariser": scripted("do it again", "terse")}
    asked = ("evaluator", "summariser", "reflector")

    @per_step
    def ask_all(here: State) -> Any:
        (candidate,) = yield from Propose(here, 1)
        for role in asked:
            yield from Ask(role, here, [candidate])
        return candidate

    with IADPolicyWrapper(Wanderer(errors=0), env := Digger(), strategy=ask_all, roles=players) as policy:
        policy.act(*env.reset(seed=0))
        decision = policy.decisions[0]
        wise, terse, template = decision.role_answers
        assert (wise.role, terse.role, template.role) == asked
        assert (wise.text, terse.text, template.text[:12]) == ("Verdict: pass", "do it again", "That attempt")
        assert [decision.budget[role].asks for role in asked] == [1, 1, 1]
        assert decision.budget["evaluator"].tokens > 0 == decision.budget["reflector"].tokens
        assert {"evaluator answered by wise", "reflector answered by template"} <= set(decision.notes)


def loaded(roles: Any, env: Any = None) -> Any:
    env = env or Digger()
    return load_roles(roles, env, load_agent(Wanderer(), env), None)


def test_roles_are_named_by_all_who_play_and_those_of_a_strategy_go_before_those_of_all() -> None:
    roles = loaded({"judge": "template"})
    assert isinstance(roles, AssignedRoles)
    assert (roles.source, roles.identity) == ("template, judge template", "template; judge: template")
    assert isinstance(component_for(roles, "judge"), TemplateRoles)
    assert isinstance(loaded(None), TemplateRoles)
    mine, its = scripted("x", "mine"), scripted("y", "its")
    other = AssignedRoles({"critic": mine, "iad-fb.critic": its}, TemplateRoles())
    assert other.identity != roles.identity
    assert other.answer("critic", State("", {}), []) == "x"
    assert [component_for(other.of(name), "critic") for name in ("iad-fb", "self-refine")] == [its, mine]
    with pytest.raises(UnknownName, match=r"strategy of this run.*artis, single"):
        config(roles={"iad-fb.critic": "template"})


@pytest.mark.parametrize(
    ("env", "roles", "known"),
    [
        (None, {"jester": "template"}, "critic, evaluator"),
        (None, {"judge": "wise"}, "litellm:<model>"),
        ("IAD/BIRD-v0", {"critic": "reference"}, "got IAD/BIRD-v0, which does not.*critic=template"),
        ("IAD/Sketch2Code-v0", {"evaluator": "reference"}, "role that reference can play.*known: critic"),
        ("IAD/Sketch2Code-v0", {"critic": "referee"}, "reference"),
    ],
)
def test_unknown_roles_and_a_critic_that_another_environment_adds_are_refused(env: Any, roles: Any, known: str) -> None:
    with pytest.raises(ValueError, match=known):
        loaded(roles, env and gym.make(env))


class Seer(TemplateRoles):
    """Sees gold, and says what it saw."""

    information = "oracle"
    source = "seer"

    def answer(self, role: str, state: State, subject: Any) -> str:
        gold = None if subject.preview is None else subject.preview.gold
        return "nothing" if gold is None else f"progress {gold['progress']:g}"


@pytest.mark.parametrize(("label", "said"), [("oracle", "progress"), ("", "nothing")])
def test_a_role_sees_gold_only_under_the_label_oracle_and_the_log_says_so(
    label: str, said: str, tmp_path: Path
) -> None:
    seer = Seer()
    seer.information = label
    config: dict[str, Any] = {"strategy": "self-refine", "n": 2, "roles": {"critic": seer}, "log": tmp_path / "log"}
    with IADPolicyWrapper(Wanderer(errors=0), env := Digger(), verifier="none", **config) as policy:
        policy.act(*env.reset(seed=0))
        (answer,) = policy.decisions[0].role_answers
    assert answer.text.startswith(said)
    log = (tmp_path / "log/answers.jsonl").read_text(encoding="utf-8")
    (line,) = [one for one in log.splitlines() if '"source":"seer"' in one]
    assert ('"information":"oracle"' in line) == (label == "oracle")
    with pytest.raises(SimulationError, match="the perfect simulator with Seer"):
        IADPolicyWrapper(Wanderer(), Digger(), roles={"critic": Seer()}, simulator="noisy:0.9")


def config(**changes: Any) -> RunConfig:
    fixed: dict[str, Any] = {"env": "Toy/Digger-v0", "agent": "random", "verifier": "", "cache": False}
    return RunConfig(**(fixed | {"strategies": ("single", "artis")} | changes))


def test_simulator_and_roles_are_in_an_episodes_key() -> None:
    def key(**changes: Any) -> str:
        runner = Runner(config(strategy_args={"verify": False}, **changes), Digger, load_components)
        return runner.key(Arm("random", "artis", 3), "oak", 0)

    wise: dict[str, Any] = {"roles": {"evaluator": "litellm:wise"}}
    assert len({key(), key(simulator="noisy:0.8"), key(simulator="noisy:0.9"), key(**wise)}) == 4
    assert key() == key(simulator="perfect")


def test_a_run_says_who_simulates_and_counts_what_the_evaluator_passed(tmp_path: Path) -> None:
    given: dict[str, Any] = {"simulator": "noisy:0.9", "roles": {"summariser": "template"}, "out": tmp_path}
    results = evaluate(Digger, ["single", "artis"], 9, agent=Wanderer(errors=0), verifier=Hunch(), **given)
    rows = results.figures(100).summaries
    records = [one for own in results.records.values() for one in own if one.strategy == "artis"]
    assert all(one.n_evaluations == 3 for one in records)
    rate = sum(one.n_passed for one in records) / sum(one.n_evaluations for one in records)
    assert [rows[one].evaluation_pass_rate for one in ("artis", "single")] == [pytest.approx(rate), None]
    assert rows["artis"].by_role["evaluator"]["asks"] == 3
    assert rows["artis"].by_role["simulator"]["simulations"] > 0
    text = results.table(width=200)
    for said in ("summariser template; simulator noisy:0.9", "evaluator", "simulator", "evaluations", "passed"):
        assert said in text
