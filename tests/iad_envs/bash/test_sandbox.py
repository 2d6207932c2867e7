"""The embedded sandbox as an environment uses it: commands, folders, states, forks, start states."""

import hashlib
import io
import stat
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import partial
from pathlib import Path

import pytest

from iad_envs.bash.sandbox import FrozenState, Sandbox, SandboxError, SandboxLimits, SandboxUnavailable, open_sandbox
from tests.effort import some

ROOT = Path(__file__).resolve().parents[3]
SETUP = [
    "mkdir -p /desk/sub/deep /desk/empty; cd /desk; echo one >a; echo two >sub/b; echo three >sub/deep/c; ln -s a link",
    "chmod 750 /desk/sub; false",
]


@pytest.fixture(scope="module")
def opened() -> Iterator[Sandbox]:
    with open_sandbox(setup=SETUP) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(opened: Sandbox) -> Sandbox:
    """A sandbox in its start state, shared by all tests."""
    opened.reset()
    return opened


def test_a_result_tells_exit_code_output_time_and_signal_and_input_is_given_or_empty(sandbox: Sandbox) -> None:
    result = sandbox.run("echo out; echo err >&2; printf 'a\\377b'; exit 3")
    assert (result.exit_code, result.output) == (3, "out\nerr\na\ufffdb")
    assert (result.truncated, result.timed_out, result.killed_by, result.background) == (False, False, "", 0)
    assert 0 < result.wall_s < 5
    result = sandbox.run("kill -SEGV $$")
    assert (result.exit_code, result.killed_by) == (128 + 11, "SIGSEGV")
    assert sandbox.run("cat; echo end").output == "end\n"
    assert sandbox.run("wc -c", stdin=b"x" * 3_000_000).output == "3000000\n"


def test_a_command_reaches_bash_as_it_was_written_a_list_no_shell_and_errors_are_results(sandbox: Sandbox) -> None:
    quoting = """printf '%s|' "a  b" 'c"d' $'e\\nf' \\\\ "$0" "$#"; echo $((1+1)); cat <<'X'\n$HOME `x`\nX\n"""
    devices = "cat <(echo 2); echo 3 | cat /dev/stdin; echo 4 >/dev/stdout; id -un; sort --parallel=2 $(mktemp)"
    for command in (quoting, devices, "if", "echo )", "nonexistent", "cat /none", "[ 1", "exit 300", "((1/0))"):
        told = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=False, env={"LANG": "C.UTF-8"}
        )
        result = sandbox.run(command)
        assert (result.output, result.exit_code) == (told.stdout + told.stderr, told.returncode)
    assert sandbox.run(["printf", "%s,", "$HOME", "a b"]).output == "$HOME,a b,"
    assert [sandbox.run([name]).exit_code for name in ("nonexistent", "/desk")] == [127, 126]
    for command in ("x" * 200_000, "echo \0", []):
        result = sandbox.run(command)
        assert (result.exit_code, "expected a command" in result.output) == (126, True)


def test_a_limit_that_is_none_is_refused_by_name_and_ends_nothing(sandbox: Sandbox) -> None:
    for value in (float("inf"), float("nan"), -1.0, 0, 1e300):
        for call in (partial(sandbox.run, "true"), sandbox.diff, sandbox.tree):
            with pytest.raises(ValueError, match="at most 86,400 as timeout_s"):
                call(timeout_s=value)
        for each in fields(SandboxLimits):
            with pytest.raises(ValueError, match=rf"as {each.name}, got"):
                SandboxLimits(**{each.name: value})  # type: ignore[arg-type]
    assert sandbox.run("echo alive", timeout_s=86_400).output == "alive\n"


CARRIED = {
    "cd sub && ls": "/desk/sub /desk", "cd": "/root /desk", "cd ~": "/root /desk", "cd -": "/tmp /desk",
    "cd $(dirname sub/b)/deep": "/desk/sub/deep /desk", "cd ./sub/../sub//deep/..": "/desk/sub /desk",
    "cd /none": "/desk /tmp", "(cd sub)": "/desk /tmp", "cd sub; exit 4": "/desk/sub /desk",
    "cd sub; cd deep; false": "/desk/sub/deep /desk/sub", "trap 'echo bye' EXIT; cd sub": "/desk /tmp",
    "cd sub; kill -9 $$": "/desk /tmp", "ln -s sub/deep l; cd l": "/desk/l /desk",
    "mkdir $'a\\nb' && cd $'a\\nb'": "/desk/a\nb /desk",
}  # fmt: skip


