"""What is yours is named `module:object`, be it a strategy, an agent or a verifier, and an environment `module:Id`."""

import json
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import pytest

from iad_policy.agents import load_agent
from iad_policy.bridges.chat import Chat
from iad_policy.errors import MissingExtra, UnknownName
from iad_policy.errors import extra_command as policy_extra
from iad_policy.models import hf
from iad_policy.models.loading import load_model
from iad_policy.registry import installed
from iad_policy.run.config import RunConfig
from iad_policy.strategies import find_strategy, load_strategy, options_of
from iad_policy.trained.backends import load_backend
from iad_policy.types import State
from iad_policy.verifiers import load_verifier
from tests.command_line import iad
from tests.iad_policy.toy_lamp import LampEnv
from webshop_server.extras import extra_command as shop_extra

MINE = '''
import gymnasium as gym
from iad_policy import Candidate, Propose, Verdict, per_step
from tests.iad_policy.toy_lamp import LampEnv

@per_step
def last_of(here, *, n=3, threshold=0.5):
    """Commit the last of n."""
    return (yield from Propose(here, n))[-1]

class Painter:
    """Paints in one colour."""
    def __init__(self, env, colour="red"):
        self.env, self.colour = env, colour
    def propose(self, state, *, feedback, temperature, rng):
        return Candidate("leave[now]" if self.colour in state.observation else f"paint[{self.colour}]")

def leaver(observation, info):
    return "leave[now]"

def of_one(observation):
    return "leave[now]"

class Strict:
    information = "proxy"
    needs_preview = False
    def __init__(self, env):
        pass
    def verify(self, state, candidates):
        return [Verdict(0.0) for _ in candidates]

class NoArguments:
    information = "proxy"

not_callable = 7
gym.register("MyLamp-v0", entry_point="tests.iad_policy.toy_lamp:LampEnv")
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module of the user's, in which the command is given."""
    modules = {"mine_here": MINE, "broken_here": "1 / 0", "lacking_here": "import no_such_package_at_all"}
    for name, text in modules.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    for name in modules:
        sys.modules.pop(name, None)
    gym.registry.pop("MyLamp-v0", None)


def test_the_working_folder_is_looked_at_last(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(mine)])
    before = list(sys.path)
    for name in ("tests", "colorsys"):  # are elsewhere, too
        (mine / f"{name}.py").write_text("ran = 1 / 0")
    for absent in ("no_such_module:f", "colorsys:f", "tests.no_such_module:f"):
        with pytest.raises(UnknownName):
            load_strategy(absent)
        assert sys.path == before
    late = "def late(observation, info):\n    import beside_mine\n    return beside_mine.it\n"
    (mine / "mine_here.py").write_text(f"import gymnasium as gym\n{late}{MINE.splitlines()[-1]}")
    (mine / "beside_mine.py").write_text("it = 'leave[now]'")
    late_agent = agent("mine_here:late")
    with Chat("mine_here:MyLamp-v0") as chat:
        assert chat.begin(seed=0)
    assert sys.path == [*before, str(mine)]
    assert late_agent.propose(State("", {}), feedback=None, temperature=None, rng=Random(0)).action == "leave[now]"
    sys.modules.pop("beside_mine")


def test_each_kind_is_found_by_the_same_rule(mine: Path) -> None:
    env = LampEnv()
    assert options_of(find_strategy("mine_here:last_of")) == {"n": 3, "threshold": 0.5}
    painter: Any = load_agent("mine_here:Painter", env, colour="blue")
    assert (painter.env, painter.colour) == (env, "blue")
    leaving = agent("mine_here:leaver").propose(State("", {}), feedback=None, temperature=None, rng=Random(0))
    assert (leaving.action, load_verifier("mine_here:Strict", env).information) == ("leave[now]", "proxy")


def agent(name: str, **options: Any) -> Any:
    return load_agent(name, LampEnv(), **options)


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ("sinlge", "near: single"),
        ("no_such_module:f", "no module 'no_such_module'"),
        ("mine_here.inner:f", "no module 'mine_here.inner'"),
        ("mine_here:last_off", "near: last_of"),
        ("mine_here:", "or module:object"),
        ("a b:c", "or module:object"),
        ("broken_here:f", "ZeroDivisionError: division by zero; fix the module"),
        ("lacking_here:f", "No module named 'no_such_package_at_all'"),
        ("mine_here:not_callable", "a generator function"),
        (lambda: agent("mine_here:not_callable"), "object with propose"),
        (lambda: agent("mine_here:leaver", colour="red"), "write a class that takes them"),
        (lambda: agent("mine_here:Painter", size=3), r"give it __init__\(self, env, size\)"),
        (lambda: agent("mine_here:of_one"), r"agent f\(observation, info\), got .*: too many positional"),
        (lambda: agent("mine_here:Nobody"), r"known agent in .*mine_here.*known: Painter, leaver$"),
        (lambda: load_verifier("mine_here:Nobody", LampEnv()), "known: Strict$"),
        (lambda: load_verifier("mine_here:NoArguments", LampEnv()), r"give it __init__\(self, env\)"),
        (lambda: load_verifier("mine_here:leaver", LampEnv()), "without verify"),
        (lambda: agent("random", colour="red"), "option of the agent random"),
        (lambda: agent("shopper"), r"agent of LampEnv \(shopper plays IAD/WebShop-v0, IAD/WebShopB"),
        (lambda: load_strategy("mine_here:last_of", treshold=1), "near: threshold"),
    ],
)
def test_what_is_wrong_with_a_name_or_a_thing_is_said(mine: Path, load: Any, said: str) -> None:
    with pytest.raises((ImportError, TypeError, UnknownName), match=said):
        find_strategy(load) if isinstance(load, str) else load()


def test_an_installed_package_adds_names_and_one_that_is_broken_costs_one_line(mine: Path) -> None:
    (about := mine / "theirs-0.1.dist-info").mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 0.1\n")
    entries = "[iad.agents]\npainter = mine_here:Painter\nbroken = broken_here:Agent\n"
    entries += "[iad.verifiers]\nstrict = mine_here:Strict\n[iad.strategies]\nlast = mine_here:last_of\n"
    (about / "entry_points.txt").write_text(entries)
    installed.cache_clear()
    try:
        listed = " ".join(iad("list", "agents", "verifiers", "strategies").stdout.split())
        broken = "broken not available here, ZeroDivisionError: division by zero"
        for said in ("painter Paints in one colour", broken, "last Commit the last of n"):
            assert said in listed
        asked = "--agent painter --agent-arg colour=green --verifier strict --strategies single,last --out run"
        done = iad("compare", "mine_here:MyLamp-v0", *asked.split())
        assert done.exit_code == 0, done.output
        with pytest.raises(ImportError, match="ZeroDivisionError: division by zero; fix the module"):
            agent("broken")
        with pytest.raises(UnknownName, match="near: painter"):
            agent("paintr")
    finally:
        installed.cache_clear()


def test_on_the_command_line_all_four_can_be_yours(mine: Path) -> None:
    asked = "--agent mine_here:Painter --agent-arg colour=green --verifier mine_here:Strict --out run"
    asked += " --strategies single,bon,mine_here:last_of --strategy-arg mine_here:last_of.threshold=0.9"
    done = iad("compare", "mine_here:MyLamp-v0", *asked.split(), "--strategy-arg", "bon.n=2")
    assert done.exit_code == 0, done.output
    assert "not equal: n = 2, proposals per decision, for bon; n = 3" in " ".join(done.stdout.split())
    config, summary = (json.loads(Path("run", f"{name}.json").read_text()) for name in ("config", "summary"))
    assert config["strategy_args"] == {"mine_here:last_of.threshold": 0.9, "bon.n": 2}
    assert (config["agent_args"], summary["n_tasks"]) == ({"colour": "green"}, 3)
    assert summary["strategies"]["mine_here:last_of"]["success"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *(("no_such_module:Lamp-v0", "there is no module"), ("mine_here:MyLamb-v0", "or module:Id")),
        ("mine_here:MyLamp-v0 --strategy-arg bon.k=3", "known: n, stop, temperature"),
        ("mine_here:MyLamp-v0 --strategy-arg tresholds=3", "option of single, bon"),
        ("mine_here:MyLamp-v0 --strategy-arg iad.n=3", "strategy of this run"),
        ("mine_here:MyLamp-v0 --strategy-arg n=3", "use --n"),
        ("mine_here:MyLamp-v0 --strategy-arg bon.n=many", "expected a number for n"),
        ("mine_here:MyLamp-v0 --strategy-arg bon.n=0", "1 or more"),
        ("mine_here:MyLamp-v0 --agent-arg colour=red", "option of the agent random"),
    ],
)
def test_bad_names_and_options_are_one_sentence(mine: Path, given: str, said: str) -> None:
    done = iad("compare", *given.split(), "--verifier", "oracle", "--strategies", "single,bon", "--out", "run")
    assert (done.exit_code, done.stderr.count("\n"), said in done.stderr) == (2, 1, True), done.output


def test_an_option_of_all_strategies_gives_way_to_that_of_one() -> None:
    given = {"k": 2, "chains.delta": 0.5}
    config = RunConfig("IAD/WebShop-v0", "shopper", strategies=("iad", "chains"), delta=0.1, strategy_args=given)
    assert config.options("iad") == {"delta": 0.1, "n": 3}  # it has no k
    assert config.options("chains") == {"delta": 0.5, "k": 2, "n": 3}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *(("", "--verifier module:Class"), ("--verifier proxy", "judge:<model>, or oracle for a diagnosis")),
        ("--verifier none", "a verifier for iad, which asks for verdicts, got none"),
        *(("--verifier mine_here:Strict", ""), ("--verifier oracle", "")),
        ("--verifier none --strategies single,bon-sc", ""),
    ],
)
def test_without_a_proxy_what_is_recommended_runs(mine: Path, given: str, said: str) -> None:
    asked = ("--agent", "mine_here:leaver", "--tasks", 1, *given.split(), "--out", "run")
    done = iad("compare", "mine_here:MyLamp-v0", *asked)
    assert (done.exit_code, Path("run").exists(), "ERRORED" in done.stdout) == (2 if said else 0, not said, False)
    assert said in " ".join(done.stderr.split())
    assert ("No verifier" in done.stdout) == ("single,bon-sc" in given)


def test_an_environment_without_a_split_is_told_from_one_with_another(mine: Path) -> None:
    refused = iad("explore", "mine_here:MyLamp-v0", "--tasks", 1, "--out", "explored")
    assert "argument split, which mine_here:MyLamp-v0 has not" in refused.stderr
    asked = ("--strategy", "single", "--verifier", "none", "--out", "run")
    assert iad("run", "mine_here:MyLamp-v0", *asked).exit_code == 0
    refused = iad("train", "bc", "run", "--out", "model")
    assert "give its class the argument split" in refused.stderr


def test_an_extra_is_installed_by_a_command_that_works_in_any_folder(tmp_path: Path) -> None:
    for command in (policy_extra, shop_extra):
        python, place = command("local").split(" -m pip install -e ")
        folder, _, extra = place.strip('"]').partition("[")
        assert python == sys.executable
        assert extra in tomllib.loads((Path(folder) / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        assert command("local", tmp_path).endswith('install -e "path/to/iad[local]"')


@pytest.mark.parametrize("module", ["iad_policy.bridges.inspect", "iad_policy.bridges.verifiers", "iad_verifiers"])
def test_a_bridge_names_its_extra(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, extra = ("inspect_ai", "inspect") if "inspect" in module else ("verifiers", "verifiers")
    monkeypatch.setitem(sys.modules, package, None)  # whether it is installed or not
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(MissingExtra, match=rf'pip install -e ".+\[{extra}\]"'):
        import_module(module)


def test_a_model_that_can_be_trained_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf, "find_spec", lambda name: None)  # whether they are installed or not
    for make in (
        lambda: load_model("hf:nothing-such"),
        lambda: load_backend("hf:smollm2", "IAD/WebShop-v0", "policy"),
        lambda: load_agent("hf:smollm2", gym.make("IAD/WebShop-v0")),
    ):
        with pytest.raises(MissingExtra, match=r"\[training\]"):
            make()
