"""An environment's page and docstring say what the environment has: no more, no less, and nothing that is gone."""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from iad_envs import ENVIRONMENTS
from iad_envs.core import IADEnv
from tests.browser import missing, without_chromium

ROOT = Path(__file__).parent.parent
HEADINGS = [
    *("Description", "Action Space", "Observation Space", "Rewards", "Starting State", "Episode End", "Information"),
    *("Arguments", "Version History"),
]
"""Gymnasium's, in its order."""
NESTED = ("facts", "page", "reward_parts")

Walk = str | Callable[[dict[str, Any]], str]
SHOPPING: tuple[Walk, ...] = ("search[walking shoes]", lambda info: f"click[{info['page']['products'][0]['asin']}]")
SHOPPING += ("click[description]", "click[< prev]", "nonsense", "click[buy now]")
DRAWING = ("no page", "<p>a page</p>")
BOOKING = (
    *("nonsense", "CLICK [mine]", "CLICK [cancel]", "CLICK [keep]", "GOTO [/search?q=bar]"),
    "GOTO [/r/bistro-almond-tree-port-alder?date=2026-06-17&time=19:00&party=2]",
    *("CLICK [slot-1900]", "ASK USER HELP [Where to sit?]", "CLICK [seat-indoor]"),
    *("TYPE [first-name] [A]", "TYPE [last-name] [B]", "TYPE [phone] [5550123]"),
    *("CLEAR [email]", "TYPE [email] [a@example.org]", "CLICK [complete]"),
)


def first_call(info: dict[str, Any]) -> str:
    """Return a call of the first function. Nothing can be called any more when the episode is over."""
    return str(next(iter(info["available_actions"]), "[]"))


CALLING: tuple[Walk, ...] = ("nonsense", lambda info: f"draft{first_call(info)}", first_call, *5 * ("reply[Done.]",))
CALLING += ("reply[finish conversation]",)
CALLING += ("reply[finish conversation]",)
"""Past every page of a conversation of at most five turns, of an agent task, and of a question answered by a call."""


@dataclass(frozen=True)
class Documented:
    id: str
    page: str
    walk: tuple[Walk, ...]  # actions that lead past every kind of page
    variants: tuple[dict[str, Any], ...] = ({},)  # arguments under which keys or values are added
    like: str = ""  # the page that describes keys of info and arguments which its own leaves out
    lacks: str | None = None  # what its browser needs and is not here; None for one without a browser

    def __str__(self) -> str:
        return self.id

    @property
    def constructor(self) -> type[IADEnv[Any, Any]]:
        return gym.envs.registration.load_env_creator(str(gym.spec(self.id).entry_point))  # type: ignore[return-value]

    @property
    def arguments(self) -> dict[str, Any]:
        parameters = inspect.signature(self.constructor.__init__).parameters.values()
        return {one.name: one.default for one in parameters if one.name != "self"}


DOCUMENTED = (
    Documented("IAD/WebShop-v0", "webshop", SHOPPING, ({}, {"show_attributes": True})),
    Documented("IAD/WebShopBrowser-v0", "webshop-browser", SHOPPING, like="webshop", lacks=missing()),
    Documented("IAD/InterCodeBash-v0", "bash", ("ls /", "no-such-command", "submit"), ({}, {"reward": "strict"})),
    Documented("IAD/BIRD-v0", "bird", ("execute[SELECT 1]", "?", "submit[SELECT 1]")),
    Documented("IAD/Sketch2Code-v0", "sketch2code", DRAWING, ({}, {"visual": True}), lacks=without_chromium()),
    Documented("IAD/Booking-v0", "booking", BOOKING, ({}, {"published": True})),
    Documented("IAD/BookingBrowser-v0", "booking-browser", BOOKING, like="booking", lacks=missing()),
    Documented("IAD/BFCL-v0", "bfcl", CALLING, ({}, {"category": "single_turn"}, {"scoring": "official"})),
    Documented(
        "IAD/ACEBench-v0",
        "acebench",
        CALLING,
        ({}, {"category": "normal"}, {"category": "special", "published": True}, {"category": "agent_multi_turn"}),
        like="bfcl",
    ),
)
every_environment = pytest.mark.parametrize("one", DOCUMENTED, ids=str)