def test_the_folder_is_carried_as_a_shell_would_and_nothing_else(sandbox: Sandbox) -> None:
    for command, folders in CARRIED.items():
        result = sandbox.run(
            f"X=1; export Y=2; umask 077; alias z=ls; f() {{ :; }}; {command}", cwd="/desk", oldpwd="/tmp"
        )
        assert f"{result.cwd} {result.oldpwd}" == folders, command
    assert sandbox.run("pwd; echo $X$Y; umask; type f z", cwd="/desk/sub").output.startswith("/desk/sub\n\n0022\n")
    gone = sandbox.run("pwd", cwd="/desk/gone/deeper")  # the nearest folder above
    assert (gone.output, gone.cwd) == ("/desk\n", "/desk")


def test_a_change_is_told_by_kind_mode_size_and_digest_and_a_tree_has_everything(sandbox: Sandbox) -> None:
    sandbox.run("cd /desk; echo new >n; echo ONE >a; chmod 700 sub/b; rm link; mkdir -m 711 d; ln -s x y; mkfifo p")
    rows = {change.path: change for change in sandbox.diff()}
    assert {path: row.kind for path, row in rows.items()} == {
        "/desk/a": "modified", "/desk/d": "added", "/desk/link": "deleted", "/desk/n": "added", "/desk/p": "added",
        "/desk/sub/b": "mode", "/desk/y": "added",
    }  # fmt: skip
    assert list(rows) == sorted(rows)
    new = rows["/desk/n"]
    assert (new.mode, new.size, new.was_mode) == (stat.S_IFREG | 0o644, 4, 0)
    assert new.digest == hashlib.blake2b(b"new\n", digest_size=32).hexdigest()
    assert (rows["/desk/sub/b"].mode, rows["/desk/sub/b"].was_mode) == (stat.S_IFREG | 0o700, stat.S_IFREG | 0o644)
    assert (rows["/desk/link"].mode, rows["/desk/link"].was_mode) == (0, stat.S_IFLNK | 0o777)
    assert rows["/desk/y"].digest == hashlib.blake2b(b"x", digest_size=32).hexdigest()
    assert stat.S_ISDIR(rows["/desk/d"].mode)
    listed = sandbox.run("cd /; find /desk").output.split()
    assert [row.path for row in sandbox.tree("/desk")] == sorted(listed)
    everything = {row.path for row in sandbox.tree()}
    assert {"/desk/n", "/etc/passwd", "/root", "/bin"} <= everything
    assert not any(path.startswith(("/proc", "/dev", "/usr")) for path in everything)


def test_snapshots_form_a_tree_in_any_order_and_a_long_history_stays_fast(sandbox: Sandbox) -> None:
    states = {"": sandbox.snapshot()}
    for name in ("a", "b", "ab", "ba", "aba"):
        sandbox.restore(states[name[:-1]])
        sandbox.run(f"echo -n {name[-1]} >>/desk/log")
        states[name] = sandbox.snapshot()
    for name in ("aba", "b", "", "ab", "ba", "a"):
        sandbox.restore(states[name])
        assert sandbox.run("cat /desk/log 2>/dev/null").output == name
    sandbox.reset()
    kept = [sandbox.snapshot() for _ in range(10) if sandbox.run("ls /desk").exit_code == 0]
    assert len(kept) == 10  # which cost no layer, as nothing changed: there are the set-up and the present
    assert sandbox.run("grep ' / / ' /proc/self/mountinfo").output.count("/u") == 2
    sandbox.reset()
    history = []
    for number in range(35):
        sandbox.run(f"cd /desk; echo {number} >>log; rm -rf d; mkdir d; echo {number} >d/{number}; rm -f sub/b")
        history.append(sandbox.snapshot())
    for number in (0, 30, 23, 24, 25, 34):
        sandbox.restore(history[number])
        listed = sandbox.run("tail -1 /desk/log; ls /desk/d /desk/sub").output
        assert listed == f"{number}\n/desk/d:\n{number}\n\n/desk/sub:\ndeep\n"
        assert sandbox.run("grep ' / / ' /proc/self/mountinfo").output.count("/u:") < 30
    changes = {change.path: change.kind for change in sandbox.diff()}
    assert changes == {"/desk/d": "added", "/desk/d/34": "added", "/desk/log": "added", "/desk/sub/b": "deleted"}


def test_flattening_keeps_modes_times_links_and_names(sandbox: Sandbox) -> None:
    look = "cd /; find /desk /root -printf '%p %y %m %u %g %s %T@ %l %n\\n' | sort; cat /desk/x/1"
    sandbox.run(
        "cd /desk; mkdir x; echo 1 >x/1; ln x/1 x/2; ln -s ../a x/l; mkfifo x/p; chmod 2750 x; chown 5:6 a; rm -r sub"
    )
    sandbox.run("cd /desk; mkdir -m 1777 sub; echo x >$'\\xff'; touch -d 2001-02-03 x/1 x; chmod 4755 a")
    for number in range(30):
        sandbox.run(f"echo {number} >/root/n; touch -d 2002-01-{number + 1:02} /root/n /root")
        before = sandbox.run(look).output
        token = sandbox.snapshot()
        assert sandbox.run(look).output == before
    sandbox.restore(token)
    assert sandbox.run(look).output == before


