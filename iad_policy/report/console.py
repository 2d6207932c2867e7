"""The console of all commands. What it prints may come from logs, models and data of others, so it is text only."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from iad_policy.types.texts import without_controls


class TextConsole(Console):
    """A console to which brackets, colons and control characters in a text mean nothing.

    Neither rich's markup nor its emoji codes are read, and what a terminal would obey is shown as a sign.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(markup=False, emoji=False, **given)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of anything that is printed: its texts, and those of tables in it."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=without_controls(segment.text))