def section(page: str, heading: str) -> str:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"docs/{page}.md has no heading {heading}"
    return found[1]


def rows(text: str) -> list[tuple[str, str]]:
    """The code in the first two cells of the rows of all tables of three columns that begin with code."""
    found = [line.strip("|").split(" | ") for line in text.splitlines() if line[:3] == "| `"]
    return [(row[0].strip("| `"), row[1].strip("| `")) for row in found if len(row) == 3]


@every_environment
def test_pages_and_docstrings_have_gymnasiums_headings_the_arguments_and_what_shows_fidelity(one: Documented) -> None:
    assert [each.id for each in DOCUMENTED] == list(ENVIRONMENTS)
    text = (ROOT / "docs" / f"{one.page}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {one.id}\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[: len(HEADINGS) + 2] == [*HEADINGS, "Fidelity", "Deviations"]
    docstring = inspect.getdoc(one.constructor) or ""
    assert re.findall(r"^## (.+)$", docstring, re.MULTILINE) == HEADINGS
    version = one.id.rpartition("-")[2]
    assert f"* {version}: " in docstring.partition("## Version History")[2]
    assert f"- {version}: " in section(one.page, "Version History")
    shared = rows(section(one.like, "Arguments")) if one.like else []
    documented = dict([row for row in shared if row[0] in one.arguments] + rows(section(one.page, "Arguments")))
    assert documented == {name: repr(default) for name, default in one.arguments.items()}
    body = docstring.partition("## Arguments\n")[2].partition("## ")[0]
    named = re.findall(r"^ {4}([a-z_, ]+): ", body, re.MULTILINE)
    assert sorted(name.strip() for line in named for name in line.split(",")) == sorted(one.arguments)
    item = re.compile(r"^- (.*?)(?=^- |^\S|\Z)", re.MULTILINE | re.DOTALL)
    deviations, faithful = (item.findall(section(one.page, heading)) for heading in ("Deviations", "Fidelity"))
    assert min(len(deviations), len(faithful)) > 0
    for said in deviations:
        back = " ".join(said.split()).partition("*Back:*")[2]
        assert back.strip(), said
        for name in re.findall(r"`(\w+)=[^`]*`", back):
            assert name in (*one.arguments, "options"), f"{name} is no argument of {one.id} or of reset: {said}"
    for said in faithful:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", said)
        assert named, said
        for path, test in named:
            assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{test}"


def keys_of(info: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every key with its value's type, those within facts, page and reward parts behind a dot."""
    for key, value in info.items():
        yield key, type(value).__name__
        if key in NESTED:
            yield from ((f"{key}.{inner}", type(found).__name__) for inner, found in value.items())


def is_gold(key: str) -> bool:
    return key.partition(".")[0] in IADEnv.GOLD_INFO


@pytest.mark.parametrize(
    "one", [pytest.param(one, id=one.id, marks=[] if one.lacks is None else pytest.mark.slow) for one in DOCUMENTED]
)
def test_the_documented_keys_of_info_are_those_of_real_episodes(one: Documented) -> None:
    if one.lacks:
        pytest.skip(one.lacks)
    seen: set[tuple[str, str]] = set()
    for arguments in one.variants:
        env: Any = gym.make(one.id, **arguments).unwrapped
        try:
            _, info = env.reset(seed=0)
            seen |= set(keys_of(info))
            for step in one.walk:
                action = step if isinstance(step, str) else step(info)
                public = env.simulate(env.snapshot(), action).info
                assert not any(is_gold(key) for key, _ in keys_of(public))
                info = env.step(action)[-1]
                seen |= set(keys_of(info))
            assert info["stop_reason"] == "done"
        finally:
            env.close()
    own, shared = keys_in("Information", one.page), keys_in("Contract 1: an environment", "design")
    assert own | shared <= seen
    assert seen <= own | shared | (keys_in("Information", one.like) if one.like else set())


def keys_in(heading: str, page: str) -> set[tuple[str, str]]:
    """The keys that a section documents, with their types; gold is in a table of its own."""
    public, _, gold = section(page, heading).partition("### Gold\n")
    if gold:
        assert not any(is_gold(key) for key, _ in rows(public))
        assert all(is_gold(key) for key, _ in rows(gold))
    return {*rows(public), *rows(gold)}
