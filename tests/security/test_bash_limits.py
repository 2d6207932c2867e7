"""Nothing that a command uses up, or refuses to end, is felt outside or by the next command.

What attacks do outside is shown on a small scale, under limits of its own.
"""

import os
import resource
import subprocess
import sys

from iad_envs.bash.sandbox import Sandbox
from tests.security.attacks import SHELL
from tests.security.bash_sandboxes import ONE_USER, SMALL, outside, sandbox_of

BOMB = ":(){ :|:& };:"


def alive(sandbox: Sandbox) -> bool:
    return sandbox.run("echo alive").output == "alive\n"


def test_a_fork_bomb_stays_inside_and_ends_with_a_reset(small: Sandbox) -> None:
    # Outside, a bounded one: eight processes from one line, and the same line without a bound would not stop.
    bounded = "f() { [ $1 -gt 0 ] && { f $(($1 - 1)) & f $(($1 - 1)) & }; echo x; }; f 2; wait"
    assert outside(bounded).stdout.count("x") >= 3
    # To wait takes no process here: the shell could not start one.
    result = small.run(f"mkfifo /tmp/never; exec 3<>/tmp/never; {BOMB}; read -t 0.5 -u 3")
    assert "Resource temporarily unavailable" in result.output or "retry" in result.output
    assert result.background <= SMALL.processes
    small.reset()
    assert alive(small)
    assert small.run("set -- /proc/[0-9]*; echo $#").output == "2\n"


def test_a_fork_bomb_in_one_fork_leaves_its_sibling_free(user: str) -> None:
    with sandbox_of(user, limits=SMALL) as sandbox, sandbox.fork() as bombed, sandbox.fork() as free:
        bombed.run(f"({BOMB}) &")
        assert free.run("for i in 1 2 3 4 5 6 7 8; do sleep 0.01 & done; wait; echo done").output == "done\n"


def test_a_bomb_that_changes_its_user_is_bounded_too(user: str, small: Sandbox) -> None:
    result = small.run(SHELL["other_users"])
    bound = SMALL.processes  # one user is all that an ordinary user's sandbox has
    if user == "root":
        bound = SMALL.processes * 8 if "cgroup" in small.capabilities.limits["processes"] else 4096
    assert 10 < int(result.output) <= bound
    small.reset()
    assert alive(small)


def test_one_process_that_wants_too_much_memory_is_refused(small: Sandbox) -> None:
    hog, size = "perl -e '$x = \"x\" x (200 << 20); print length $x'", str(200 << 20)
    assert outside(hog).stdout == size
    result = small.run(hog)
    assert (result.exit_code != 0, size in result.output, alive(small)) == (True, False, True)


def test_a_full_disk_and_taken_inodes_are_the_sandboxs_own(small: Sandbox) -> None:
    result = small.run("dd if=/dev/zero of=/root/big bs=64k count=1000")
    assert "No space left on device" in result.output
    assert int(small.run("stat -c %s /root/big").output) <= SMALL.disk_mb << 20
    assert alive(small)
    small.reset()
    result = small.run("mkdir /root/d; cd /root/d; for i in $(seq 2000); do : >$i || break; done; ls | wc -l")
    assert "No space left on device" in result.output
    assert int(result.output.split()[-1]) <= SMALL.inodes
    with small.fork() as child:
        assert child.run("echo x >/tmp/x; cat /tmp/x").output == "x\n"
    small.reset()
    assert small.run("ls -A /root; echo x >/root/x; cat /root/x").output == "x\n"


@ONE_USER
def test_a_disk_can_not_be_filled_state_by_state(small: Sandbox) -> None:
    kept = []
    for number in range(6):
        small.run(f"head -c 4000000 /dev/zero >/root/{number}")
        kept.append(small.snapshot())
    assert sum(change.size for change in small.diff()) <= 2 * SMALL.disk_mb << 20
    small.restore(kept[0])
    assert small.run("ls /root").output == "0\n"


@ONE_USER
def test_a_flood_of_output_is_cut_and_ended(sandbox: Sandbox) -> None:
    result = sandbox.run("echo first; yes | head -c 100000000; echo last")
    assert (result.killed_by, result.truncated, result.output[:8]) == ("output", True, "first\ny\n")
    assert len(result.output) < 70_000
    short = sandbox.run("echo first; yes | head -c 1000000; echo last")
    assert (short.killed_by, short.truncated, short.output[-7:]) == ("", True, "y\nlast\n")


@ONE_USER
def test_a_background_job_does_not_hold_its_command_up_and_its_flood_does_no_harm(sandbox: Sandbox) -> None:
    result = sandbox.run("sleep infinity & echo started")
    assert (result.timed_out, result.output, result.background) == (False, "started\n", 1)
    assert result.wall_s < 2
    assert sandbox.run("true").background == 1
    result = sandbox.run("yes & echo started")
    assert result.output.startswith(("started", "y")) or result.truncated
    assert alive(sandbox)
    sandbox.reset()
    assert sandbox.run("true").background == 0


def test_kill_everything_kills_nothing_outside(user: str) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as sentinel:
        with sandbox_of(user) as sandbox, sandbox.fork() as sibling:
            sibling.run("sleep 60 &")
            sandbox.run("kill -9 -1; kill -9 1; kill -STOP 1; kill -TERM -1")
            assert sandbox.run(f"kill -9 {os.getpid()} {sentinel.pid}").exit_code != 0
            assert alive(sandbox)
            assert sibling.run("true").background == 1
        assert sentinel.poll() is None
        sentinel.communicate(b"\n")


@ONE_USER
def test_what_does_not_end_is_ended_at_its_time(sandbox: Sandbox) -> None:
    for stubborn in SHELL["stubborn"]:
        result = sandbox.run(stubborn, timeout_s=0.2)
        ended = (result.timed_out, result.killed_by, result.exit_code, result.background)
        assert (ended, alive(sandbox)) == ((True, "timeout", 137, 0), True), stubborn
        assert 0.2 <= result.wall_s < 2


def test_limits_hold_for_one_process(small: Sandbox) -> None:
    told = small.run("ulimit -u; ulimit -v; ulimit -c; ulimit -n; ulimit -Hu").output.split()
    assert told == ["24", str(128 << 10), "0", "256", "24"]
    assert small.run("ulimit -u 100").exit_code != 0
    assert resource.getrlimit(resource.RLIMIT_NPROC)[0] != 24
