"""Resolves the names of strategies, agents and verifiers: a registered name, or `module:object` for your own code.

Registered names come first, then those of installed packages: the entry points of the groups `iad.agents`,
`iad.verifiers` and `iad.strategies`, each a name for a `module:object`. Any other name of the form `module:object` is
imported, if need be from the working folder. A class is called with the environment and the options to make an agent or
a verifier. Everything else (a strategy, an object, a function) is used directly. An environment is named `module:Id`,
as for `gym.make`: importing the module registers the id. Names from a run folder import nothing: see `importing_only`.
"""

import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from iad_policy.errors import NotAllowed, UnknownName

OWN = "module:object"
_allowed: ContextVar[Collection[str] | None] = ContextVar("allowed", default=None)


@contextmanager
def importing_only(allowed: Collection[str]) -> Iterator[None]:
    """Import no modules for names in the block but for these, which the user gave; what is registered is found anyway.

    Other names there are from a folder, which may be somebody else's: their modules would run code of that person's
    choice. A name for which one would have to be imported raises `NotAllowed`.
    """
    before = _allowed.set(allowed)
    try:
        yield
    finally:
        _allowed.reset(before)


def load_object(path: str) -> Any:
    """Return the object that a "module:object" path of a table or a domain refers to.

    Raises:
        UnknownName: The module has no such object.
        ImportError: There is no such module, or it can't be imported.
    """
    module, name = path.split(":")
    found = import_module(module)
    if not hasattr(found, name):
        raise UnknownName(f"object in {module}", name, _public(found))
    return getattr(found, name)


@cache
def installed(table: str) -> Mapping[str, str]:
    """Return what installed packages add to a table (agents, verifiers, strategies): name -> "module:object"."""
    return {entry.name: entry.value for entry in entry_points(group=f"iad.{table}")}


def load_own(
    kind: str, name: str, known: Iterable[str], table: str = "", *, fits: Callable[[Any], bool] = lambda own: True
) -> Any:
    """Import the object that an unregistered name refers to.

    Args:
        kind: Kind of the object for the error text, such as a strategy or an agent.
        name: The given name.
        known: The registered names, for the error text.
        table: The table that installed packages may add the name to.
        fits: Whether an object of the module may be one of the kind, for the error text.

    Raises:
        UnknownName: The name does not have the form `module:object`, or there is no such module or object.
        ImportError: The module exists but can't be imported.
    """
    of_package = installed(table).get(name, "") if table else ""
    if table:
        name, known = of_package or name, [*known, *installed(table)]
    module, _, attribute = name.partition(":")
    if not attribute.isidentifier():
        raise UnknownName(f"{kind} or {OWN}", name, known)
    found = import_named(f"{kind} or {OWN}", name, module, known, is_given=not of_package)
    if not hasattr(found, attribute):
        raise UnknownName(f"{kind.partition(',')[0]} in {found.__file__ or module}", attribute, _public(found, fits))
    return getattr(found, attribute)


def _public(module: ModuleType, fits: Callable[[Any], bool] = lambda own: True) -> list[str]:
    return [name for name, own in vars(module).items() if not name.startswith("_") and fits(own)]


def import_named(kind: str, name: str, module: str, known: Iterable[str], *, is_given: bool = True) -> ModuleType:
    """Return the module that a name begins with; `is_given` says that no installed package has that name.

    Raises:
        UnknownName: There is no such module.
        NotAllowed: The name is not the user's.
        ImportError: The module exists but can't be imported.
    """
    allowed = _allowed.get()
    if is_given and allowed is not None and name not in allowed:
        raise NotAllowed(name)
    if not all(part.isidentifier() for part in module.split(".")):
        raise UnknownName(kind, name, known)
    try:
        return _imported(module)
    except Exception as error:  # the user's module may raise anything
        if _is_missing(error, module):
            where = f"there is no module {error.name!r} in this folder or on Python's path"
            raise UnknownName(f"{kind} ({where})", name, known) from None
        raise ImportError(
            f"expected to import {module} for {name}, got {type(error).__name__}: {error}; fix the module"
        ) from error


def _imported(module: str) -> ModuleType:
    """Import a module. If there is none on the path, it is looked for in the working folder.

    That folder may be somebody else's, so nothing but what was named is taken from it. Once it has a module that was
    named, it stays at the end of the path: such a module may import others later.
    """
    here = str(Path.cwd())
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if here in sys.path or not _is_missing(error, module):
            raise
    sys.path.append(here)
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if _is_missing(error, module):
            sys.path.remove(here)
        raise


def _is_missing(error: Exception, module: str) -> TypeGuard[ModuleNotFoundError]:
    """Say whether an error is that there is no such module, or no package that it is in."""
    return isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}.")


def instantiate(kind: str, name: str, own: Any, *given: Any, **options: Any) -> Any:
    """Call a user's class and return the instance; return any other object unchanged.

    Raises:
        TypeError: The class does not accept the arguments, or there are options for an object that is not a class.
    """
    if not inspect.isclass(own):
        if options:
            raise TypeError(
                f"expected a class for a {kind} with options, got {name}, a {type(own).__name__}, and "
                f"{', '.join(options)}; write a class that takes them"
            )
        return own
    try:
        inspect.signature(own).bind(*given, **options)
    except TypeError as error:
        asked = ", ".join(["env", *(f"{option}=" for option in options)])
        raise TypeError(
            f"expected {name} to be called with ({asked}), got a class that can't ({error}); give it __init__(self, "
            f"{', '.join(['env', *options])})"
        ) from None
    return own(*given, **options)


def with_defaults(component: Any, protocol: type) -> Any:
    """Return a component after setting each member that it lacks to the protocol's default.

    Raises:
        TypeError: Attributes can't be set on the component.
    """
    for name in protocol.__annotations__:
        if not hasattr(component, name):
            try:
                setattr(component, name, getattr(protocol, name))
            except (AttributeError, TypeError):
                raise TypeError(
                    f"expected a component with {name}, or one that allows setting it, got {type(component).__name__}; "
                    f"declare {name} = {getattr(protocol, name)!r} in its class"
                ) from None
    return component
