"""The built distribution works away from the source tree: its data and prompts travel with it, and nothing else."""

import os
import re
import shlex
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


def run(folder: Path, *words: object) -> str:
    away = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # from the source tree
    done = subprocess.run(list(map(str, words)), cwd=folder, env=away, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
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


def test_what_is_distributed_is_named_and_described() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, targets = settings["project"], settings["tool"]["hatch"]["build"]["targets"]
    assert all(address.startswith("https://") for address in project["urls"].values())
    assert {"Programming Language :: Python :: 3.11"} <= set(project["classifiers"])
    assert [name for name in targets["sdist"]["include"] if not (ROOT / name).exists()] == []
    assert {"CITATION.cff", "CONTRIBUTING.md", "iad_verifiers.py"} <= set(targets["sdist"]["include"])
    assert "iad_verifiers.py" in targets["wheel"]["only-include"]
    assert targets["wheel"]["exclude"] == ["/data/**/*.py"]


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
