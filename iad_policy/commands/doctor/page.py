"""Prints the doctor's findings, as a page or as JSON."""

import json
import textwrap
from collections.abc import Sequence
from functools import partial

from rich.console import Console
from rich.text import Text

from iad_policy.commands.doctor.findings import FindingGroup

STYLES = {"ok": "green", "set": "green", "missing": "yellow", "slow": "yellow", "broken": "bold red", "not set": "dim"}


def print_groups(groups: Sequence[FindingGroup], console: Console) -> None:
    """Print a row for each finding. Commands can be copied as one line, at any width of the terminal."""
    # With a soft wrap only the terminal breaks long lines, so a copied command stays in one piece.
    tell = partial(console.print, highlight=False, soft_wrap=True)
    width = max(len(finding.name) for group in groups for finding in group.findings)
    left = 2 + width + 1 + 8  # the longest status and a space
    wrapper = textwrap.TextWrapper(max(20, console.width - left), break_long_words=False, break_on_hyphens=False)
    for group in groups:
        tell(Text(group.title, style="bold"))
        for finding in group.findings:
            lines = wrapper.wrap(finding.said) or [""]
            row = Text(f"  {finding.name:<{width}} ").append(f"{finding.status:<8}", style=STYLES[finding.status])
            if finding.fix and not finding.said:
                tell(row.append(f"$ {finding.fix}", style="cyan"))
                continue
            tell(row.append(lines[0]))
            for line in lines[1:]:
                tell(Text(" " * left + line))
            if finding.fix:
                tell(Text(f"    $ {finding.fix}", style="cyan"))


def as_json(groups: Sequence[FindingGroup]) -> str:
    """Return the findings as JSON."""
    return json.dumps({group.title: [finding._asdict() for finding in group.findings] for group in groups}, indent=2)
