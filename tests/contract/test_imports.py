"""Three packages, one direction; rooms that know only what they need; nothing heavy too early; public names."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import iad_envs
import iad_policy
from tests.contract import floors
from tests.contract.floors import FLOORS, ROOT, circles, grouped, imported, modules_of, pairs, room_of, upward

PACKAGES = ("webshop_server", "iad_envs", "iad_policy")
HEAVY = (
    "litellm", "selenium", "pyserini", "jnius", "faiss", "sentence_transformers", "torch", "docker", "ray", "cv2",
    "spacy", "pyarrow", "mlflow", "wandb", "tensorboard", "transformers", "peft", "trl", "datasets", "accelerate",
    "fastapi", "inspect_ai", "mcp", "openenv", "textarena", "uvicorn", "verifiers",
)  # fmt: skip
MADE_OF_HEAVY = (
    "iad_policy.bridges.inspect", "iad_policy.bridges.verifiers",
    "iad_policy.models.hf.client", "iad_policy.models.hf.likelihood", "iad_policy.models.hf.weights",
    "iad_policy.trained.backends.hf", "iad_policy.learn.backends.hf",
)  # fmt: skip
"""Modules of language models that are trained. A name such as `hf:smollm2` loads them, after a look at the packages."""
SIDE_EFFECTS = (
    "asyncio", "http", "io", "logging", "multiprocessing", "os", "pathlib", "random", "shutil", "socket", "sqlite3",
    "subprocess", "sys", "tempfile", "threading", "time", "urllib",
)  # fmt: skip


class Never(NamedTuple):
    """What is inside `who` never imports what is inside `whom`, but for exceptions."""

    who: str
    whom: tuple[str, ...]
    but: Sequence[tuple[str, str]] = ()


HOMES = ("bash", "bird", "booking", "sketch2code", "toolcalls", "webshop")
COMMANDS = {
    "iad_envs": ("checks", "data", "reports", "terminal", "serving"),
    "webshop_server": ("data", "reports", "serving", "asgi", "endpoint"),
}
"""Commands about all environments, about the shop's own data, and what is served as a site like the others."""
PROMISES = (
    Never("webshop_server", ("iad_envs", "iad_policy")),
    # What an agent there needs is loaded when somebody asks.
    Never("iad_envs", ("iad_policy",), [(f"iad_envs.{one}.policy", "iad_policy") for one in HOMES]),
    Never("iad_policy", (*COMMANDS,), [(f"iad_policy.commands.{one}", to) for to in COMMANDS for one in COMMANDS[to]]),
    *(Never(f"iad_envs.{one}", tuple(f"iad_envs.{other}" for other in HOMES if other != one)) for one in HOMES),
)
SITE, ENVS, POLICY = "webshop_server.site", "iad_envs", "iad_policy"
KNOWS_ONLY: Mapping[str, tuple[str, ...]] = {
    f"{SITE}.errors": (),
    f"{SITE}.hosts": (),
    f"{SITE}.sessions": (),
    f"{SITE}.server": (f"{SITE}.hosts",),
    f"{SITE}.strict_app": (f"{SITE}.errors", f"{SITE}.server", f"{SITE}.sessions"),
    f"{ENVS}.browser": (
        *(f"{ENVS}.{one}" for one in ("browser", "core", "errors", "requirements")),
        *("webshop_server.extras", f"{SITE}.server", f"{SITE}.sessions"),
    ),
    f"{ENVS}.official": (f"{ENVS}.errors", f"{ENVS}.official"),
    f"{POLICY}.models": tuple(f"{POLICY}.{one}" for one in ("errors", "models", "types")),
    f"{POLICY}.strategies": tuple(
        f"{POLICY}.{one}" for one in ("errors", "registry", "requests", "types", "strategies")
    ),
}
"""All that a module, or a room, may import from the three packages. What sites share knows none of them."""


@cache
def modules() -> Mapping[str, ast.Module]:
    """The code of all modules, parsed by the first test of a process that asks."""
    return {name: tree for package in PACKAGES for name, tree in floors.trees(ROOT, package).items()}


@cache
def imports() -> Mapping[str, tuple[str, ...]]:
    return {name: found for package in PACKAGES for name, found in floors.imports_of(ROOT, package).items()}


