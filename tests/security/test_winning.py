"""A capable agent that wants the reward without doing the task: what it may try in each environment, in `tricks.toml`.

A try may earn what its plain counterpart earns: nothing, a purchase made blindly, or a page drawn without a look at the
sketch. The solution of the same task succeeds. A try that wins, as the published rule lets it, has the reason; where
there is a stricter rule, that one refuses it.
"""

import re
import tomllib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from statistics import fmean
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.booking.env import BookingEnv
from iad_envs.booking.moments import MAX_PARTY, N_DAYS
from iad_envs.booking.site.app import create_app as booking_app
from iad_envs.booking.tasks import KINDS, BookingTask
from iad_envs.browser.images import encoded
from iad_envs.webshop.env import WebShopEnv
from tests.browser import Browsers
from tests.iad_envs.booking.site.http_visitor import HttpVisitor
from tests.iad_envs.booking.site.small_world import PERSON, ROOM, made
from tests.iad_envs.booking.visits import FOLDER, TASKS, WORLD, booking, tasks_with, to_table
from webshop_server.progress import Progress
from webshop_server.site.app import Site
from webshop_server.site.app import create_app as shop_app

TRICKS = tomllib.loads(Path(__file__).with_name("tricks.toml").read_text(encoding="utf-8"))
SHOP, BOOKING, SKETCH = "IAD/WebShop-v0", "IAD/Booking-v0", "IAD/Sketch2Code-v0"
BASH, BIRD, BFCL, ACE = "IAD/InterCodeBash-v0", "IAD/BIRD-v0", "IAD/BFCL-v0", "IAD/ACEBench-v0"
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    SHOP: {"max_steps": 60},
    BOOKING: {"max_steps": 60},
    SKETCH: {"split": None},
    BASH: {"limits": {"time_s": 2.0, "disk_mb": 16}},
    BIRD: {"score_limit_s": 1.0},
    BFCL: {},
    ACE: {},
}
Make = Callable[..., Any]


class Scene:
    """An episode that has begun: what is known of it, and what was seen last."""

    def __init__(self, env: Any, task_id: str) -> None:
        self.env, self.task_id = env, task_id
        self.observation, self.info = env.reset(options={"task_id": task_id})
        self.known = env.oracle(env.snapshot())
        self.gold: list[str] = self.known["solution"]
        self.reward, self.success, self.seen = 0.0, False, ""

    def play(self, actions: Iterable[str]) -> "Scene":
        for action in actions:
            observation, reward, _, _, self.info = self.env.step(action)
            self.reward += float(reward)
            self.success = self.success or self.info["success"]
            self.seen += str(observation)
        return self

    @property
    def page(self) -> Any:
        return self.info["page"]

    @property
    def turns(self) -> list[list[str]]:
        found: list[list[str]] = [[]]
        for action in self.gold:
            found.append([]) if action.startswith("reply[") else found[-1].append(action)
        return found[:-1]

    @property
    def booked(self) -> BookingTask:
        return TASKS[self.task_id]


# ---- what stands in {}


def simulated(at: Scene) -> list[str]:
    token = at.env.snapshot()
    for action in at.gold:
        token = at.env.simulate(token, action).token
        if getattr(token, "is_awaiting", False):
            break
    return []


def watched(at: Scene) -> list[str]:
    """Look at all processes while the gold command runs."""
    token, seen = at.env.snapshot(), []
    look = "for i in {1..40}; do tr '\\0' ' ' </proc/[0-9]*/cmdline; cat /proc/[0-9]*/cmdline; sleep 0.01; done"
    watcher = Thread(target=lambda: seen.append(at.env.simulate(token, look).observation))
    watcher.start()
    for number in range(6):  # gold runs after the first command, and after the submit
        at.env.step(f": {number}")
        at.env.step("submit")
        at.env.restore(token)
    watcher.join()
    assert "bash" in seen[0]
    assert at.gold[0] not in seen[0]
    return []


