"""What the kernel counts per user of the host, or not at all: no sandbox uses it up for others."""

import ctypes
import os
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from iad_envs.bash.sandbox import Sandbox, SandboxLimits, open_sandbox
from tests.security.attacks import SHELL
from tests.security.bash_sandboxes import AS_NOBODY, AS_ROOT, ONE_USER, children, sandbox_of
from tests.waiting import until

IS_X86 = os.uname().machine == "x86_64"
MMAP, MUNMAP, READ, SENDMSG, MADVISE = (9, 11, 0, 46, 28) if IS_X86 else (222, 215, 63, 211, 233)
INOTIFY_INIT, INOTIFY_ADD_WATCH = (294, 254) if IS_X86 else (26, 27)
USUAL = ("bash", "-c", 'ulimit -Sn 1024; exec "$@"', "bash")
"""Starts a program with the usual limit of open files, whatever it is here."""

PASS_ON = f"""
use Socket; $| = 1; fork for 1..4; my @kept;
while (1) {{
  socketpair(my $one, my $other, AF_UNIX, SOCK_STREAM, 0) or last;
  my ($text, $rights) = ("x", pack("QllL253x4", 1028, 1, 1, (fileno $one) x 253));
  my $parts = pack("PQ", $text, 1);
  my $message = pack("QQPQPQQ", 0, 0, $parts, 1, $rights, length $rights, 0);
  last if syscall({SENDMSG}, fileno $one, $message, 0) < 0;
  push @kept, $one, $other
}}
print "full\\n"; sleep 60
"""
"""Puts as many descriptors as it can on their way, in 16 processes at the same time."""

RECEIVES = """
import array, socket
one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [one.fileno()])
print(len(socket.recv_fds(other, 1, 1)[1]))
"""


def perl(script: str, n: int = 0) -> str:
    """A command that runs a script in a number of processes beside each other, or in one."""
    one = "perl -e '" + " ".join(script.split()) + "'"
    return f"for i in $(seq {n}); do {one} & done; wait" if n else one


@ONE_USER
def test_a_sandbox_that_keeps_descriptors_on_their_way_stops_no_other(user: str) -> None:
    start = AS_NOBODY if user == "nobody" else (sys.executable,)
    with ExitStack() as stack:
        hostile, *others = (stack.enter_context(open_sandbox("embedded", launch=(*USUAL, *start))) for _ in range(5))
        attack = f"{perl(PASS_ON)} >>/tmp/full &"
        result = hostile.run(f"{attack} until [ $(wc -l </tmp/full) -ge 16 ]; do sleep 0.1; done", timeout_s=60)
        assert (result.exit_code, result.background) == (0, 16)
        for other in others:
            with other.fork() as fork:
                assert fork.run("echo goes on").output == "goes on\n"
        with open_sandbox("embedded", launch=(*USUAL, *start)) as late:
            assert late.run("echo too").output == "too\n"
        program = subprocess.run([*USUAL, *start, "-c", RECEIVES], capture_output=True, text=True, check=False)
        assert (program.stdout, program.stderr) == ("1\n", "")


KEPT = 'sleep 2; print "kept\\n"'
PARTS = {
    "{shared}": f"my $size = 48 << 20; my $at = syscall({MMAP}, 0, $size, 3, 0x21, -1, 0);",
    "{device}": 'my $size = 48 << 20; open Z, "+<", "/dev/zero"; '
    f"my $at = syscall({MMAP}, 0, $size, 3, 1, fileno Z, 0);",
    "{fill}": 'exit 1 if $at == -1; open F, "<", "/dev/zero"; '
    f"syscall({READ}, fileno F, $at, $size) == $size or exit 1;",
    "{sockets}": "use Socket; use IO::Handle; for (1..120) { socketpair($a[$_], $b[$_], AF_UNIX, SOCK_STREAM, 0); "
    '$a[$_]->blocking(0) } for (1..120) { 1 while syswrite $a[$_], "x" x 32768 }',
    "{kept}": KEPT,
    "{busy}": "for (1..200000) {}",
    "{MUNMAP}": str(MUNMAP),
    "{MADVISE}": str(MADVISE),
}


def whole(script: str) -> str:
    for part, text in PARTS.items():
        script = script.replace(part, text)
    return script


HOLDERS = {name: whole(script) for name, script in SHELL["holding"].items()}
RESPAWNING = {name: whole(script) for name, script in SHELL["respawning"].items()}


# Root's are held to one limit, whatever their kind, where there are control groups.
@pytest.mark.parametrize(
    ("user", "holder"),
    [
        *(("nobody", holder) for holder in HOLDERS),
        *(pytest.param("root", one, marks=[AS_ROOT] + [pytest.mark.slow] * (one != "sockets")) for one in HOLDERS),
    ],
    indirect=["user"],
)
def test_no_kind_of_memory_is_held_beyond_the_limit(small: Sandbox, holder: str) -> None:
    result = small.run(perl(HOLDERS[holder], 8))
    assert result.output.splitlines().count("kept") < 8
    assert holder != "private memory" or result.killed_by == "memory" or "Killed" in result.output
    assert small.run("echo alive").output == "alive\n"


