"""Runs the files of a user's folder that have simulated classes. Nothing of them is part of this project.

The files import one another by the name of their package. It is neither imported nor needed on the path, as its other
parts ask for the clients of many vendors: the files get an `import` of their own, so `sys.modules` and `sys.path` stay
as they are. What they print is dropped, and nothing is written into the folder.
"""

import builtins
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

from iad_envs.errors import DataNotFound, Unavailable


class UserModules:
    """The modules of a package in a user's folder, by their paths below it. Each runs when it is first asked for.

    Args:
        folder: The folder of the package.
        package: The name by which the files import one another.
        how_to_get: What to run if a file is missing.
        needs: What to run if a package that a file imports is missing.
    """

    def __init__(self, folder: Path, package: str, *, how_to_get: str, needs: str = "") -> None:
        self._folder = folder
        self._package = package
        self._how_to_get = how_to_get
        self._needs = needs or how_to_get
        self._modules: dict[Path, ModuleType] = {}
        self._lock = RLock()

    def __getitem__(self, file: Path) -> ModuleType:
        """Return the module of a file.

        Raises:
            DataNotFound: It is missing.
            Unavailable: A package that it imports is not installed.
        """
        with self._lock:
            if file not in self._modules:
                self._modules[file] = self._run(file)
            return self._modules[file]

    def _run(self, file: Path) -> ModuleType:
        path = self._folder / file
        try:
            source = path.read_bytes()
        except FileNotFoundError:
            raise DataNotFound(f"expected a simulated class in {path}, found no file; {self._how_to_get}") from None
        module = ModuleType(".".join((self._package, *file.with_suffix("").parts)))
        silent: Callable[..., None] = lambda *values, **options: None  # noqa: E731
        own = {**vars(builtins), "__import__": self._import, "print": silent}
        vars(module).update(__file__=str(path), __builtins__=own)
        try:
            exec(compile(source, str(path), "exec"), vars(module))
        except ModuleNotFoundError as error:
            raise Unavailable(
                f"expected the package {error.name}, which the simulated class in {path.name} imports, found none; "
                f"{self._needs}"
            ) from error
        return module

    def _import(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        first, *rest = name.split(".")
        if level == 0 and first == self._package and rest and fromlist:
            return self[Path(*rest).with_suffix(".py")]
        return builtins.__import__(name, globals, locals, fromlist, level)