def at_module_level(tree: ast.Module) -> Iterator[str]:
    """What is imported when the module is: everything outside of functions and `if TYPE_CHECKING`."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imported(ast.Module([node], []))
        todo.extend(ast.iter_child_nodes(node))


def is_in(name: str, rooms: str | tuple[str, ...]) -> bool:
    """Whether a module, or a name in it, is one of these modules or lies in one of these packages."""
    return any(name == room or name.startswith(f"{room}.") for room in ((rooms,) if isinstance(rooms, str) else rooms))


def edges_of(who: str) -> list[tuple[str, str]]:
    return [(name, what) for name, found in imports().items() if is_in(name, who) for what in found]


def test_no_module_imports_against_the_direction_and_the_tables_name_what_there_is() -> None:
    offenders = [
        f"{name} imports {what}"
        for promise in PROMISES
        for name, what in edges_of(promise.who)
        if is_in(what, promise.whom) and not any(is_in(name, one) and is_in(what, other) for one, other in promise.but)
    ]
    offenders += [
        f"{name} imports {what}"
        for who, known in KNOWS_ONLY.items()
        for name, what in edges_of(who)
        if is_in(what, PACKAGES) and not is_in(what, known)
    ]
    offenders += [
        f"{one} no longer imports {other}: delete the exception"
        for promise in PROMISES
        for one, other in promise.but
        if not any(is_in(what, other) for _, what in edges_of(one))
    ]
    assert not offenders, "\n".join(offenders)
    named = {*KNOWS_ONLY, *(room for known in KNOWS_ONLY.values() for room in known)}
    named |= {room for promise in PROMISES for room in (promise.who, *promise.whom)}
    assert named <= set(modules())
    environments = {path.parents[1].name for path in (ROOT / "iad_envs").glob("*/policy/__init__.py")}
    assert environments <= set(HOMES)


def test_rooms_import_rooms_of_lower_floors_only() -> None:
    arrows = grouped(modules_of(), room_of)
    assert set(arrows) == {room for rooms in FLOORS for room in rooms}, "a room without a floor, or a floor without one"
    assert len(arrows) <= 27
    assert not upward(arrows), "\n".join(f"{one} imports {other}" for one, other in upward(arrows))
    assert circles(arrows) == circles(modules_of()) == []
    assert pairs(grouped(modules_of(), floors.folder_of)) == []
    assert upward({"ledger": {"report", "types"}}) == [("ledger", "report")]
    known = {"a.one": {"b.two"}, "b.two": {"b.three"}, "b.three": {"a.one"}, "c": {"a.one"}}
    assert circles(known) == [["a.one", "b.three", "b.two"]]
    assert pairs(grouped(known, lambda module: module.partition(".")[0])) == [("a", "b")]


def test_strategies_do_no_io_and_draw_no_chance() -> None:
    edges = edges_of("iad_policy.strategies")
    assert len(edges) > 100
    offenders = [f"{name} imports {what}" for name, what in edges if is_in(what, SIDE_EFFECTS)]
    offenders += [
        f"{name} opens or prints at line {node.lineno}"
        for name, tree in modules().items()
        if is_in(name, "iad_policy.strategies")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("open", "print", "input")
    ]
    assert not offenders, "\n".join(offenders)


def test_heavy_packages_are_imported_where_they_are_needed() -> None:
    offenders = [
        f"{name} imports {what}"
        for name, tree in modules().items()
        for what in at_module_level(tree)
        if name not in MADE_OF_HEAVY and is_in(what, (*HEAVY, *MADE_OF_HEAVY))
    ]
    assert not offenders, "\n".join(offenders)
    assert set(MADE_OF_HEAVY) <= set(modules())
    # The walk sees imports in classes and blocks but not in functions.
    code = "try:\n import torch\nexcept ImportError:\n pass\nclass A:\n import ray\ndef f():\n from cv2 import b\n"
    assert set(at_module_level(ast.parse(code))) == {"torch", "ray"}
    assert set(imported(ast.parse(code + "import_module('spacy.cli')"))) == {"torch", "ray", "cv2.b", "spacy.cli"}
    assert is_in("iad_policy.types.State", ("iad_policy.types",))
    assert not is_in("iad_policy.types_of", "iad_policy.types")
    code = f"import sys, iad_envs, iad_policy; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_the_public_names_are_as_written_down_and_no_two_classes_have_one() -> None:
    assert iad_envs.__all__ == ["ENVIRONMENTS"]
    assert " ".join(iad_policy.__all__) == (
        "Agent All Ask Budget Candidate Commit Decision Feedback IADPolicyWrapper Keep Outcome Propose Simulate State "
        "Usage Verdict Verifier Verify evaluate per_step report_usage"
    )
    assert all(hasattr(iad_policy, name) for name in iad_policy.__all__)
    places: dict[str, list[str]] = {}
    for name, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(name)
    # Both sides of contract 1 define what a simulation returns, as neither package may import the other.
    twice = {name: own for name, own in places.items() if len(own) > 1}
    assert twice == {"Outcome": ["iad_envs.core", "iad_policy.types"]}