LARGE = {
    "a file": "head -c 3500K /dev/zero >/tmp/big",
    "files with long names": 'cd /tmp; perl -e \'for (1..2200) { open F, ">", "n" x 200 . $_ or die "$!" }\'',
}


@ONE_USER
@pytest.mark.parametrize("large", LARGE)
def test_candidates_with_large_files_have_one_allowance_and_end_nothing(user: str, large: str) -> None:
    limits = SandboxLimits(memory_mb=48, disk_mb=4, inodes=2_500, time_s=60)
    with sandbox_of(user, limits=limits) as sandbox:
        kept, printed = [], []
        for _ in range(20):
            with sandbox.fork(sandbox.start) as candidate:
                printed.append(candidate.run(LARGE[large]).output)
                kept.append(candidate.snapshot())
            if printed[-1]:
                break
        assert len(printed) >= 5
        assert "No space left on device" in printed[-1]
        with sandbox.fork(sandbox.start) as small, sandbox.fork(sandbox.start, is_whole=True) as gold:
            assert small.run("echo small >/tmp/small; cat /tmp/small").output == "small\n"
            assert gold.run(LARGE[large]).output == ""
        kept.clear()
        with sandbox.fork(sandbox.start) as candidate:
            assert candidate.run(LARGE[large]).output == ""


@ONE_USER
def test_memory_that_children_share_counts_once(small: Sandbox) -> None:
    script = '$| = 1; my $x = "x" x (48 << 20); for (1..6) { fork or last } sleep 1; print "kept\\n"; 1 while wait > 0'
    assert small.run(perl(script)).output.splitlines().count("kept") == 7


@ONE_USER
def test_memory_is_watched_while_the_background_prints(small: Sandbox) -> None:
    before = children(os.getpid())
    hold = perl("sleep 1; " + HOLDERS["private memory"].replace(KEPT, "sleep 60"))
    small.run(f"yes & for i in 1 2 3 4 5; do {hold} & done")
    # What prints, and as many of the others as fit into the memory.
    assert until(lambda: len(children(os.getpid()) - before) <= 3, 40)
    assert small.run("echo alive").output == "alive\n"


@ONE_USER
def test_what_a_command_is_given_can_not_grow(sandbox: Sandbox) -> None:
    grow = "for f in /proc/$$/fd/*; do case $(readlink $f) in *memfd*) head -c 1M /dev/zero >>$f; truncate -s 1M $f;"
    result = sandbox.run(f"{grow} stat -Lc 'size %s' $f;; esac; done; cd /tmp", stdin=b"given")
    sizes = [int(line.split()[1]) for line in result.output.splitlines() if line.startswith("size")]
    assert len(sizes) >= 2
    assert max(sizes) <= 16_384
    assert result.cwd == "/tmp"


def test_inotify_stays_free_for_the_user_of_the_host(user: str) -> None:
    # 40 users in the sandbox: root's has that many, and what each may have is not what all may have.
    script = f"""
    for my $user (0..39) {{ my $n = 0; my $pid = fork; next if $pid; $< = $> = $user;
    $n++ while syscall({INOTIFY_INIT}, 0) >= 0; print "$n\\n"; close STDOUT; sleep 60 }} sleep 1
    """
    with sandbox_of(user, limits=SandboxLimits(processes=50)) as sandbox, sandbox.fork() as sibling:
        taken = list(map(int, sandbox.run(perl(script)).output.split()))
        assert len(taken) == 40
        assert 0 < sum(taken) <= 64
        assert taken[0] <= 8
        libc = ctypes.CDLL(None)
        mine = libc.inotify_init1(0)
        assert mine >= 0
        os.close(mine)
        sibling.run("cd /tmp; touch $(seq 2000)")
        watch = (
            f"my $fd = syscall({INOTIFY_INIT}, 0); my $n = 0; "
            f'for (1..2000) {{ my $p = "/tmp/$_"; $n++ if syscall({INOTIFY_ADD_WATCH}, $fd, $p, 2) >= 0 }} print $n'
        )
        sandbox.reset()
        assert int(sibling.run(perl(watch)).output) == 1024


@pytest.mark.parametrize(("user", "way"), [("nobody", way) for way in RESPAWNING], indirect=["user"])
def test_a_background_that_keeps_a_processor_busy_is_ended(user: str, way: str) -> None:
    with sandbox_of(user, limits=SandboxLimits(cpu_s=1)) as sandbox:
        before = children(os.getpid())
        assert sandbox.run(f"sleep 1000 & {perl(RESPAWNING[way])} &").background >= 2
        # Twice: one that is started and killed during a look is missed by it.
        assert until(lambda: all(children(os.getpid()) <= before for _ in range(2)), 30)
        # What was used is forgotten: another background has its whole time.
        sandbox.run("sleep 1000 &")
        time.sleep(0.5)  # longer than from one look at the background to the next
        assert sandbox.run("true").background == 1


@ONE_USER
def test_a_background_that_waits_is_left_alone(user: str) -> None:
    with sandbox_of(user, limits=SandboxLimits(cpu_s=1)) as sandbox:
        sandbox.run("(while :; do sleep 0.5; done) & sleep 1000 &")
        time.sleep(1.2)  # longer than its processor time, of which it needs very little
        assert sandbox.run("true").background >= 2