def wrong(task: BookingTask, part: str) -> BookingTask:
    """The task with another restaurant, day, time or party, for which there is a table."""
    words = set(WORLD.restaurants[task.restaurant].name.split())
    alike = sorted(WORLD.restaurants.values(), key=lambda one: -len(words & set(one.name.split())))
    others: Mapping[str, Iterable[BookingTask]] = {
        "restaurant": (task._replace(restaurant=one.slug) for one in alike if one.slug != task.restaurant),
        "day": (task._replace(day=day) for day in range(task.day + 1, N_DAYS)),
        "time": (task._replace(gold_slots=(minute,)) for minute in range(1440) if minute not in task.gold_slots),
        "party": (task._replace(party=party) for party in range(1, MAX_PARTY + 1) if party != task.party),
    }
    for other in others[part]:
        seatings = WORLD.tables(other.restaurant, other.day, other.party).get(other.gold_slots[0], ())
        if task.seating in seatings or (seatings and not task.seating):
            return other
    raise AssertionError(f"no such table: {part}, {task.task_id}")


def guest(task: BookingTask, details: str) -> list[str]:
    """Book as a guest with other details (`name=text|name=text`), in which `~` is the right one."""
    given = dict(one.split("=", 1) for one in details.split("|"))
    filled = {name: text.replace("~", getattr(task.user, name)) for name, text in given.items()}
    return booking(task._replace(user=task.user._replace(**filled)))


def another_seating(task: BookingTask) -> list[str]:
    free = WORLD.tables(task.restaurant, task.day, task.party)[task.gold_slots[0]]
    other = next((one for one in free if one != task.seating), "")
    return booking(task._replace(seating=other)) if task.seating else []


def party_that_grows(task: BookingTask) -> list[str]:
    """Hold a table for another party, and ask for the right one before it is completed."""
    actions = booking(wrong(task, "party"))
    return [*actions[:2], to_table(task)[0], "GOTO [/hold]", *actions[2:]]


def called(function: str, /, **arguments: Any) -> str:
    return f"{function}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def guessed(tool: Mapping[str, Any]) -> str:
    some = {"integer": 1, "float": 1.0, "number": 1, "boolean": True, "array": [], "dict": {}, "object": {}}
    properties = tool["parameters"].get("properties", {})
    return called(tool["name"], **{key: some.get(one["type"], "x") for key, one in properties.items()})


def every_sentence(at: Scene) -> str:
    names = ", ".join(key for tool in at.page["tools"] for key in tool["parameters"].get("properties", {}))
    return (
        f"reply[Missing necessary parameters ({names}) for the api ({at.page['tools'][0]['name']}). "
        f"There is incorrect value ({at.info['instruction']}) for the parameters ({names}). "
        "Such are the limitations of the function.]"
    )


def all_in_turn(at: Scene, turn: int) -> Iterator[str]:
    for number in range(len(at.turns)):
        yield from (
            (call for part in at.turns for call in part) if number == turn % len(at.turns) else ("[list_cards()]",)
        )
        yield "reply[]"


def literal(at: Scene) -> str:
    (row,) = at.page["rows"]
    return ", ".join(map(repr, row))


def quoted(text: str) -> str:
    return text.replace("'", "''")


def answer(at: Scene) -> str:
    return re.sub(r"^\w+\[(.*)\]$", r"\1", at.gold[0], flags=re.DOTALL)


def of_tables(at: Scene, form: str, between: str) -> str:
    return between.join(form.format(table=one["name"]) for one in at.page["tables"])


def every_value(at: Scene) -> str:
    found = [(one["name"], table["name"]) for table in at.page["tables"] for one in table["columns"]]
    return " UNION ".join(f'SELECT "{name}" AS v FROM "{table}"' for name, table in found)


