"""Random commands, many of them hostile, leave the host as it was and the sandbox alive."""

import hashlib
import random
from pathlib import Path

from hypothesis import settings

from iad_envs.bash.sandbox import SandboxLimits
from tests.security.attacks import SHELL
from tests.security.bash_sandboxes import mounts, sandbox_of


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
    places = [place.replace("{host}", str(tmp_path)) for place in SHELL["places"]]
    with sandbox_of(user, setup=["mkdir /desk; echo kept >/desk/kept"], limits=limits) as sandbox:
        for round_number in range(settings.default.max_examples // 2):
            with sandbox.fork(sandbox.start) as child:
                for _ in range(5):
                    command = draw.choice(SHELL["on_places"])
                    for blank, word in enumerate((draw.choice(places), draw.choice(places), draw.randrange(300))):
                        command = command.replace(f"{{{blank}}}", str(word))
                    child.run(command, cwd=draw.choice(["/", "/root", "/desk", "/tmp"]))
                    child.diff(timeout_s=20)  # the short limit is for the commands
                sandbox.restore(child.snapshot() if round_number % 3 else sandbox.start)
            sandbox.run("true")
            sandbox.reset()
            assert sandbox.run("cat /desk/kept", timeout_s=20).output == "kept\n"
            assert sandbox.diff() == ()
    assert (fingerprint(tmp_path), mounts(), sorted(Path("/dev").iterdir()), Path("/etc/passwd").read_bytes()) == before
