"""Checks the answer to a special task: it should say why no call can be made.

The official code looks for phrases, so an answer that says everything passes everywhere, and a call beside the phrase
does not hurt. Under `sound` the sentence of the official prompt is read as data and must be equal to gold, none of the
other two may be said, and nothing may be called.
"""

import re
from collections.abc import Mapping, Sequence

from iad_envs.toolcalls.acebench.checkout import AceGold, AceTask
from iad_envs.toolcalls.acebench.scoring import RIGHT, AnswerVerdict
from iad_envs.toolcalls.rules import Rules

PHRASES: Mapping[str, str] = {
    "special_incomplete": "Missing necessary parameters",
    "special_error_param": "There is incorrect value",
    "special_irrelevant": "the limitations of the function",
}
"""What an answer must say, by category."""

_QUOTES = " \t\n'\"`"


def check_special(task: AceTask, gold: AceGold, answer: str, rules: Rules = "official") -> AnswerVerdict:
    """Return the verdict on an answer."""
    phrase = PHRASES[task.category]
    if phrase not in answer:
        return AnswerVerdict(False, "missing_phrase", f"expected {phrase!r}, got {answer!r:.80}")
    if rules == "official":
        return _official(task.category, gold, answer)
    return _sound(task, gold, answer)


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


def _official(category: str, gold: AceGold, answer: str) -> AnswerVerdict:
    if category == "special_irrelevant":
        return RIGHT
    for name, values in gold.answer.items():
        wanted = [*([name] if category == "special_incomplete" else []), *values]
        for text in wanted:
            if text not in answer:
                return AnswerVerdict(False, "wrong_names", f"expected {text!r} to be named")
    return RIGHT


def _sound(task: AceTask, gold: AceGold, answer: str) -> AnswerVerdict:
    if called := _called(answer, [document["name"] for document in task.functions]):
        return AnswerVerdict(False, "extra_call", f"expected no call, got one of {called}")
    for category, phrase in PHRASES.items():
        if category != task.category and phrase in answer:
            return AnswerVerdict(False, "wrong_names", f"expected only {PHRASES[task.category]!r}, got {phrase!r} too")
    if task.category == "special_incomplete":
        said: dict[str, set[str]] = {}
        missing = r"Missing necessary parameters[\s:]*\(([^()]*)\)[\s,]*for the api[\s:]*\(?\s*([\w.\-]+)"
        for names, function in re.findall(missing, answer):
            said.setdefault(function.rstrip("."), set()).update(_listed(names))
        is_right = said == {name: set(values) for name, values in gold.answer.items()}
    elif task.category == "special_error_param":
        values = r"There is incorrect value[\s:]*\((.{0,2000}?)\)[\s,]*for the parameters?[\s:]*\(([^()]*)\)"
        is_right = _names_the_values(re.findall(values, answer, re.DOTALL), gold.answer)
    else:
        is_right = True
    return RIGHT if is_right else AnswerVerdict(False, "wrong_names", f"expected {gold.answer}, got {answer!r:.200}")


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


def _called(answer: str, names: Sequence[str]) -> str:
    """Return the first function that is called, or ""."""
    return next((name for name in names if re.search(rf"(?<![\w.]){re.escape(name)}\s*\(", answer)), "")
