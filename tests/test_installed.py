"""The built distribution works away from the source tree, and so does an environment from a package of its own."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parent.parent
SHOPPED = """
import gymnasium as gym, iad_envs
from iad_policy import IADPolicyWrapper
from iad_policy.prompts import Prompts, prompts_of
env = gym.make("IAD/WebShop-v0")
observation, info = env.reset(seed=0)
action = IADPolicyWrapper("shopper", env).act(observation, info)
assert "site-packages" in env.unwrapped.data.folder, env.unwrapped.data
for one in (env, gym.make("IAD/InterCodeBash-v0"), gym.make("IAD/BIRD-v0")):
    assert prompts_of(one).digest(["score"]) != Prompts().digest(["score"]), one
print(env.unwrapped.data.name, action)
"""
FOUND = """
from importlib.metadata import entry_points
from importlib.util import find_spec
print(find_spec("iad_verifiers").origin, *(found.value for found in entry_points(group="inspect_ai", name="iad")))
"""
"""What other frameworks look for."""


def run(folder: Path, *words: object, **variables: str) -> str:
    away = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables  # from the sources
    done = subprocess.run(list(map(str, words)), cwd=folder, env=away, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_distributions_are_sound_and_the_wheel_runs_the_demo_in_another_environment(tmp_path: Path) -> None:
    run(tmp_path, sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    run(tmp_path, sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    (wheel,) = tmp_path.glob("iad-*.whl")
    assert wheel.stat().st_size < 15_000_000
    run(tmp_path, python, "-m", "pip", "install", "--quiet", wheel, "twine", "check-wheel-contents")
    run(tmp_path, python, "-m", "twine", "check", "--strict", wheel)
    run(tmp_path, python, "-m", "check_wheel_contents", "--config", ROOT / "pyproject.toml", wheel)
    recipe = run(ROOT, "make", "--no-print-directory", "--dry-run", "demo")
    demo = shlex.split(recipe[recipe.index("-m iad_policy.cli") :].replace("\\\n", " "))
    run(tmp_path, python, *demo, "--tasks", "3")
    assert (tmp_path / "runs" / "demo" / "report.html").exists()
    assert run(tmp_path, python, "-c", SHOPPED).startswith("bundled search[")
    assert "IAD/WebShop-v0" in run(tmp_path, tmp_path / "venv" / "bin" / "iad", "list")
    assert "webshop-small" in run(tmp_path, tmp_path / "venv" / "bin" / "iad", "data", "list")
    plugin, entry = run(tmp_path, python, "-c", FOUND).split()
    assert "site-packages" in plugin
    assert entry == "iad_policy.bridges.inspect"
    with zipfile.ZipFile(wheel) as archive:
        top = {name.partition("/")[0] for name in archive.namelist() if ".dist-info" not in name}
        assert top == {"iad_envs", "iad_policy", "webshop_server", "iad_verifiers.py"}
        held = {name.removeprefix("iad_envs/bundled/") for name in archive.namelist() if "/bundled/" in name}
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        described = Parser().parsestr(archive.read(metadata).decode())
    data = [path for path in (ROOT / "data").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    # What made the data stays in the source tree.
    assert held == {path.relative_to(ROOT / "data").as_posix() for path in data if path.suffix != ".py"}
    assert described.get_all("Project-URL") == ["Paper, https://arxiv.org/abs/2504.01931"]
    # The source distribution makes the same wheel.
    run(tmp_path, python, "-m", "pip", "install", "--quiet", "hatchling>=1.24")
    run(ROOT, python, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", tmp_path / "dist")
    (source,) = (tmp_path / "dist").glob("iad-*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = tmp_path / source.name.removesuffix(".tar.gz")
    for name in ("CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "CHANGELOG.md", "docs/contributing.md"):
        assert (unpacked / name).is_file(), name
    run(unpacked, python, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "again")
    names = []
    for folder in ("dist", "again"):
        with zipfile.ZipFile(*(tmp_path / folder).glob("iad-*.whl")) as archive:
            names.append(sorted(archive.namelist()))
    assert names[0] == names[1]


def test_the_lock_names_public_addresses_and_what_the_project_asks_for() -> None:
    """A change of dependencies needs `make lock`."""
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(re.findall(r'registry = "([^"]*)"', lock)) == {"https://pypi.org/simple"}
    assert set(re.findall(r'url = "(\w+://[^/]*/[^/]*)/', lock)) == {"https://files.pythonhosted.org/packages"}
    packages = tomllib.loads(lock)["package"]
    (ours,) = [one for one in packages if one["name"] == "iad"]
    locked = {
        (one["name"], *sorted(one.get("extras", ())), SpecifierSet(one.get("specifier", "")), one.get("marker", ""))
        for one in ours["metadata"]["requires-dist"]
    }
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    asked = {
        (one.name, *sorted(one.extras), one.specifier, f"extra == '{group}'" if group else "")
        for group, words in groups.items()
        for one in map(Requirement, words)
    }
    assert locked == asked

    # The constraints for pip are the lock's versions, one for each package.
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line[0] != "#"]
    assert {f"{one.name}{one.specifier}" for one in pins} <= {f"{one['name']}=={one['version']}" for one in packages}
    for python in ("3.11", "3.12", "3.13", "3.14"):
        place = {"python_version": python, "python_full_version": f"{python}.9"}
        names = [one.name for one in pins if one.marker is None or one.marker.evaluate(place)]
        assert len(names) == len(set(names))
        assert {"numpy", "pytest", "ray"} <= set(names)
        assert "torch" not in names


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
pytestmark = pytest.mark.timeout(600)


def beside(path: str | Path, folder: Path, *words: str) -> str:
    """What Python prints beside the packages of a folder."""
    return run(folder, sys.executable, "-c", *words, PYTHONPATH=f"{ROOT}{os.pathsep}{path}", COLUMNS="120")


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


@pytest.mark.slow
def test_it_is_listed_compared_served_and_played_with_its_own_agent_and_prompts(
    installed: Path, tmp_path: Path
) -> None:
    found = json.loads(beside(installed, tmp_path, IN_PYTHON))
    text = found["compare"]
    assert ("operator " in found["list"], "VERDICTS ARE MISSING" in text) == (True, False)
    assert "verifier labelled proxy by its author" in " ".join(text.lower().split())
    results = reversed([line.split() for line in text.partition("Spent")[0].splitlines()])
    rates = {line[0]: float(line[1]) for line in results if line[:1] in (["single"], ["iad"])}
    assert rates["iad"] > rates["single"] + 0.3
    assert (found["operator"], found["solution"]) == (1.0, 1.0)
    pytest.importorskip("mcp")
    assert beside(
        installed, tmp_path, f"from iad_policy.bridges.mcp import mcp_server\nprint(mcp_server({ENV!r}).name)"
    )


@pytest.mark.slow
def test_a_policy_is_trained_in_it_as_the_page_says_without_installing_it(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^After `cd examples/iad_elevator` .*:\n\n```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    said = {words[1]: beside(EXAMPLE, tmp_path, COMMAND, *words[1:]) for words in map(shlex.split, block.splitlines())}
    assert list(said) == ["explore", "train", "improve", "compare"]
    assert "Model folder: models/bc" in said["train"]
    assert "Best on dev: round 1" in said["improve"]
    assert "learned:models/rounds/model-1" in said["compare"]


@pytest.mark.slow
def test_pip_installs_it(tmp_path: Path) -> None:
    target = tmp_path / "target"
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(EXAMPLE)]
    subprocess.run([sys.executable, *words], check=True)
    assert ENV in beside(target, tmp_path, COMMAND, "list", "environments")
