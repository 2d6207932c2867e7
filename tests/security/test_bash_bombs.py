"""One command can leave files behind that would take hours to read or to list. None of them holds a run."""

import math
import time

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from iad_envs.bash.env import BashEnv
from iad_envs.bash.sandbox import Sandbox, SandboxLimits, TooManyChanges
from tests.security.bash_sandboxes import AS_NOBODY, ONE_USER, sandbox_of

LIMIT_S, ROOM_S = 1.0, 1.0
N_TRIES = 8
"""Tries of one bomb. A busy machine makes one try slow, a bomb that holds the run makes all of them slow."""

FOLDERS = "mkdir ({0}), chdir ({0}) for 1..{1}; "
LINKS = 'open F, ">", "a"; print F "x" x 65536 for 1..{0}; close F; link "a", $_ for 1..{1}'
SPARSE = 'for (1..{1}) {{ open F, ">", $_; truncate F, {0}; seek F, {2}, 0; print F "x" }}'
NAMES = 'for (1..{1}) {{ open F, ">", "b" x {0} . $_ }}'
LONG = FOLDERS.format('"c" x 250', 14)
KIB, GIB = 1 << 10, 1 << 30
bombs = st.one_of(
    st.builds(LINKS.format, st.integers(800, 3_000), st.integers(5_000, 60_000)),
    st.builds(SPARSE.format, st.integers(60 * KIB, 1_024 * KIB), st.integers(60_000, 64_000), st.just(0)),
    st.builds(SPARSE.format, st.integers(GIB, GIB * KIB), st.integers(1_000, 64_000), st.integers(0, GIB // 2)),
    st.builds(NAMES.format, st.integers(0, 240), st.integers(50_000, 64_000)),
)
places = st.one_of(
    st.just(""),
    st.builds(FOLDERS.format, st.just('"c" x 250'), st.integers(1, 15)),
    st.builds(FOLDERS.format, st.just('"d"'), st.integers(100, 1_900)),
)


@ONE_USER
def test_no_bomb_holds_a_simulation_longer_than_its_command(user: str) -> None:
    options = {"launch": AS_NOBODY if user == "nobody" else ()}
    env = BashEnv(limits={"time_s": LIMIT_S}, sandbox_options=options)
    env.reset(seed=0)

    @seed(len(user))  # other bombs for each user
    @settings(max_examples=settings.default.max_examples // 5, database=None, suppress_health_check=[*HealthCheck])
    @given(places, bombs)
    def bombed(place: str, bomb: str) -> None:
        took_s: list[float] = []
        while len(took_s) < N_TRIES and min(took_s, default=math.inf) > LIMIT_S + ROOM_S:
            folder = f"/tmp/{len(took_s)}"  # another one per try: an equal simulation would be answered from memory
            began = time.perf_counter()
            ahead = env.simulate(env.snapshot(), f"mkdir {folder}; cd {folder}; perl -e '{place}{bomb}'")
            took_s.append(time.perf_counter() - began)
            facts = ahead.info["facts"]
            assert facts["n_created"] > 0 or "was undone" in facts["complaint"]
        assert min(took_s) <= LIMIT_S + ROOM_S, took_s

    bombed()
    assert env.step("echo alive")[4]["page"]["output"] == "alive\n"
    env.close()


@ONE_USER
def test_a_file_of_many_names_is_read_once(sandbox: Sandbox) -> None:
    sandbox.run(f"cd /tmp; perl -e '{LINKS.format(320, 8_000)}'")
    rows = sandbox.diff(timeout_s=60)  # 160 GB, if read by name
    assert len(rows) == 8_001
    assert len({row.digest for row in rows}) == 1
    before = sandbox.snapshot()
    sandbox.run("chmod 600 /tmp/7; echo x >>/tmp/9")
    # The layers above hold a copy of what was changed: one name of it is another file from then on.
    assert {row.path: row.kind for row in sandbox.diff(before, timeout_s=60)} == {
        "/tmp/7": "mode",
        "/tmp/9": "modified",
    }


@ONE_USER
def test_files_of_holes_are_not_read(sandbox: Sandbox) -> None:
    sandbox.run(f"cd /tmp; perl -e '{SPARSE.format(1_000 * KIB, 6_000, 0)}'")
    assert {row.digest[:7] for row in sandbox.diff(timeout_s=60)} == {"sparse:"}


@ONE_USER
@pytest.mark.parametrize(
    ("bomb", "reason"),
    [
        ("head -c 200M /dev/zero >/tmp/large", "read in 0.0 s"),
        (f"cd /tmp; perl -e '{LONG}{NAMES.format(200, 6_000)}'", "characters together"),
    ],
)
def test_what_can_not_be_listed_is_told_and_does_no_harm(user: str, bomb: str, reason: str) -> None:
    with sandbox_of(user, limits=SandboxLimits(time_s=60)) as sandbox:
        sandbox.run(bomb)
        timeout_s = 0.001 if "large" in bomb else None
        with pytest.raises(TooManyChanges, match=reason):
            sandbox.diff(timeout_s=timeout_s)
        with pytest.raises(TooManyChanges, match=reason):
            sandbox.tree("/tmp", timeout_s=timeout_s)
        sandbox.reset()
        assert sandbox.diff() == ()
        assert sandbox.run("echo alive").output == "alive\n"
