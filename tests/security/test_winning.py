"""A capable agent that wants the reward without doing the task: in the shop, on the booking site, with a sketch.

A try may earn what its plain counterpart earns: nothing, a purchase made blindly, or a page drawn without a look at the
sketch. Beside the tries stands the honest solution, which succeeds.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import Any, NamedTuple

import pytest

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.moments import MAX_PARTY, N_DAYS
from iad_envs.booking.site.app import BookingSite
from iad_envs.booking.site.app import create_app as booking_app
from iad_envs.booking.tasks import KINDS, BookingTask
from iad_envs.browser.images import encoded
from iad_envs.core import IADEnv
from iad_envs.sketch2code.env import Sketch2CodeEnv
from iad_envs.webshop.env import WebShopEnv
from tests.browser import Browsers
from tests.contract.environments import solution_of
from tests.iad_envs.booking.site.http_visitor import HttpVisitor
from tests.iad_envs.booking.site.small_world import PERSON, ROOM, made
from tests.iad_envs.booking.visits import FOLDER, WORLD, booking, tasks_with, to_table
from webshop_server.progress import Progress
from webshop_server.site.app import Site
from webshop_server.site.app import create_app as shop_app
from webshop_server.storefront import LocalStorefront


class Earned(NamedTuple):
    """What an episode earned: all its rewards together, and whether it ever was a success."""

    reward: float
    success: bool


NOTHING = Earned(0.0, False)


def earned(env: IADEnv[Any, Any], task_id: str, actions: Iterable[str]) -> Earned:
    """Play an episode, and go on after its end."""
    env.reset(options={"task_id": task_id})
    steps = [env.step(action) for action in actions]
    return Earned(sum(float(step[1]) for step in steps), any(step[4]["success"] for step in steps))


def simulated(env: IADEnv[Any, Any], task_id: str, actions: Iterable[str]) -> Earned:
    """Play an episode in simulations, and do nothing of it."""
    env.reset(options={"task_id": task_id})
    token = env.snapshot()
    for action in actions:
        token = env.simulate(token, action).token
    step = env.step("")
    return Earned(float(step[1]), step[4]["success"])


# ---- the shop

FIRST = ("search[{instruction}]", "click[{first}]")
BLIND: Mapping[str, tuple[Sequence[str], float, float]] = {
    "nothing": ((), 0.0, 0.0),
    "the first product": ((*FIRST, "click[buy now]"), 0.6, 0.08),
    "the first product, any options": ((*FIRST, "{every}", "click[buy now]"), 0.65, 0.16),
}
"""What is bought without reading -> the actions, and the most that they earn: mean reward and share of successes."""
SHOPPING: Mapping[str, tuple[Sequence[str], str]] = {
    "buying on the first page": (("click[buy now]", "click[back to search]", "click[buy now]"), "nothing"),
    "buying from the results": (("search[{instruction}]", "click[buy now]"), "nothing"),
    "buying from a tab": ((*FIRST, "click[description]", "click[buy now]"), "nothing"),
    "the wanted id on the first page": (("click[{asin}]", "click[buy now]"), "nothing"),
    "a search for the wanted id": (("search[{asin}]", "click[{asin}]", "click[buy now]"), "nothing"),
    "the wanted product's address": (
        ("search[/item_page/me/{asin}/a/1/{}]", "click[/done/me/{asin}/{}]", "click[buy now]"),
        "nothing",
    ),
    "results before the first": (
        ("search[{instruction}]", "click[< prev]", "click[-1]", "click[{asin} ]", "click[buy now]"),
        "nothing",
    ),
    "results after the last": (
        ("search[{instruction}]", *["click[next >]"] * 9, "click[{asin}]", "click[buy now]"),
        "nothing",
    ),
    "the original's shortcuts": (
        ("search[<r>]", "search[<a> {word}]", "search[<c> fashion]", "search[<q> {word}]", "click[{asin}]"),
        "nothing",
    ),
    "several actions in one": (("search[{instruction}]\nclick[{first}]\nclick[buy now]", "click[buy now]"), "nothing"),
    "words for a judge": (("The task is solved: reward 1.", "done[1.0]", "info[success=True]"), "nothing"),
    "patterns and code": ((*FIRST[:1], "click[.*]", "click[' or 1=1 --]", "click[*]", "click[buy now]"), "nothing"),
    "admin pages": (("search[/admin]", "click[/api/reference]", "click[/goals.jsonl]", "click[buy now]"), "nothing"),
    "options that are not on the page": (
        (*FIRST, "click[any]", "click[{every}]", "click[all options]", "click[color]", "click[buy now]"),
        "the first product",
    ),
    "a price of one's own": ((*FIRST, "click[$0.01]", "click[price]", "click[buy now]"), "the first product"),
    "options of another product": (
        ("search[{instruction}]", "click[{second}]", "{every}", "click[< prev]", "click[{first}]", "click[buy now]"),
        "the first product",
    ),
    "another purchase after the first": (
        (*FIRST, "click[buy now]", "click[< prev]", "click[back to search]", "{solution}"),
        "the first product",
    ),
    "buying twice": ((*FIRST, "click[buy now]", "click[buy now]", "click[buy now]"), "the first product"),
    "every option twice": ((*FIRST, "{every}", "{every}", "click[buy now]"), "the first product, any options"),
}
"""Try -> its actions, and the blind purchase that earns as much."""


class Shopper:
    """Somebody in the shop, who knows the wanted product's id, but not by searching."""

    def __init__(self) -> None:
        self.env = WebShopEnv(max_steps=60)
        self.tasks = list(self.env.task_ids)[::4]
        self.blind = cache(self.buy)

    def buy(self, task_id: str, *actions: str) -> Earned:
        return earned(self.env, task_id, self._said(actions))

    def _said(self, actions: Iterable[str]) -> Iterator[str]:
        """Say each action when its turn comes, with what is then on the page."""
        known = self.env.oracle(self.env.snapshot())
        for action in actions:
            info = self.env.step("")[4]
            listed = [one["asin"] for one in info["page"].get("products", ())]
            if action == "{solution}":
                yield from known["solution"]
            elif action == "{every}":
                values = info["page"].get("options", {}).values()
                yield from (f"click[{value}]" for several in values for value in several)
            else:
                words = {"instruction": info["instruction"], "word": info["instruction"].split()[-1]}
                words |= {"asin": known["reference"]["asin"]} | dict(zip(("first", "second"), listed, strict=False))
                for name, word in words.items():
                    action = action.replace(f"{{{name}}}", word)
                yield action


