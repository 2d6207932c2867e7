"""System requirements of environments, in addition to the base install. Each file defines one, with a check.

An environment's class lists its requirements: `NEEDS` are mandatory, `OPTIONS` are needed only for some arguments.
`iad doctor` checks all of them, so a new requirement is just an object in a new file.
"""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class Missing(Exception):
    """A requirement is missing or unusable.

    Args:
        install: How to install it. Keys are package managers (`apt-get`, `dnf`, `pacman`, `zypper`, `brew`,
            `brew --cask`) or the id of a Linux distribution (`ubuntu`) with other package names. The entry for this
            machine is used. Further keys: `extra` for extras of this project, `package` for other pip packages, `root`
            for a command to run as root, `command` for any other command.
        reason: Short description of the problem. Empty if the requirement is just not installed.
    """

    def __init__(self, install: Mapping[str, str], reason: str = "") -> None:
        super().__init__(reason)
        self.install = install


class Requirement(NamedTuple):
    """A system requirement of an environment.

    Attributes:
        name: Short name.
        check: Tries the requirement in the way environments use it, with a time limit in seconds. Returns a short
            description. Raises `Missing`, `TimeoutError`, or another error if it is installed but does not work.
        use: Purpose of an optional requirement.
    """

    name: str
    check: Callable[[float], str]
    use: str = ""


def first_line(command: Sequence[str], limit_s: float) -> str:
    """Run a program and return its first line of output.

    Raises:
        TimeoutError: The program does not end in time.
        RuntimeError: The program can't be run, or fails.
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
