"""The sandbox in containers, on a real engine: `make test-docker` starts one where it can.

Few commands on purpose: podman keeps a process for each for five minutes.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module

import pytest

from iad_envs.bash.sandbox import Sandbox, SandboxError, SandboxLimits, SandboxUnavailable, open_sandbox
from tests.full.processes import needing

IMAGE = os.environ.get("IAD_DOCKER_IMAGE", "debian:12")
pytestmark = needing("docker", how="pip install -e '.[docker]'")  # without an engine the SDK leaves a socket open


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    limits = SandboxLimits(processes=64, memory_mb=256, flood_bytes=4 << 20, output_bytes=1000)
    setup = ["mkdir -p /desk/sub; echo one >/desk/a; true"]
    reason = ""
    try:
        opened = open_sandbox("docker", image=IMAGE, limits=limits, setup=setup)
    except SandboxUnavailable as error:
        reason = str(error)
    if reason:
        gc.collect()
        pytest.skip(reason)
    with opened:
        yield opened


def test_a_command_runs_its_changes_are_told_and_taken_back_and_a_fork_is_taken_over(sandbox: Sandbox) -> None:
    result = sandbox.run("""cd sub && cat && printf '%s|' "a  b" 'c"d' >&2; exit 3""", cwd="/desk", stdin=b"given\n")
    assert (result.exit_code, result.output, result.timed_out) == (3, 'given\na  b|c"d|', False)
    assert (result.cwd, result.oldpwd) == ("/desk/sub", "/desk")
    assert sandbox.run("cd -", cwd="/desk", oldpwd="/tmp").cwd == "/tmp"
    sandbox.run("cd /desk; echo two >a; echo new >n; chmod 700 sub; ln -s a l; rm -f /etc/hostname")
    found = {change.path: change.kind for change in sandbox.diff() if change.path.startswith("/desk")}
    assert found == {"/desk/a": "modified", "/desk/n": "added", "/desk/sub": "mode", "/desk/l": "added"}
    sandbox.reset()
    assert [change for change in sandbox.diff() if change.path.startswith("/desk")] == []
    assert sandbox.read("/desk/a") == b"one\n"
    with sandbox.fork(sandbox.start) as child:
        child.run("echo tried >/desk/tried; sleep 100 &")
        assert sandbox.run("ls /desk").output == "a\nsub\n"
        token = sandbox.commit(child)
    assert token.ended >= 1
    assert sandbox.run("cat /desk/tried").output == "tried\n"
    sandbox.reset()


def test_what_does_not_end_is_killed_inside_and_a_flood_is_cut(sandbox: Sandbox) -> None:
    result = sandbox.run("trap '' TERM; setsid sleep 300 & while :; do :; done", timeout_s=1)
    assert (result.timed_out, result.killed_by) == (True, "timeout")
    assert sandbox.run("cat /proc/[0-9]*/comm").output.count("sleep") == 1  # the container's own
    result = sandbox.run("sleep 60 & echo started")
    assert (result.output, result.background) == ("started\n", 1)
    flood = sandbox.run("echo first; yes")
    assert (flood.truncated, flood.killed_by, flood.output[:8]) == (True, "output", "first\ny\n")
    assert len(flood.output) < 1100


def test_there_is_no_network_and_little_power(sandbox: Sandbox) -> None:
    result = sandbox.run("tail -n +3 /proc/net/dev | cut -d: -f1; chroot / true; grep CapEff /proc/self/status")
    words = ("eth", "not permitted", "CapEff:\t00000000000000fb")
    assert [word in result.output for word in words] == [False, True, True]
    bomb = sandbox.run(":(){ :|:& };: ; sleep 1", timeout_s=5)
    assert "retry" in bomb.output or "unavailable" in bomb.output
    sandbox.reset()
    assert sandbox.run("echo alive").output == "alive\n"


def test_closing_leaves_no_container_and_no_image_and_what_is_not_there_is_named(sandbox: Sandbox) -> None:
    for options, said in (
        ({"image": "no-such-image:none"}, "docker pull no-such-image"),
        ({"base_url": "unix:///nowhere.sock"}, "start one, set DOCKER_HOST"),
    ):
        with pytest.raises(SandboxUnavailable, match=said):
            open_sandbox("docker", **options)
    gc.collect()
    with closing(import_module("docker").from_env()) as client:
        other = open_sandbox("docker", image=IMAGE)
        query = {"filters": {"label": f"iad.sandbox={other.start.owner.label}"}}  # type: ignore[attr-defined]
        assert client.containers.list(all=True, **query)
        assert client.images.list(**query)
        with pytest.raises(SandboxError, match="expected a state of this sandbox"):
            sandbox.restore(other.start)
        other.close()
        assert client.containers.list(all=True, **query) == client.images.list(**query) == []
