"""Checks the answer to a special task: it should say why no call can be made.

The official code looks for phrases, so an answer that says everything passes everywhere, and a call beside the phrase
does not hurt. Under `sound` the sentence of the official prompt is read as data and must be equal to gold, none of the
other two may be said, and nothing may be called.
"""

import re
from collections.abc import Mapping, Sequence

from iad_envs.toolcalls.acebench.checkout import AceGold, AceTask
from iad_envs.toolcalls.rules import Rules

PHRASES: Mapping[str, str] = {
    "special_incomplete": "Missing necessary parameters",
    "special_error_param": "There is incorrect value",
    "special_irrelevant": "the limitations of the function",
}
"""What an answer must say, by category."""

_QUOTES = " \t\n'\"`"


def check_special(task: AceTask, gold: AceGold, answer: str, rules: Rules = "official") -> bool:
    """Whether an answer is right."""
    if PHRASES[task.category] not in answer:
        return False
    return _official(task.category, gold, answer) if rules == "official" else _sound(task, gold, answer)


def gold_sentence(task: AceTask, gold: AceGold) -> str:
    """Return gold as the official prompt asks for it."""
    if task.category == "special_irrelevant":
        return str(gold.answer)
    if task.category == "special_incomplete":
        names = ((", ".join(values), name) for name, values in gold.answer.items())
        return " ".join(f"Missing necessary parameters ({these}) for the api ({name})" for these, name in names)
    values = ", ".join(str(value) for these in gold.answer.values() for value in these)
    parameters = ", ".join(gold.answer)
    return f"There is incorrect value ({values}) for the parameters ({parameters}) in the conversation history."


def _official(category: str, gold: AceGold, answer: str) -> bool:
    if category == "special_irrelevant":
        return True
    names = gold.answer if category == "special_incomplete" else ()
    return all(text in answer for text in (*names, *(value for values in gold.answer.values() for value in values)))


def _sound(task: AceTask, gold: AceGold, answer: str) -> bool:
    names = (re.escape(document["name"]) for document in task.functions)
    if any(re.search(rf"(?<![\w.]){name}\s*\(", answer) for name in names):
        return False  # it calls a function
    if any(phrase in answer for category, phrase in PHRASES.items() if category != task.category):
        return False
    if task.category == "special_incomplete":
        said: dict[str, set[str]] = {}
        missing = r"Missing necessary parameters[\s:]*\(([^()]*)\)[\s,]*for the api[\s:]*+\(?\s*+([\w.\-]+)"
        for listed, function in re.findall(missing, answer):
            said.setdefault(function.rstrip("."), set()).update(_listed(listed))
        return said == {name: set(values) for name, values in gold.answer.items()}
    if task.category == "special_error_param":
        values = r"There is incorrect value[\s:]*\((.{0,2000}?)\)[\s,]*for the parameters?[\s:]*\(([^()]*)\)"
        return _names_the_values(re.findall(values, answer, re.DOTALL), gold.answer)
    return True


def _names_the_values(said: Sequence[tuple[str, str]], gold: Mapping[str, Sequence[str]]) -> bool:
    """Whether sentences name gold's parameters and gold's values, and nothing else. Values may hold commas."""
    names = {name for _, listed in said for name in _listed(listed)}
    text = "\n".join(values for values, _ in said)
    wanted = {str(value) for values in gold.values() for value in values}
    for value in sorted(wanted, key=len, reverse=True):
        if value not in text:
            return False
        text = text.replace(value, "\n")
    return names == set(gold) and not text.replace(",", "").strip(_QUOTES + "\n")


def _listed(names: str) -> list[str]:
    return [name.strip(_QUOTES) for name in names.split(",") if name.strip(_QUOTES)]
