"""An environment from a package of its own is found by its entry point, and has all that ours have."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "iad_elevator"
ENV = "Example/Elevator-v0"
COMMAND = "from iad_policy.cli import app; app()"
IN_PYTHON = f"""
import json
import gymnasium as gym
from typer.testing import CliRunner
from iad_policy import IADPolicyWrapper
from iad_policy.bridges.chat import Chat
from iad_policy.cli import app
from iad_policy.registry.domain import domain_of

with Chat({ENV!r}) as chat:
    (system, user) = chat.begin(task_id="3-1")
    assert system["content"].startswith("Bring a parcel from one floor to another with an elevator."), system
    assert "go[n], load[parcel]" in system["content"], system
env = gym.make({ENV!r})
assert domain_of(env).agent == "operator"
played = {{}}
for agent, verifier in (("operator", "proxy"), ("solution", "oracle")):
    policy = IADPolicyWrapper(agent, env, strategy="bon", n=6, verifier=verifier)
    observation, info = env.reset(seed=0)
    done = False
    while not done:
        observation, played[agent], terminated, truncated, info = env.step(policy.act(observation, info))
        done = terminated or truncated
for words in ("list environments agents", "compare {ENV} --tasks 10 --strategies single,iad --out compared"):
    result = CliRunner().invoke(app, words.split())
    assert result.exit_code == 0, result.output
    played[words.split()[0]] = result.stdout
print(json.dumps(played))
"""
TOOLS = f"""
from iad_policy.bridges.mcp import mcp_server
print(mcp_server({ENV!r}).name)
"""

Run = Callable[..., str]


def run_with(path: str, folder: Path) -> Run:
    def run(*words: str) -> str:
        environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "120"}
        done = subprocess.run(
            [sys.executable, "-c", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Python beside the installed example: what pip leaves behind is the package and its entry points."""
    folder = tmp_path_factory.mktemp("installed")
    settings = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copytree(EXAMPLE / "iad_elevator", folder / "iad_elevator", ignore=shutil.ignore_patterns("__pycache__"))
    about = folder / f"iad_elevator-{settings['version']}.dist-info"
    about.mkdir()
    described = f"Metadata-Version: 2.1\nName: {settings['name']}\nVersion: {settings['version']}\n"
    (about / "METADATA").write_text(described)
    ((group, entries),) = settings["entry-points"].items()
    (about / "entry_points.txt").write_text(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
    )
    return run_with(os.pathsep.join([str(ROOT), str(folder)]), tmp_path_factory.mktemp("work"))


def test_it_is_listed_compared_and_played_with_its_own_agent_verifier_and_prompts(run: Run) -> None:
    found = json.loads(run(IN_PYTHON))
    assert f"{ENV}    The agent brings a parcel from one floor to another" in found["list"]
    assert "operator " in found["list"]
    assert "IAD/WebShop-v0" in found["list"]
    text = found["compare"]
    assert "VERDICTS ARE MISSING" not in text
    assert "verifier labelled proxy by its author; what it reads is not known" in " ".join(text.lower().split())
    results = reversed([line.split() for line in text.partition("Spent")[0].splitlines()])
    rates = {line[0]: float(line[1]) for line in results if line[:1] in (["single"], ["iad"])}
    assert rates["iad"] > rates["single"] + 0.3
    assert (found["operator"], found["solution"]) == (1.0, 1.0)


@pytest.mark.slow
def test_a_policy_is_trained_in_it_as_the_page_says_without_installing_it(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^After `cd examples/iad_elevator` .*:\n\n```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    run = run_with(os.pathsep.join([str(ROOT), str(EXAMPLE)]), tmp_path)
    said = {words[1]: run(COMMAND, *words[1:]) for words in map(shlex.split, block.splitlines())}
    assert list(said) == ["explore", "train", "improve", "compare"]
    assert "Model folder: models/bc" in said["train"]
    assert "Best on dev: round 1" in said["improve"]
    assert "learned:models/rounds/model-1" in said["compare"]


def test_a_bridge_serves_it(run: Run) -> None:
    pytest.importorskip("mcp")
    assert run(TOOLS)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_pip_installs_it(tmp_path: Path) -> None:
    target = tmp_path / "target"
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(EXAMPLE)]
    subprocess.run([sys.executable, *words], check=True)
    listed = run_with(os.pathsep.join([str(ROOT), str(target)]), tmp_path)(COMMAND, "list", "environments")
    assert ENV in listed
