"""Three packages, one direction; nothing heavy before it is needed; public names as they are written down."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import iad_policy

ROOT = Path(__file__).parents[2]
OURS = ("webshop_server", "iad_envs", "iad_policy")
HEAVY = (
    "litellm",
    "selenium",
    "pyserini",
    "jnius",
    "faiss",
    "sentence_transformers",
    "torch",
    "docker",
    "ray",
    "cv2",
    "spacy",
    "pyarrow",
    "mlflow",
    "wandb",
    "tensorboard",
    "scipy",
)
MAY_IMPORT = {"webshop_server": set(), "iad_envs": {"webshop_server"}, "iad_policy": set()}
FILES = sorted(path.relative_to(ROOT).as_posix() for name in OURS for path in (ROOT / name).rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    """The top-level packages that a piece of code imports, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            argument = node.args[0]
            if isinstance(argument, ast.Constant):
                yield str(argument.value).partition(".")[0]


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


@pytest.mark.parametrize("name", FILES)
def test_a_module_imports_in_the_one_direction_only(name: str) -> None:
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    package = name.partition("/")[0]
    if name == "iad_policy/cli.py":
        return
    wrong = (set(imported(tree)) & set(OURS)) - {package} - MAY_IMPORT[package]
    assert not wrong, f"{name} imports {wrong}"


@pytest.mark.parametrize("name", FILES)
def test_heavy_packages_are_imported_where_they_are_needed(name: str) -> None:
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    assert not set(at_module_level(tree)) & set(HEAVY)


def test_the_walk_sees_imports_in_classes_and_blocks_but_not_in_functions() -> None:
    code = "try:\n import torch\nexcept ImportError:\n pass\nclass A:\n import ray\ndef f():\n import cv2\n"
    assert set(at_module_level(ast.parse(code))) == {"torch", "ray"}
    assert set(imported(ast.parse(code + "import_module('spacy')"))) == {"torch", "ray", "cv2", "spacy"}


def test_importing_the_packages_loads_nothing_heavy() -> None:
    code = f"import sys, iad_envs, iad_policy; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_the_public_names_are_sorted_and_there() -> None:
    assert list(iad_policy.__all__) == sorted(iad_policy.__all__)
    for name in iad_policy.__all__:
        assert getattr(iad_policy, name).__doc__
