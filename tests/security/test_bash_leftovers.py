"""Whatever happens, nothing stays behind: no process, mount, control group or file."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from iad_envs.bash.env import BashEnv
from iad_envs.bash.sandbox import SandboxEnded, SandboxError, open_sandbox
from tests.effort import times
from tests.security.bash_sandboxes import AS_NOBODY, AS_ROOT, ROOT, children, groups, mounts, sandbox_of, still_there

CRASHING = """
import sys
from iad_envs.bash.sandbox import open_sandbox
sandboxes = [open_sandbox(setup=["echo x >/root/x"]) for _ in range(2)]
forks = [sandbox.fork() for sandbox in sandboxes]
for each in (*sandboxes, *forks):
    each.run("trap '' TERM HUP; setsid sleep 1000 & head -c 1000000 /dev/zero >/root/y")
print("ready", flush=True)
sys.stdin.read()
"""


def mine() -> set[str]:
    """The control groups of this process's sandboxes; other tests run beside this one."""
    below = children(os.getpid())
    return {group for group in groups() if int(group.rsplit("-", 2)[1]) in below}


def shared_memory() -> list[Path]:
    """The files of shared memory, without the semaphores that the C library makes for other tests' workers."""
    return sorted(path for path in Path("/dev/shm").iterdir() if not path.name.startswith("sem."))


def test_closing_leaves_nothing_after_many_episodes_neither(user: str) -> None:
    setup = ["mkdir /desk; echo 1 >/desk/a"]
    with sandbox_of(user, setup=setup):  # the launcher stays
        pass
    processes, mounted, shared, before = children(os.getpid()), mounts(), shared_memory(), mine()
    n_open = len([*Path("/proc/self/fd").iterdir()])
    with sandbox_of(user, setup=setup) as sandbox:
        with sandbox.fork() as child:
            child.run("setsid sleep 1000 &")
            assert len(children(os.getpid()) - processes) >= 4
        sandbox.run("sleep 1000 & echo x >/tmp/x")
        assert (mine() != before) == ("cgroup" in sandbox.capabilities.limits["processes"])
        sandbox.reset()
        inside = sandbox.run("grep -c . /proc/self/mountinfo").output
        for number in range(times(20)):
            with sandbox.fork(sandbox.start) as child, sandbox_of(user, setup=setup):
                child.run(f"echo {number} >/desk/{number}; sleep 100 &")
                sandbox.restore(child.snapshot())
            assert [change.path for change in sandbox.diff()] == [f"/desk/{number}"]
            sandbox.reset()
        assert sandbox.diff() == ()
        assert sandbox.run("grep -c . /proc/self/mountinfo").output == inside
    assert (children(os.getpid()) - processes, mine()) == (set(), before)
    assert (mounts(), shared_memory(), len([*Path("/proc/self/fd").iterdir()])) == (mounted, shared, n_open)


def test_a_sandbox_that_nobody_closes_goes_with_its_last_reference(user: str) -> None:
    launch = AS_NOBODY if user == "nobody" else ()
    open_sandbox(launch=launch).close()
    before, owned = children(os.getpid()), mine()
    sandbox = open_sandbox(launch=launch)
    child = sandbox.fork()
    child.run("sleep 1000 &")
    made = children(os.getpid()) - before
    assert made
    del sandbox, child
    gc.collect()
    assert still_there(made) == set()
    open_sandbox(launch=launch).close()  # a later request finds the launcher done with the burial
    assert mine() == owned


@pytest.mark.parametrize(
    ("user", "how"),
    [
        ("nobody", signal.SIGKILL),
        pytest.param("nobody", signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("root", signal.SIGSEGV, marks=AS_ROOT),
    ],
)
def test_the_death_of_the_parent_ends_everything(user: str, how: signal.Signals) -> None:
    start = AS_NOBODY if user == "nobody" else (sys.executable,)
    command = [*start, "-c", CRASHING]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == b"ready\n"
        made = children(parent.pid)
        launchers = {str(pid) for pid in made}
        assert len(made) >= 1 + 2 + 4 + 4
        parent.send_signal(how)
        parent.communicate()
    assert still_there(made) == set()
    assert {group for group in groups() if group.rsplit("-", 2)[1] in launchers} == set()


def test_a_supervisor_that_dies_takes_its_commands_along_and_a_forked_process_ends_no_sandbox() -> None:
    with open_sandbox() as keeper:
        before = children(os.getpid())
        sandbox = open_sandbox()
        sandbox.run("sleep 1000 &")
        made = children(os.getpid()) - before
        os.kill(min(made), signal.SIGKILL)
        assert still_there(made) == set()
        with pytest.raises(SandboxError, match="open another one"):
            sandbox.run("true")
        sandbox.close()
        assert keeper.run("echo unharmed").output == "unharmed\n"
    opened = []
    thread = threading.Thread(target=lambda: opened.append(open_sandbox(hide=["/usr/share"])))
    thread.start()
    thread.join()
    with opened[0] as sandbox:
        pid = os.fork()
        if pid == 0:
            try:
                sandbox.run("true")
            except SandboxError as error:
                sandbox.close()
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert sandbox.run("echo mine").output == "mine\n"


def test_a_sandbox_that_died_costs_its_episode_and_a_command_that_ends_what_runs_it_is_undone() -> None:
    options = {"hide": ["/usr/share/doc"]}
    with open_sandbox(setup=["true"], **options), BashEnv(sandbox_options=options) as env:  # the launcher lives on
        before = children(os.getpid())
        env.reset(options={"task_id": "fs_1-0"})
        os.kill(min(children(os.getpid()) - before), signal.SIGKILL)
        with pytest.raises(SandboxEnded) as died:
            env.step("echo lost")
        assert died.value.is_lost
        env.reset(options={"task_id": "fs_1-0"})
        assert env.step("echo found >/tmp/found; cat /tmp/found")[4]["page"]["output"] == "found\n"
        before = children(os.getpid())
        with ThreadPoolExecutor(1) as thread:
            step = thread.submit(env.step, "touch /tmp/touched; exec sleep 77")
            while not step.done():
                for pid in children(os.getpid()) - before:
                    with suppress(OSError):
                        if Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x0077\0":
                            status = Path(f"/proc/{pid}/status").read_text()
                            os.kill(int(status.partition("PPid:")[2].split()[0]), signal.SIGKILL)
                time.sleep(0.01)
        assert step.result()[4]["facts"]["complaint"].endswith("got one that ended it")
        assert env.step("ls /tmp/*")[4]["page"]["output"] == "/tmp/found\n"


@pytest.mark.parametrize("has_ended", [True, False])
def test_a_launcher_that_dies_takes_its_sandboxes_along_and_the_next_one_opens(*, has_ended: bool) -> None:
    hide = [f"/usr/share/{has_ended}"]  # a launcher of its own
    before = children(os.getpid())
    sandbox = open_sandbox(setup=["echo x >/root/x"], hide=hide)
    made = children(os.getpid()) - before
    (launcher,) = (pid for pid in made if f"\nPPid:\t{os.getpid()}\n" in Path(f"/proc/{pid}/status").read_text())
    os.kill(launcher, signal.SIGKILL)
    if has_ended:
        assert still_there(made) == set()
    with open_sandbox(setup=["echo x >/root/x"], hide=hide) as other:
        assert other.run("cat /root/x").output == "x\n"
    assert still_there(made) == set()
    with pytest.raises(SandboxError, match="open another one"):
        sandbox.run("true")
    sandbox.close()
