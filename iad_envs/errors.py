"""Errors of the environments. An invalid action never raises: it is answered by an observation."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches


class GuardError(RuntimeError):
    """An agent or a verifier used the real environment or its gold while a policy was deciding."""

    breaks_contract = True


class Unavailable(RuntimeError):
    """This machine lacks a requirement of an environment. The error text says how to fix it."""

    is_missing = True


class Lost(RuntimeError):
    """What an environment runs in has ended, such as a sandbox. The next `reset` makes another one."""

    is_lost = True


class UnknownTask(ValueError):
    """The environment has no such task id, split or option. The message offers the nearest names."""

    def __init__(self, kind: str, given: object, known: Iterable[object]) -> None:
        names = [str(name) for name in known]
        near = get_close_matches(str(given), names, n=3)
        hint = f" (near: {', '.join(near)})" if near else ""
        shown = ", ".join(names[:20]) + (f" ... ({len(names)} in all)" if len(names) > 20 else "")
        super().__init__(f"expected a known {kind}, got {given!r}{hint}; known: {shown}")


class DataNotFound(FileNotFoundError):
    """A data folder or file was not found."""


def require_known(argument: str, given: object, known: Sequence[object] | Mapping[str, object]) -> None:
    """Refuse an argument value that is not among the known ones."""
    if given not in known:
        raise UnknownTask(argument, given, known)
