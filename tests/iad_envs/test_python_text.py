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


@pytest.mark.parametrize("theirs", [parsed_python, ast.parse], ids=["ours", "a library's"])
def test_threads_parse_at_the_same_time(hurried: None, theirs: Callable[[str], object]) -> None:
    """What a library's thread raises is not ours to prevent, so it is not looked at."""
    errors: list[tuple[object, BaseException]] = []

    def parse_all(parse: Callable[[str], object]) -> None:
        for _ in range(12):
            Litter()
            try:
                parse(CALLS)
            except BaseException as error:
                errors.append((parse, error))

    threads = [Thread(target=parse_all, args=[parse]) for parse in 4 * [parsed_python, theirs]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not [error for parse, error in errors if parse is parsed_python]


def test_nothing_warns_and_what_is_no_expression_is_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (r"f('\d')", "1if x else 2"):
            parsed_python(text)
    for text in ("f(", "f() g()", "a = 1", "\0"):
        with pytest.raises((SyntaxError, ValueError)):
            parsed_python(text)