PLACES = [(x, y) for x in range(0, 100, 25) for y in range(0, 100, 25)]
LAYER = "<p style='position:absolute;opacity:0;margin:0;left:{}%;top:{}%;width:25%;height:25%'>x</p>"
WORDS: dict[str, Callable[..., Any]] = {
    "solution": lambda at, _: at.gold,
    "answer": lambda at, _: answer(at),
    "quoted answer": lambda at, _: quoted(answer(at)),
    "instruction": lambda at, _: at.info["instruction"],
    "simulated": lambda at, _: simulated(at),
    "all but the last": lambda at, _: at.gold[:-1],
    "all but two": lambda at, _: at.gold[:-2],
    "backwards": lambda at, _: at.gold[-2::-1],
    # the shop
    "asin": lambda at, _: at.known["reference"]["asin"],
    "first": lambda at, _: at.page["products"][0]["asin"] if at.page.get("products") else "first",
    "second": lambda at, _: at.page["products"][1]["asin"] if at.page.get("products") else "second",
    "word": lambda at, _: at.info["instruction"].split()[-1],
    "options": lambda at, _: [f"click[{one}]" for several in at.page.get("options", {}).values() for one in several],
    # the booking site
    "booking": lambda at, _: booking(at.booked),
    "wrong": lambda at, part: booking(wrong(at.booked, part)),
    "wrong with a note": lambda at, _: guest(
        wrong(at.booked, "restaurant"), f"note={' '.join(at.booked.instruction.split())[:300]}"
    ),
    "guest": lambda at, details: guest(at.booked, details),
    "table": lambda at, _: to_table(at.booked),
    "after the table": lambda at, _: booking(at.booked)[2:],
    "held": lambda at, _: booking(at.booked)[:-1],
    "waiting": lambda at, _: ["SCROLL [DOWN]"] * 11,
    "party that grows": lambda at, _: party_that_grows(at.booked),
    "another seating": lambda at, _: another_seating(at.booked),
    "old one kept": lambda at, _: booking(at.booked, keeps_old=True) if at.booked.own else [],
    "in one": lambda at, mark: (mark or "\n").join(booking(at.booked)),
    "tasks file": lambda at, _: f"{FOLDER.as_uri()}/tasks.jsonl",
    # sketches
    "head": lambda at, _: f"<!DOCTYPE html><title>{at.env._tasks[at.task_id].page.stem}</title><body style='margin:0'>",
    "layers": lambda at, _: "".join(LAYER.format(*place) for place in PLACES),
    "sketch": lambda at, _: f"data:image/png;base64,{b64encode(encoded(at.observation['sketch'])).decode()}",
    "file": lambda at, _: at.env._tasks[at.task_id].page.as_uri(),
    "folder": lambda at, _: at.env._tasks[at.task_id].page.parent.as_uri(),
    "title": lambda at, _: at.env._tasks[at.task_id].page.stem,
    "words": lambda at, _: " ".join(at.info["instruction"].split()),
    "many words": lambda at, _: f"{' '.join(at.info['instruction'].split())} " * 400,
    # the shell
    "watched": lambda at, _: watched(at),
    # SQL
    "a table": lambda at, _: at.page["tables"][0]["name"],
    "tables": lambda at, _: of_tables(at, '"{table}"', ", "),
    "deletes": lambda at, _: of_tables(at, 'DELETE FROM "{table}"', "; "),
    "every value": lambda at, _: every_value(at),
    "question": lambda at, _: quoted(at.page["question"]),
    "evidence": lambda at, _: quoted(at.page["evidence"]),
    "hundred": lambda at, _: ", ".join("*" * 100),
    "literal": lambda at, _: literal(at),
    # function calls
    "function": lambda at, _: at.page["tools"][0]["name"],
    "functions": lambda at, _: ", ".join(map(guessed, at.page["tools"])),
    "last function": lambda at, _: guessed(at.page["tools"][-1]),
    "turn": lambda at, number: at.turns[int(number)],
    "other turns": lambda at, _: [one for turn in at.turns[1:] for one in (*turn, "reply[]")],
    "all in turn": lambda at, number: list(all_in_turn(at, int(number))),
    "idle calls": lambda at, _: ["[list_cards()]"] * 21,
    "endings": lambda at, _: ["reply[finish conversation]"] * len(at.gold),
    "long": lambda at, _: "x" * 90_000,
    "parcels": lambda at, _: ", ".join(called("track_parcel", parcel_id=f"PC-{number}") for number in range(90, 150)),
    "PINs": lambda at, _: ", ".join(called("log_in_phone", pin=f"{number:04}") for number in range(60)),
    "every sentence": lambda at, _: every_sentence(at),
}
WORDS |= {name: lambda at, _, text=text: text for name, text in TRICKS["words"].items()}
BLANK = re.compile(r"\{(" + "|".join(WORDS) + r")(?::([^{}]*))?\}")


