"""An environment from a package of its own is found by its entry point, and has all that ours have."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "iad_elevator"
ENV = "Example/Elevator-v0"
COMMAND = "from iad_policy.cli import app; app()"
IN_SHORT = f"""
from typer.testing import CliRunner
from iad_policy.cli import app
for words in ("run {ENV} --tasks 1 --out run", "list environments"):
    result = CliRunner().invoke(app, words.split())
    assert result.exit_code == 0, result.output
    print(result.stdout)
"""
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
slow = pytest.mark.slow
pytestmark = pytest.mark.timeout(600)


def run(path: str | Path, folder: Path, *words: str) -> str:
    """What Python prints beside the packages of a folder."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{path}", "COLUMNS": "120"}
    command = [sys.executable, "-c", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the installed example: what pip leaves behind is the package and its entry points."""
    folder = tmp_path_factory.mktemp("installed")
    settings = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copytree(EXAMPLE / "iad_elevator", folder / "iad_elevator", ignore=shutil.ignore_patterns("__pycache__"))
    about = folder / f"iad_elevator-{settings['version']}.dist-info"
    about.mkdir()
    described = f"Metadata-Version: 2.1\nName: {settings['name']}\nVersion: {settings['version']}\n"
    (about / "METADATA").write_text(described)
    ((group, entries),) = settings["entry-points"].items()
    named = "".join(f"{name} = {value}\n" for name, value in entries.items())
    (about / "entry_points.txt").write_text(f"[{group}]\n{named}")
    return folder


def test_its_entry_point_is_found_and_it_is_played_and_listed(installed: Path, tmp_path: Path) -> None:
    said = run(installed, tmp_path, IN_SHORT)
    assert f"{ENV}    The agent brings a parcel from one floor to another" in said
    assert all(word in said for word in ("operator", "IAD/WebShop-v0"))


@slow
def test_it_is_listed_compared_served_and_played_with_its_own_agent_and_prompts(
    installed: Path, tmp_path: Path
) -> None:
    found = json.loads(run(installed, tmp_path, IN_PYTHON))
    text = found["compare"]
    assert ("operator " in found["list"], "VERDICTS ARE MISSING" in text) == (True, False)
    assert "verifier labelled proxy by its author" in " ".join(text.lower().split())
    results = reversed([line.split() for line in text.partition("Spent")[0].splitlines()])
    rates = {line[0]: float(line[1]) for line in results if line[:1] in (["single"], ["iad"])}
    assert rates["iad"] > rates["single"] + 0.3
    assert (found["operator"], found["solution"]) == (1.0, 1.0)
    pytest.importorskip("mcp")
    assert run(installed, tmp_path, f"from iad_policy.bridges.mcp import mcp_server\nprint(mcp_server({ENV!r}).name)")


@slow
def test_a_policy_is_trained_in_it_as_the_page_says_without_installing_it(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^After `cd examples/iad_elevator` .*:\n\n```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    said = {words[1]: run(EXAMPLE, tmp_path, COMMAND, *words[1:]) for words in map(shlex.split, block.splitlines())}
    assert list(said) == ["explore", "train", "improve", "compare"]
    assert "Model folder: models/bc" in said["train"]
    assert "Best on dev: round 1" in said["improve"]
    assert "learned:models/rounds/model-1" in said["compare"]


@slow
def test_pip_installs_it(tmp_path: Path) -> None:
    target = tmp_path / "target"
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(EXAMPLE)]
    subprocess.run([sys.executable, *words], check=True)
    assert ENV in run(target, tmp_path, COMMAND, "list", "environments")
