"""A folder that somebody sent runs no code: neither as the working folder, nor as a run, nor as a model."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from shutil import copytree
from typing import Any

import gymnasium as gym
import pytest

from tests.command_line import iad

ROOT = Path(__file__).parents[2]
RUN = ROOT / "tests" / "fixtures" / "run_folders" / "webshop"
SHOP = "IAD/WebShop-v0"
RAN = "ran.txt"
STANDARD = ("array", "pickle", "socket")
"""Modules of Python that a new process imports before its path is that of the process that starts it."""
LATE = ("click", "litellm", "platformdirs", "rapidfuzz", "rich", "scipy", "typer")
"""Packages that the command imports, and `import iad_policy` does not: before that, `python -m` is Python's."""
SEVERAL = """
import json, sys
from iad_policy.cli import app
for arguments, allowed in json.loads(sys.argv[1]):
    try:
        app(arguments)
    except SystemExit as ended:
        assert ended.code in allowed, (arguments, ended.code)
from webshop_server.search.inverting import count_side_by_side
assert len(list(count_side_by_side([("id", "a text")], 2))) == 1
"""
SENT = """
import gymnasium
gymnasium.register("Sent-v0", entry_point="iad_envs.webshop.env:WebShopEnv")

class Simulator:
    def __init__(self, env):
        raise ValueError("made")
"""
COMMANDS = (
    (("list",), (0,)),
    (("analyse", str(RUN)), (0,)),
    (("compare", SHOP, "--tasks", "1", "--out", "new"), (0,)),
    (("export", "new", "--workers", "2", "--out", "new.jsonl"), (0,)),
    (("doctor", SHOP, "--seconds", "5"), (0, 1)),
)


def said_to_run(folder: Path) -> list[str]:
    return (folder / RAN).read_text().split() if (folder / RAN).exists() else []


def hostile(folder: Path, *names: str) -> Path:
    """Put modules into a folder that say it when they are run."""
    for name in names:
        (folder / f"{name}.py").write_text(f"with open({str(folder / RAN)!r}, 'a') as file: print(__name__, file=file)")
    return folder


@pytest.mark.parametrize("way", [pytest.param("iad", marks=pytest.mark.slow), "python -m"])
def test_nothing_in_the_working_folder_stands_in_for_a_package(way: str, tmp_path: Path) -> None:
    installed = (name for name in packages_distributions() if name.isidentifier() and not (ROOT / name).exists())
    names, command = {
        "iad": ((*installed, *STANDARD), ["-P", "-c", SEVERAL, json.dumps(COMMANDS)]),
        "python -m": (LATE, ["-m", "iad_policy.cli", "list", "strategies"]),
    }[way]
    plugin = tmp_path / "sent-1.0.dist-info"
    plugin.mkdir()
    (plugin / "entry_points.txt").write_text(
        "[gymnasium.envs]\nsent = sent_plugin\n[iad.agents]\nsent = sent_plugin:f\n"
    )
    hostile(tmp_path, "sent_plugin", *names)
    asked = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(ROOT)}, "timeout": 100, "check": False}
    found: Any = subprocess.run([sys.executable, *command], capture_output=True, text=True, **asked)
    assert found.returncode == 0, found.stderr
    assert said_to_run(tmp_path) == []


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run to be changed by its sender."""
    folder = tmp_path_factory.mktemp("sent") / "run"
    assert iad("run", SHOP, "--strategy", "bon", "--tasks", 1, "--out", folder).exit_code == 0
    return folder


@pytest.fixture
def here(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder with a run and a module that its sender wrote."""
    copytree(recorded, tmp_path / "run")
    with hostile(tmp_path, "sent_here").joinpath("sent_here.py").open("a") as file:
        file.write(SENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("sent_here", None)
    gym.registry.pop("Sent-v0", None)


def change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"env": "sent_here:Sent-v0"}, "sent_here:Sent-v0"),
        ({"env": f"sent_here:{SHOP}"}, ""),  # it is registered, so its module is not imported
        ({"engine": "sent_here:Engine"}, ""),
        ({"simulator": "sent_here:Simulator"}, "sent_here:Simulator"),
        ({"roles": {"critic": "verifier:sent_here:V"}}, "sent_here:V"),
        ({"agent": "sent_here:agent"}, "sent_here:agent"),
        ({"agent": "os:system"}, "os:system"),
        ({"agent_args": {"api_base": "https://example.org"}}, "https://example.org"),
        ({"env_args": {"chromium": "./sent.sh"}}, "./sent.sh"),
        ({"env_args": {"sandbox_options": {"paths": ["/"]}}}, "/"),
        ({"data_dir": "data"}, "data"),
    ],
    ids=str,
)
def test_a_run_names_no_code_but_what_the_user_names_too(changes: dict[str, Any], named: str, here: Path) -> None:
    if agent := changes.get("agent"):  # asked for what was not recorded
        identity = json.loads((here / "run" / "config.json").read_text())["identity"]
        changes = {**changes, "identity": {agent: next(iter(identity.values()))}}
    change(here / "run" / "config.json", **changes)
    ask = ["--ask"] if {"agent", "agent_args"} & set(changes) else []
    done = iad("reselect", "run", "--verifier", "oracle", "--out", "again", *ask)
    assert said_to_run(here) == []
    assert (done.exit_code, f"--allow {named}" in done.stderr) == ((2, True) if named else (0, False)), done.output