def said(at: Scene, one: Any) -> Iterator[str]:
    """Say each action of a try when its turn comes, with what is then on the page."""
    one = one if isinstance(one, dict) else {"do": one}
    if "edit" in one:
        pattern, by = one["edit"]
        change = (lambda found: found[0].upper()) if by == "UPPER" else by
        yield from (re.sub(pattern, change, action, flags=re.DOTALL) for action in at.gold)
    turn = [*one.get("turns", ()), "reply[Done.]"]
    for action in one["do"] if "do" in one else turn * len(at.turns) if "turns" in one else ():
        blank = BLANK.fullmatch(action)
        filled = WORDS[blank[1]](at, blank[2] or "") if blank else ""
        yield from filled if isinstance(filled, list) else [BLANK.sub(lambda each: text_of(at, each), action)]


def text_of(at: Scene, blank: "re.Match[str]") -> str:
    value = WORDS[blank[1]](at, blank[2] or "")
    return value if isinstance(value, str) else str(value[0])


# ---- the tries


class Earned(NamedTuple):
    """What an episode earned: all its rewards together, and whether it ever was a success."""

    reward: float
    success: bool


@pytest.fixture(scope="module")
def make(browsers: Browsers) -> Iterator[Make]:
    with ExitStack() as stack:

        @cache
        def one(env_id: str, *options: tuple[str, Any]) -> Any:
            env: Any = gym.make(env_id, **{**ARGUMENTS[env_id], **dict(options)}).unwrapped
            stack.callback(env.close)
            if env_id == SKETCH:
                stack.enter_context(browsers.with_tabs(env.renderer, env))
            return env

        def get(env_id: str, task_id: str, **options: Any) -> Any:
            if env_id == BFCL:
                options["category"] = "multi_turn" if "multi_turn" in task_id else "single_turn"
            elif env_id == ACE:
                options["category"] = task_id.partition("_")[0]
            return one(env_id, *options.items())

        yield get
        plain.cache_clear()


def earned(at: Scene) -> Earned:
    return Earned(at.reward, at.success)


@cache
def plain(env: Any, task_id: str, name: str) -> Earned:
    at = Scene(env, task_id)
    return earned(at.play(said(at, {**TRICKS["plain"][env.spec.id], "solution": ["{solution}"]}[name])))


def tasks_of(group: Mapping[str, Any], make: Make) -> Sequence[str]:
    if group["env"] == SHOP:
        return list(make(SHOP, "").task_ids)[::4]
    if group["env"] == BOOKING:  # one of each complication
        return list(dict.fromkeys(tasks_with(kind)[0].task_id for kind in KINDS))
    return group.get("tasks") or ("gallery-garden_0", "timetable-library_0") * (group["env"] == SKETCH)


