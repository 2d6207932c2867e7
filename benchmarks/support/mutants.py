"""Small faults put into the product, one at a time, to see whether the tests notice.

    mutants.py draw --seed 52 --n 120 > mutants.json     draw them from this checkout
    mutants.py reach mutants.json REACHED                find the tests that reach each, by running all of `make test`
    mutants.py run mutants.json REACHED > killed.jsonl   put each in, and run these tests until one fails

A mutant is a comparison or a boundary turned, `and` for `or`, another operator or number, a `not` that is gone, a call
that is not made, two arguments swapped, or a guard that never holds. Each room of the product has as many as its share
of lines; the kind is drawn before the place, so that rare kinds are drawn as well. `reach` and `run` work in copies of
the commit that is checked out. Code that runs outside of Python's usual start (in the sandbox) is reached by no test
that this sees: give `run` its tests with --also.
"""

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from xml.etree import ElementTree

PACKAGES = ("iad_envs", "iad_policy", "webshop_server")
BOUNDARIES = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
COMPARISONS = {ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.In: (" in ", " not in ")}
COMPARISONS |= {ast.NotIn: (" not in ", " in "), ast.Is: (" is ", " is not "), ast.IsNot: (" is not ", " is ")}
ARITHMETIC = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
ARITHMETIC[ast.FloorDiv] = ("//", "*")
JOINED = {ast.And: (" and ", " or "), ast.Or: (" or ", " and ")}
LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)
SITECUSTOMIZE = """
import os, sys
class Probe:
    seen = set()
    def hit(self, mutants):
        test = os.environ.get("PYTEST_CURRENT_TEST", "")
        for one in mutants:
            if test and (one, test) not in self.seen:
                self.seen.add((one, test))
                try:
                    file = os.open(f"{FOLDER}/{one}.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o666)
                    os.write(file, f"{test}\\n".encode())
                    os.close(file)
                except OSError:
                    pass
sys.modules["mutant_probe"] = Probe()
"""
HIT = '__import__("sys").modules["mutant_probe"].hit'


class Mutant(NamedTuple):
    """A fault: a part of a file's bytes is replaced. `first` is the function's first line and column, for the probe."""

    room: str
    file: str
    line: int
    kind: str
    first: tuple[int, int]
    start: int
    end: int
    old: str
    new: str


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file, but for those outside of functions and in functions of one line."""
    raw = file.read_bytes()
    lines = raw.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(node: Any) -> tuple[int, int]:
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def between(left: Any, right: Any, pair: tuple[str, str]) -> tuple[int, int, str] | None:
        start, end = place(left)[1], place(right)[0]
        old, new = (text.encode() for text in pair)
        if raw[start:end].count(old.strip()) != 1 or (at := raw[start:end].find(old)) < 0:
            return None
        return start + at, start + at + len(old), new.decode()

    def changes(node: Any) -> Iterator[tuple[str, tuple[int, int, str] | None]]:
        match node:
            case ast.Compare(ops=[op]):
                table, kind = (BOUNDARIES, "boundary") if type(op) in BOUNDARIES else (COMPARISONS, "comparison")
                yield kind, between(node.left, node.comparators[0], table[type(op)])
            case ast.BinOp(left=ast.JoinedStr() | ast.List() | ast.Constant(value=str())):
                return
            case ast.BinOp() if type(node.op) in ARITHMETIC:
                yield "arithmetic", between(node.left, node.right, ARITHMETIC[type(node.op)])
            case ast.BoolOp():
                yield "and/or", between(node.values[0], node.values[1], JOINED[type(node.op)])
            case ast.UnaryOp(op=ast.Not()):
                start = place(node)[0]
                yield "not", (start, start + 4, "") if raw[start : start + 4] == b"not " else None
            case ast.Constant(value=int() as value) if type(value) is int and 0 <= value < 10_000:
                yield "number", (*place(node), str(value + 1))
            case ast.Expr(value=ast.Call()):
                yield "dropped call", (*place(node), "pass")
            case ast.Call(args=[one, other, *_]) if not {ast.Starred} & {type(one), type(other)}:
                (a, b), (c, d) = place(one), place(other)
                yield "swapped arguments", (a, d, (raw[c:d] + raw[b:c] + raw[a:b]).decode())
            case ast.If(body=[leaf], orelse=[]) if isinstance(leaf, LEAVES):
                yield "removed guard", (*place(node.test), "False")

    def walk(node: Any, first: tuple[int, int] | None) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            has_text = len(node.body) > 1 and ast.get_docstring(node, clean=False) is not None
            begin: Any = node.body[has_text]
            own = None if lines[begin.lineno - 1][: begin.col_offset].strip() else (begin.lineno, begin.col_offset)
            if decorators := getattr(begin, "decorator_list", None):
                own = decorators[0].lineno, begin.col_offset
            for child in node.body:
                yield from walk(child, own)
            return
        if first is not None:
            for kind, found in changes(node):
                if found is not None:
                    start, end, new = found
                    old = raw[start:end].decode()
                    room = "/".join(file.parts[:2])
                    yield Mutant(room, str(file), node.lineno, kind, first, start, end, old, new)
        children = ast.iter_child_nodes(node) if not isinstance(node, ast.AnnAssign) else filter(None, [node.value])
        for child in children:
            yield from walk(child, first)

    yield from walk(ast.parse(raw), None)


def draw(seed: int, n: int, without: list[str]) -> list[Mutant]:
    """Draw mutants of the checkout in this folder; `without` are patterns of files that are left out."""
    tracked = subprocess.run(["git", "ls-files", *PACKAGES], capture_output=True, text=True, check=True).stdout.split()
    files = [Path(name) for name in tracked if name.endswith(".py")]
    rooms: dict[str, list[Path]] = defaultdict(list)
    for file in files:
        if not any(re.match(pattern, str(file)) for pattern in without):
            rooms["/".join(file.parts[:2])].append(file)
    lines = {name: sum(file.read_bytes().count(b"\n") for file in own) for name, own in rooms.items()}
    share = {name: n * one / sum(lines.values()) for name, one in lines.items()}
    quota = {name: int(value) for name, value in share.items()}
    for name in sorted(share, key=lambda name: (quota[name] - share[name], name))[: n - sum(quota.values())]:
        quota[name] += 1
    rng, drawn = random.Random(seed), []
    for name in sorted(quota):
        kinds: dict[str, list[Mutant]] = defaultdict(list)
        for file in rooms[name]:
            for one in mutants_of(file):
                kinds[one.kind].append(one)
        for _ in range(quota[name]):
            own = kinds[rng.choice(sorted(kind for kind, left in kinds.items() if left))]
            drawn.append(own.pop(rng.randrange(len(own))))
    return drawn


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the commit that is checked out."""
    with TemporaryDirectory(prefix="iad-mutants-") as folder:
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", folder], check=True)


