"""The differ reads layers; here it is held to what a walk of the files before and after says, on random changes."""

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iad_envs.bash.sandbox import FrozenState, Sandbox, open_sandbox

SETUP = ["mkdir -p /w/a/b /w/c; cd /w; echo 1 >a/f; echo 2 >a/b/g; echo 3 >c/h; ln -s a/f l; echo 4 >x"]
NAMES = st.sampled_from(["a", "a/b", "a/f", "a/b/g", "c", "c/h", "l", "x", "n", "a/n", "a/b/n", "c/a"])
COMMANDS = st.one_of(
    st.builds("echo {} >{}".format, st.integers(1, 5), NAMES),
    st.builds("echo {} >>{}".format, st.integers(1, 5), NAMES), st.builds("rm -rf {}".format, NAMES),
    st.builds("mkdir -p {}".format, NAMES),
    st.builds("chmod {} {}".format, st.sampled_from(["600", "755"]), NAMES),
    st.builds("mv -T {} {}".format, NAMES, NAMES), st.builds("cp -aT {} {}".format, NAMES, NAMES),
    st.builds("ln -sfT {} {}".format, NAMES, NAMES), st.builds("rm -rf {0}; mkdir {0}".format, NAMES),
    st.just("FREEZE"),
)  # fmt: skip
LOOK = (
    "find /w -mindepth 1 -type f -printf '%P\\t%y\\t%m\\t' -exec b2sum -l 256 {} \\; -o -printf '%P\\t%y\\t%m\\t%l\\n'"
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(setup=SETUP) as opened:
        yield opened


def walk(sandbox: Sandbox) -> dict[str, tuple[str, str, str]]:
    """Path to type, mode and content, as programs in the sandbox see it."""
    entries = {}
    for line in sandbox.run(LOOK).output.splitlines():
        path, kind, mode, content = line.split("\t")
        entries[f"/w/{path}"] = (kind, "" if kind == "l" else mode, content.split(" ")[0])
    return entries


def expected(before: dict[str, tuple[str, str, str]], after: dict[str, tuple[str, str, str]]) -> dict[str, str]:
    changes = {}
    for path in before.keys() | after.keys():
        was, now = before.get(path), after.get(path)
        if was is None or now is None:
            changes[path] = "added" if was is None else "deleted"
        elif (was[0], was[2]) != (now[0], now[2]):
            changes[path] = "modified"
        elif was != now:
            changes[path] = "mode"
    return changes


@example(["rm -rf a", "FREEZE", "mkdir a"])
@example(["rm -rf a; echo 1 >a", "FREEZE", "rm -rf a; mkdir a"])
@given(st.lists(COMMANDS, min_size=1, max_size=12))
def test_the_differ_agrees_with_a_walk(sandbox: Sandbox, commands: list[str]) -> None:
    sandbox.reset()
    states: list[tuple[FrozenState, dict[str, tuple[str, str, str]]]] = [(sandbox.start, walk(sandbox))]
    for command in commands:
        if command == "FREEZE":
            states.append((sandbox.snapshot(), walk(sandbox)))
        else:
            sandbox.run(command, cwd="/w")
    now = walk(sandbox)
    for state, before in states:
        assert {change.path: change.kind for change in sandbox.diff(state)} == expected(before, now)
    assert {row.path for row in sandbox.tree("/w")} == {"/w", *now}
    latest = sandbox.snapshot()
    for state, before in states:
        sandbox.restore(state)
        assert walk(sandbox) == before
        assert {change.path: change.kind for change in sandbox.diff(latest)} == expected(now, before)
