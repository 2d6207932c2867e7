"""`IAD/WebShopBrowser-v0`: the same shop in a real browser, and nothing of it left behind."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.browser.errors import BrowserGone, BrowserNotFound
from iad_envs.browser.selenium import find_chromedriver
from iad_envs.browser.site_visit import PageMismatch, as_parsed, seen_strings
from iad_envs.errors import UnknownTask
from iad_envs.webshop.browser_env import WebShopBrowserEnv
from iad_envs.webshop.env import WebShopEnv
from tests.browser import Browsers, living, missing
from tests.contract.environments import EnvironmentContract, Subject, same, solution_of
from tests.contract.test_environments import browse
from tests.iad_envs.webshop.shop_walks import walk_together
from tests.waiting import until

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "everything is there")


@pytest.fixture
def env(browsers: Browsers) -> Iterator[WebShopBrowserEnv]:
    with browsers.lent(WebShopBrowserEnv(render_mode="rgb_array")) as env:
        yield env


def listens(address: str) -> bool:
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.socket() as client:
        return client.connect_ex((host, int(port))) == 0


@pytest.mark.parametrize("n", [1, pytest.param(60, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])])
def test_text_and_browser_environments_agree_on_random_episodes(env: WebShopBrowserEnv, n: int) -> None:
    assert sum(walk_together([WebShopEnv(), env], seed) for seed in range(n)) > 4 * n
    assert env.visit.n_lost == 0


def test_the_solution_scores_1_in_the_browser_and_shows_no_score(env: WebShopBrowserEnv) -> None:
    seen = [env.reset(seed=4)]
    tokens = [env.snapshot()]
    shots = [env.render()]
    see = env.visit.browser.driver.execute_script
    for action in solution_of(env):
        observation, reward, terminated, _, info = env.step(action)
        seen.append((observation, info))
        tokens.append(env.snapshot())
        if len(shots) < 2:
            shots.append(env.render())
            names = see("return performance.getEntriesByType('resource').map(e => e.name)")
    assert (reward, terminated, info["success"], info["progress"]) == (1.0, True, True, 1.0)
    assert observation == "Thank you for shopping with us!"
    assert "score" not in env.visit.browser.driver.page_source.lower()
    for token, was in reversed(list(zip(tokens, seen, strict=True))):
        assert same(env.restore(token), was)
    assert env.step("search[red shoe]")[0].startswith("Instruction:")
    first, second = shots
    assert (first.shape, first.dtype) == ((1280, 1280, 3), np.uint8)
    assert len(np.unique(second[::9, ::9].reshape(-1, 3), axis=0)) > 50
    assert not np.array_equal(first, second)
    assert len(names) > 5  # everything comes from the shop
    assert all(name.startswith(env.visit.address) for name in names)


def test_a_page_that_differs_from_the_engine_is_noticed(env: WebShopBrowserEnv) -> None:
    env.reset(seed=0)
    visit = env.visit
    shown = visit._shop.act(env.snapshot()._moment.state, "search[red shoe]").state
    with pytest.raises(PageMismatch, match="address"):
        visit.act("search[red shoe]", shown._replace(query="blue shoe"))
    with pytest.raises(PageMismatch, match="offer"):
        visit.act("click[nowhere]", shown)
    visit.open(shown)
    found = visit._read()
    clicks = [*found["clicks"], "free gift"]
    with pytest.raises(PageMismatch, match="free gift"):
        visit._compare(shown, {**found, "clicks": clicks})
    with pytest.raises(PageMismatch, match="text"):
        visit._compare(shown, {**found, "seen": found["seen"][1:]})
    assert 'role="alert">no way' in visit.html(shown, "no way")
    assert seen_strings({"seen": [[2, "c"], [0, "a"], [1, ""], [1, "b"], [0, "\n"]]}) == ["a", "b", "c"]
    assert as_parsed("a\r\nb\rc\0\ud800") == "a\nb\nc\ufffd?"


def test_closing_leaves_no_process_no_port_and_no_folder(tmp_path: Path) -> None:
    """The driver's port was taken at the first try, so it was started again."""
    program = tmp_path / "unlucky"
    taken = "bind() failed: Address already in use (98)"
    program.write_text(
        f"#!/bin/sh\nif mkdir {tmp_path}/tried 2>/dev/null; then echo '{taken}'; exit 1; fi\n"
        f'exec {find_chromedriver()} "$@"\n'
    )
    program.chmod(0o755)
    env = WebShopBrowserEnv(chromedriver=str(program), window_size=(500, 400), render_mode="rgb_array")
    env.reset(seed=0)
    assert (tmp_path / "tried").exists()
    assert env.render().shape == (400, 500, 3)
    browser, address = env.visit.browser, env.visit.address
    assert len(living(group=browser.process_group)) > 3
    assert listens(address)
    env.close()
    env.close()
    assert until(lambda: not living(group=browser.process_group) and not living(mentioning=browser.profile))
    assert not listens(address)
    assert not Path(browser.profile).exists()
    env.reset(seed=0)  # starts them again, and nobody closes them
    group, address = env.visit.browser.process_group, env.visit.address
    del env
    assert until(lambda: not living(group=group))
    assert not listens(address)