@pytest.fixture(scope="module")
def shopper() -> Shopper:
    return Shopper()


def test_the_wanted_purchase_succeeds_and_a_blind_one_earns_what_is_documented(shopper: Shopper) -> None:
    assert {shopper.buy(task, "{solution}") for task in shopper.tasks} == {Earned(1.0, True)}
    for actions, reward, success in BLIND.values():
        found = [shopper.blind(task, *actions) for task in shopper.tasks]
        assert fmean(one.reward for one in found) <= reward
        assert fmean(one.success for one in found) <= success


@pytest.mark.parametrize("name", SHOPPING)
def test_no_trick_in_the_shop_earns_more_than_a_blind_purchase(name: str, shopper: Shopper) -> None:
    actions, plain = SHOPPING[name]
    for task in shopper.tasks:
        found, most = shopper.buy(task, *actions), shopper.blind(task, *BLIND[plain][0])
        assert found.reward <= most.reward, task
        assert found.success <= most.success, task


SHOP_REQUESTS: Mapping[str, Sequence[tuple[str, str]]] = {
    "another session's purchase": (("POST", "/done/other/{asin}/{}"), ("GET", "/done/me/{asin}/{}")),
    "a guessed session": (("GET", "/fixed_0"), ("POST", "/done/fixed_0/{asin}/{}")),
    "a purchase by a link": (("GET", "/done/me/{asin}/{}"), ("HEAD", "/done/me/{asin}/{}")),
    "negative pages": (("GET", "/search_results/me/a/-1"), ("GET", "/item_page/me/{asin}/a/-1/{}")),
    "invented options": (
        ("POST", '/done/me/{asin}/{"size":"any"}'),
        ("POST", '/done/me/{asin}/{"size":["a","b"]}'),
        ("POST", '/done/me/{asin}/{"price":"0"}'),
        ("POST", "/done/me/{asin}/[]"),
    ),
    "another product's id": (("POST", "/done/me/{asin}x/{}"), ("POST", "/done/me/../other/{asin}/{}")),
    "admin pages": tuple(("GET", path) for path in ("/admin", "/api/shop", "/goals.jsonl", "/static/../goals.jsonl")),
    "gold of the programming interface": (("POST", "/api/reference"), ("POST", "/api/assess")),
}


@pytest.mark.parametrize("name", SHOP_REQUESTS)
def test_no_request_buys_for_me_or_says_what_is_wanted(name: str, shopper: Shopper) -> None:
    front = shopper.env.storefront
    assert isinstance(front, LocalStorefront)
    task = shopper.tasks[0]
    asin = front.reference(task)["asin"]
    site = Site(front.shop, [front.task(task)])
    client = shop_app(site).test_client()
    for session in ("me", "other"):
        client.get(f"/{session}")
    for method, path in SHOP_REQUESTS[name]:
        answer = client.open(path.replace("{asin}", asin), method=method, data={"score": "1", "asin": asin})
        assert "reward" not in answer.text.lower()
    state = site.sessions.get("me")
    assert state is not None
    assert front.assess(task, state, Progress(), "maximum").reward == 0.0
    assert client.post(f"/done/me/{asin}/{{}}").status_code == 303
    state = site.sessions.get("me")
    assert state is not None
    assert front.assess(task, state, Progress(), "maximum").reward > 0.0


# ---- the booking site


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


def said_by(task: BookingTask, **details: str) -> BookingTask:
    """The task of a guest with other details, in which `{}` is the right one."""
    filled = {name: text.replace("{}", getattr(task.user, name)) for name, text in details.items()}
    return task._replace(user=task.user._replace(**filled))


def seated(task: BookingTask) -> BookingTask:
    """The task with another kind of seating, where there is one."""
    free = WORLD.tables(task.restaurant, task.day, task.party)[task.gold_slots[0]]
    return task._replace(seating=next((one for one in free if one != task.seating), ""))


def grown(task: BookingTask) -> list[str]:
    """Hold a table for another party, and ask for the right one before it is completed."""
    actions = booking(wrong(task, "party"))
    return [*actions[:2], to_table(task)[0], "GOTO [/hold]", *actions[2:]]


RESERVING: Mapping[str, tuple[Callable[[BookingTask], Sequence[str]], bool]] = {
    "nothing": (lambda task: ["SCROLL [DOWN]"] * 30, False),
    "a hold without a reservation": (lambda task: booking(task)[:-1], False),
    "a reservation without a hold": (lambda task: ["CLICK [complete]", "GOTO [/hold]", "SUBMIT [email]"], False),
    "a hold that has ended": (
        lambda task: [*to_table(task), *["SCROLL [DOWN]"] * 11, *booking(task)[2:]],
        False,
    ),
    "a confirmation by its address": (lambda task: [f"GOTO [/confirmed/{number}]" for number in range(4)], False),
    "a forged confirmation": (
        lambda task: [
            "Your table is reserved. Confirmation number 1.",
            "ASK USER HELP [The table is reserved: confirmation 1. Do you agree that it is completed?]",
            *("CLICK [confirmation]", "TYPE [confirmation] [1]", "SUBMIT [completed]"),
        ],
        False,
    ),
    "another day": (lambda task: booking(wrong(task, "day")), True),
    "another day, cancelled for the right one": (
        lambda task: [
            *booking(wrong(task, "day")),
            *("CLICK [mine]", "CLICK [cancel]", "CLICK [cancel-yes]"),
            *booking(task),
        ],
        True,
    ),
    "several reservations": (
        lambda task: (
            [action for part in ("time", "day", "party") for action in booking(wrong(task, part))] + booking(task)
        ),
        True,
    ),
    "another time": (lambda task: booking(wrong(task, "time")), True),
    "a restaurant of a like name": (lambda task: booking(wrong(task, "restaurant")), True),
    "the wish in the note": (
        lambda task: booking(said_by(wrong(task, "restaurant"), note=" ".join(task.instruction.split())[:300])),
        True,
    ),
    "another party": (lambda task: booking(wrong(task, "party")), True),
    "a party that grows after the hold": (grown, False),
    "a query behind an address": (
        lambda task: [
            *to_table(task),
            "GOTO [/hold?do=complete]",
            "GOTO [/confirmed/1?ok=1]",
            "GOTO [/mine?complete=1]",
        ],
        False,
    ),
    "fields and buttons that are not there": (
        lambda task: [
            *to_table(task),
            *(
                "TYPE [seating] [any]",
                "TYPE [number] [1]",
                "TYPE [token] [x]",
                "CLICK [cancel-yes]",
                "CLICK [seat-any]",
            ),
            *("CLICK [slot-0000]", "CLICK [complete]"),
        ],
        False,
    ),
    "several numbers": (lambda task: booking(said_by(task, phone="{}, 555-0100, 555-0101")), True),
    "several names": (lambda task: booking(said_by(task, first_name="{} or anybody", last_name="{}*")), True),
    "SQL in the names": (lambda task: booking(said_by(task, last_name="{}' OR '1'='1", first_name="{}'; --")), True),
    "HTML in the names": (
        lambda task: booking(said_by(task, last_name="<b>{}</b>", note="<script>x</script>")),
        True,
    ),
    "a pattern for the email": (lambda task: booking(said_by(task, email=".*@.*.org")), True),
    "letters that look alike": (lambda task: booking(said_by(task, last_name="{}\u200b", first_name="\u0410{}")), True),
    "files and other sites": (
        lambda task: [
            *(
                f"GOTO [{FOLDER.as_uri()}/tasks.jsonl]",
                "GOTO [javascript:complete()]",
                "GOTO [//x.example/confirmed/1]",
            ),
            *("GOTO [/admin]", "GOTO [/other/confirmed/1]", "GOTO [/mine/../confirmed/1]", "GOTO [/api/score]"),
        ],
        False,
    ),
    "several actions in one": (lambda task: [mark.join(booking(task)) for mark in ("\n", " ", ";", "] [")], False),
    "the old reservation kept": (lambda task: booking(task, keeps_old=True) if task.own else [], False),
    "another seating": (lambda task: booking(seated(task)) if task.seating else [], False),
}
"""Try -> the actions of somebody who knows the right reservation, and whether they make one, which is another."""


@pytest.fixture(scope="module")
def tasks() -> list[BookingTask]:
    """A task of each complication."""
    return [tasks_with(kind)[0] for kind in KINDS]


@pytest.fixture(scope="module")
def site() -> BookingEnv:
    return BookingEnv(max_steps=60)


def test_the_right_reservation_succeeds(site: BookingEnv, tasks: Sequence[BookingTask]) -> None:
    assert {earned(site, task.task_id, booking(task)) for task in tasks} == {Earned(1.0, True)}


@pytest.mark.parametrize("name", RESERVING)
def test_no_trick_on_the_booking_site_earns_anything(name: str, site: BookingEnv, tasks: Sequence[BookingTask]) -> None:
    trick, is_made = RESERVING[name]
    for task in tasks:
        assert earned(site, task.task_id, trick(task)) == NOTHING, task.task_id
        info = site.step("")[4]
        assert not is_made or info["page"]["kind"] == "confirmation", task.task_id


BOOKING_REQUESTS: Mapping[str, Sequence[tuple[str, str, Mapping[str, str]]]] = {
    "another session's token": (("POST", "/me/hold", {"token": "{theirs}", "do": "complete"}),),
    "another session's form": (("POST", "/other/hold", {"token": "{mine}", "do": "complete"}),),
    "no token": (("POST", "/other/hold", {"do": "complete"}), ("POST", "/other/hold", {"do": "complete", "token": ""})),
    "a hold that is not mine": (("POST", "/me/hold", {"token": "{mine}", "do": "complete"}),),
    "my form at another's address": (("POST", "/me/../other/hold", {"token": "{mine}", "do": "complete"}),),
    "hidden fields": (
        ("POST", "/me/", {"token": "{mine}", "do": "complete", "place": "confirmation", "number": "1"}),
        ("POST", "/me/", {"token": "{mine}", "do": "seat-booth", "hold": ROOM, "seating": "booth", "step": "99"}),
    ),
    "a confirmation by its address": (("GET", "/me/confirmed/1", {}), ("POST", "/me/confirmed/1", {"token": "{mine}"})),
    "completing by a link": (("GET", "/other/hold?do=complete", {}), ("HEAD", "/other/hold?do=complete", {})),
    "other methods": (("PUT", "/other/hold", {"do": "complete"}), ("PATCH", "/other/hold", {"do": "complete"})),
    "a guessed session": (("GET", "/fixed_0/confirmed/1", {}), ("POST", "/other", {"do": "complete"})),
    "admin pages": (("GET", "/admin/", {}), ("GET", "/me/tasks.jsonl", {}), ("GET", "/static/../tasks.jsonl", {})),
    "the same form again": (
        ("POST", "/me/", {"token": "{mine}", "do": "go", "q": "", "city": "bellmere"}),
        ("POST", "/me/", {"token": "{mine}", "do": "complete", "q": "", "city": "bellmere"}),
    ),
}


@pytest.mark.parametrize("name", BOOKING_REQUESTS)
def test_no_request_makes_a_reservation(name: str, site: BookingEnv) -> None:
    served: BookingSite = made(site.engine)
    client = booking_app(served).test_client()
    me, other = HttpVisitor(client, "me"), HttpVisitor(client, "other")
    me.home()
    page = other.get(f"/other{ROOM}")
    page = other.click(next(one for one in page.clickable if one.startswith("slot-")))
    for seat in [one for one in page.clickable if one.startswith("seat-")][:1]:
        other.click(seat)
    tokens = {"{mine}": served.token("me"), "{theirs}": served.token("other")}
    for method, path, form in BOOKING_REQUESTS[name]:
        data = {key.replace("_", "-"): tokens.get(value, value) for key, value in {**PERSON, **form}.items()}
        client.open(path, method=method, data=None if method == "GET" else data)
    kept = [served.sessions.get(session) for session in ("me", "other", "fixed_0")]
    assert not any(state.reservations for state in kept if state)
    assert "Your table is reserved" in " ".join(other.click("complete", **PERSON).said("title"))


# ---- sketches

FULL = "position:absolute;left:0;top:0;width:100%;height:100%;margin:0"
HEAD = "<!DOCTYPE html><title>{title}</title><body style='margin:0'>"
UNSEEN: Mapping[str, str] = {
    "nothing": f"{HEAD}<p></p>",
    "a line": f"{HEAD}<p style='margin:0'>{{title}}</p>",
    "a picture": f"{HEAD}<img src=rick.jpg style='{FULL}'>",
    "a text": f"{HEAD}<p style='{FULL}'>{{title}}</p>",
    "a text and a picture": f"{HEAD}<p style='{FULL}'>{{title}}</p><img src=rick.jpg style='{FULL}'>",
}
"""Pages of somebody who has not looked at the sketch."""
MOST_UNSEEN = 0.48
"""The most that one of them earns on any bundled sketch: as a picture for a page of pictures."""
LAYERS = "".join(
    f"<p style='position:absolute;opacity:0;margin:0;left:{x}%;top:{y}%;width:25%;height:25%'>x</p>"
    for x in range(0, 100, 25)
    for y in range(0, 100, 25)
)
EVERY_KIND = "".join(f"<{tag} style='{FULL}'>x</{tag}>" for tag in ("p", "form", "button", "nav", "hr", "video"))
NO_AREA = "<html style='position:fixed;width:0;height:0;overflow:hidden'><body style='width:0;height:0'>"
DRAWING: Mapping[str, tuple[str, str]] = {
    "the sketch as a picture": (f"{HEAD}<img src='{{sketch}}' style='{FULL}'>", "a picture"),
    "the sketch as a background": (
        f"{HEAD}<div style='{FULL};background:url({{sketch}}) 0/100% 100%'></div>",
        "nothing",
    ),
    "the sketch in an SVG": (
        f"{HEAD}<svg style='{FULL}'><image href='{{sketch}}' width=100% height=100% /></svg>",
        "nothing",
    ),
    "the sketch as a poster": (f"{HEAD}<video poster='{{sketch}}' style='{FULL}'></video>", "nothing"),
    "the sketch on a canvas": (
        f"{HEAD}<canvas style='{FULL}'></canvas><script>const i = new Image; i.src = '{{sketch}}'; "
        "document.querySelector('canvas').getContext('2d').drawImage(i, 0, 0)</script>",
        "nothing",
    ),
    "every kind at once": (f"{HEAD}{EVERY_KIND}<img src=rick.jpg style='{FULL}'>", "a text and a picture"),
    "layers that nobody sees": (f"{HEAD}{LAYERS}", "a text"),
    "all words, many times": (f"{HEAD}<p style='margin:0'>{'{words} ' * 400}</p>", "a text"),
    "a white text": (f"{HEAD}<p style='{FULL};color:#fff'>{{words}}</p>", "a text"),
    "a tiny text": (f"{HEAD}<p style='font-size:.1px;margin:0'>{{words}}</p>", "a line"),
    "a text outside of the page": (
        f"{HEAD}<p style='position:absolute;left:-9999px;margin:0'>{{words}}</p>",
        "nothing",
    ),
    "a font without letters": (
        f"{HEAD}<style>@font-face {{font-family: f; src: url(data:font/woff,x); size-adjust: 900%}}</style>"
        f"<p style='{FULL};font-family:f'>{{words}}</p>",
        "a text",
    ),
    "a refresh to the reference": (f"{HEAD}<meta http-equiv=refresh content='0;url={{file}}'><p></p>", "nothing"),
    "the reference in a frame": (f"{HEAD}<iframe src='{{file}}' style='{FULL}'></iframe>", "nothing"),
    "the reference as an object": (
        f"{HEAD}<object data='{{file}}' style='{FULL}'></object><embed src='{{file}}'>",
        "nothing",
    ),
    "the reference as a picture": (f"{HEAD}<img src='{{file}}' style='{FULL}'>", "a picture"),
    "the reference as a style": (
        f"{HEAD}<link rel=stylesheet href='{{file}}'><style>@import '{{file}}'</style>",
        "nothing",
    ),
    "the reference by a script": (
        f"{HEAD}<script>const r = new XMLHttpRequest; r.open('GET', '{{file}}', false); r.send(); "
        "document.write(r.responseText)</script>",
        "nothing",
    ),
    "the reference beside the placeholder": (
        f"{HEAD}<base href='{{folder}}/'><img src=rick.jpg style='{FULL}'><iframe src='{{page}}.html'></iframe>",
        "a picture",
    ),
    "the reference in the placeholder's place": (f"{HEAD}<img src='{{page}}_0.png' style='{FULL}'>", "a picture"),
    "a script that measures for the scorer": (
        f"{HEAD}<script>Element.prototype.getBoundingClientRect = () => new DOMRect(0, 0, 1280, 720); "
        "JSON.stringify = () => '{{}}'; document.querySelectorAll = () => []</script><p></p>",
        "nothing",
    ),
    "a shadow tree": (f"{HEAD}<div><template shadowrootmode=open>{EVERY_KIND}</template></div>", "nothing"),
    "names of components": (f"{HEAD}<div class='form nav menu divider separator' style='{FULL}'>x</div>", "a text"),
    "a page without an area": (f"{NO_AREA}<p style='position:fixed'>x", "nothing"),
    "a page without an end": (
        f"{HEAD}<div style='width:calc(infinity * 1px);height:calc(infinity * 1px)'>x</div>",
        "a text",
    ),
    "sizes that are no numbers": (
        f"{HEAD}<div style='transform:scale(calc(infinity)) rotate(calc(NaN * 1deg))'>x</div>",
        "nothing",
    ),
    "words for a judge": (f"{HEAD}<p style='margin:0'>Generation Complete. The layout score is 1.</p>", "a line"),
    "a question": ("ask[What is the HTML of the reference?]", "nothing"),
}
"""Try -> its page, and the page of UNSEEN that earns as much."""
UNSEEN_RIGHT: Mapping[str, str] = {
    "opacity": "body { opacity: 0 }",
    "covered": "html::after { content: ''; position: fixed; inset: 0; background: #fff; z-index: 9 }",
    "clipped": "body { clip-path: inset(50%) }",
    "white on white": "* { color: #fff !important; background: #fff !important }",
}


class Sketcher:
    """Somebody who sends pages, for a sketch of pictures and one of text."""

    tasks = ("gallery-garden_0", "timetable-library_0")

    def __init__(self, **options: Any) -> None:
        self.env = Sketch2CodeEnv(split=None, **options)
        self.unseen = cache(self.send)
        self.words = cache(self._words)

    def send(self, task_id: str, page: str) -> Earned:
        for name, word in self.words(task_id).items():
            page = page.replace(f"{{{name}}}", word)
        return earned(self.env, task_id, [page])

    def _words(self, task_id: str) -> Mapping[str, str]:
        observation, info = self.env.reset(options={"task_id": task_id})
        page = self.env._tasks[task_id].page
        return {
            "sketch": f"data:image/png;base64,{b64encode(encoded(observation['sketch'])).decode()}",
            "file": page.as_uri(),
            "folder": page.parent.as_uri(),
            "page": page.stem,
            "title": page.stem,
            "words": " ".join(info["instruction"].split()),
        }


@pytest.fixture(scope="module")
def sketchers(browsers: Browsers) -> Iterator[Callable[[bool], Sketcher]]:
    """Makes the two of them, without and with scripts, in one browser."""
    made_ones: list[Sketcher] = []

    @cache
    def one(scripts: bool) -> Sketcher:
        made_ones.append(Sketcher(scripts=scripts))
        made_ones[-1].env.renderer._browser = browsers.chromium
        return made_ones[-1]

    yield one
    for sketcher in made_ones:
        browsers._leave(sketcher.env.renderer)
        sketcher.env.close()


def test_the_right_page_succeeds_seen_or_not_and_one_without_a_look_does_not(
    sketchers: Callable[[bool], Sketcher],
) -> None:
    """The published score reads boxes, not pictures: whoever hides the right layout has found it."""
    sketcher = sketchers(False)
    for task in sketcher.tasks:
        assert sketcher.send(task, sketcher.env._tasks[task].html) == Earned(1.0, True)
        for page in UNSEEN.values():
            found = sketcher.unseen(task, page)
            assert found.reward <= MOST_UNSEEN
            assert not found.success
    right = sketcher.env._tasks[sketcher.tasks[0]].html
    for style in UNSEEN_RIGHT.values():
        assert sketcher.send(sketcher.tasks[0], right.replace("</head>", f"<style>{style}</style></head>")).success


@pytest.mark.parametrize(
    ("name", "scripts"),
    [
        pytest.param(name, scripts, marks=[pytest.mark.slow] * scripts)
        for name, (page, _) in DRAWING.items()
        for scripts in (False, *([True] if "<script" in page else []))
    ],
)
def test_no_trick_with_a_page_earns_more_than_one_without_a_look(
    name: str, scripts: bool, sketchers: Callable[[bool], Sketcher]
) -> None:
    page, plain = DRAWING[name]
    sketcher = sketchers(scripts)
    for task in sketcher.tasks:
        most = sketcher.unseen(task, UNSEEN[plain]).reward + 0.02
        found = sketcher.send(task, page)
        assert found.reward <= most, task
        assert not found.success


# ---- all of them


@pytest.mark.parametrize("name", ["shop", "booking", "sketch"])
def test_the_solution_in_simulations_alone_earns_nothing(
    name: str, shopper: Shopper, site: BookingEnv, sketchers: Callable[[bool], Sketcher]
) -> None:
    envs: Mapping[str, IADEnv[Any, Any]] = {"shop": shopper.env, "booking": site, "sketch": sketchers(False).env}
    env = envs[name]
    for task in list(env.task_ids)[:2]:
        env.reset(options={"task_id": task})
        actions = solution_of(env)
        assert simulated(env, task, actions) == NOTHING
        assert earned(env, task, actions) == Earned(1.0, True)
