"""Defines the errors of `iad_policy`.

IADError
├── BudgetExhausted    raised inside a strategy at its yield; the strategy should commit its incumbent
├── Interrupted        the run was asked to stop; nothing is lost, and the same command resumes it
├── GoldError          a component that is not labelled `oracle` read gold
├── SimulationError    an environment can't be simulated, or not through its wrappers
├── ContractError      an agent, a verifier or a strategy broke its contract
│   ├── ActionTypeError    what an agent returned can't be an action
│   └── ReadOnlyError      what all agents and verifiers are given was about to be changed
├── ReplayError        a recorded run does not match the environment it is replayed in
├── RunFolderError     a folder can't hold the run: it holds another one, or is in use
├── StorageError       a result can't be written, for example because the disk is full
├── UnknownName        no such strategy, agent, verifier ...; the message lists the known ones
├── NotAllowed         a run folder names what could run somebody else's code
├── DomainError        an environment names a domain that can't be loaded
├── EngineError        an engine can't run these episodes
├── MissingExtra       a package is not installed; the message has the command that installs it
└── ModelError         a language model could not answer; `kind` says why
"""

import errno
import shlex
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from subprocess import list2cmdline
from typing import Any

CHECKOUT = Path(__file__).parents[1]


class IADError(Exception):
    """Base of every error that `iad_policy` raises on purpose. Every such error can be pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[IADError], args: tuple[Any, ...], attributes: dict[str, Any]) -> IADError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class BudgetExhausted(IADError):
    """The budget does not cover the request.

    Attributes:
        axis: Name of the limit that was reached, such as `"decision.proposals"`.
    """

    def __init__(self, axis: str) -> None:
        super().__init__(f"the budget {axis} is spent; raise its limit or commit what there is")
        self.axis = axis


class Interrupted(IADError):
    """The run was asked to stop, so no more requests are made."""

    def __init__(self) -> None:
        super().__init__("the run was asked to stop; repeat the command to continue")


class GoldError(IADError, KeyError):
    """A component that is not labelled `oracle` read gold (the answer or the score)."""

    def __str__(self) -> str:
        return str(self.args[0])


class SimulationError(IADError):
    """The environment can't be simulated in this way."""


class ContractError(IADError):
    """An agent, a verifier or a strategy broke its contract."""

    kind = "contract"


class ActionTypeError(ContractError, TypeError):
    """An agent's first answer in an episode is of a type that no action of the environment has."""


class ReadOnlyError(ContractError, TypeError):
    """An agent or a verifier tried to change what it was given, which others are given too."""


class ReplayError(IADError):
    """The environment answers a recorded action differently from the record."""


class RunFolderError(IADError, ValueError):
    """A folder can't hold the run, because it holds another one or is in use."""


class StorageError(IADError, OSError):
    """A file of a run can't be written. Its previous content is kept."""

    def __init__(self, path: Path, cause: OSError) -> None:
        is_closed = cause.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
        super().__init__(
            f"expected to write {path}, got: {cause.strerror or cause}; earlier results are kept. "
            f"{'Make the folder writable' if is_closed else 'Free some space'}, then repeat the command to continue"
        )


