"""Nothing that a command uses up, or refuses to end, is felt outside or by the next command.

What attacks do outside is shown on a small scale, under limits of its own. One command can leave files behind that
would take hours to read or to list: none of them holds a run. What the kernel counts per user of the host, or not at
all, no sandbox uses up for others.
"""

import ctypes
import math
import os
import resource
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from iad_envs.bash.env import BashEnv
from iad_envs.bash.sandbox import Sandbox, SandboxLimits, TooManyChanges, open_sandbox
from tests.effort import some
from tests.security.attacks import SHELL
from tests.security.bash_sandboxes import AS_NOBODY, AS_ROOT, ONE_USER, SMALL, children, outside, sandbox_of
from tests.waiting import until

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


def test_one_process_that_wants_too_much_memory_is_refused_and_its_limits_hold(small: Sandbox) -> None:
    hog, size = "perl -e '$x = \"x\" x (200 << 20); print length $x'", str(200 << 20)
    assert outside(hog).stdout == size
    result = small.run(hog)
    assert (result.exit_code != 0, size in result.output, alive(small)) == (True, False, True)
    told = small.run("ulimit -u; ulimit -v; ulimit -c; ulimit -n; ulimit -Hu").output.split()
    assert told == ["24", str(128 << 10), "0", "256", "24"]
    assert small.run("ulimit -u 100").exit_code != 0
    assert resource.getrlimit(resource.RLIMIT_NPROC)[0] != 24


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
def test_a_flood_of_output_is_cut_and_a_background_job_does_not_hold_its_command_up(sandbox: Sandbox) -> None:
    result = sandbox.run("echo first; yes | head -c 100000000; echo last")
    assert (result.killed_by, result.truncated, result.output[:8]) == ("output", True, "first\ny\n")
    assert len(result.output) < 70_000
    short = sandbox.run("echo first; yes | head -c 1000000; echo last")
    assert (short.killed_by, short.truncated, short.output[-7:]) == ("", True, "y\nlast\n")
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
def test_what_does_not_end_is_ended_at_its_time_and_what_it_is_given_can_not_grow(sandbox: Sandbox) -> None:
    for stubborn in SHELL["stubborn"]:
        result = sandbox.run(stubborn, timeout_s=0.2)
        ended = (result.timed_out, result.killed_by, result.exit_code, result.background)
        assert (ended, alive(sandbox)) == ((True, "timeout", 137, 0), True), stubborn
        assert 0.2 <= result.wall_s < 2
    sandbox.reset()
    grow = "for f in /proc/$$/fd/*; do case $(readlink $f) in *memfd*) head -c 1M /dev/zero >>$f; truncate -s 1M $f;"
    result = sandbox.run(f"{grow} stat -Lc 'size %s' $f;; esac; done; cd /tmp", stdin=b"given")
    sizes = [int(line.split()[1]) for line in result.output.splitlines() if line.startswith("size")]
    assert len(sizes) >= 2
    assert max(sizes) <= 16_384
    assert result.cwd == "/tmp"


LIMIT_S, ROOM_S = 1.0, 1.0
N_TRIES = 8
"""Tries of one bomb. A busy machine makes one try slow, a bomb that holds the run makes all of them slow."""

