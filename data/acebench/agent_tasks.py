"""Agent tasks: wishes of a phone's owner, all told at once (`multi_step`) or one after the other (`multi_turn`)."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

import wishes
from ace_checking import agent_difficulty, as_json, documents_of, faults
from drawing import Draw
from phone_scenes import APPS, phone_scene
from phone_story import PhoneStory
from scenarios import written
from story import TURN_KINDS, PlayedTurn, TurnKind

from iad_envs.toolcalls.acebench.checkout import AceGold, AceTask
from iad_envs.toolcalls.acebench.executor import as_data
from iad_envs.toolcalls.acebench.user import CONFIRMATION
from iad_envs.toolcalls.calls import FunctionCall

SPLITS = {"train": 16, "dev": 8, "test": 16}
SHARES = {"easy": 0.45, "medium": 0.1, "hard": 0.45}
N_WISHES = {"easy": (1, 2), "medium": (3, 3), "hard": (1, 3)}
LACKS_SHARE = 0.6
"""Of the wishes of hard tasks with a user."""
TELLS_MORE_SHARE = 0.4
"""Of the tasks that tell a PIN or an account that is not needed."""
ATTEMPTS = 500
SETS_OF_APPS = [*combinations(APPS, 1), *combinations(APPS, 2), *combinations(APPS, 2)]
KINDS = tuple(one for one in TURN_KINDS.values() if one.play.__module__ == wishes.__name__)
WORDING: Mapping[str, Any] = tomllib.loads(
    (Path(__file__).resolve().parent / "wording.toml").read_text(encoding="utf-8")
)


class AceRecord(NamedTuple):
    """A task and its gold, as rows of the official files."""

    entry: Mapping[str, Any]
    gold: Mapping[str, Any]


class ToldWish(NamedTuple):
    """A wish as it is said, and what it leaves out."""

    says: str
    left_out: Mapping[str, object]


def agent_tasks(seed: int, category: str) -> Iterator[AceRecord]:
    """Yield the tasks of a category."""
    used: Counter[str] = Counter()
    number = 0
    for split, n in SPLITS.items():
        for place in range(n):
            record, kinds = _accepted(seed, category, number, split, difficulty_at(place, n), used)
            used.update(kinds)
            yield record
            number += 1


def difficulty_at(place: int, n: int) -> str:
    """Return how hard a task should be, by its place among n."""
    at = (place + 0.5) / n
    for difficulty, share in SHARES.items():
        at -= share
        if at < 0:
            return difficulty
    return difficulty


def _accepted(
    seed: int, category: str, number: int, split: str, difficulty: str, used: Mapping[str, int]
) -> tuple[AceRecord, list[str]]:
    """Return the first drawn task that is as it should be, and the kinds of its wishes."""
    for attempt in range(ATTEMPTS):
        draw = Draw(seed, category, number, attempt)
        is_ready = difficulty != "hard" or draw.chance(0.2)
        apps = SETS_OF_APPS[(number + attempt) % len(SETS_OF_APPS)]
        story = PhoneStory(phone_scene(split, apps, draw, is_ready=is_ready), draw)
        after = _played(story, difficulty, used, draw)
        if after is None:
            continue
        record = _record(
            story, after, category, number, split, difficulty, Draw(seed, "said", category, number, attempt)
        )
        task, gold = read(record, category)
        if not faults(task, gold) and agent_difficulty(task, gold) == difficulty:
            return record, [one.kind for one in story.turns]
    raise SystemExit(f"no {difficulty} task was found for {category}_{number}; change the seed or the wishes")


def _played(
    story: PhoneStory, difficulty: str, used: Mapping[str, int], draw: Draw
) -> list[Mapping[str, Mapping[str, Any]]] | None:
    """Return what is compared before and after each wish, or None where the story does not fit."""
    seen: list[Mapping[str, Mapping[str, Any]]] = [story.public]
    apps = set(story.scene.worlds) - {"Phone"}
    for _ in range(draw.integer(N_WISHES[difficulty])):
        if not any(story.add(kind) for kind in _candidates(story, difficulty, used, draw)):
            return None
        seen.append(story.public)
    return seen if apps == {one.world for turn in story.turns for one in turn.calls} - {"Phone"} else None


def _candidates(story: PhoneStory, difficulty: str, used: Mapping[str, int], draw: Draw) -> Iterator[TurnKind]:
    """Yield wishes to try, the seldom ones first."""
    here = [kind for kind in KINDS if kind.worlds <= set(story.scene.worlds)]
    here = [kind for kind in here if kind.name not in {one.kind for one in story.turns}]
    if difficulty != "hard":
        here = [kind for kind in here if kind.way == "plain"]
    yield from sorted(draw.some(here, len(here)), key=lambda kind: used.get(kind.name, 0))


def _record(
    story: PhoneStory,
    seen: Sequence[Mapping[str, Any]],
    category: str,
    number: int,
    split: str,
    difficulty: str,
    draw: Draw,
) -> AceRecord:
    has_user = category == "agent_multi_turn"
    lacks = has_user and difficulty == "hard"
    told: list[ToldWish] = []
    for one in story.turns:
        taken = {name for wish in told for name in wish.left_out}
        told.append(_told(one, draw, lacks=lacks and draw.chance(LACKS_SHARE), taken=taken))
    owner = story.scene.people[0]
    facts = [_fact(name, story, wish.left_out, draw) for wish in told for name in wish.left_out]
    facts += [_fact(name, story, {}, draw) for name in _credentials(story, draw)]
    calls = [call for one in story.turns for call in one.calls]
    entry: dict[str, Any] = {
        "id": f"{category}_{number}",
        "question": "",
        "initial_config": _config(story),
        "path": [f"{call.world}.{call.function}" for call in calls],
        "function": list(documents_of(story.scene.worlds)),
        "involved_classes": list(story.scene.worlds),
    }
    if has_user:
        entry["question"] = _instruction(owner, told, facts, draw)
        goals = [
            {"says": wish.says, "holds": wanted(before, after)}
            for wish, before, after in zip(told, seen[:-1], seen[1:], strict=True)
        ]
        goals[0]["says"] = f"{draw.one(WORDING['introduced']['says']).format(owner=owner)} {told[0].says}"
        entry["script"] = {
            "goals": goals,
            "facts": [*facts, {**CONFIRMATION._asdict(), "words": list(CONFIRMATION.words)}],
        }
    else:
        opening = draw.one(WORDING["introduced"]["says"]).format(owner=owner)
        rest = [f"{draw.one(WORDING['then']['says'])}{wish.says}" for wish in told[1:]]
        entry["question"] = " ".join([opening, *(fact["says"] for fact in facts), told[0].says, *rest])
    stones = [f"[{FunctionCall(call.function, call.arguments)}]" for call in calls]
    entry |= {"split": split, "difficulty": difficulty}
    truth = [{name: as_data(story.public[name])} for name in story.scene.worlds]
    gold = {"id": entry["id"], "ground_truth": truth, "mile_stone": stones}
    return AceRecord(as_json(entry), as_json(gold))


def _told(one: PlayedTurn, draw: Draw, *, lacks: bool, taken: set[str]) -> ToldWish:
    """Return a wish in words. One may lack values, but none of a name that another lacks."""
    wording = WORDING[one.kind]
    text = draw.one(wording["lacks"] if lacks else wording["says"])
    left_out = {name: value for name, value in one.said.items() if name not in placeholders(text)}
    if taken & set(left_out):
        text, left_out = draw.one(wording["says"]), {}
    said = text.format(**{name: written(value) for name, value in one.said.items()})
    return ToldWish(said[0].upper() + said[1:], left_out)


def _credentials(story: PhoneStory, draw: Draw) -> list[str]:
    """Return which PIN and accounts are told: those that are needed, and at times others."""
    here = ["pin", *(f"{name.lower()}_account" for name in ("Takeaway", "Trips") if name in story.scene.worlds)]
    return [name for name in here if name in story.needed or draw.chance(TELLS_MORE_SHARE)]


def _fact(name: str, story: PhoneStory, said: Mapping[str, object], draw: Draw) -> dict[str, Any]:
    """Return something that the owner knows."""
    wording = WORDING["facts"][name]
    values = {key: written(value) for key, value in said.items()}
    if name == "pin":
        values = {"pin": story.scene.config["Phone"]["pin"]}
    elif name.endswith("_account"):
        values = dict(story.account(name.partition("_")[0].capitalize())._asdict())
    return {"name": wording["name"], "says": draw.one(wording["says"]).format(**values), "words": wording["words"]}


def _instruction(owner: str, told: Sequence[ToldWish], facts: Sequence[Mapping[str, Any]], draw: Draw) -> str:
    """Return what a model is told that plays the user."""
    wording = WORDING["told"]
    parts = [draw.one(wording["first"]).format(owner=owner, wish=told[0].says)]
    parts += [draw.one(wording["next"]).format(wish=one.says) for one in told[1:]]
    if facts:
        parts.append(draw.one(wording["knows"]).format(facts=" ".join(one["says"] for one in facts)))
    return " ".join(parts)


def _config(story: PhoneStory) -> dict[str, Any]:
    """Return the state at the start: the phone's part, which every class reads, and a part of each app."""
    phone = story.scene.config["Phone"]
    apps = {
        name: {key: value for key, value in story.scene.config[name].items() if key not in phone}
        for name in story.scene.worlds[1:]
    }
    return {"Phone": phone, **apps}