def test_folders_in_folders_without_end_poison_nothing(sandbox: Sandbox) -> None:
    for depth in some((1500, 4000), 2):
        sandbox.run(f'perl -e \'for (1..{depth}) {{ mkdir "ab"; chdir "ab" }}\'', cwd="/desk")
        assert len(sandbox.diff()) >= 1000
        for number in range(25):
            sandbox.run(f"echo {number} >/desk/n")
            sandbox.snapshot()
        assert len(sandbox.tree("/desk")) > 1000
        sandbox.reset()
        assert sandbox.diff() == ()


@pytest.mark.slow
@pytest.mark.timeout(400)  # hundreds of states, on a loaded machine too
def test_a_state_on_too_many_others_is_an_error_that_harms_nothing(sandbox: Sandbox) -> None:
    first = sandbox.snapshot()
    # Too deep to be merged, so every state is one more layer. Their names must fit into a page of memory.
    sandbox.run('perl -e \'for (1..3000) { mkdir "ab"; chdir "ab" }\'', cwd="/desk")
    kept = []

    def stack_many() -> None:
        for number in range(1000):
            sandbox.run(["touch", f"/desk/{number}"])
            kept.append(sandbox.snapshot())

    with pytest.raises(SandboxError, match=r"on top of \d+ others"):
        stack_many()
    last = len(kept)
    assert sandbox.run(f"ls /desk/{last}; echo more >/desk/more; cat /desk/more").output == f"/desk/{last}\nmore\n"
    with pytest.raises(SandboxError, match=r"on top of \d+ others"):
        sandbox.snapshot()
    sandbox.restore(kept[100])
    assert sandbox.run("cd /desk; ls 100; ls 101 || echo none").output.splitlines()[::2] == ["100", "none"]
    sandbox.restore(first)
    assert sandbox.diff() == ()


def test_a_state_ends_background_jobs_and_is_dropped_with_its_last_holder() -> None:
    with open_sandbox(limits=SandboxLimits(disk_mb=8)) as small:
        assert small.run("sleep 100 & sleep 100 &").background == 2
        assert [small.snapshot().ended for _ in range(2)] == [2, 0]
        kept = []
        printed: list[str] = []

        def make_state() -> FrozenState:
            small.reset()
            printed.append(small.run("head -c 7000000 /dev/zero >/root/x").output)
            return small.snapshot()

        for _ in range(12):  # kept, they would be more than the limit on kept states
            make_state()
        assert not any(printed)
        kept.extend(make_state() for _ in range(12))
        assert "No space left on device" in printed[-1]
        assert small.run("echo small >/root/small; cat /root/small").output == "small\n"
        kept.clear()
        small.reset()
        assert small.snapshot().ended == 0


def test_a_fork_is_taken_over_or_changes_nothing_and_forks_of_one_state_run_beside_each_other(sandbox: Sandbox) -> None:
    with sandbox.fork() as child:
        child.run("rm -rf /desk /etc /root 2>/dev/null")
        assert child.run("ls /desk").exit_code != 0
        child.reset()
        assert child.diff() == ()
    assert sandbox.diff() == ()
    with sandbox.fork() as child:
        child.run("echo $RANDOM$RANDOM$RANDOM >/desk/random")
        drawn = child.run("cat /desk/random").output
        sandbox.commit(child)
    assert sandbox.run("cat /desk/random").output == drawn
    assert [(change.path, change.kind) for change in sandbox.diff()] == [("/desk/random", "added")]
    with sandbox.fork() as child, child.fork() as grandchild:
        grandchild.run("echo deep >/desk/deep")
        state = grandchild.snapshot()
        for each in (child, sandbox):
            each.restore(state)
            assert each.run("cat /desk/deep").output == "deep\n"
        assert grandchild.start is not state
    sandbox.reset()
    state, meet = sandbox.snapshot(), threading.Barrier(4)

    def try_out(number: int) -> tuple[list[str], list[str]]:
        with sandbox.fork(state) as child:
            meet.wait(20)
            script = f"echo {number} >/desk/{number}; sleep 0.2; ls /desk | grep '^[0-9]'; echo /proc/[0-9]*"
            return child.run(script).output.split(), [change.path for change in child.diff()]

    with ThreadPoolExecutor(4) as threads:
        for number, (printed, paths) in enumerate(threads.map(try_out, range(4))):
            assert (printed[0], len(printed), paths) == (str(number), 3, [f"/desk/{number}"])  # process 1 and the shell
    assert sandbox.diff() == ()


