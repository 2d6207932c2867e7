"""The scripted user of agent tasks: goals and facts as data, no model.

It opens with its first goal, answers a question by at most two facts, and goes on when the state that a goal wants
holds. What it knows of the wanted state it never says.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from iad_envs.toolcalls.acebench.equality import same_value
from iad_envs.toolcalls.matching import n_matched

STOP = "finish conversation"
"""What the user says at the end."""
DONT_KNOW = "I don't know."

ByClass = Mapping[str, Mapping[str, Any]]


class UserFact(NamedTuple):
    """Something that the user knows.

    Attributes:
        name: Its name, such as `reminder time`. A question with words of it is about it.
        says: What the user answers.
        words: Other words for it.
    """

    name: str
    says: str
    words: tuple[str, ...] = ()


class UserGoal(NamedTuple):
    """Something that the user wants.

    Attributes:
        says: How the user asks for it.
        holds: The part of the state that it wants, by class. See `holds`.
    """

    says: str
    holds: ByClass


class UserScript(NamedTuple):
    """A user: what it wants, in order, and what it knows."""

    goals: tuple[UserGoal, ...]
    facts: tuple[UserFact, ...] = ()

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "UserScript":
        """Return the script of a record: `{"goals": [{"says", "holds"}], "facts": [{"name", "says", "words"}]}`."""
        goals = tuple(UserGoal(goal["says"], goal["holds"]) for goal in record["goals"])
        facts = record.get("facts", ())
        return cls(goals, tuple(UserFact(one["name"], one["says"], tuple(one.get("words", ()))) for one in facts))


class UserMessage(NamedTuple):
    """A message of the user.

    Attributes:
        text: What is said.
        goal: Number of the goal that it waits for, from 0. The number of goals if all hold.
    """

    text: str
    goal: int

    @property
    def is_last(self) -> bool:
        """Whether the user ends the conversation."""
        return self.text == STOP


def first_message(script: UserScript) -> UserMessage:
    """Return what the user says first."""
    return UserMessage(script.goals[0].says, 0) if script.goals else UserMessage(STOP, 0)


def next_message(script: UserScript, goal: int, question: str, state: ByClass) -> UserMessage:
    """Return what the user answers.

    Args:
        script: The user.
        goal: Number of the goal that it waits for.
        question: What the agent said.
        state: The state, by class.
    """
    reached = goal
    while reached < len(script.goals) and holds(script.goals[reached].holds, state):
        reached += 1
    if reached == len(script.goals):
        return UserMessage(STOP, reached)
    if reached > goal:
        return UserMessage(script.goals[reached].says, reached)
    said = asked_facts(question, script.facts)
    return UserMessage(" ".join(fact.says for fact in said) or DONT_KNOW, goal)


def asked_facts(question: str, facts: Sequence[UserFact]) -> tuple[UserFact, ...]:
    """Return the facts that a question is about, at most two, in the order of the script.

    A word counts more the fewer facts have it.
    """
    asked = _stems(question)
    known = [words_of(fact.name) | _stems(" ".join(fact.words)) for fact in facts]
    n_facts = Counter(word for words in known for word in words)
    weights = [sum(1 / n_facts[word] for word in words & asked) for words in known]
    places = sorted((place for place, weight in enumerate(weights) if weight), key=lambda place: -weights[place])
    return tuple(facts[place] for place in sorted(places[:2]))


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text that say something, without the s of a plural."""
    quiet = (
        "a about all also am an and any are as at be been but by can could do does done for from get give had has have "
        "help how i if in is it its just let like may me my need no not of ok on or our please provide shall should so "
        "some tell than that the their them then there these they this to us want was we what when which who will with "
        "would you your"
    )
    silent = quiet.split()
    return _stems(" ".join(word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in silent))


def _stems(text: str) -> frozenset[str]:
    """Return all words of a text without the s of a plural: a script may name a word that says little elsewhere."""
    return frozenset(word.removesuffix("s") or word for word in re.findall(r"[a-z0-9]+", text.lower()))


def holds(wanted: Any, state: Any) -> bool:
    """Whether a state has a wanted part.

    Of a dictionary every wanted entry must hold, and an entry that is wanted as None must be missing. Of a list every
    wanted item must hold for an item of its own. Other values are compared as by the sound checkers.
    """
    if isinstance(wanted, Mapping):
        return isinstance(state, Mapping) and all(
            state.get(key) is None if part is None else key in state and holds(part, state[key])
            for key, part in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        if not isinstance(state, list | tuple):
            return False
        fits = [[place for place, item in enumerate(state) if holds(part, item)] for part in wanted]
        return n_matched(fits) == len(wanted)
    return same_value(state, wanted)


def by_class(states: Iterable[ByClass]) -> ByClass:
    """Return the attributes by class of a list with one class each, as `executor.saved_state` gives it."""
    return MappingProxyType({name: attributes for one in states for name, attributes in one.items()})


def script_of_instruction(instruction: str, wanted: ByClass) -> UserScript:
    """Return a script for an official task, which tells a model in sentences what to want and what it knows.

    The sentences with a wish are the only goal, the others are facts under their own words, all in the first person.

    Args:
        instruction: The task's question.
        wanted: The state in which the goal is reached.
    """
    ends = r"(?:(?<=[.!?])|(?<=[.!?]['\"]))\s+(?=[A-Z])"
    sentences = [one for one in re.split(ends, instruction.strip()) if not one.startswith("You will respond")]
    wishes = [one for one in dict.fromkeys(sentences) if re.search(r"(?i)\b(?:need|want|wish) to\b", one)]
    others = [one for one in dict.fromkeys(sentences) if one not in wishes]
    facts = [UserFact(one.rstrip("."), first_person(one)) for one in others]
    opening = " ".join(map(first_person, wishes or sentences))
    return UserScript((UserGoal(opening, wanted),), (*facts, CONFIRMATION))


CONFIRMATION = UserFact(
    "confirmation", "Yes, please.", ("confirm", "proceed", "sure", "ahead", "correct", "okay", "continue", "right")
)


def first_person(text: str) -> str:
    """Return a text in the first person. What is quoted stays as it is."""
    parts = re.split(r"('(?:[^']|'(?=\w))*'(?!\w)|\"[^\"]*\")", text)
    for place in range(0, len(parts), 2):
        for pattern, said in (
            (r"\b(to|for|sent|give|tell) you\b", r"\1 me"),
            (r"\b[Yy]ou are\b", "I am"),
            (r"\bYour\b", "My"),
            (r"\byour\b", "my"),
            (r"\b[Yy]ou\b", "I"),
        ):
            parts[place] = re.sub(pattern, said, parts[place])
    return "".join(parts)