def test_a_run_is_read_without_what_it_names_and_what_the_user_names_is_used(here: Path) -> None:
    change(here / "run" / "config.json", env="sent_here:Sent-v0", simulator="sent_here:Simulator")
    for command in ("report", "analyse", "advise", "validate"):
        iad(command, "run")
    iad("export", "run", "--out", "out.jsonl")
    assert said_to_run(here) == []
    named = ("--allow", "sent_here:Sent-v0", "--allow", "sent_here:Simulator")
    done = iad("reselect", "run", "--verifier", "oracle", *named)
    assert (done.exit_code, done.stderr) == (2, "iad: made\n")  # by the class itself
    assert said_to_run(here) == ["sent_here"]


def test_a_training_imports_the_environment_of_a_run_if_the_user_names_it(here: Path) -> None:
    demos = ("explore", "sent_here:Sent-v0", "--agent", "shopper", "--tasks", 2, "--out", "demos")
    assert (done := iad(*demos)).exit_code == 0, done.output
    del gym.registry["Sent-v0"], sys.modules["sent_here"]  # as in another process
    train = ("train", "bc", "demos", "--out", "model")
    refused = iad(*train)
    assert (refused.exit_code, "--allow sent_here:Sent-v0" in refused.stderr) == (2, True), refused.output
    assert (done := iad(*train, "--allow", "sent_here:Sent-v0")).exit_code == 0, done.output


def test_neither_a_plan_that_lies_elsewhere_nor_a_class_of_a_model_is_taken(here: Path) -> None:
    (here / "private.toml").write_text("secret text")
    change(here / "run" / "config.json", strategies=["adaptive"], strategy_args={"adaptive.plan": "private.toml"})
    (here / "model").mkdir()
    facts = {"format": 1, "recipe": "bc", "head": "policy", "backend": "linear", "env": SHOP, "identity": ""}
    facts["backend_options"] = {"kind": "sent_here:Simulator"}
    (here / "model" / "model.json").write_text(json.dumps(facts))
    done = iad("advise", "run")
    assert (done.exit_code, "a run's own plan" in done.stderr, "TOML" in done.stderr) == (2, True, False)
    done = iad("run", SHOP, "--agent", "learned:model", "--tasks", 1)
    assert (done.exit_code, "names a class of its own" in done.stderr) == (2, True), done.output
    assert said_to_run(here) == []


@pytest.mark.slow
def test_a_language_model_brings_no_code(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = pytest.importorskip("iad_policy.models.hf.weights", exc_type=ImportError)
    hostile(here, "sent_model")
    classes = {f"Auto{name}": f"sent_model.{name}" for name in ("Config", "ModelForCausalLM")}
    whole = {"model_type": "sent", "auto_map": {**classes, "AutoTokenizer": ["sent_model.Tokenizer", None]}}
    for name in ("config.json", "tokenizer_config.json"):
        (here / name).write_text(json.dumps(whole))
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # to "Do you wish to run the custom code?"
    with pytest.raises(ValueError, match="contains custom code"):
        weights.load_weights(str(here))
    assert said_to_run(here) == []
