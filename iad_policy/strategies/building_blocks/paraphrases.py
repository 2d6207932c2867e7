"""Paraphrases of the task, for methods whose samples should differ."""

import re

from iad_policy.requests import All, Ask, Asking
from iad_policy.types import State


def paraphrases(here: State, n: int) -> Asking[list[str]]:
    """Ask the paraphraser for n paraphrases of the task. A missing one is "", which stands for the task's own words.

    One is missing if the environment states no task, if the paraphrase lost something (a note of the decision says
    what), or if the budget is spent.
    """
    task, fixed = split_task(str(here.info.get("instruction", "")))
    if not task or n < 1:
        return [""] * n
    said = yield from All([iter(Ask("paraphraser", here, task)) for _ in range(n)])
    return ["" if text is None or text == task else "\n".join([text, *fixed]) for text in said]


def split_task(instruction: str) -> tuple[str, list[str]]:
    """Return the part of an instruction that may be paraphrased, and the lines after it, from the first label on."""
    lines = instruction.splitlines()
    label = re.compile(r"[A-Z][\w' ]{0,40}: ")
    first = next((place for place, line in enumerate(lines) if place and label.match(line)), len(lines))
    return "\n".join(lines[:first]), lines[first:]
