"""What the parts find where they are missing, where they do not work, and where they hang."""

import os
import shutil
import socket
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from iad_envs.bash.env import BashEnv
from iad_envs.bird.env import BirdEnv
from iad_envs.booking.browser_env import BookingBrowserEnv
from iad_envs.browser.devtools import CHROMIUM_VARIABLE, NAMES
from iad_envs.browser.errors import BrowserGone
from iad_envs.requirements import Missing, Requirement, first_line
from iad_envs.requirements.browser import BROWSER, DRIVER
from iad_envs.requirements.java import JAVA
from iad_envs.requirements.sandbox import SANDBOX, forbidding, without_sdk
from iad_envs.sketch2code.env import Sketch2CodeEnv
from iad_envs.webshop.browser_env import WebShopBrowserEnv
from iad_envs.webshop.env import WebShopEnv
from tests.browser import living

LIMIT_S = 1.0
SLEEP = shutil.which("sleep", path=os.defpath)


def program(folder: Path, name: str, script: str) -> str:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(file)


def lacks(part: Requirement) -> Missing:
    with pytest.raises(Missing) as raised:
        part.check(LIMIT_S)
    return raised.value


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds all programs there are, and no variable that names others."""
    for name in (CHROMIUM_VARIABLE, "IAD_CHROMEDRIVER", "DOCKER_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_environments_name_their_parts() -> None:
    browser = ({"Selenium", "browser", "driver"}, set[str]())
    assert {
        env: tuple({part.name for part in getattr(env, kind, ())} for kind in ("NEEDS", "OPTIONS"))
        for env in (WebShopEnv, WebShopBrowserEnv, BashEnv, BirdEnv, Sketch2CodeEnv, BookingBrowserEnv)
    } == {
        WebShopEnv: (set(), {"Java"}), WebShopBrowserEnv: (browser[0], {"Java"}), BashEnv: ({"sandbox"}, {"Docker"}),
        BirdEnv: (set(), {"PostgreSQL", "MySQL"}), Sketch2CodeEnv: ({"browser", "OpenCV"}, set()),
        BookingBrowserEnv: browser,
    }  # fmt: skip


def test_a_missing_program_is_a_package_or_a_variable(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part, variable, package, name in (
        (BROWSER, CHROMIUM_VARIABLE, "chromium fonts-liberation", NAMES[0]),
        (DRIVER, "IAD_CHROMEDRIVER", "chromium-driver", "chromedriver"),
    ):
        assert lacks(part).install["apt-get"] == package
        monkeypatch.setenv(variable, "/nowhere/program")
        absent = lacks(part)
        assert f"{variable}=/nowhere/program is not a program" in str(absent)
        assert absent.install == {"command": f"unset {variable}", **absent.install}
        assert absent.install["apt-get"] == package
        program(programs, name, "true")
        assert lacks(part).install == {"command": f"unset {variable}"}
        monkeypatch.delenv(variable)


def test_a_browser_fails_with_a_reason_or_is_ended(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = program(programs, "broken", "echo libnss3.so is missing >&2; exit 127")
    monkeypatch.setenv(CHROMIUM_VARIABLE, broken)
    with pytest.raises(BrowserGone, match=r"libnss3\.so is missing"):
        BROWSER.check(LIMIT_S)
    name = f"hanging-{os.getpid()}"
    monkeypatch.setenv(CHROMIUM_VARIABLE, program(programs, name, f"{SLEEP} 60"))
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=f"{name} does not answer within 1 s"):
        BROWSER.check(LIMIT_S)
    assert time.monotonic() - began < 10
    assert living(mentioning=name) == []


def test_a_driver_has_the_version_of_its_browser_and_is_told_if_it_fails_or_hangs(programs: Path) -> None:
    program(programs, NAMES[0], "echo Chromium 156.0.8.9")
    path = program(programs, "chromedriver", "echo ChromeDriver 99.0.1.2")
    assert "is of version 99.0.1.2, the browser of 156.0.8.9" in str(lacks(DRIVER))
    program(programs, "chromedriver", "echo ChromeDriver 156.0.7.7 for everybody")
    assert DRIVER.check(LIMIT_S) == f"156.0.7.7, {path}"
    program(programs, "chromedriver", "echo no such file >&2; exit 3")
    with pytest.raises(RuntimeError, match="fails with status 3: no such file"):
        DRIVER.check(LIMIT_S)
    program(programs, "chromedriver", f"exec {SLEEP} 60")
    with pytest.raises(TimeoutError, match=r"does not answer within 0\.2 s"):
        DRIVER.check(0.4)
    with pytest.raises(RuntimeError, match="can't be run: No such file"):
        first_line([str(programs / "none")], LIMIT_S)


def test_an_engine_says_so_and_is_not_waited_for(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{programs / 'engine.sock'}")
    missing = without_sdk(LIMIT_S)
    assert missing is not None
    assert (missing.install, "unset DOCKER_HOST" in str(missing)) == ({}, True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(programs / "engine.sock"))
        listener.listen()
        assert "does not answer within 0.3 s" in str(without_sdk(0.3))
        listener.accept()[0].close()

        def serve() -> None:
            for answer in (b"HTTP/1.0 200 OK\r\n\r\nOK", b"SSH-2.0-x\r\n"):
                with listener.accept()[0] as line:
                    line.recv(1024)
                    line.sendall(answer)

        thread = Thread(target=serve)
        thread.start()
        assert without_sdk(LIMIT_S) is None
        assert "is not an engine" in str(without_sdk(LIMIT_S))
        thread.join()


def test_settings_of_the_kernel_that_forbid_namespaces_are_named_and_a_sandbox_runs_a_command(tmp_path: Path) -> None:
    for name, value in (
        ("kernel/unprivileged_userns_clone", 1),
        ("kernel/apparmor_restrict_unprivileged_userns", 1),
        ("user/max_user_namespaces", 0),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{value}\n")
    assert forbidding(tmp_path) == ["kernel.apparmor_restrict_unprivileged_userns=0", "user.max_user_namespaces=9999"]
    assert forbidding(tmp_path / "none") == []
    said = SANDBOX.check(30.0)
    assert "runs a command in" in said
    assert ("and cgroup v" in said) != ("without pipes and kernel objects" in said)


def test_a_java_without_pyserini_is_of_no_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyserini", None)
    assert lacks(JAVA).install == {"extra": "lucene", "package": "torch"}
