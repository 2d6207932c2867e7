"""Environments that only a language model plays: what everything says where no agent is named, or one that is gone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs
from iad_policy import IADPolicyWrapper, evaluate
from iad_policy.agents import load_agent
from iad_policy.errors import GoneAgent, NoAgent, NoFeatures
from iad_policy.learn.explore import explore
from iad_policy.learn.fidelity import fidelity
from iad_policy.learn.reproduce import reproduce
from iad_policy.learn.simulators import record_outcomes
from iad_policy.models.local.files import KNOWN
from iad_policy.papers import load_comparison
from iad_policy.registry.domain import SMALL_MODEL, default_agent, domain_by_id
from iad_policy.simulators.recorded import record
from iad_policy.trained.features import load_features
from tests.command_line import iad

BIRD, BASH, SKETCH, SHOP = "IAD/BIRD-v0", "IAD/InterCodeBash-v0", "IAD/Sketch2Code-v0", "IAD/WebShop-v0"
AGENTLESS = (BIRD, BASH, SKETCH)
NAMED = (SMALL_MODEL, "491 MB", "litellm:<model>", "solution:0.4")


def refused(*command: Any) -> str:
    """Run a command that is refused as bad input, and return its one sentence."""
    result = iad(*command)
    assert result.exit_code == 2, result.output
    (said,) = result.output.strip().splitlines()
    assert said.startswith("iad: expected ")
    return said


def test_only_these_have_no_agent_of_their_own() -> None:
    assert {env for env in iad_envs.ENVIRONMENTS if not domain_by_id(env).agent} == {*AGENTLESS}
    assert default_agent("CartPole-v1") == "random"
    assert f"{KNOWN[SMALL_MODEL.partition(':')[2]].size / 1e6:.0f} MB" == NAMED[1]


@pytest.mark.parametrize("env", AGENTLESS)
def test_a_command_without_an_agent_says_which_to_name_and_a_policy_there_is_a_language_model(
    env: str, tmp_path: Path
) -> None:
    for command in ("run", "compare", "explore", "sweep"):
        said = refused(command, env, "--out", tmp_path / "out")
        assert all(word in said for word in (env, *NAMED))
        assert not (tmp_path / "out").exists()
    with pytest.raises(NoFeatures, match=rf"{env}.*--backend hf:") as error:
        load_features(env)
    assert "module:Class" not in str(error.value)
    with pytest.raises(NoFeatures, match=r"module:Class.*--backend hf:"):
        load_features("CartPole-v1")


def test_so_does_everything_in_python(tmp_path: Path) -> None:
    env, out = gym.make(BIRD), tmp_path / "out"
    asked: list[Callable[[], Any]] = [
        lambda: load_agent(None, env),
        lambda: load_agent("plan-following", env),
        lambda: IADPolicyWrapper(None, env),  # type: ignore[arg-type]
        lambda: evaluate(BIRD, tasks=1, out=out),
        lambda: evaluate(BIRD, tasks=1, out=out, preset="iad/bird"),
        lambda: explore(BIRD, out=out, tasks=1),
        lambda: record(env),
        lambda: record_outcomes(BIRD, out),
        lambda: fidelity(env, "noisy:0.5"),
    ]
    for ask in asked:
        with pytest.raises(NoAgent) as error:
            ask()
        assert all(word in str(error.value) for word in (BIRD, *NAMED))
    env.close()


def test_a_sweep_says_how_long_a_model_takes_and_a_shop_takes_its_own(tmp_path: Path) -> None:
    # In figure 3 single, and bon and iad with six proposals; in 4 five strategies. 3 s each.
    for figures, minutes in (("3", "0.65"), ("4", "1.5")):
        said = refused("sweep", BIRD, "--figures", figures, "--n", "2,4", "--out", tmp_path)
        assert f"about {minutes} minutes a task and seed" in said
    assert load_comparison("iad").n_proposals == 18
    assert default_agent(SHOP, n_proposals=30) == "shopper"


@pytest.mark.parametrize(("env", "minutes"), [(BIRD, "2.4"), (BASH, "4.3"), (SKETCH, "")])
def test_a_comparison_there_needs_a_model_and_says_how_long_it_takes(env: str, minutes: str, tmp_path: Path) -> None:
    for agent in ((), ("--agent", "random")):
        said = refused("reproduce", "iad", "--env", env, *agent, "--out", tmp_path)
        assert all(word in said for word in ("a language model", SMALL_MODEL, "litellm:<model>"))
        assert ("minutes" in said) == bool(minutes)
        assert f"about {minutes} minutes" in said or not minutes
    with pytest.raises(ValueError, match=f"own agent .* got {env}, which has none"):
        reproduce("agentq", out=tmp_path, env=env)


@pytest.mark.parametrize(("agent", "env"), {"linker": BIRD, "scripter:0.5": BASH, "tracer": SKETCH}.items())
def test_a_name_that_is_gone_says_what_replaces_it(agent: str, env: str, tmp_path: Path) -> None:
    name = agent.partition(":")[0]
    for command in (("run", env), ("reproduce", "iad", "--env", env), ("sweep", env), ("explore", env)):
        said = refused(*command, "--agent", agent, "--out", tmp_path)
        assert all(word in said for word in (name, "gone", *NAMED))
    with pytest.raises(GoneAgent, match=name):
        load_agent(f"plan-following:{name}", gym.make(SHOP))
