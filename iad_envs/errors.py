"""Errors of the environments. A bad action is never one of them: it is an observation."""

from collections.abc import Iterable


class GuardError(RuntimeError):
    """An agent or a verifier touched the real environment, or its gold, while a policy was deciding."""

    breaks_contract = True


class Unavailable(RuntimeError):
    """This machine lacks what an environment needs; the message says what to do."""

    is_missing = True


class UnknownTask(ValueError):
    """A task id, split or option that the environment does not have."""

    def __init__(self, kind: str, given: object, known: Iterable[object]) -> None:
        names = [str(name) for name in known]
        shown = ", ".join(names[:20]) + (f" ... ({len(names)} in all)" if len(names) > 20 else "")
        super().__init__(f"expected a known {kind}, got {given!r}; known: {shown}")


class DataNotFound(FileNotFoundError):
    """A data folder is not where it was looked for."""
