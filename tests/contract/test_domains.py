"""One home per environment: gold is kept apart by module, and the policy side is found through the class."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

import iad_envs
from iad_envs import ENVIRONMENTS
from iad_policy import IADPolicyWrapper, evaluate
from iad_policy.agents import load_agent
from iad_policy.errors import DomainError, GoneAgent, NoAgent, NoFeatures, UnknownName
from iad_policy.learn.explore import explore
from iad_policy.learn.fidelity import fidelity
from iad_policy.learn.reproduce import reproduce
from iad_policy.learn.simulators import record_outcomes
from iad_policy.models.local.files import KNOWN
from iad_policy.papers import load_comparison
from iad_policy.registry import load_object
from iad_policy.registry.domain import SMALL_MODEL, Domain, Mode, default_agent, domain_by_id, domain_of, domains
from iad_policy.simulators.recorded import record
from iad_policy.trained.features import load_features
from iad_policy.verifiers import is_own, load_verifier
from tests.command_line import iad
from tests.contract.floors import ROOT
from tests.contract.test_imports import imports, is_in, modules

LOADERS = (
    "iad_envs.bash.tasks", "iad_envs.bird.data", "iad_envs.bird.predictions", "iad_envs.booking.tasks",
    "iad_envs.sketch2code.predictions", "iad_envs.sketch2code.tasks", "iad_envs.toolcalls.acebench.checkout",
    "iad_envs.toolcalls.acebench.tasks", "iad_envs.toolcalls.bfcl.data", "iad_envs.webshop.solution",
    "webshop_server.goals", "webshop_server.progress", "webshop_server.reward",
)  # fmt: skip
"""Modules that read gold and are no `scoring`."""
ANYWHERE = ("iad_policy.papers", "iad_policy.cli", "iad_policy.commands")
"""Where environments may be named: what the papers used, and the command line."""


class Lamp(gym.Env[int, int]):
    observation_space = action_space = gym.spaces.Discrete(2)

    def __init__(self, domain: Any = "", render_mode: str | None = None) -> None:
        self.domain = domain


def is_gold(module: str) -> bool:
    return is_in(module, LOADERS) or "scoring" in module.split(".")


def ways_to_gold(start: str, known: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """How a module gets to gold, through other modules of the three packages but `env`, where gold and world meet."""
    todo, seen = [(start,)], {start}
    while todo:
        way = todo.pop()
        for name in known[way[-1]]:
            module = next((one for one in (name, name.rpartition(".")[0]) if one in known), "")
            if not module or module in seen or module.endswith(".env") or is_in(module, "iad_policy"):
                continue
            seen.add(module)
            if is_gold(module):
                yield " -> ".join((*way, module))
            else:
                todo.append((*way, module))


def test_the_policy_side_reaches_no_gold_which_has_a_module_in_every_environment() -> None:
    policies = [name for name in modules() if re.match(r"iad_envs\.\w+\.policy\b", name)]
    assert len(policies) > 30
    assert [way for name in policies for way in ways_to_gold(name, imports())] == []
    agent, pages = "iad_envs.booking.policy.agent", "iad_envs.booking.pages"
    for planted in (
        {agent: ("iad_envs.booking.scoring",)},
        {agent: (f"{pages}.page_of",), pages: ("iad_envs.booking.tasks.load_tasks",)},
    ):
        assert len(list(ways_to_gold(agent, {**imports(), **planted}))) == 1
    assert set(LOADERS) <= set(modules())
    scored = {name.rpartition(".")[0] for name in modules() if name.endswith(".scoring")}
    homes = {load_object(str(gym.spec(env).entry_point)).__module__.rpartition(".")[0] for env in ENVIRONMENTS}
    assert homes - scored == {"iad_envs.webshop"}, "the shop's is webshop_server.reward"
    assert load_object("iad_envs.python_text:_LOCK") is load_object("iad_policy.types.python_text:_LOCK")


def test_no_name_of_an_environment_is_in_general_code_and_making_one_loads_nothing_of_the_policy_side() -> None:
    names = {*ENVIRONMENTS, *(name for _, own in domains() for name in (*own.agents, *own.verifiers))}
    assert {"IAD/BIRD-v0", "shopper", "page-judge"} <= names
    names -= {"reference", "replay"}  # words of the oracle, and of simulations, too
    named = [
        f"{module}, line {node.lineno}: {node.value}"
        for module, tree in modules().items()
        if is_in(module, "iad_policy") and not is_in(module, ANYWHERE)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node.value.rpartition(":")[2] in names or node.value in ("IAD/", "iad_envs:")
    ]
    assert named == []
    code = (
        "import sys, gymnasium as gym, iad_envs\n"
        "for env in iad_envs.ENVIRONMENTS:\n"
        "    if 'Browser' not in env and 'Sketch' not in env and 'Bash' not in env:\n"
        "        gym.make(env).reset(seed=0)\n"
        "    gym.envs.registration.load_env_creator(gym.spec(env).entry_point)\n"
        "print(*(name for name in sys.modules if name.startswith('iad_policy')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_everything_that_a_domain_names_is_there(env: str) -> None:
    own = domain_by_id(env)
    assert own is domain_by_id(f"iad_envs:{env}")
    paths = [own.verifier, own.rendering, own.language, own.features, own.solution, own.mistakes, own.predictions]
    paths += [*own.agents.values(), *own.verifiers.values(), *(mode.rendering for mode in own.modes.values())]
    assert all(map(load_object, filter(None, paths)))
    assert own.agent.partition(":")[0] in {*own.agents, "solution", ""}
    folders = {*own.prompts, *(folder for mode in own.modes.values() for folder in mode.prompts)}
    assert folders
    assert all((folder / "rules.txt").is_file() for folder in folders)


def test_an_environment_may_name_or_hold_its_domain_whose_parts_have_their_types_and_has_else_the_defaults() -> None:
    assert domain_by_id("CartPole-v1") == domain_by_id("Nobody/Nothing-v0") == domain_of(Lamp()) == Domain()
    assert domain_of(Lamp("iad_envs.webshop.policy:DOMAIN")).agent == "shopper"
    env = Lamp(Domain(agent="mine:Agent", verifier="iad_envs.bird.policy.verifier:Nope"))
    assert domain_of(env).agent == "mine:Agent"
    with pytest.raises(UnknownName, match=r"'Nope'.*BirdVerifier"):
        load_verifier("proxy", env)
    assert replace(Domain(), modes={"answer": Mode()})
    here = Path.cwd()
    for part, given in (
        *(("agent", 1), ("agents", {"x": "no colon"}), ("verifier", "no colon"), ("verifiers", ["a:B"])),
        *(("prompts", (str(here),)), ("prompts", here), ("modes", {"answer": "folder"}), ("reading", "klingon")),
        *(("stand_ins", ["a"]), ("features", None), ("rendering", ""), ("model_s", -1.0)),
    ):
        with pytest.raises(TypeError, match=rf"Domain\.{part} to be .*, got "):
            replace(Domain(), **{part: given})


def test_a_domain_that_does_not_load_names_environment_text_and_reason() -> None:
    for domain, why in (
        ("nowhere.policy:DOMAIN", "No module named 'nowhere'"),
        ("iad_envs.bird.policy:NOTHING", "NOTHING"),
        ("iad_envs.bird.policy:PROMPTS", "PosixPath"),
        ("no colon", "module:DOMAIN"),
        (7, "module:DOMAIN"),
    ):
        with pytest.raises(DomainError, match=rf"Lamp .* got {domain!r}, .*{why}"):
            domain_of(Lamp(domain))
    name = "Broken/Lamp-v0"
    gym.registry[name] = EnvSpec(name, entry_point=type("Lost", (Lamp,), {"domain": "nowhere.policy:DOMAIN"}))
    try:
        listed = iad("list", "environments")
        assert listed.exit_code == 0
        assert f"{name} not available here: " in " ".join(listed.output.split())
        assert "IAD/WebShop-v0" in listed.output
    finally:
        del gym.registry[name]


def test_names_of_domains_are_known_everywhere() -> None:
    env = gym.make("IAD/BIRD-v0")
    assert load_agent("shopper", gym.make("IAD/WebShop-v0"))
    assert is_own("noisy:0.5:page-judge:vision:gpt-4o", "IAD/Sketch2Code-v0")
    assert not is_own("page-judge", "IAD/BIRD-v0")
    assert not is_own("page-judg", "IAD/Sketch2Code-v0")
    for load, wrong, known in (
        (load_agent, "shoper", "random.*shopper"),
        (load_verifier, "referenc", "oracle.*page-judge.*reference"),
    ):
        with pytest.raises(UnknownName, match=rf"known: .*{known}"):
            load(wrong, env)
    env.close()


BIRD, BASH, SKETCH, SHOP = "IAD/BIRD-v0", "IAD/InterCodeBash-v0", "IAD/Sketch2Code-v0", "IAD/WebShop-v0"
AGENTLESS = (BIRD, BASH, SKETCH)
NAMED = (SMALL_MODEL, "491 MB", "litellm:<model>", "solution:0.4")


def refused(*command: Any) -> str:
    result = iad(*command)
    assert result.exit_code == 2, result.output
    (said,) = result.output.strip().splitlines()
    assert said.startswith("iad: expected ")
    return said


def test_only_these_have_no_agent_of_their_own_and_a_sweep_says_how_long_a_model_takes(tmp_path: Path) -> None:
    assert {env for env in iad_envs.ENVIRONMENTS if not domain_by_id(env).agent} == {*AGENTLESS}
    assert default_agent("CartPole-v1") == "random"
    assert f"{KNOWN[SMALL_MODEL.partition(':')[2]].size / 1e6:.0f} MB" == NAMED[1]
    # In figure 3 single, and bon and iad with six proposals; in 4 five strategies. 3 s each.
    for figures, minutes in (("3", "0.65"), ("4", "1.5")):
        said = refused("sweep", BIRD, "--figures", figures, "--n", "2,4", "--out", tmp_path)
        assert f"about {minutes} minutes a task and seed" in said
    assert load_comparison("iad").n_proposals == 18
    assert default_agent(SHOP, n_proposals=30) == "shopper"


@pytest.mark.parametrize(
    ("env", "gone", "minutes"), [(BIRD, "linker", "2.4"), (BASH, "scripter:0.5", "4.3"), (SKETCH, "tracer", "")]
)
def test_a_command_without_an_agent_or_with_one_that_is_gone_says_which_to_name_and_how_long_a_model_takes(
    env: str, gone: str, minutes: str, tmp_path: Path
) -> None:
    out, name, reproducing = tmp_path / "out", gone.partition(":")[0], ("reproduce", "iad", "--env", env)
    for command in ("run", "compare", "explore", "sweep"):
        said = refused(command, env, "--out", out)
        assert all(word in said for word in (env, *NAMED))
    for words in (("run", env), reproducing, ("sweep", env), ("explore", env)):
        said = refused(*words, "--agent", gone, "--out", out)
        assert all(word in said for word in (name, "gone", *NAMED))
    with pytest.raises(GoneAgent, match=name):
        load_agent(f"plan-following:{name}", gym.make(SHOP))
    for agent in ((), ("--agent", "random")):
        said = refused(*reproducing, *agent, "--out", out)
        assert all(word in said for word in ("a language model", SMALL_MODEL, "litellm:<model>"))
        assert re.findall(r"(\S+) minutes", said) == [minutes] * bool(minutes)
    assert not out.exists()
    with pytest.raises(ValueError, match=f"own agent .* got {env}, which has none"):
        reproduce("agentq", out=tmp_path, env=env)
    # A policy that is trained there is a language model.
    for known, said in ((env, rf"{env}.*--backend hf:"), ("CartPole-v1", r"module:Class.*--backend hf:")):
        with pytest.raises(NoFeatures, match=said) as error:
            load_features(known)
        assert ("module:Class" in str(error.value)) == (known != env)


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