@pytest.mark.parametrize(
    ("group", "scripts"),
    [(group, False) for group in TRICKS["group"]]
    + [pytest.param(one, True, marks=pytest.mark.slow) for one in TRICKS["group"] if "<script>const" in str(one)],
    ids=lambda one: one["env"].partition("/")[2] if isinstance(one, dict) else "scripts" if one else "",
)
def test_no_try_earns_more_than_its_plain_counterpart(group: Mapping[str, Any], scripts: bool, make: Make) -> None:
    env_id, gained = group["env"], []
    options = {"scripts": True} if scripts else {}
    tries = {name: one for name, one in group["tries"].items() if not scripts or "<script" in str(one)}
    for name, one in tries.items():
        for task_id in one["on"] if "on" in one else tasks_of(group, make):
            env = make(env_id, task_id, **options)
            assert plain(env, task_id, "solution") == Earned(1.0, True), task_id
            at = Scene(env, task_id)
            at.play(said(at, one))
            most = plain(env, task_id, group.get("earns", "nothing"))
            is_held = at.success <= most.success and at.reward <= most.reward + group.get("slack", 0.0)
            if "wins" in group:
                is_held = at.success
            if "strict" in group:
                env = make(env_id, task_id, **group["strict"])
                assert plain(env, task_id, "solution").success, task_id
                strict = Scene(env, task_id)
                is_held &= strict.play(said(strict, one)).success != group.get("is_strict_enough", True)
            if not is_held or at.page.get("kind") != group.get("ends_on", at.page.get("kind")):
                gained.append((name, task_id, earned(at)))
            if env_id == BASH:
                assert env._reference(env._task(task_id))["gold"] not in at.seen
    assert gained == []


def test_blind_purchases_and_pages_without_a_look_earn_what_is_documented(make: Make) -> None:
    env = make(SHOP, "")
    blind = {"nothing": (0.0, 0.0), "the first product": (0.6, 0.08), "the first product, any options": (0.65, 0.16)}
    for name, most in blind.items():
        found = [plain(env, task_id, name) for task_id in list(env.task_ids)[::4]]
        assert (fmean(one.reward for one in found), fmean(one.success for one in found)) <= most
        assert fmean(one.success for one in found) <= most[1]
    for task_id in tasks_of({"env": SKETCH}, make):
        for name in TRICKS["plain"][SKETCH]:
            found_one = plain(make(SKETCH, task_id), task_id, name)
            assert found_one.reward <= 0.48  # a picture for a page of pictures
            assert not found_one.success


def test_no_request_buys_for_me_or_says_what_is_wanted(make: Make) -> None:
    env: WebShopEnv = make(SHOP, "")
    front, task = env.storefront, env.task_ids[0]
    asin = front.reference(task)["asin"]
    site = Site(front.shop, [front.task(task)])
    client = shop_app(site).test_client()
    for session in ("me", "other"):
        client.get(f"/{session}")

    def reward() -> float:
        state = site.sessions.get("me")
        assert state is not None
        return float(front.assess(task, state, Progress(), "maximum").reward)

    for request in TRICKS["requests"]["shop"]:
        method, path = request.replace("{asin}", asin).split(" ", 1)
        answered = client.open(path, method=method, data={"score": "1", "asin": asin})
        assert "reward" not in answered.text.lower(), request
        assert reward() == 0.0, request
    assert client.post(f"/done/me/{asin}/{{}}").status_code == 303
    assert reward() > 0.0


def test_no_request_makes_a_reservation(make: Make) -> None:
    env: BookingEnv = make(BOOKING, "")
    served = made(env.engine)
    client = booking_app(served).test_client()
    me, other = HttpVisitor(client, "me"), HttpVisitor(client, "other")
    me.home()
    other.get(f"/other{ROOM}")
    page = other.click(next(one for one in other.page.clickable if one.startswith("slot-")))
    for seat in [one for one in page.clickable if one.startswith("seat-")][:1]:
        other.click(seat)
    filled = {"{mine}": served.token("me"), "{theirs}": served.token("other"), "{room}": ROOM}
    for request in TRICKS["requests"]["booking"]:
        method, path, form = request.split(" ")
        fields = {key: filled.get(value, value) for key, value in parse_qsl(form, keep_blank_values=True)}
        data = {key.replace("_", "-"): value for key, value in {**PERSON, **fields}.items()}
        client.open(path, method=method, data=None if method == "GET" else data)
        kept = [served.sessions.get(session) for session in ("me", "other", "fixed_0")]
        assert not any(state.reservations for state in kept if state), request
    assert "Your table is reserved" in " ".join(other.click("complete", **PERSON).said("title"))
