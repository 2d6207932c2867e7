"""Multi-turn tasks: a scenario is drawn once and told in four ways."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import greenhouse_turns
import library_turns
import mail_turns
import mixed_turns
import notebook_turns
import parcels_turns
from checking import difficulty_of, faults
from drawing import Draw
from scenes import CONFIGS, drawn_scene
from story import TURN_KINDS, PlayedTurn, Story, TurnKind

SPLITS = {"train": 24, "dev": 12, "test": 24}
"""Scenarios of each split, in the order of their numbers."""
CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
SHARES = {"easy": 0.4, "medium": 0.1, "hard": 0.5}
"""Of the scenarios, as they are in the base category."""
N_TURNS = {"easy": (2, 3), "medium": (4, 4), "hard": (3, 5)}
MAX_CALLS = {"easy": 4, "medium": 4, "hard": 13}
UNITS_SHARE = 0.5
WAYS = {"follows": 0.4, "looked_up": 0.4, "plain": 0.2}
"""Of the turns of hard scenarios; where no turn follows, another way is taken."""
ATTEMPTS = 500
PAIRS = tuple(combinations(sorted(CONFIGS), 2))
MODULES = (library_turns, greenhouse_turns, notebook_turns, parcels_turns, mail_turns, mixed_turns)
"""Where the kinds of turns are."""
WORDING: Mapping[str, Mapping[str, Sequence[str]]] = tomllib.loads(
    (Path(__file__).resolve().parent / "wording.toml").read_text(encoding="utf-8")
)


class MultiTurnTask(NamedTuple):
    """A task and its gold, as rows of the official files."""

    entry: Mapping[str, Any]
    gold: Sequence[Sequence[str]]


def scenarios(seed: int) -> Iterator[Mapping[str, MultiTurnTask]]:
    """Yield the tasks of each scenario, by category."""
    used: Counter[str] = Counter()
    number = 0
    for split, n in SPLITS.items():
        for place in range(n):
            difficulty = _difficulty(place, n)
            tasks, kinds = accepted(seed, number, split, difficulty, used)
            used.update(kinds)
            yield tasks
            number += 1


def _difficulty(place: int, n: int) -> str:
    at = (place + 0.5) / n
    for difficulty, share in SHARES.items():
        at -= share
        if at < 0:
            return difficulty
    return difficulty


def accepted(
    seed: int, number: int, split: str, difficulty: str, used: Mapping[str, int]
) -> tuple[Mapping[str, MultiTurnTask], list[str]]:
    """Return the first drawn scenario that is as it should be, in all categories, and the kinds of its turns."""
    for attempt in range(ATTEMPTS):
        draw = Draw(seed, "scenario", number, attempt)
        pair = draw.some(PAIRS[(number + attempt) % len(PAIRS)], 2)
        worlds = [*pair, "Units"] if draw.chance(UNITS_SHARE) else pair
        story = told(Story(drawn_scene(split, worlds, draw), draw), difficulty, used, draw)
        if story is None:
            continue
        tasks = tasks_of(story, number, split, Draw(seed, "wording", number, attempt))
        if tasks is None or any(faults(*task) for task in tasks.values()):
            continue
        if tasks["base"].entry["difficulty"] == difficulty:
            return tasks, [turn.kind for turn in story.turns]
    raise SystemExit(f"no {difficulty} scenario was found for number {number}; change the seed or the turns")


def told(story: Story, difficulty: str, used: Mapping[str, int], draw: Draw) -> Story | None:
    """Return the story with its turns, or None where it can't go on, or becomes too long."""
    for _ in range(draw.integer(N_TURNS[difficulty])):
        if not any(story.add(kind) for kind in _candidates(story, difficulty, used, draw)):
            return None
    n_calls = sum(len(turn.calls) for turn in story.turns)
    is_mixed = len({call.world for turn in story.turns for call in turn.calls}) == len(story.scene.worlds)
    return story if n_calls <= MAX_CALLS[difficulty] and is_mixed else None


def _candidates(story: Story, difficulty: str, used: Mapping[str, int], draw: Draw) -> Iterator[TurnKind]:
    """Yield kinds of turns to try, the seldom ones first."""
    here = [kind for kind in TURN_KINDS.values() if kind.worlds <= set(story.scene.worlds)]
    here = [kind for kind in here if kind.name not in {turn.kind for turn in story.turns}]
    first = draw.weighted(WAYS) if difficulty == "hard" else "plain"
    ways = list(dict.fromkeys((first, "looked_up", "plain"))) if difficulty == "hard" else ["plain"]
    for way in ways:
        kinds = [kind for kind in here if kind.way == way]
        yield from sorted(draw.some(kinds, len(kinds)), key=lambda kind: used.get(kind.name, 0))


def tasks_of(story: Story, number: int, split: str, draw: Draw) -> Mapping[str, MultiTurnTask] | None:
    """Return the tasks of a scenario by category, or None where nothing can be withheld."""
    said = [sentence(WORDING[turn.kind]["says"], turn, draw) for turn in story.turns]
    gold = [[str(call) for call in turn.calls] for turn in story.turns]
    places = [place for place, turn in enumerate(story.turns) if _is_new(story.turns, place)]
    lacking = [place for place, turn in enumerate(story.turns) if "lacks" in WORDING[turn.kind]]
    if not places or not lacking:
        return None
    late, short = draw.one(places), draw.one(lacking)
    turn = story.turns[short]
    lacks, gives = (sentence(WORDING[turn.kind][key], turn, draw) for key in ("lacks", "gives"))
    told_late = [*said[: late + 1], "", *said[late + 1 :]]
    told_short = [*said[:short], lacks, gives, *said[short + 1 :]]
    missed = {str(late + 1): list(dict.fromkeys(call.function for call in story.turns[late].calls))}
    return {
        "base": _task(story, "base", number, split, said, gold),
        "miss_func": _task(
            story, "miss_func", number, split, told_late, [*gold[:late], [], *gold[late:]], missed_function=missed
        ),
        "miss_param": _task(story, "miss_param", number, split, told_short, [*gold[:short], [], *gold[short:]]),
        "long_context": _task(story, "long_context", number, split, said, gold),
    }


def _is_new(turns: Sequence[PlayedTurn], place: int) -> bool:
    """Whether no function of a turn was called before it."""
    before = {call.function for turn in turns[:place] for call in turn.calls}
    return not before & {call.function for call in turns[place].calls}


def sentence(wordings: Sequence[str], turn: PlayedTurn, draw: Draw) -> str:
    """Return what the user says."""
    said = draw.one(wordings).format(**{name: written(value) for name, value in turn.said.items()})
    return said[0].upper() + said[1:]


def written(value: object) -> str:
    """Return a value as the user says it."""
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


def _task(
    story: Story,
    category: str,
    number: int,
    split: str,
    said: Sequence[str],
    gold: Sequence[Sequence[str]],
    **more: Any,
) -> MultiTurnTask:
    entry = {
        "id": f"multi_turn_{category}_{number}",
        "question": [[{"role": "user", "content": text}] if text else [] for text in said],
        "initial_config": story.scene.config,
        "path": [f"{call.world}.{call.function}" for turn in story.turns for call in turn.calls],
        "involved_classes": list(story.scene.worlds),
        **more,
        "split": split,
    }
    return MultiTurnTask(entry | {"difficulty": difficulty_of(entry, gold)}, gold)
