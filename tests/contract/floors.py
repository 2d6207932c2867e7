"""The rooms of iad_policy by floors, and what imports what. `benchmarks/structure.py` counts with it."""

import ast
import gc
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "iad_policy"
FLOORS: Sequence[Sequence[str]] = (
    ("errors",), ("types",), ("requests", "registry", "budget"), ("papers", "world"), ("strategies",), ("ledger",),
    ("models",), ("prompts",), ("trained",), ("verifiers",), ("roles",), ("agents",), ("simulators",), ("runtime",),
    ("wrapper",), ("run",), ("report",), ("evaluation", "validate"), ("",), ("learn",), ("bridges",), ("commands",),
    ("cli",),
)  # fmt: skip
"""Rooms, which are the folders and modules of the package, lowest floor first; "" is the package's own module. A room
imports rooms of lower floors only."""


def room_of(module: str) -> str:
    return f"{module}.".split(".")[1]


def imported(tree: ast.AST) -> Iterator[str]:
    """What a piece of code imports, also inside functions: modules, and `module.name` of names from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole way"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module":
            argument = node.args[0]
            if isinstance(argument, ast.Constant):
                yield str(argument.value)


@cache
def trees(root: Path = ROOT, package: str = PACKAGE) -> Mapping[str, ast.Module]:
    gc.disable()  # its passes would take longer than the parsing
    try:
        found = {path: ast.parse(path.read_bytes()) for path in sorted((root / package).rglob("*.py"))}
        names = [".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__") for path in found]
        return dict(zip(names, found.values(), strict=True))
    finally:
        gc.enable()


@cache
def imports_of(root: Path = ROOT, package: str = PACKAGE) -> Mapping[str, tuple[str, ...]]:
    return {name: tuple(imported(tree)) for name, tree in trees(root, package).items()}


@cache
def modules_of(root: Path = ROOT) -> Mapping[str, set[str]]:
    """Return each module of the package, with the modules of the package that it imports."""
    known = imports_of(root, PACKAGE)
    found = {name: {one if one in known else one.rpartition(".")[0] for one in own} for name, own in known.items()}
    return {name: (own & set(known)) - {name} for name, own in found.items()}


def grouped(imports: Mapping[str, Iterable[str]], group_of: Callable[[str], str]) -> dict[str, set[str]]:
    """Return which groups of modules, such as rooms, import which others."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for name, known in imports.items():
        arrows[group_of(name)] |= {group_of(other) for other in known} - {group_of(name)}
    return dict(arrows)


def folder_of(module: str) -> str:
    """Return the folder of a module, in which a package's own module lies too."""
    path = ROOT / module.replace(".", "/")
    return module if path.is_dir() else module.rpartition(".")[0]


def upward(arrows: Mapping[str, Iterable[str]], floors: Sequence[Sequence[str]] = FLOORS) -> list[tuple[str, str]]:
    """Return the arrows that do not go down."""
    floor = {room: number for number, rooms in enumerate(floors) for room in rooms}
    return [(one, other) for one, known in arrows.items() for other in sorted(known) if floor[one] <= floor[other]]


def circles(arrows: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the groups of two or more that reach each other."""
    reached: dict[str, set[str]] = {}
    for start in arrows:
        seen, todo = set[str](), list(arrows[start])
        while todo:
            here = todo.pop()
            if here not in seen:
                seen.add(here)
                todo.extend(arrows.get(here, ()))
        reached[start] = seen
    found = {frozenset(other for other in seen if start in reached.get(other, ())) for start, seen in reached.items()}
    return sorted(sorted(one) for one in found if one)


def pairs(arrows: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """Return the folders that import each other, but for a folder and one in it."""
    return [
        (one, other)
        for one, known in arrows.items()
        for other in sorted(known)
        if one < other and one in arrows.get(other, ()) and not other.startswith(f"{one}.")
    ]
