"""A paraphraser without a model: it exchanges phrases that mean the same, or puts the sentence into another frame.

Quoted texts, paths and numbers with their units never change. Neither do capitalised words inside a sentence, which may
be names. Only common phrases of requests change. That is little compared with a model, but enough to draw the agent's
other answers.
"""

import re
from collections.abc import Sequence
from random import Random

from iad_policy.roles.paraphrase_check import particulars
from iad_policy.types.hashing import seed_of

OPENINGS: Sequence[Sequence[str]] = (
    ("show me", "find me", "get me"),
    ("print", "show", "display"),
    ("list", "give"),
    ("how many", "what number of"),
    ("count the", "work out the number of"),
    ("what is", "tell me"),
    ("what are", "tell me"),
    ("find", "search for", "locate"),
    ("create", "make"),
    ("delete", "remove"),
    ("copy", "make a copy of"),
    ("replace", "substitute"),
    ("write", "produce"),
    ("place and size", "position and size"),
    ("answer with", "reply with", "respond with"),
)
"""Groups of phrases that can replace each other at the start of a sentence. Elsewhere such a word may be a noun."""
ANYWHERE: Sequence[Sequence[str]] = (
    ("i am looking for", "i'm looking for", "i want", "i need", "i would like", "i'd like"),
    ("looking for", "searching for", "in search of"),
    ("price lower than", "price below", "price under", "price less than"),
    ("priced lower than", "priced below", "priced under", "costing less than", "for less than"),
    ("looks like", "resembles"),
    ("each", "every"),
    ("that contain", "which contain"),
    ("that begin with", "that start with", "which begin with"),
    ("should be", "must be"),
    ("at most", "no more than"),
    ("at least", "no fewer than"),
    ("together with", "along with"),
    ("the total number of", "the number of"),
)
"""Groups of phrases that can replace each other anywhere."""

_PHRASES = {phrase: group for group in (*ANYWHERE, *OPENINGS) for phrase in group}
_PHRASE = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, _PHRASES), key=len, reverse=True))})\b", re.IGNORECASE)


def paraphrase(text: str, index: int, *stream: object) -> str:
    """Return a paraphrase of a text.

    Args:
        text: An English text.
        index: Number of the paraphrase. Those of different indices differ as long as there are enough of them.
        stream: Values that determine the order of the paraphrases.
    """
    rng = Random(seed_of(*stream, text))
    frames = ["{}", "Please: {}", "Here is the task: {}", "What I ask for: {}", "Your task: {}", "The task is this: {}"]
    if text.rstrip().endswith("?"):
        frames = ["{}", "Tell me: {}", "Answer this: {}", "The question: {}", "I would like to know: {}"]
    found = dict.fromkeys([text])
    for _ in range(20 * (index + 1)):  # before an old one is returned again
        found[rng.choice(frames).format(_exchanged(text, rng))] = None
        if len(found) == index + 2:
            break
    wordings = list(found)[1:] or [text]
    return wordings[index % len(wordings)]


def _exchanged(text: str, rng: Random) -> str:
    parts, end = [], 0
    for first, last in [*particulars(text), (len(text), len(text))]:
        if first > end:
            parts.append(_PHRASE.sub(lambda match: _other(match, text, end, rng), text[end:first]))  # noqa: B023
        if last > end:
            parts.append(text[max(first, end) : last])
            end = last
    return "".join(parts)


def _other(match: re.Match[str], text: str, offset: int, rng: Random) -> str:
    """Return another phrase of the same meaning, with a capital only at the start of a sentence."""
    phrase = match[0]
    place = end = offset + match.start()
    while end and text[end - 1].isspace():
        end -= 1
    begins = not end or "\n" in text[end:place] or (end < place and text[end - 1] in ".?!:;")
    if phrase.lower() in frozenset(phrase for group in OPENINGS for phrase in group) and not begins:
        return phrase
    if phrase[1:] != phrase[1:].lower() or (phrase[0].isupper() and not begins and not phrase.startswith(("I ", "I'"))):
        return phrase
    new = rng.choice(_PHRASES[phrase.lower()])
    return new[0].upper() + new[1:] if phrase[0].isupper() else new