def test_a_state_of_another_sandbox_is_refused_and_a_closed_one_says_so(sandbox: Sandbox) -> None:
    other = open_sandbox(setup=SETUP)
    for attempt in (sandbox.restore, sandbox.fork, sandbox.diff):
        with pytest.raises(SandboxError, match="expected a state of this sandbox"):
            attempt(other.start)
    with pytest.raises(SandboxError, match="expected a fork of this sandbox"):
        sandbox.commit(other)
    child = other.fork()
    other.close()
    other.close()
    for each in (other, child):
        with pytest.raises(SandboxError, match="open another one"):
            each.run("true")
    child.close()


def test_files_are_read_and_written_whole(sandbox: Sandbox) -> None:
    for path, content in (("/desk/new/folder/a b'c", bytes(range(256)) * 1000), ("/desk/a", b"")):
        sandbox.write(path, content)
        assert sandbox.read(path) == content
    assert sandbox.read("/desk/sub/b") == b"two\n"
    for path in ("/none", "/desk"):
        with pytest.raises(FileNotFoundError, match=path):
            sandbox.read(path)
    with pytest.raises(OSError, match="/usr/x"):
        sandbox.write("/usr/x", b"x")


def test_a_setup_is_made_once_and_never_shared_for_writing_and_its_faults_are_told(tmp_path: Path) -> None:
    setup = ["cat /proc/sys/kernel/random/uuid >/id"]
    with open_sandbox(setup=setup) as one, open_sandbox(setup=setup) as other:
        assert one.read("/id") == other.read("/id")
        one.run("echo mine >/id")
        assert one.read("/id") != other.read("/id")
    with open_sandbox(setup=[*setup, "true"]) as third:
        assert len(third.read("/id")) == 37
    with pytest.raises(SandboxError, match="end within its limits"):
        open_sandbox(setup=["yes"])
    with pytest.raises(FileNotFoundError, match="tar file or a folder"):
        open_sandbox(setup=tmp_path / "none.tar")
    with pytest.raises(ValueError, match=r"got 'jail'; known: embedded, docker"):
        open_sandbox("jail")


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz", "folder"])
def test_a_start_state_comes_from_a_tar_or_a_folder(tmp_path: Path, mode: str) -> None:
    tree = source = tmp_path / "tree"
    (tree / "testbed/empty").mkdir(parents=True)
    (tree / "testbed/run.sh").write_text("echo ran")
    (tree / "testbed/run.sh").chmod(0o750)
    (tree / "testbed/link").symlink_to("run.sh")
    if mode != "folder":
        source = tmp_path / "tree.tar"
        with tarfile.open(source, mode) as tar:  # type: ignore[call-overload]
            tar.add(tree / "testbed", "testbed")
    with open_sandbox(setup=source) as sandbox:
        listed = sandbox.run("/testbed/link; stat -c %a /testbed/run.sh; ls /testbed").output
        assert listed == "ran\n750\nempty\nlink\nrun.sh\n"
        assert sandbox.diff() == ()


def test_a_tar_can_not_reach_out_of_the_sandbox(tmp_path: Path) -> None:
    source, target = tmp_path / "evil.tar", tmp_path / "out"
    with tarfile.open(source, "w") as tar:
        for name in (f"../../../../../..{target}", "usr/bin/evil", "proc/sys/kernel/core_pattern"):
            member = tarfile.TarInfo(name)
            member.size = 4
            tar.addfile(member, io.BytesIO(b"evil"))
    with pytest.raises(SandboxError, match="to unpack"):
        open_sandbox(setup=source)
    assert not target.exists()
    assert not Path("/usr/bin/evil").exists()


FORBIDDEN = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
uid = os.getuid()
assert libc.unshare(0x10000000) == 0
open("/proc/self/uid_map", "w").write(f"0 {uid} 1")
open("/proc/sys/user/max_user_namespaces", "w").write("0")
from iad_envs.bash.sandbox import SandboxUnavailable, open_sandbox
try:
    open_sandbox().run("touch " + sys.argv[1])
except SandboxUnavailable as error:
    print(error)
"""


def test_where_the_kernel_forbids_it_nothing_is_run_and_the_way_out_is_told(tmp_path: Path) -> None:
    target = tmp_path / "escaped"
    command = [sys.executable, "-c", FORBIDDEN, str(target)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    for part in ("expected to isolate commands with Linux namespaces", "max_user_namespaces", "open_sandbox('docker')"):
        assert part in told.stdout
    assert not target.exists()
    with pytest.raises(SandboxUnavailable, match="expected to isolate commands"):
        open_sandbox(launch=["/bin/false"])
