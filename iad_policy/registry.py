"""What a name stands for: a line of a table, or `module:object` for what is yours.

Strategies, agents and verifiers share one rule: a name of their table comes first; any other of the form
`module:object` is imported. A class is called to make an agent or a verifier, with the environment and its options;
everything else is taken as it is: a strategy, an object, a function that acts. An environment is `module:Id`, as
`gym.make` has it: the module is imported, and registers the id.
"""

import inspect
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from iad_policy.errors import UnknownName
from iad_policy.hashing import digest

OWN = "module:object"
OURS = ("iad_policy", "iad_envs", "webshop_server")


def load_object(path: str) -> Any:
    """Return what a "module:object" path of one of our tables names."""
    module, name = path.split(":")
    return getattr(import_module(module), name)


def load_own(kind: str, name: str, known: Iterable[str]) -> Any:
    """Return what a name in no table stands for: the object in the module that it names.

    Args:
        kind: What is looked for, in the error: a strategy, an agent ...
        name: As it was given.
        known: The names of the table, for the error.

    Raises:
        UnknownName: It has not the form `module:object`, or there is no such module or object.
        ImportError: The module is there, but can't be imported.
    """
    module, _, attribute = name.partition(":")
    if not attribute.isidentifier():
        raise UnknownName(f"{kind} or {OWN}", name, known)
    found = import_named(f"{kind} or {OWN}", name, module, known)
    if not hasattr(found, attribute):
        theirs = [one for one in vars(found) if not one.startswith("_")]
        raise UnknownName(f"{kind} in {found.__file__ or module}", attribute, theirs)
    return getattr(found, attribute)


def import_named(kind: str, name: str, module: str, known: Iterable[str]) -> ModuleType:
    """Return the module that a name begins with.

    Raises:
        UnknownName: There is no such module.
        ImportError: It is there, but can't be imported.
    """
    if not all(part.isidentifier() for part in module.split(".")):
        raise UnknownName(kind, name, known)
    try:
        return import_module(module)
    except Exception as error:  # whatever is in a file of the user's
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            where = f"there is no module {error.name!r} in this folder, nor where Python looks"
            raise UnknownName(f"{kind} ({where})", name, known) from None
        raise ImportError(
            f"expected to import {module} for {name}, got {type(error).__name__}: {error}; mend the module"
        ) from error


def instantiate(kind: str, name: str, own: Any, *given: Any, **options: Any) -> Any:
    """Return what is used of an object of the user's: a class is called, anything else is it already.

    Raises:
        TypeError: The class does not take what it is given, or options were given to what is no class.
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
    """Return a component with every member of a protocol: those that it lacks get the protocol's value.

    Raises:
        TypeError: It can't be given attributes.
    """
    for name in protocol.__annotations__:
        if not hasattr(component, name):
            try:
                setattr(component, name, getattr(protocol, name))
            except (AttributeError, TypeError):
                raise TypeError(
                    f"expected a component that has {name} or can be given it, got {type(component).__name__}; declare "
                    f"{name} = {getattr(protocol, name)!r} in its class"
                ) from None
    return component


def with_source_digest(name: str, thing: Any) -> str:
    """Return a name with a digest of the thing's source and of the module that it is in, unless it is ours.

    So that a run knows a strategy, agent, verifier or environment of the user's by what it does, not by its name. The
    program that is run is no such module: it holds other things, too.
    """
    code = thing if inspect.isroutine(thing) or inspect.isclass(thing) else type(thing)
    module = sys.modules.get(getattr(code, "__module__", ""))
    if module is None or module.__name__.partition(".")[0] in OURS:
        return name
    file = None if module.__name__ == "__main__" else getattr(module, "__file__", None)
    try:
        source = inspect.getsource(code), b"" if file is None else Path(file).read_bytes()
    except (OSError, TypeError):  # typed at a prompt, gone meanwhile, or not written in Python
        return name
    return f"{name} {digest(*source)[:16]}"
