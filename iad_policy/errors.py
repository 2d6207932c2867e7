"""Errors of the policy side.

IADError
├── BudgetExhausted    thrown into a strategy at its yield; a strategy answers with its incumbent
├── Interrupted        the run was told to stop; nothing is lost, the same command goes on
├── GoldError          something that is no oracle verifier reached for gold
├── SimulationError    an environment can't be simulated, or not through the wrappers around it
├── ContractError      an agent, a verifier or a strategy did what its contract does not allow
├── ReplayError        a recorded run does not fit the environment it is replayed in
├── StorageError       what was done can't be kept: the disk is full, say
├── UnknownName        no such strategy, agent, verifier ...; the message lists the known ones
├── EngineError        an engine can't run episodes, or not these
├── MissingExtra       a package is not installed; the message has the command that installs it
└── ModelError         a language model could not answer; `kind` says why
"""

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from subprocess import list2cmdline
from typing import Any


class IADError(Exception):
    """Base of every error that `iad_policy` raises on purpose; each can be sent to another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[IADError], args: tuple[Any, ...], attributes: dict[str, Any]) -> IADError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class BudgetExhausted(IADError):
    """The budget does not cover what was asked.

    Attributes:
        axis: The limit that was met, such as `"decision.proposals"`.
    """

    def __init__(self, axis: str) -> None:
        super().__init__(f"the budget {axis} is spent; raise its limit or commit what there is")
        self.axis = axis


class Interrupted(IADError):
    """The run was told to stop, so nothing more is asked."""

    def __init__(self) -> None:
        super().__init__("the run was told to stop; give the same command to go on")


class GoldError(IADError, KeyError):
    """Gold (the answer, the score) was asked for by something that is not labelled `oracle`."""

    def __str__(self) -> str:
        return str(self.args[0])


class SimulationError(IADError):
    """The environment can't be simulated as asked."""


class ContractError(IADError):
    """An agent, a verifier or a strategy did what its contract does not allow."""

    kind = "contract"


class ReplayError(IADError):
    """The environment answers a recorded action differently from the record."""


class StorageError(IADError, OSError):
    """A file of a run can't be written; what it held before is still there."""

    def __init__(self, path: Path, cause: OSError) -> None:
        super().__init__(
            f"expected to write {path}, got: {cause.strerror or cause}; what was kept before is not lost. Make room, "
            "and give the same command to go on"
        )


class UnknownName(IADError, ValueError):
    """A name that is in no table; the message offers the nearest ones."""

    def __init__(self, kind: str, given: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = _near(given, names) or _near(given.partition(":")[0], names)
        hint = f" (near: {', '.join(near)})" if near else ""
        super().__init__(f"expected a known {kind}, got {given!r}{hint}; known: {', '.join(names) or 'none'}")


def _near(given: str, names: list[str]) -> list[str]:
    """Return the names that are most like what was given, whatever its capitals."""
    lowered = {name.lower(): name for name in names}
    return [lowered[name] for name in get_close_matches(given.lower(), lowered, n=3)]


class MissingExtra(IADError, ImportError):
    """A package that only some users need is not installed.

    Args:
        package: Its name.
        extra: The extra of this project that has it; none where the package is installed by its own name.
    """

    def __init__(self, package: str, extra: str = "") -> None:
        command = f"pip install -e '.[{extra}]'" if extra else install_command(package)
        super().__init__(f"expected the package {package!r}, which is not installed; {command}")


def install_command(package: str) -> str:
    """Return what installs a package for this interpreter: a bare `pip` may be another one's."""
    return list2cmdline([sys.executable, "-m", "pip", "install", package])


class ModelError(IADError):
    """A language model could not answer: an infrastructure failure, never a wrong answer.

    Attributes:
        kind: One of `rate_limit timeout connection server auth not_found context malformed refusal other`.
    """

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind
