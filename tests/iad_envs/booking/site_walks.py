"""Random actions on the booking site, of every kind."""

import random
from typing import Any

QUERIES = (
    *("bistro", "fish & chips / 100% [new]", "crème brûlée 🦉", "a\"b'c", "<b>x</b>", "a..b", " two  blanks "),
    "x" * 300,
)
TEXTS = (
    *QUERIES,
    *("Ada", " Ada ", "555-0123", "+1 (555) 012-3456", "ada@example.org", " ada@example.org ", "{{ 7 * 7 }}"),
    *("a\u2028b", "\u202eright to left", "日本語", "y" * 498, "100%25", "&amp;", "\ufffe", "🦉" * 300),
)
WISHES = {
    "date": ("2026-03-10", "June 17", "2026-06-29", "2026-03-02", "2026-02-30", "2027-01-01", "tomorrow"),
    "time": ("19:00", "7 pm", "12:15", "23:59", "19:07", "25:00"),
    "party": ("4", "2 people", "8", "9", "0", "1"),
    "city": ("Port Alder", "bellmere", "KESTREL FALLS", "Atlantis", "santa-corva"),
}
ROOM = "/r/bistro-fennel-port-alder"
ADDRESSES = (
    *("home", "/mine", "/hold", "/mine/cancel", "tablefind.example/search?q=bistro&city=norwick", "/search?page=2"),
    *(ROOM, f"{ROOM}?date=2026-04-01&time=18:30&party=3", "/search?q=caf%C3%A9&city=bellmere", "/confirmed/1"),
    *("//evil.example", "https://evil.example/", "/r/..%2f..", "/%2f%2fevil.example", "/\\evil.example"),
    *("javascript:0", "/search?q=&city=nowhere", "/r/nowhere", f"{ROOM}?party=99"),
)
BAD = (
    *("nonsense", "", "CLICK [nothing]", "TYPE [go] [x]", "CLEAR [city]", "SUBMIT [mine]", "TYPE [q] [a\tb]"),
    "CLICK [",
)
PERSON = {"first-name": "Ada", "last-name": "Lovell", "phone": "555-0123", "email": "ada@example.org"}


def choose(info: dict[str, Any], rng: random.Random) -> str:
    """A random action: half of them lead on, and the others are of every other kind."""
    onward = _onward(info, rng)
    if onward and rng.random() < 0.5:
        return onward
    kind, page = rng.random(), info["page"]
    fields = [one["id"] for one in page["elements"] if one["kind"] == "field"]
    if kind < 0.08:
        return rng.choice(BAD)
    if kind < 0.2:
        return f"GOTO [{rng.choice(ADDRESSES)}]"
    if kind < 0.27:
        return f"ASK USER HELP [{rng.choice(('Where would you like to sit?', 'Who are you?', '<b>What</b> now?'))}]"
    if kind < 0.33:
        return rng.choice(("SCROLL [UP]", "SCROLL [DOWN]"))
    if fields and kind < 0.65:
        name = rng.choice([*fields, *(["city"] if "q" in fields else [])])
        return f"TYPE [{name}] [{rng.choice(WISHES.get(name, TEXTS))}]"
    if fields and kind < 0.75:
        return f"{rng.choice(('CLEAR', 'SUBMIT'))} [{rng.choice(fields)}]"
    if "city" in page["form"] and kind < 0.78:
        return "SUBMIT [city]"
    if kind < 0.82 and page["elements"]:
        return f"CLICK [{rng.choice(page['elements'])['id']}]"
    return rng.choice([action for action in info["available_actions"] if not action.endswith("...]")] or BAD)


def _onward(info: dict[str, Any], rng: random.Random) -> str:
    """An action that leads on to a reservation, or "" where there is none."""
    page = info["page"]
    ids = [one["id"] for one in page["elements"]]
    missing = [name for name, value in PERSON.items() if name in ids and not page["form"][name].strip()]
    if missing:
        return f"TYPE [{missing[0]}] [{PERSON[missing[0]]}]"
    for part in ("complete", "seat-", "slot-", "r-", "cancel-yes", "cancel", "go"):
        found = [name for name in ids if name.startswith(part)]
        if found:
            return f"CLICK [{rng.choice(found)}]"
    return ""
