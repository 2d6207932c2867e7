"""Identifies users' code by its source, so that a run's answers are not reused for code that gives others."""

import ast
import inspect
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

from iad_policy.types.hashing import digest
from iad_policy.types.names import OURS
from iad_policy.types.python_text import undisturbed


def source_parts(thing: Any) -> dict[str, str]:
    """Return digests of the source of an object, and of the definitions of its file that it uses, by `module.name`.

    Comments, blank lines and the other definitions of the file don't count. What it uses of other files, of closures
    and of data does not either: an object for which these matter says so in its own `identity`. Empty for objects of
    this project, and where there is no source.
    """
    code = thing if inspect.isroutine(thing) or inspect.isclass(thing) else type(thing)
    module = sys.modules.get(getattr(code, "__module__", ""))
    if module is None or module.__name__.partition(".")[0] in OURS:
        return {}
    file = getattr(module, "__file__", None)
    try:
        own = undisturbed(lambda: ast.parse(dedent(inspect.getsource(code))))
        defined = {} if file is None else _definitions(undisturbed(lambda: ast.parse(Path(file).read_bytes())))
    except (OSError, TypeError, SyntaxError):  # typed at a prompt, deleted or damaged since, or not written in Python
        return {}
    parts: dict[str, str] = {}
    found: dict[str, ast.AST] = {code.__name__: own}
    while found:
        name, tree = found.popitem()
        parts[f"{module.__name__}.{name}"] = digest(ast.unparse(tree))[:16]
        used = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
        found |= {one: defined[one] for one in used if one in defined and f"{module.__name__}.{one}" not in parts}
    return parts


def with_source_digest(name: str, thing: Any) -> str:
    """Return a name with a digest of the object's source; only the name where it has no `source_parts`."""
    parts = source_parts(thing)
    return f"{name} {digest(sorted(parts.items()))[:16]}" if parts else name


def _definitions(module: ast.Module) -> dict[str, ast.AST]:
    """Return the functions, classes and values that a file defines, by name; all assignments of one together."""
    found: dict[str, ast.AST] = {}
    for one in module.body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[one.name] = one
        elif isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            for name in (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)):
                before = found.get(name)
                found[name] = ast.Module([*(before.body if isinstance(before, ast.Module) else ()), one], [])
    return found