def wanted(before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the part of a state that a wish is about: records that are new or changed, else what else is changed.

    The id of a new record is left out: an agent that made another one before has another number.
    """
    changes: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, attributes in after.items():
        for key, value in attributes.items():
            old = before[name][key]
            if value == old:
                continue
            if not isinstance(value, tuple):
                others.setdefault(name, {})[key] = value
                continue
            rows = [_difference(one, old) for one in value if one not in old]
            if rows:
                changes.setdefault(name, {})[key] = rows
    return changes or others


def _difference(row: Any, old: Sequence[Any]) -> Any:
    if not isinstance(row, Mapping):
        return row
    id_name = next(iter(row))
    same = next((one for one in old if one[id_name] == row[id_name]), None)
    if same is None:
        return {key: value for key, value in row.items() if key != id_name}
    return {key: value for key, value in row.items() if key == id_name or value != same[key]}


def placeholders(text: str) -> set[str]:
    """Return the names of the values that a wording says."""
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def read(record: AceRecord, category: str) -> tuple[AceTask, AceGold]:
    """Return a record as the checkout reads it."""
    entry, gold = record
    task = AceTask(
        entry["id"],
        category,
        entry["question"],
        tuple(entry["function"]),
        entry.get("time", ""),
        entry.get("profile", ""),
        entry.get("initial_config", {}),
        tuple(entry.get("involved_classes", ())),
        entry["split"],
        entry["difficulty"],
        entry.get("script", {}),
    )
    stones = gold.get("mile_stone", [])
    return task, AceGold(gold["ground_truth"], (tuple(stones),) if stones else ())