def pytest_in(tree: Path, *arguments: str, path: str = "", limit_s: float | None = None) -> tuple[int | None, str]:
    """Run pytest in a copy; the status is None if it took too long."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not slow"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, str(tree)]))}
    try:
        done = subprocess.run(
            [*command, *arguments], cwd=tree, env=env, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout


def reach(mutants: list[Mutant], reached: Path) -> None:
    """Write into a folder which tests reach which mutant, and how long each test takes."""
    reached.mkdir(parents=True)
    with copied() as tree, TemporaryDirectory() as probe:
        Path(probe, "sitecustomize.py").write_text(f"FOLDER = {str(reached.resolve())!r}\n{SITECUSTOMIZE}")
        for file in {one.file for one in mutants}:
            lines = (tree / file).read_text(encoding="utf-8").splitlines(keepends=True)
            firsts = {(one.first, number) for number, one in enumerate(mutants) if one.file == file}
            for (line, column), number in sorted(firsts, reverse=True):
                probe_call = f'(__import__("sys").modules.get("mutant_probe") and {HIT}([{number}]))\n'
                lines.insert(line - 1, " " * column + probe_call)
            (tree / file).write_text("".join(lines), encoding="utf-8")
        pytest_in(tree, "-n", "3", f"--junitxml={reached.resolve() / 'times.xml'}", path=probe)


def tests_of(mutants: list[Mutant], reached: Path, also: list[str]) -> list[list[str]]:
    """Return the tests that reach each mutant: those near its file first, then the quickest.

    A fixture that several tests share runs for the first of them, so what it reaches is reached by all of its file.
    """
    seconds: dict[str, float] = {}
    for case in ElementTree.parse(reached / "times.xml").iter("testcase"):
        parts = case.get("classname", "").split(".")
        if parts == [""]:  # a whole file that was skipped
            continue
        n = next((n for n in range(len(parts), 0, -1) if Path(*parts[:n]).with_suffix(".py").exists()), 0)
        name = "::".join([f"{'/'.join(parts[:n])}.py", *parts[n:], case.get("name", "")])
        seconds[name] = float(case.get("time", 0))
    found = []
    for number, one in enumerate(mutants):
        tests: set[str] = set()
        record = reached / f"{number}.txt"
        for line in record.read_text(encoding="utf-8").splitlines() if record.exists() else ():
            name, _, phase = line.rpartition(" (")
            file = name.partition("::")[0]
            tests |= {name} if phase == "call)" else {other for other in seconds if other.startswith(f"{file}::")}
        words = set(re.findall("[a-z]+", one.file))

        def rank(name: str, words: set[str] = words) -> tuple[int, str, float]:
            file = name.partition("::")[0]
            return -len(words & set(re.findall("[a-z]+", file))), file, seconds[name]

        known = sorted(tests & seconds.keys(), key=rank)
        quick = [name for name in known if seconds[name] <= 2]
        found.append([*quick, *(name for name in known if seconds[name] > 2)] or also)
    return found


def run(mutants: list[Mutant], reached: Path, also: list[str], limit_s: float) -> Iterator[dict[str, Any]]:
    """Yield each mutant with what became of it: killed by a test, lived, or reached by none."""
    with copied() as tree, TemporaryDirectory() as scratch:
        listing = Path(scratch, "tests.txt")
        for one, tests in zip(mutants, tests_of(mutants, reached, also), strict=True):
            status, output = (0, "") if not tests else (None, "")
            if tests:
                listing.write_text("\n".join(tests), encoding="utf-8")
                path = tree / one.file
                whole = path.read_bytes()
                assert whole[one.start : one.end].decode() == one.old, f"{one.file} is of another commit"
                path.write_bytes(whole[: one.start] + one.new.encode() + whole[one.end :])
                status, output = pytest_in(tree, "-x", "--tb=line", "-p", "no:xdist", f"@{listing}", limit_s=limit_s)
                path.write_bytes(whole)
            by = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - |$)", output, re.MULTILINE)
            state = "too slow" if status is None else "killed" if status else "lived" if tests else "not reached"
            yield {**one._asdict(), "state": state, "by": by[1] if by else ""}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("--seed", type=int, default=0)
    drawing.add_argument("--n", type=int, default=120)
    drawing.add_argument("--without", action="append", default=[], help="pattern of files that are left out")
    for name in ("reach", "run"):
        commands.add_parser(name).add_argument("mutants", type=Path)
        commands.choices[name].add_argument("reached", type=Path)
    commands.choices["run"].add_argument("--also", action="append", default=[], help="tests of mutants that none reach")
    commands.choices["run"].add_argument("--limit-s", type=float, default=600, help="seconds for the tests of a mutant")
    given = parser.parse_args()
    if given.command == "draw":
        print(json.dumps(draw(given.seed, given.n, given.without), indent=0))
        return
    mutants = [Mutant(*one[:4], tuple(one[4]), *one[5:]) for one in json.loads(given.mutants.read_text("utf-8"))]
    if given.command == "reach":
        reach(mutants, given.reached)
        return
    for line in run(mutants, given.reached, given.also, given.limit_s):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
