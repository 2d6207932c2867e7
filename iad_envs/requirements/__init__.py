"""What environments need beside Python packages of the base install: one file a part, each with a look that tries it.

An environment's class names its parts: `NEEDS` for those that it can't do without, `OPTIONS` for those that only some
of its arguments ask for. `iad doctor` shows whatever they name, so a new part is an object in a file of its own.
"""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class Missing(Exception):
    """A part is not there, or not as it has to be.

    Args:
        install: What gives it. The keys are package managers (`apt-get`, `dnf`, `pacman`, `zypper`, `brew`,
            `brew --cask`), or the id of a Linux distribution (`ubuntu`) where it names packages in its own way; the
            packages of this machine's are taken. Beside those: `extra`, extras of this project; `package`, other
            packages for pip; `root`, a command for the superuser; `command`, any other.
        said: What is wrong, in a few words; nothing where it just isn't there.
    """

    def __init__(self, install: Mapping[str, str], said: str = "") -> None:
        super().__init__(said)
        self.install = install


class Requirement(NamedTuple):
    """Something that an environment needs.

    Attributes:
        name: In a few letters.
        look: Tries it within some seconds, the way environments use it, and returns what was found, in a few words;
            raises `Missing`, `TimeoutError`, or any other error for one that is there and does not work.
        use: What an optional one is for.
    """

    name: str
    look: Callable[[float], str]
    use: str = ""


def first_line(command: Sequence[str], limit_s: float) -> str:
    """Return the first line that a program prints.

    Raises:
        TimeoutError: It does not run to its end in time.
        RuntimeError: It can't be run, or fails.
    """
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{command[0]} does not answer within {limit_s:g} s") from None
    except OSError as error:
        raise RuntimeError(f"{command[0]} can't be run: {error.strerror}") from error
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    if done.returncode:
        raise RuntimeError(f"{command[0]} fails with status {done.returncode}: {lines[-1] if lines else ''}")
    return lines[0] if lines else ""
