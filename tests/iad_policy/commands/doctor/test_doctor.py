"""`iad doctor` as it is typed: in a terminal, in a pipe, for a program, and where something is wrong."""

import json
import os
import re
import shutil
import sys
import time
from io import StringIO
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from rich.console import Console

from iad_envs import ENVIRONMENTS
from iad_policy.commands.doctor.findings import Finding, FindingGroup
from iad_policy.commands.doctor.page import print_groups
from iad_policy.models.cache import CachedModel
from iad_policy.models.scripted import ScriptedModel
from iad_policy.run.components import CACHE_VARIABLE
from tests.browser import living
from tests.command_line import iad

PATIENT = ("--seconds", "60")
STATUS = r"(ok|missing|broken|slow|set|not set)"
ROWS = 50
"""Of a terminal, the prompt's included."""
VARIABLES = ("IAD_DATA", "IAD_CHROMIUM", "IAD_CHROMEDRIVER", "OPENAI_API_KEY", "OPENAI_API_BASE", "COLUMNS")


@pytest.fixture(autouse=True)
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set that the doctor looks at."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache.sqlite"))


def doctor(*arguments: str, **variables: object) -> Any:
    return iad("doctor", *arguments, env={name: str(value) for name, value in variables.items()})


def found(output: str) -> dict[str, dict[str, str]]:
    return {row["name"]: row for rows in json.loads(output).values() for row in rows}


@pytest.mark.timeout(240)
def test_everything_of_the_base_install_is_there_on_a_page_and_as_json(tmp_path: Path) -> None:
    with CachedModel(ScriptedModel(["hi"]), tmp_path / "cache.sqlite") as model:
        model.complete([{"role": "user", "content": "hello"}])
    done = doctor("--json", *PATIENT, OPENAI_API_KEY="sk-secret")
    assert (done.exit_code, done.stderr, "secret" in done.stdout) == (0, "", False)
    given = found(done.stdout)
    assert {*ENVIRONMENTS, "keys", "answer cache"} <= given.keys()
    assert re.search(r"1 answers, \d\.\d MB, \S+cache.sqlite", given["answer cache"]["said"])
    assert (given["IAD/WebShop-v0"]["status"], "200 tasks" in given["IAD/WebShop-v0"]["said"]) == ("ok", True)
    assert set(given["keys"]) == {"name", "status", "said", "fix", "is_needed"}
    said = json.loads(done.stdout)
    groups = [FindingGroup(title, tuple(Finding(**one) for one in its)) for title, its in said.items()]
    for columns in (100, 80, 60):
        print_groups(groups, Console(file=(page := StringIO()), width=columns))
        lines = page.getvalue().splitlines()
        # Only commands and paths are longer than a row.
        assert all(len(line) <= columns or "$ " in line or len(line.split()) == 1 for line in lines)
        assert columns < 100 or sum(-(-len(line) // columns) for line in lines) < ROWS
        assert all(re.match(rf"  \S+ +{STATUS} ", line) for line in lines if line.startswith("  IAD/"))
    print_groups(groups, Console(file=(page := StringIO()), force_terminal=True, color_system="standard"))
    assert "\x1b[32mok" in page.getvalue()


def test_missing_data_are_a_failure(tmp_path: Path) -> None:
    none = tmp_path / "none"
    done = doctor("IAD/WebShop-v0", IAD_DATA=none)
    assert done.exit_code == 1
    assert f"IAD_DATA broken {none} is not a folder $ unset IAD_DATA" in " ".join(done.stdout.split())
    (tmp_path / "webshop").mkdir()
    done = doctor("IAD/WebShop-v0", IAD_DATA=tmp_path)
    assert (done.exit_code, bool(re.search(r"IAD/WebShop-v0 +broken +expected ", done.stdout))) == (1, True)


def test_a_machine_with_nothing_but_the_base_install_is_well(tmp_path: Path) -> None:
    (tmp_path / "apt-get").symlink_to("/bin/true")
    done = doctor("--json", *PATIENT, PATH=tmp_path)
    rows = found(done.stdout)
    assert done.exit_code == 0, rows
    for name in ("browser", "driver", "IAD/Sketch2Code-v0", "IAD/WebShopBrowser-v0"):
        assert rows[name]["status"] == "missing"
        assert "apt-get install chromium" in rows[name]["fix"]
    assert {"chromium", "chromium-driver"} <= set(rows["IAD/WebShopBrowser-v0"]["fix"].split())


def test_a_browser_that_hangs_does_not_hang_the_doctor_and_is_ended(tmp_path: Path) -> None:
    browser = tmp_path / f"hanging-{os.getpid()}"
    browser.write_text(f"#!/bin/sh\n{shutil.which('sleep')} 60\n")
    browser.chmod(0o755)
    began = time.monotonic()
    done = doctor("--json", "--seconds", "3", "IAD/Sketch2Code-v0", IAD_CHROMIUM=browser)
    rows = found(done.stdout)
    assert time.monotonic() - began < 20
    assert done.exit_code == 0
    assert rows["browser"]["status"] == "slow"
    assert "does not answer within 2." in rows["browser"]["said"]
    assert rows["IAD/Sketch2Code-v0"]["status"] == "slow"
    assert living(mentioning=browser.name) == []


def test_an_environment_of_your_own_brings_its_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "oil.py").write_text(
        "import gymnasium as gym\n"
        "from iad_envs.requirements import Missing, Requirement\n"
        "from iad_envs.webshop.env import WebShopEnv\n"
        "def look(limit_s):\n"
        "    raise Missing({'command': 'fetch oil'}, 'no oil')\n"
        "class Own(WebShopEnv):\n"
        "    NEEDS = (Requirement('oil', look),)\n"
        "gym.register(id='Mine/Own-v0', entry_point='oil:Own')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = doctor("--json", "oil:Mine/Own-v0")
    del gym.registry["Mine/Own-v0"], sys.modules["oil"]
    rows = found(done.stdout)
    assert (done.exit_code, done.stderr) == (0, "")
    assert (rows["oil"]["status"], rows["oil"]["said"], rows["oil"]["fix"]) == ("missing", "no oil", "fetch oil")
    assert rows["oil:Mine/Own-v0"]["fix"] == "fetch oil"
    assert doctor("Mine/None-v0").exit_code == 2
