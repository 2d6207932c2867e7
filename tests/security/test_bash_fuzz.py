"""Random commands, many of them hostile, leave the host as it was and the sandbox alive."""

import hashlib
import random
from pathlib import Path

from hypothesis import settings

from iad_envs.bash.sandbox import SandboxLimits
from tests.security.bash_sandboxes import mounts, sandbox_of

PLACES = ("/", "/etc", "/usr", "/proc", "/proc/1", "/proc/self/fd", "/dev", "/tmp", "/root", "..", ".", "/own",
          "{host}", "/proc/1/root{host}", "$(readlink /proc/1/cwd)", "/proc/sys/kernel", "/dev/fd", "~", "''",
          "-", "'*'")  # fmt: skip
VERBS = (
    "rm -rf {0}",
    "mv {0} {1}",
    "cp -r {0} {1} 2>&1 | head -c 1000",
    "chmod -R 000 {0}",
    "chown -R 7:7 {0}",
    "ln -sfn {0} {1}",
    "find {0} -delete",
    "echo x >{0}/f",
    "cat {0}/* {1} | head -c 1000",
    "cd {0} && touch f && ls | head",
    "tar cf {0}/t.tar {1} --exclude=proc",
    "mkdir -p {0}/{1}",
    "mount --bind {0} {1}",
    "umount -l {0}",
    "chroot {0} ls",
    "setsid sleep 9 & disown",
    "kill -9 -1",
    "kill -STOP 1",
    "exec 3<>{0}; echo x >&3",
    "trap '' TERM INT; cd {0}; sleep 9",
    "bash -c 'f() {{ f | f & }}; f' >/dev/null 2>&1",
    "yes {0} | head -c 3000000",
    "head -c 20000000 /dev/zero >{0}/z",
    "for i in $(seq 300); do mkdir {0}/d$i; done",
    "perl -e '$x = \"x\" x (300 << 20)'",
    "ulimit -u unlimited",
    "exit {2}",
    "mkfifo {0}/p; echo x >{0}/p",
    "truncate -s 1T {0}/s",
    "dd if={0} of={1} bs=1M count=9",
    "unset PATH; ls {0}",
    "( ) {0}",
    'perl -e \'symlink "a" x 4000, "{0}/l"; mkdir "b" x 255\'',
    "printf '\\xff\\x00\\n{0}'",
    "echo {2} >/proc/self/oom_score_adj",
)


def fingerprint(folder: Path) -> str:
    """Names, modes, times and contents of a tree."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        digest.update(f"{path} {found.st_mode} {found.st_uid} {found.st_size} {found.st_mtime_ns} ".encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def test_random_commands_stay_inside(user: str, tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"d{number}").mkdir(mode=0o777)
        (tmp_path / f"d{number}/sentinel").write_text(str(number))
    tmp_path.chmod(0o777)
    before = fingerprint(tmp_path), mounts(), sorted(Path("/dev").iterdir()), Path("/etc/passwd").read_bytes()
    draw = random.Random(user)  # other commands for each user
    limits = SandboxLimits(processes=32, memory_mb=128, disk_mb=8, inodes=1000, time_s=0.3)
    places = [place.format(host=tmp_path) for place in PLACES]
    with sandbox_of(user, setup=["mkdir /desk; echo kept >/desk/kept"], limits=limits) as sandbox:
        for round_number in range(settings.default.max_examples // 2):
            with sandbox.fork(sandbox.start) as child:
                for _ in range(5):
                    command = draw.choice(VERBS).format(draw.choice(places), draw.choice(places), draw.randrange(300))
                    child.run(command, cwd=draw.choice(["/", "/root", "/desk", "/tmp"]))
                    child.diff(timeout_s=20)  # the short limit is for the commands
                sandbox.restore(child.snapshot() if round_number % 3 else sandbox.start)
            sandbox.run("true")
            sandbox.reset()
            assert sandbox.run("cat /desk/kept", timeout_s=20).output == "kept\n"
            assert sandbox.diff() == ()
    assert (fingerprint(tmp_path), mounts(), sorted(Path("/dev").iterdir()), Path("/etc/passwd").read_bytes()) == before
