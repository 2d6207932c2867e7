"""Checks paraphrases of a task, and shows them to the agent only.

`State.worded` marks a state, and every state simulated from it. Only the agent's view changes: its answer is read,
simulated and verified in the environment's own state. Some parts must not change. Lines under a label, such as the
evidence of a question, are not paraphrased at all. Numbers, units, prices, quoted texts and paths are compared: a
paraphrase that lost one is replaced by the task's own words.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from iad_policy.requests import Ask
from iad_policy.types import PublicInfo, State, Turn
from iad_policy.types.read_only import read_only

Changes: TypeAlias = Mapping[str, str]
"""Replacements in a task, the longest first."""

_QUOTED = re.compile(r"(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w))+'(?!\w)|\"[^\"\n]+\"|`[^`\n]+`")
_CODE = re.compile(
    r"(?<![^\s,;])[^\s,;]*[/\\_=<>*|~#@&{}\[\]^+][^\s,;]*|(?<!\w)\.\w+|(?<![A-Za-z])[A-Za-z]\w*+\.\w[\w.]*"
)
_CURRENCY = {"$": "$", "dollar": "$", "usd": "$", "€": "€", "euro": "€", "eur": "€", "£": "£"}
_UNITS = frozenset(
    [
        *("inch", "in", "foot", "feet", "ft", "yard", "mile", "cm", "mm", "m", "km", "meter", "metre"),
        *("oz", "ounce", "lb", "lbs", "pound", "kg", "g", "gram", "mg", "ml", "l", "liter", "litre", "gallon", "quart"),
        *("count", "ct", "pack", "piece", "pcs", "pair", "set", "bottle", "can", "bag", "box", "roll", "sheet"),
        *("watt", "w", "volt", "v", "hz", "mhz", "ghz", "kb", "mb", "gb", "tb", "byte", "degree", "point", "star"),
        *("second", "minute", "hour", "day", "week", "month", "year"),
        *("line", "row", "column", "word", "file", "character"),
    ]
)
_NUMBER = re.compile(r"([$€£]?)\s?(-?\d[\d,]*(?:\.\d+)?)[ -]?(%|[A-Za-z]+)?")


def agent_view(state: State) -> State:
    """Return a state as the agent sees it: with the paraphrased task, if a strategy set one.

    The paraphrase replaces `info["instruction"]` and every quotation of the task in an observation or a page of this
    state or its history. The available actions stay as they are.
    """
    if not state.wording:
        return state
    original = str(state.info.get("instruction", ""))
    if not original:
        return state
    old, new = original.splitlines(), state.wording.splitlines()
    while len(old) > 1 and len(new) > 1 and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    # The whole task, and the task without the last lines that both texts share.
    changes = {original: state.wording, "\n".join(old): "\n".join(new)}
    history = tuple(
        Turn(_changed(turn.observation, changes), turn.action, _info(turn.info, changes)) for turn in state.history
    )
    return replace(
        state, observation=_changed(state.observation, changes), info=_info(state.info, changes), history=history
    )


def usable_answer(request: Ask, text: str, notes: dict[str, None]) -> str:
    """Return the usable text of a role's answer. A paraphrase that lost something is dropped, with a note."""
    if request.role != "paraphraser" or not isinstance(request.subject, str):
        return text
    said = " ".join(text.split("\n")).strip() if "\n" not in request.subject else text.strip()
    lost = differences(request.subject, said)
    if not lost:
        return said
    notes[f"a paraphrase was dropped, the task's own words are kept: it differs in {', '.join(lost)[:200]}"] = None
    return request.subject


def differences(original: str, text: str) -> list[str]:
    """Return what a paraphrase lost or added among numbers with units, quoted texts and paths."""
    if not text:
        return ["everything"]
    quoted = [match[0] for match in _QUOTED.finditer(original)]
    code = [match[0].rstrip(".,;:?!)") for match in _CODE.finditer(_QUOTED.sub(" ", original))]
    lost = [one for one in dict.fromkeys([*quoted, *code]) if one and one not in text]
    expected, given = (Counter(_amounts(one)) for one in (original, text))
    return lost + [f"{number:g} {unit}".strip() for number, unit in ((expected - given) + (given - expected))]


def particulars(text: str) -> list[tuple[int, int]]:
    """Return the spans of quoted texts, paths and code, and numbers with their units, in order."""
    found = [match.span() for pattern in (_QUOTED, _CODE, _NUMBER) for match in pattern.finditer(text)]
    return sorted(found)


def _amounts(text: str) -> list[tuple[float, str]]:
    """Return every number of a text with its unit. The unit of other words is ""."""
    found = []
    for match in _NUMBER.finditer(text):
        word = (match[1] or match[3] or "").lower()
        singular = word[:-1] if len(word) > 2 and word.endswith("s") and word != "lbs" else word
        unit = _CURRENCY.get(singular) or ("%" if singular in ("%", "percent") else "")
        found.append((float(match[2].replace(",", "")), unit or (singular if singular in _UNITS else "")))
    return found


def _changed(value: Any, changes: Changes) -> Any:
    """Return an observation or a part of a page with the paraphrased task. It is a text or a mapping with texts."""
    if isinstance(value, str):
        # In one pass, as the new words may contain the old ones.
        return re.sub("|".join(map(re.escape, changes)), lambda match: changes[match[0]], value)
    if isinstance(value, Mapping):
        parts = {key: _changed(part, changes) if isinstance(part, str) else part for key, part in value.items()}
        return read_only(parts)
    return value


def _info(info: Mapping[str, Any], changes: Changes) -> Mapping[str, Any]:
    new = {key: _changed(info[key], changes) for key in ("instruction", "page") if key in info}
    return info.changed(new) if isinstance(info, PublicInfo) else {**info, **new}
