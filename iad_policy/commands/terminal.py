"""What commands share at the terminal: its console, errors as one line, progress bars, and Ctrl-C."""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import current_thread, main_thread
from typing import Any

import gymnasium as gym
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from iad_envs.errors import Unavailable
from iad_policy.errors import IADError
from iad_policy.report.console import TextConsole
from iad_policy.types.secrets import masked

INTERRUPTED = 130
"""Exit status after Ctrl-C, by the convention of shells."""
BAD_INPUT: tuple[type[Exception], ...] = (
    *(IADError, ValueError, TypeError, FileNotFoundError, gym.error.Error, Unavailable),
    *(ImportError, AttributeError),  # an agent or verifier named as module:Class
)
"""Errors that the user can fix."""


def make_console() -> Console:
    """Return the console to print to. Where it is no terminal, lines have 100 columns unless COLUMNS is set."""
    # A notebook sets FORCE_COLOR, by which rich would take a cell for a terminal and draw bars there.
    is_terminal = sys.stdout.isatty()
    return TextConsole(force_terminal=is_terminal, width=None if is_terminal or os.environ.get("COLUMNS") else 100)


def tell(text: str, *, is_error: bool = False) -> None:
    """Print a text; an error on stderr. Long lines are left to the terminal: a copied one stays in one piece."""
    console = TextConsole(stderr=True) if is_error else make_console()
    console.print(text, highlight=False, soft_wrap=True)


def show_warning(message: Warning | str, kind: type[Warning], file: str, line: int, *others: Any) -> None:
    """Print a warning for users as one line, and others, which are for programmers, as Python does.

    It is printed as a text: it may quote what a log or a folder says.
    """
    is_for_users = issubclass(kind, UserWarning)
    tell(
        f"iad: {message}" if is_for_users else warnings.formatwarning(message, kind, file, line).rstrip("\n"),
        is_error=True,
    )


@contextmanager
def clear_errors(kinds: tuple[type[Exception], ...] = (*BAD_INPUT, OSError)) -> Iterator[None]:
    """Print an error that the user can fix as one line on stderr, and exit with status 2."""
    try:
        yield
    except kinds as error:
        tell(masked(f"iad: {error}"), is_error=True)
        raise typer.Exit(2) from None


def counting_bar(console: Console) -> Progress:
    """Return a progress bar that counts, to be shown on a terminal only."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def interruptible(stop: Callable[[], None], console: Console) -> AbstractContextManager[None]:
    """Stop on the first Ctrl-C, once pending calls are answered and saved. A second Ctrl-C stops at once."""

    def first(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop()
        console.print("Waiting for the answers to pending calls. Press Ctrl-C again to stop at once.")

    return handling_ctrl_c(first)


@contextmanager
def handling_ctrl_c(handler: Callable[..., None] | signal.Handlers) -> Iterator[None]:
    """Handle Ctrl-C in a block of the main thread. Other threads get no signals."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
