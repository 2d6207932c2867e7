"""Counts what a maintainer reads: lines, words, helpers, constants, and what imports what in iad_policy.

A helper is a private function or method. One that its file uses once belongs, as a rule, where it is used.
A constant is a name in capitals to which a module gives a value.

    benchmarks/structure.py                    the figures
    benchmarks/structure.py --full             and each arrow between rooms, with how many imports it stands for
    benchmarks/structure.py iad_envs/bird ...  lines, helpers used once and constants in these folders, by name
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from support.figures import ROOT, figure

sys.path.insert(0, str(ROOT))
from tests.contract.floors import PACKAGE, circles, folder_of, grouped, modules_of, pairs, room_of, upward

PRODUCT = ["iad_envs", "iad_policy", "webshop_server"]


def lines_of(*folders: str) -> int:
    return sum(path.read_text("utf-8").count("\n") for folder in folders for path in (ROOT / folder).rglob("*.py"))


def words_of(*patterns: str) -> int:
    return sum(len(path.read_text("utf-8").split()) for pattern in patterns for path in ROOT.glob(pattern))


def product() -> dict[Path, ast.Module]:
    paths = [path for folder in PRODUCT for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path.relative_to(ROOT): ast.parse(path.read_text("utf-8")) for path in paths}


def private_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and re.match(r"_(?!_)", node.name):
            yield node


def used_once(tree: ast.Module) -> list[tuple[int, str]]:
    uses: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            uses[node.id if isinstance(node, ast.Name) else node.attr] += 1
    return [(node.lineno, node.name) for node in private_functions(tree) if uses[node.name] == 1]


def constants(tree: ast.Module) -> list[tuple[int, str]]:
    found = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets = [statement.target]
        else:
            continue
        names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
        found += [(statement.lineno, name) for name in names if re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name)]
    return found


def print_parts(wanted: list[str]) -> None:
    trees = product()
    total = [0, 0, 0]
    for path, tree in trees.items():
        if any(path.is_relative_to(one) for one in wanted):
            helpers, names = used_once(tree), constants(tree)
            counts = [(ROOT / path).read_text("utf-8").count("\n"), len(helpers), len(names)]
            total = [sum(pair) for pair in zip(total, counts, strict=True)]
            print(f"{path}: {counts[0]} lines")
            for title, found in (("helpers used once", helpers), ("constants", names)):
                if found:
                    print(f"  {title}: " + ", ".join(f"{name}:{line}" for line, name in sorted(found)))
    lines, once, capitals = total
    kloc = max(lines, 1) / 1000
    print(f"{lines} lines, {once} helpers used once ({once / kloc:.1f} per kloc)", end=", ")
    print(f"{capitals} constants ({capitals / kloc:.1f} per kloc)")


def print_figures(full: bool) -> None:
    trees = product()
    lines = lines_of(*PRODUCT)
    figure("product_lines", lines, "lines", target=74_000)
    figure("tests_lines", lines_of("tests"), "lines", target=45_000)
    figure("benchmarks_lines", lines_of("benchmarks"), "lines", target=4_500)
    figure("generators_lines", lines_of("data"), "lines")
    figure("docs_words", words_of("docs/**/*.md"), "words", target=55_000)
    figure("readme_words", words_of("README.md"), "words", target=900)
    kloc = lines / 1000
    figure(
        "helpers_used_once", round(sum(len(used_once(tree)) for tree in trees.values()) / kloc, 1), "per kloc", target=8
    )
    figure("constants", round(sum(len(constants(tree)) for tree in trees.values()) / kloc, 1), "per kloc", target=12)
    imports = modules_of()
    arrows = grouped(imports, room_of)
    figure("rooms", len(arrows), "rooms", target=27)
    figure("arrows", sum(map(len, arrows.values())), "arrows", target=130)
    figure("upward_arrows", len(upward(arrows)), "arrows", target=0)
    figure("circles_of_rooms", len(circles(arrows)), "circles", target=0)
    figure("circles_of_modules", len(circles(imports)), "circles", target=0)
    figure("folders_that_import_each_other", len(pairs(grouped(imports, folder_of))), "pairs", target=0)
    if full:
        counts = Counter((room_of(one), room_of(other)) for one, known in imports.items() for other in known)
        for (one, other), n in sorted(counts.items()):
            if one != other:
                print(f"{one or PACKAGE} -> {other or PACKAGE}: {n}")


if __name__ == "__main__":
    parts = [argument.rstrip("/") for argument in sys.argv[1:] if argument != "--full"]
    if parts:
        print_parts(parts)
    else:
        print_figures("--full" in sys.argv)
