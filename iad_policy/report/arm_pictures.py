"""Draws the pictures of a paper's comparison: what was measured here, and beside it what the paper has."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iad_policy.report.plots import Mark, Panel, draw
from iad_policy.report.statistics import Interval


def draw_pictures(record: Mapping[str, Any], stem: Path) -> list[Path]:
    """Draw the pictures of `reproduction.json`, and return the files: `<stem>-1.png`, `<stem>-1.svg` and so on.

    Each picture has two panels with scales of their own, as the values of the two can't be compared.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    seeds = ", ".join(map(str, record["seeds"]))
    written = []
    for k, picture in enumerate(record["pictures"], 1):
        title = f"{record['title']}: {picture['title']}\n{record['env']}, {record['n_tasks']} tasks, seeds {seeds}"
        written += draw(panels_of(picture, record["arms"]), title, stem.with_name(f"{stem.name}-{k}"))
    return written


def panels_of(picture: Mapping[str, Any], arms: Mapping[str, Mapping[str, Any]]) -> tuple[Panel, Panel]:
    """Return what is drawn of a picture: ours with 95 % intervals, and the paper's numbers."""
    metric, x = picture["metric"], picture["x"]
    lines = {name: name.partition(", n = ")[0] if x else "" for name in picture["arms"]}
    if len(set(lines.values())) == 1:  # the title says what it is
        lines = dict.fromkeys(lines, "")
    here: dict[str, list[Mark]] = {}
    there: dict[str, list[Mark]] = {}
    for place, (name, known) in enumerate(picture["arms"].items()):
        own, line = arms[name], lines[name]
        at = own[x] if x else place
        interval = own[f"{metric}_95"]
        here.setdefault(line, []).append(Mark(at, own[metric], interval and Interval(*interval)))
        there.setdefault(line, []).extend([] if known is None else [Mark(at, known)])
    across = "proposals per episode" if x == "proposals" else x
    ticks: dict[float, str] = {} if x else dict(enumerate(picture["arms"]))
    numbered: dict[float, str] = {place: "" if picture["arms"][name] is None else name for place, name in ticks.items()}
    is_known = any(there.values())
    return (
        Panel("here", across, f"{metric}, 95 % interval", here, ticks=ticks, is_bars=not x),
        Panel(
            "published",
            across,
            picture["published"],
            there if is_known else {},
            ticks=numbered,
            is_bars=not x,
            text="" if is_known else picture["published"],
        ),
    )