FOLDERS = "mkdir ({0}), chdir ({0}) for 1..{1}; "
LINKS = 'open F, ">", "a"; print F "x" x 65536 for 1..{0}; close F; link "a", $_ for 1..{1}'
SPARSE = 'for (1..{1}) {{ open F, ">", $_; truncate F, {0}; seek F, {2}, 0; print F "x" }}'
NAMES = 'for (1..{1}) {{ open F, ">", "b" x {0} . $_ }}'
LONG = FOLDERS.format('"c" x 250', 14)
KIB, GIB = 1 << 10, 1 << 30
KINDS = (
    LINKS.format(3_000, 60_000), LINKS.format(800, 5_000), NAMES.format(0, 50_000), NAMES.format(240, 64_000),
    SPARSE.format(1_024 * KIB, 64_000, 0), SPARSE.format(60 * KIB, 60_000, 0), SPARSE.format(GIB, 64_000, GIB // 2),
    SPARSE.format(GIB * KIB, 1_000, 0),
)  # fmt: skip
PLACES = ("", LONG, FOLDERS.format('"d"', 100), FOLDERS.format('"d"', 1_900))


@ONE_USER
def test_no_bomb_holds_a_simulation_longer_than_its_command(user: str) -> None:
    options = {"launch": AS_NOBODY if user == "nobody" else ()}
    env = BashEnv(limits={"time_s": LIMIT_S}, sandbox_options=options)
    env.reset(seed=0)
    for bomb in some([place + kind for kind in KINDS for place in PLACES], 9, len(user) - 4):
        took_s: list[float] = []
        while len(took_s) < N_TRIES and min(took_s, default=math.inf) > LIMIT_S + ROOM_S:
            folder = f"/tmp/{len(took_s)}"  # another one per try: an equal simulation would be answered from memory
            began = time.perf_counter()
            ahead = env.simulate(env.snapshot(), f"mkdir {folder}; cd {folder}; perl -e '{bomb}'")
            took_s.append(time.perf_counter() - began)
            facts = ahead.info["facts"]
            assert facts["n_created"] > 0 or "was undone" in facts["complaint"]
        assert min(took_s) <= LIMIT_S + ROOM_S, took_s
    assert env.step("echo alive")[4]["page"]["output"] == "alive\n"
    env.close()


@ONE_USER
def test_a_file_of_many_names_is_read_once_and_files_of_holes_are_not(sandbox: Sandbox) -> None:
    sandbox.run(f"cd /tmp; perl -e '{LINKS.format(320, 8_000)}'")
    rows = sandbox.diff(timeout_s=60)  # 160 GB, if read by name
    assert len(rows) == 8_001
    assert len({row.digest for row in rows}) == 1
    before = sandbox.snapshot()
    sandbox.run("chmod 600 /tmp/7; echo x >>/tmp/9")
    # The layers above hold a copy of what was changed: one name of it is another file from then on.
    assert {row.path: row.kind for row in sandbox.diff(before, timeout_s=60)} == {
        "/tmp/7": "mode",
        "/tmp/9": "modified",
    }
    sandbox.reset()
    sandbox.run(f"cd /tmp; perl -e '{SPARSE.format(1_000 * KIB, 6_000, 0)}'")
    assert {row.digest[:7] for row in sandbox.diff(timeout_s=60)} == {"sparse:"}


@ONE_USER
@pytest.mark.parametrize(
    ("bomb", "reason"),
    [
        ("head -c 200M /dev/zero >/tmp/large", "read in 0.0 s"),
        (f"cd /tmp; perl -e '{LONG}{NAMES.format(200, 6_000)}'", "characters together"),
    ],
)
def test_what_can_not_be_listed_is_told_and_does_no_harm(user: str, bomb: str, reason: str) -> None:
    with sandbox_of(user, limits=SandboxLimits(time_s=60)) as sandbox:
        sandbox.run(bomb)
        timeout_s = 0.001 if "large" in bomb else None
        with pytest.raises(TooManyChanges, match=reason):
            sandbox.diff(timeout_s=timeout_s)
        with pytest.raises(TooManyChanges, match=reason):
            sandbox.tree("/tmp", timeout_s=timeout_s)
        sandbox.reset()
        assert sandbox.diff() == ()
        assert sandbox.run("echo alive").output == "alive\n"


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
def test_memory_that_children_share_counts_once_and_is_watched_while_the_background_prints(small: Sandbox) -> None:
    script = '$| = 1; my $x = "x" x (48 << 20); for (1..6) { fork or last } sleep 1; print "kept\\n"; 1 while wait > 0'
    assert small.run(perl(script)).output.splitlines().count("kept") == 7
    small.reset()
    before = children(os.getpid())
    hold = perl("sleep 1; " + HOLDERS["private memory"].replace(KEPT, "sleep 60"))
    small.run(f"yes & for i in 1 2 3 4 5; do {hold} & done")
    # What prints, and as many of the others as fit into the memory.
    assert until(lambda: len(children(os.getpid()) - before) <= 3, 40)
    assert small.run("echo alive").output == "alive\n"


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