SLOW = [pytest.param(victim, marks=pytest.mark.slow) for victim in ("driver", "all")]


@pytest.mark.parametrize("victim", ["browser", *SLOW])
def test_a_killed_browser_is_replaced_and_the_episode_goes_on(env: WebShopBrowserEnv, victim: str) -> None:
    text = WebShopEnv()
    text.reset(seed=3)
    env.reset(seed=3)
    actions = solution_of(text)
    lost = env.visit.n_lost
    for place, action in enumerate(actions):
        if place == 1:
            group = env.visit.browser.process_group
            kill(group, victim)
        assert same(env.step(action)[0], text.step(action)[0])
    assert env.visit.n_lost == lost + 1
    assert until(lambda: not living(group=group))
    assert env.snapshot().terminated


def kill(group: int, victim: str) -> None:
    if victim == "all":
        os.killpg(group, signal.SIGKILL)
    elif victim == "driver":
        os.kill(group, signal.SIGKILL)  # the group is named by its first process
    else:
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(FileNotFoundError, ProcessLookupError):
                is_member = int((folder / "stat").read_text().rpartition(")")[2].split()[2]) == group
                is_child = "--type=" in (folder / "cmdline").read_bytes().decode(errors="replace")
                if is_member and not is_child and int(folder.name) != group:
                    os.kill(int(folder.name), signal.SIGKILL)


@pytest.mark.parametrize("program", ["chromedriver", pytest.param("chromium", marks=pytest.mark.slow)])
def test_a_program_that_never_starts_is_an_error_that_leaves_nothing(tmp_path: Path, program: str) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    env = WebShopBrowserEnv(**{program: str(broken)})  # type: ignore[arg-type]
    with pytest.raises(BrowserGone, match=f"expected ({program}|{broken}) to start"):
        env.reset(seed=0)
    env.close()
    assert until(lambda: not living(mentioning=str(tmp_path)))


def test_without_the_programs_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IAD_CHROMIUM", raising=False)
    monkeypatch.delenv("IAD_CHROMEDRIVER", raising=False)
    for path, arguments, error, said in (
        (os.environ["PATH"], {"chromedriver": "no-such-driver"}, BrowserNotFound, "apt-get install chromium-driver"),
        (str(tmp_path), {}, BrowserNotFound, "apt-get install chromium"),
        (os.environ["PATH"], {"observation_mode": "url"}, UnknownTask, "screenshot"),
    ):
        monkeypatch.setenv("PATH", path)
        with pytest.raises(error, match=said):
            gym.make("IAD/WebShopBrowser-v0", **arguments)  # type: ignore[arg-type]


CHILD = """
import json, os, signal, sys
import gymnasium as gym, iad_envs
env = gym.make("IAD/WebShopBrowser-v0").unwrapped
env.reset(seed=0)
visit = env.visit
print(json.dumps([visit.browser.process_group, visit.browser.profile, visit.address]), flush=True)
{end}
"""


@pytest.mark.parametrize(("end", "status"), [
    ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    pytest.param("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, marks=pytest.mark.slow),
    pytest.param("raise RuntimeError('in the middle of an episode')", 1, marks=pytest.mark.slow),
    pytest.param("env.step('search[red shoe]')", 0, marks=pytest.mark.slow),
], ids=["killed", "terminated", "exception", "forgotten"])  # fmt: skip
def test_a_process_that_ends_in_any_way_leaves_nothing(end: str, status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD.format(end=end)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status, done.stderr
    group, profile, address = json.loads(done.stdout)
    assert until(lambda: not living(group=group) and not living(mentioning=profile))
    assert not listens(address)
    assert until(lambda: not Path(profile).exists())


@pytest.mark.slow
@pytest.mark.timeout(300)
class TestWebShopBrowser(EnvironmentContract):
    @pytest.fixture
    def subject(self) -> Subject:
        return Subject("IAD/WebShopBrowser-v0", browse)
