"""Hostile answers, and a watch over what reading and running them does to the process."""

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

WATCHED = ("exec", "open", "import", "os.", "subprocess", "socket", "shutil", "pty.", "ctypes")
"""Events that Python reports when code is run, a file opened, a module imported or a process started."""
_PIECES = ("not ", "\n", "lambda:", *"[](){}'\",=:\\-1é", "**", "None")
HOSTILE = (
    "[f(a=__import__('os').system('true'))]", "[open(file='/nonexistent')]", "[exec(object='1')]", "[f(a=2**9**9**9)]",
    "[f(a=[x for x in (1,)])]", "[f(a=f'{1}')]", "[f(a='\\d\\400')]", "[f(a=1if 1else 2)]", "[f(a=0xfor x in ())]",
    "[" * 5000, "[f(a=" + "[" * 90 + "]" * 90 + ")]", "[f(a=" + "-" * 3000 + "1)]", "[f(a=" + "x." * 9000 + "y)]",
    "[f(a=1e999)]", "[f(a=" + "9" * 5000 + ")]", "[f(a=0x" + "f" * 50000 + ")]", "[f(a=0x" + "f" * 3000 + ")]",
    "[" + "f()," * 100 + "]", "[f(**{'a': 1})]", "[f(*[1])]", "[f(a=1, a=2)]", "[f(a={[]: 1})]", "[f(a={**{}})]",
    "[f(a=lambda: 1)]", "[f(a=b'x')]", "[f(a=1j)]", "[f(a=...)]", "[f(a=not 'x')]", "[f(a=\ud800)]", "[f(a='\ud800')]",
    "[f()()]", "[f.g.h()]", "[(f)(a=1)]", "[f(a={})]", "[f(a={'b': {'c': 1}})]", "[f(a=g(b=1))]", "[f(a=g())]", "", "[",
    "]", "[]", "[]]", "]][[", "\x00[f()]", "[f(a='\x00')]", " [f()]", "[f()]\n", "'[f()]'", "[f(a=x[1:2])]", "# [f()]",
    "Missing necessary parameters" * 500, "There is incorrect value (" * 1000, "x" * 100_001,
)  # fmt: skip


def fuzzed(seeds: Sequence[str], n: int) -> Iterator[str]:
    """The hostile answers, and then others that are damaged."""
    rng = random.Random(0)
    for number in range(n):
        if number < len(HOSTILE):
            yield HOSTILE[number]
            continue
        text = rng.choice(seeds)
        for _ in range(rng.randrange(1, 6)):
            place = rng.randrange(len(text) + 1)
            cut = place + rng.choice((0, 0, 1, 3, 20))
            text = text[:place] + rng.choice([*_PIECES, rng.choice(HOSTILE)[:40]]) + text[cut:]
        yield text


@contextmanager
def watched() -> Iterator[list[str]]:
    """What is run, opened, imported or started meanwhile. A hook can't be taken off again, only told to look away."""
    seen: list[str] = []
    is_watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if is_watching and event.startswith(WATCHED):
            seen.append(f"{event} {arguments!r:.200}")

    sys.addaudithook(watch)
    try:
        yield seen
    finally:
        is_watching = False
