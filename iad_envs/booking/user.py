"""The scripted user: answers a question by its topics, with the task's answers and nothing else.

It knows no gold: what it says of date and time is what the instruction says. No wording gets more out of it.
"""

import re
from collections.abc import Mapping
from typing import Any

TOPICS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"\b(?:{words})s?\b", re.IGNORECASE)
    for name, words in {
        "seating": "seat(?:ed|ing)?|sit(?:ting)?|indoor|outdoor|inside|outside|terrace|window|booth|bar|which table",
        "date": "date|day|when",
        "time": "time|hour|when|slot",
        "party": "how many|people|persons|guests|party",
        "restaurant": "restaurant|city|town",
        "name": "name|surname|who",
        "phone": "phone|telephone|mobile|call|number to",
        "email": "e-?mail",
    }.items()
}
"""Topic -> what a question about it says, in the order of the answers."""
NOTHING_MORE = "I have nothing to add. Please go by what I asked for."


def topics_of(question: str) -> tuple[str, ...]:
    """Return the topics of a question."""
    return tuple(topic for topic, words in TOPICS.items() if words.search(question))


def answer_of(answers: Mapping[str, Any], question: str) -> str:
    """Return the user's answer to a question."""
    said = [str(answers[topic]) for topic in topics_of(question) if topic in answers]
    return " ".join(said) or NOTHING_MORE
