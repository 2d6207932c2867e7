"""Texts like Python are parsed without a warning, and in several threads at once."""

import ast
import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from threading import Thread

import pytest

from iad_envs.python_text import parsed_python

CALLS = f"[{', '.join(f'f(a={number}, b=[{number}, (1, {{2: {number}}})])' for number in range(60))}]"


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads take turns, and garbage is collected, as often as possible."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(5)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*threshold)


class Litter:
    """Can only be collected, and takes its time."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        sum(range(50))


def errors_of(parse: Callable[[str], object]) -> tuple[list[BaseException], list[Thread]]:
    """Start threads that parse, and return what they will have raised."""
    errors: list[BaseException] = []

    def parse_all() -> None:
        for _ in range(30):
            Litter()
            try:
                parse(CALLS)
            except BaseException as error:
                errors.append(error)

    threads = [Thread(target=parse_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    return errors, threads


@pytest.mark.parametrize("theirs", [parsed_python, ast.parse], ids=["ours", "a library's"])
def test_threads_parse_at_the_same_time(hurried: None, theirs: Callable[[str], object]) -> None:
    """What a library's thread raises is not ours to prevent, so it is not looked at."""
    errors, threads = errors_of(parsed_python)
    _, others = errors_of(theirs)
    for thread in [*threads, *others]:
        thread.join()
    assert not errors


@pytest.mark.parametrize("text", [r"f('\d')", "1if x else 2"])
def test_nothing_warns(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parsed_python(text)


@pytest.mark.parametrize("text", ["f(", "f() g()", "a = 1", "\0"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        parsed_python(text)