class UnknownName(IADError, ValueError):
    """A name that is not registered. The message offers the nearest registered names."""

    def __init__(self, kind: str, given: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = _near(given, names) or _near(given.partition(":")[0], names)
        hint = f" (near: {', '.join(near)})" if near else ""
        super().__init__(f"expected a known {kind}, got {given!r}{hint}; known: {', '.join(names) or 'none'}")


def _near(given: str, names: list[str]) -> list[str]:
    """Return the names that are most similar to the given one, ignoring case."""
    lowered = {name.lower(): name for name in names}
    return [lowered[name] for name in get_close_matches(given.lower(), lowered, n=3)]


class NotAllowed(IADError, ValueError):
    """A run folder names what would run code, or lies elsewhere, and the user has not named it."""

    def __init__(self, given: str) -> None:
        super().__init__(
            f"expected a run folder that names only what iad or an installed package has, got {given}, which can run "
            f"code that its sender chose; if it is yours, or you trust it, pass --allow {shlex.quote(given)}"
        )


class NoProxyVerifier(IADError, ValueError):
    """An environment has no proxy verifier. The message says what to name in its place."""

    def __init__(self, env: str) -> None:
        super().__init__(
            f"expected a verifier for {env}, which has no proxy verifier, got none; write one and pass --verifier "
            "module:Class (docs/add-a-verifier.md), or pass --verifier judge:<model>, or oracle for a diagnosis. "
            "Strategies that ask no verifier, such as single and bon-sc, run with --verifier none"
        )


class NoAgent(IADError, ValueError):
    """No agent was named for an environment that has none of its own. The message says which to name.

    Args:
        env: The environment's id.
        advised: Language models that can play it.
        time: How long one of them takes; "" if that is not known.
    """

    def __init__(self, env: str, advised: str, time: str = "") -> None:
        super().__init__(
            f"expected an agent for {env}, which has none of its own, got none; name one: {or_solution(advised)}"
            f"{time and f' ({time})'}"
        )


def or_solution(advised: str) -> str:
    """Return what to name as an agent: language models, and the one that needs none."""
    return f"{advised}, or, to try things out, solution:0.4, which knows the answers and errs at that rate"


class GoneAgent(IADError, ValueError):
    """An agent of an earlier version was named. The message says what replaces it.

    Args:
        name: The agent's name.
        instead: What to name in its place.
        folder: The folder of a run with it, which was to go on; None for no such run.
    """

    def __init__(self, name: str, instead: str, folder: Path | None = None) -> None:
        expected = "an agent of this version" if folder is None else f"a run in {folder} that can go on"
        has = name if folder is None else f"one of the agent {name}"
        where = "" if folder is None else ", for a new run in another folder"
        super().__init__(f"expected {expected}, got {has}, which is gone; name another{where}: {instead}")


class NoFeatures(IADError, ValueError):
    """An environment has no features of its actions. The message says what to train there, or where they are declared.

    Args:
        env: The environment's id.
        known: The environments that have features.
        is_for_models: Whether only a language model can play it.
    """

    def __init__(self, env: str, known: Iterable[str], *, is_for_models: bool = False) -> None:
        super().__init__(
            f"expected a language model to train for {env}, which has no features for a policy without one; pass "
            "--backend hf:<model>"
            if is_for_models
            else f"expected an environment with features, by which a policy without a language model sees actions, got "
            f"{env}, whose class declares none; write them (iad_policy.trained.features.Features) and name them in the "
            "Domain that its class names, features=module:Class (docs/add-an-environment.md), or train a language "
            f"model: --backend hf:<model>. With features: {', '.join(sorted(known)) or 'none'}"
        )


class DomainError(IADError):
    """An environment names a domain that can't be loaded."""

    def __init__(self, env: str, domain: Any, why: str) -> None:
        super().__init__(
            f"expected {env} to name its domain by domain = 'module:DOMAIN', got {domain!r}, which can't be loaded: "
            f"{why}; mend it, or leave it out for the defaults"
        )


class MissingExtra(IADError, ImportError):
    """A package that only some users need is not installed.

    Args:
        package: Name of the package.
        extra: This project's extra that contains it; "" if the package is installed by its own name.
    """

    def __init__(self, package: str, extra: str = "") -> None:
        command = extra_command(extra) if extra else install_command(package)
        super().__init__(f"expected the package {package!r}, which is not installed; {command}")


def install_command(package: str) -> str:
    """Return the command that installs a package for this interpreter. A bare `pip` may belong to another one."""
    return list2cmdline([sys.executable, "-m", "pip", "install", package])


def extra_command(extra: str, checkout: Path = CHECKOUT) -> str:
    """Return the command that installs an extra of this project for this interpreter, from any folder.

    Args:
        extra: The name of the extra.
        checkout: The project's folder. Where the packages are not in it, the command names it by a placeholder.
    """
    place = str(checkout) if (checkout / "pyproject.toml").is_file() else "path/to/iad"
    return f'{sys.executable} -m pip install -e "{place}[{extra}]"'


class ModelError(IADError):
    """A language model could not answer. This is an infrastructure failure, never a wrong answer.

    Attributes:
        kind: Kind of failure: one of `rate_limit timeout connection server auth not_found context malformed refusal
            other`.
    """

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind
