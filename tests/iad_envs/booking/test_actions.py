"""What agents write: actions, dates, times, parties and addresses, whatever they look like."""

import re
from collections import defaultdict
from pathlib import Path
from random import Random

from hypothesis import settings

from iad_envs.booking.actions import SiteAction, key_of, read_action
from iad_envs.booking.addresses import path_of, place_at
from iad_envs.booking.env import BookingEnv
from iad_envs.booking.moments import N_DAYS, clock, day_text, iso, people, read_day, read_party, read_time, time_text
from iad_envs.booking.pages import MAX_TEXT, WINDOW, last_scroll, page_of, render_text
from iad_envs.booking.state import Exchanged, Place, Scene, Wish
from iad_envs.core import Token
from tests.contract.environments import same, solution_of
from tests.iad_envs.booking.visits import ENGINE, TASKS, TEST, WORLD, play, started, tasks_with, to_table

SLUG = "bistro-almond-tree-port-alder"
SPELLINGS = {
    "CLICK [go]": ("click go", "  Click: [ GO ]\n", "CLICK[go]"),
    "TYPE [q] [La Lanterna]": ("type q La Lanterna",), "TYPE [q] [a] [b]]": ("TYPE [q][a] [b]]",),
    "TYPE [note] [ Window,  please! ]": (), "TYPE [note] [[x]]": (), "TYPE [note] [x]]": ("TYPE [note] x]",),
    "TYPE [date] [2026-06-17]": ("TYPE [date] [17 June]",), "TYPE [time] [19:00]": ("TYPE [time] [7 PM]",),
    "TYPE [party] [4]": ("TYPE [party] [4 people]",), "TYPE [date] [soon]": (), "TYPE [first-name] [June 17]": (),
    "CLEAR [first-name]": ("clear first-name",), "SUBMIT [email]": ("Submit [Email]",), "GOTO [home]": ("goto home",),
    "GOTO [/mine]": ("GOTO [ /mine ]",), "GOTO [/search?q=A&city=norwick]": (), "SCROLL [DOWN]": ("scroll down",),
    "SCROLL [UP]": ("SCROLL [Up]",), "ASK USER HELP [Where to sit?]": ("ask user help Where to sit?",),
    "ASK USER HELP [WHERE to [sit]?]": ("Ask  User   Help [WHERE to [sit]?]",),
}  # fmt: skip
UNREADABLE = (
    "", "CLICK", "CLICK []", "CLICK [ ]", "CLICK [go] now", "CLICK [a b]", "CLICK go home", "TYPE [q]",
    "TYPE [] [a]", "TYPE", "CLEAR", "SUBMIT []", "GOTO", "GOTO []", "GOTO [ ]", "SCROLL", "SCROLL [LEFT]",
    "SCROLL DOWN 3", "ASK USER HELP", "ASK USER HELP []", "ASK USER HELP [  ]", "ASK USER", "ASK [x]",
    "PRESS [go]", "clickgo", "TYPE [q] [a\nb]", "TYPE [q] [a\x1bb]", "TYPE [q] [a\x9bb]", "TYPE [q] [\ud800]",
    "CLICK [go]\x07", "TYPE [note] [" + "x" * 5000 + "]", "finish[]", "CLIC\u212a [go]", "A\u017fK USER HELP [x]",
)  # fmt: skip


def test_brackets_are_optional_words_have_any_case_and_texts_are_kept() -> None:
    env = BookingEnv()
    for key, texts in SPELLINGS.items():
        for text in (key, *texts):
            assert env.action_key(text) == key_of(read_action(text)) == key
            assert read_action(key) == read_action(text)._replace(text=read_action(key).text)
    for text in UNREADABLE:
        assert read_action(text) == SiteAction(""), ascii(text)
    terminal = ["CLICK [complete]", "click complete", "SUBMIT [note]", "submit email"]
    irreversible = ["CLICK [slot-1900]", "click cancel-yes"]
    neither = [
        "CLICK [go]", "SUBMIT [q]", "SUBMIT [date]", "CLICK [cancel]", "TYPE [note] [complete]", "CLEAR [email]",
        "complete", "ASK USER HELP [CLICK [complete]]", "CLICK [seat-bar]", "GOTO [/hold]", "CLICK [slot-19]", "",
        "CLIC\u212a [complete]",
    ]  # fmt: skip
    every = [*terminal, *irreversible, *neither]
    assert [action for action in every if env.terminal(action)] == terminal
    assert [action for action in every if env.irreversible(action)] == irreversible


DAY = {
    "2026-06-17": 107, "June 17": 107, "june 17th": 107, "Jun 17, 2026": 107, "17 June 2026": 107, "17th of June": 107,
    "Wednesday, 17 June 2026": 107, "wed June 17": 107, " 2026-6-17 ": 107, "Sept. 5": 187, "2026-03-02": 0,
    "March 2": 0, "March 1": 364, "February 28": 363, "2025-12-31": -61, "2026-06-29": 119, "2026-06-30": 120,
    "June 30 2027": 485, **dict.fromkeys((
        "", "June", "17", "June 31", "February 29", "2026-02-29", "2026-13-01", "2026-06", "17/06/2026", "Friday",
        "tomorrow", "next Friday", "0000-01-01", "June 17 26", "2026-06-17 19:00", "\u017fep 5", "\u0661\u0667 June",
    )),
}  # fmt: skip
TIME = {
    "19:00": 1140, "7 pm": 1140, "7PM": 1140, "7:30 p.m.": 1170, "07:05": 425, "12 am": 0, "12:15 pm": 735, "0:00": 0,
    "23:59": 1439, " 9:00 ": 540, **dict.fromkeys((
        "", "19", "24:00", "19:60", "13 pm", "0 am", "7:5", "noon", "7 pm sharp", "19:00:00", "-1:00",
    )),
}  # fmt: skip
PARTY = {
    "4": 4, "04": 4, "4 people": 4, "1 person": 1, "8 Guests": 8, "0": 0, "12": 12, "": None, "four": None, "-2": None,
    "2.5": None, "4 of us": None, "100": None,
}  # fmt: skip


def test_dates_times_and_parties_are_read_as_they_are_written_and_other_texts_are_none() -> None:
    for read, expected in ((read_day, DAY), (read_time, TIME), (read_party, PARTY)):
        assert {text: read(text) for text in expected} == expected
    for day in range(N_DAYS):
        assert read_day(iso(day)) == read_day(day_text(day)) == day
    for minute in range(24 * 60):
        assert read_time(clock(minute)) == read_time(time_text(minute)) == minute
    for party in range(1, 9):
        assert read_party(people(party)) == read_party(str(party)) == party


def test_addresses_lead_to_their_pages_and_others_are_refused() -> None:
    room = f"/r/{SLUG}?date=2026-06-17&time=19:00&party=2"
    env = started(TEST[0])
    for path in ("/", "/mine", "/search?q=&city=norwick", "/search?q=blue+heron&city=bellmere&page=2", room):
        for site in ("", "tablefind.example", "https://tablefind.example", "HTTP://TableFind.example"):
            assert path_of(place_at(WORLD, site + path, Wish(), "norwick")) == path
            assert env.simulate(env.snapshot(), f"GOTO [{site}{path}]").info["page"]["path"] == path
    wish = Wish(20, 1200, 5)
    assert place_at(WORLD, f"/r/{SLUG}", wish, "norwick") == Place("restaurant", SLUG, day=20, minute=1200, party=5)
    assert place_at(WORLD, "/search?q=bar", wish, "norwick") == Place("results", query="bar", city="norwick", number=1)
    assert place_at(WORLD, "Home", wish, "norwick") == place_at(WORLD, "tablefind.example", wish, "") == Place()
    for url in (
        "//tablefind.example/mine", "//evil.example", "https://evil.example/", "http:///mine", "javascript:alert(1)",
        "data:text/html,x", "file:///etc/passwd", "/\\evil.example", "\\\\evil", "/%2f%2fevil", "/%2F/evil", "/mine%5c",
        "/..", "/r/../mine", "/mine%00", "/mine%0a", "/search?q=%1b[31m", "/search?q=%C2%9B", "/search?q=%7f",
        "tablefind.example.evil.example/mine", "evil.example/tablefind.example/mine", "x@tablefind.example/mine",
        "https://tablefind.example@evil.example/", "/minetablefind.example", "/tablefind.example/mine", "mine", "?q=a",
        "/hold", "/confirmed/1", "/confirmed/999999", "/confirmed/0", "/mine/cancel", "/mine?x=1", "/hold?id=1",
        "/search?city=paris", "/search?q=a&page=0", "/search?q=a&page=100", "/search?q=a&token=1", "/search?q", "/R/x",
        "/r/no-such-place", f"/r/{SLUG}?party=0", f"/r/{SLUG}?party=9", f"/r/{SLUG}?party=-1", f"/r/{SLUG}?party=1e3",
        f"/r/{SLUG}?date=2026-03-01", f"/r/{SLUG}?date=2026-07-01", f"/r/{SLUG}?time=25:00", f"/r/{SLUG}?date=",
        f"/r/{SLUG}?x=1", f"/r/{SLUG}/", "/" + "a" * 2000, "/search?" + "q=a&" * 20, "/search?q=" + "%41" * 900,
    ):  # fmt: skip
        ahead = env.simulate(env.snapshot(), f"GOTO [{url}]")
        assert (ahead.done, ahead.info["invalid_action"], ahead.info["page"]["path"]) == (False, True, "/"), url
        assert ahead.info["facts"]["complaint"].startswith("expected ")
        assert "Invalid action: expected " in ahead.observation
    moving = started(tasks_with("move")[0])  # who has a reservation has no confirmation either
    assert all(moving.step(f"GOTO [/confirmed/{number}]")[4]["invalid_action"] for number in range(4))


PIECES = (
    "[", "]", "[[", "]]", "\x00", "\x1b", "\x7f", "\x9b", "\n", "\t", "\r", "\ud800", "\udfff", "\u202e", "\u2028",
    "\u212a", "\u017f", "\u0130", "\u0661", "🦉", "é", "//host", "javascript:", "\\", "%2f%2f", "/confirmed/1",
    "/hold", "..", "%", "=", "&", "#", "?", "{}", "{0}", "%s", "<b>", '"', "'", " ", ":", "CLICK", "complete", "TYPE",
    "x" * 600, "y" * 5000, "9" * 400, "slot-1900", "slot-9999", "r-", "city-", "seat-", "-", "next", "prev", "home",
    "2026-06-17", "7 pm",
)  # fmt: skip


def mutated(action: str, rng: Random) -> str:
    """A valid action with a few random changes."""
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        place, piece = rng.randrange(len(action) + 1), rng.choice(PIECES)
        until = min(len(action), place + rng.choice((0, 0, 1, 3, 10)))
        action = action[:place] + piece + action[until:]
    return rng.choice((str, str, str.upper, str.lower, str.swapcase))(action)


def moments() -> list[tuple[BookingEnv, Token, list[str]]]:
    """Moments on every kind of page but the last, with actions that are offered there."""
    found = []
    for kind in ("move", "hidden_seating"):
        env = started(tasks_with(kind)[0])
        for action in [*solution_of(env)[:-1:2], "CLICK [mine]", "CLICK [home]", "CLICK [city]"]:
            offered = env.step(action)[4]["available_actions"]
            more = ("GOTO [/mine]", "GOTO [/search?q=a&city=norwick]", "TYPE [date] [June 17]")
            found.append((env, env.snapshot(), [*offered, *more]))
    return found


def test_fuzzed_actions_raise_nothing_and_every_complaint_says_what_was_expected() -> None:
    rng, there, n = Random(3), moments(), 100 * settings.default.max_examples
    n_invalid = 0
    for number in range(n):
        env, token, offered = there[number % len(there)]
        action = mutated(rng.choice(offered), rng)
        key = env.action_key(action)
        assert env.action_key(key) == key, ascii(action)
        ahead = env.simulate(token, action)
        assert len(ahead.observation) <= MAX_TEXT
        assert ahead.info["stop_reason"] != "done" or env.terminal(action), ascii(action)
        if ahead.info["invalid_action"]:
            n_invalid += 1
            assert ahead.info["facts"]["complaint"].startswith("expected "), ascii(action)
            assert "Invalid action: expected " in ahead.observation, ascii(action)
            assert ahead.key == env.simulate(token, "nonsense").key, ascii(action)
        for one in ahead.info["page"]["elements"]:
            assert f"\n[{one['id']}] {one['kind']} " in ahead.observation, ascii(action)
    assert 0.3 * n < n_invalid < 0.9 * n


def test_actions_of_one_key_have_one_effect_and_different_effects_have_different_keys() -> None:
    spellings = (
        str, str.lower, lambda text: text.replace("[", "").replace("]", ""), lambda text: f" {text} ",
        lambda text: text.replace("] [", "][", 1), lambda text: text.replace("2026-06-17", "17 June 2026"),
        lambda text: text.replace("[", "[ ", 1), str.upper, lambda text: text.replace(" ", ": ", 1),
    )  # fmt: skip
    n_equal = 0
    for env, token, offered in moments()[::3]:
        by_key = defaultdict(list)
        for action in offered:
            for other in (spell(action.replace("[...]", "[June 17]")) for spell in spellings):
                by_key[env.action_key(other)].append(env.simulate(token, other))
        for key, (first, *others) in by_key.items():
            n_equal += len(others)
            for one in others:
                assert (one.key, one.done) == (first.key, first.done), key
                assert same(one.info["page"], first.info["page"]), key
    assert n_equal > 150
    env = started(tasks_with("hidden_seating")[0])
    actions = ["nonsense", "ASK USER HELP [Where to sit?]", "TYPE [q] [a]", "CLICK [city]", "CLICK [mine]"]
    assert len({env.simulate(env.snapshot(), action).key for action in actions}) == len(actions)


def test_an_observation_leaves_out_old_answers_before_it_leaves_out_an_element() -> None:
    asked = tuple(Exchanged(f"{number} {'?' * 80}", "a" * 200, ("seating",)) for number in range(3))
    longest = 0
    for city in WORLD.cities:
        place = Place("results", query="x" * 500, city=city, number=1)
        state = ENGINE.arrived(ENGINE.start(Scene("Book."), city), place)._replace(asked=asked, notice="n" * 300)
        state = state._replace(place=place._replace(query=""), typed=(("q", "x" * 500), ("city", city)))
        page = page_of(WORLD, state)
        for scroll in range(last_scroll(page) + 1):
            seen = render_text(WORLD, state._replace(scroll=scroll), page, "expected " + "c" * 1000)
            longest = max(longest, len(seen))
            assert all(f"\n[{one.id}] " in seen for one in page.elements[scroll : scroll + WINDOW])
            assert ("more below" in seen, "Invalid action: expected c" in seen) == (scroll < last_scroll(page), True)
    assert 1500 < longest <= MAX_TEXT
    short = ENGINE.start(Scene("Book."), "norwick")._replace(asked=asked)
    seen = render_text(WORLD, short, page_of(WORLD, short))
    assert [f'"{number} ?' in seen for number in range(3)] == [False, True, True]


def test_the_page_that_the_documentation_shows_is_one() -> None:
    text = (Path(__file__).parents[3] / "docs" / "booking.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```text\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    task = TASKS["test-170"]
    assert shown == [play(started(task), to_table(task))[0]]
