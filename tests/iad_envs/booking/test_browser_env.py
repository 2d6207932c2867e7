"""`IAD/BookingBrowser-v0`: the same tasks on the same pages in a real browser."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from iad_envs.booking.browser_env import BookingBrowserEnv
from iad_envs.booking.env import BookingEnv
from iad_envs.booking.visit import BookingVisit
from iad_envs.browser.site_visit import PageMismatch
from tests.browser import Browsers, missing
from tests.contract.environments import EnvironmentContract, Subject, same, solution_of
from tests.contract.test_environments import SUBJECTS
from tests.effort import some
from tests.iad_envs.booking.site_walks import choose
from tests.iad_envs.walks import walk_together

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "everything is there")
KINDS = {"home", "results", "restaurant", "seating", "details", "confirmation", "mine", "cancel"}


@pytest.fixture
def env(browsers: Browsers) -> Iterator[BookingBrowserEnv]:
    with browsers.lent(BookingBrowserEnv(render_mode="rgb_array")) as env:
        yield env


@pytest.mark.parametrize("seeds", [
    pytest.param((3747,), id="one"),  # it sees every kind of page and finding by itself
    pytest.param((*range(60), 3747), id="61", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
])  # fmt: skip
def test_text_and_browser_environments_agree_on_random_episodes(env: BookingBrowserEnv, seeds: Sequence[int]) -> None:
    infos = [info for seed in seeds for info in walk_together([BookingEnv(), env], seed, choose)]
    assert len(infos) > 10 * len(seeds)
    seen = {info["page"]["kind"] for info in infos}
    seen |= {one["code"] for info in infos for one in info["facts"]["findings"]}
    assert seen >= KINDS | {"hold_expired", "hold_released", "form_incomplete", "cancelled"}
    assert env.visit.n_lost == 0


def test_gold_scores_1_shows_no_score_and_each_moment_is_restored(env: BookingBrowserEnv) -> None:
    seen = [env.reset(options={"task_id": next(name for name in env.task_ids if "move" in env._tasks[name].kinds)})]
    tokens = [env.snapshot()]
    for action in solution_of(env):
        seen.append(env.step(action)[::4])  # type: ignore[arg-type]
        tokens.append(env.snapshot())
    assert "score" not in env.visit.browser.driver.page_source.lower()
    moments = list(zip(tokens, seen, strict=True))
    for token, was in (*some(moments, 4, first=3)[::-1], moments[-1], moments[0]):
        assert same(env.restore(token), was)
    for action in solution_of(env):  # the forms that were sent before are not the same ones
        _, reward, terminated, _, info = env.step(action)
    assert (reward, terminated, info["success"], info["progress"]) == (1.0, True, True, 1.0)


def test_typing_is_done_with_keys_and_stays_on_the_page(env: BookingBrowserEnv) -> None:
    env.reset(seed=0)
    driver = env.visit.browser.driver
    driver.execute_script("window.isKept = true; addEventListener('input', e => window.isTyped = e.isTrusted)")
    for action in ("TYPE [q] [Bistro]", "TYPE [q] [ Fennel 🦉]", "TYPE [city] [Norwick]", "SCROLL [DOWN]", "CLICK [q]"):
        assert not env.step(action)[4]["invalid_action"]
        assert driver.execute_script("return window.isKept"), action
    assert driver.execute_script("return [window.isTyped, document.querySelector('#q').value]") == [
        True,
        "Bistro Fennel 🦉",
    ]
    env.step("CLEAR [q]")
    assert driver.execute_script("return [window.isKept, document.querySelector('#q').value]") == [True, ""]
    env.step("SUBMIT [q]")
    assert driver.current_url.endswith("/search?q=&city=norwick")


@pytest.mark.parametrize("mode", ["html", "screenshot"])
def test_other_observations_are_the_same_simulated_and_real(mode: Any, browsers: Browsers) -> None:
    with browsers.lent(BookingBrowserEnv(observation_mode=mode, window_size=(500, 800))) as env:
        seen = []
        typing = (f"TYPE [q] [{'long words ' * 20}]", "CLICK [q]", "TYPE [q] [x]", "TYPE [city] [Norwick]", "CLEAR [q]")
        walk = ["CLICK [nothing]", "CLICK [city]", "CLICK [city-norwick]", *typing, "CLICK [go]", "SCROLL [DOWN]"]
        env.reset(options={"task_id": next(one for one in env.task_ids if "move" in env._tasks[one].kinds)})
        actions = [*walk, "CLICK [mine]", "ASK USER HELP [Who?]"]
        for action in actions if mode == "html" else some(actions, 3, first=1):
            ahead = env.simulate(env.snapshot(), action)
            observation = env.step(action)[0]
            assert env.observation_space.contains(observation)
            if not ahead.token.is_awaiting:
                assert same(ahead.observation, observation), action
            seen.append(observation)
        assert len({str(one) if mode == "html" else one.tobytes() for one in seen}) >= len(seen) / 2
        if mode == "html":
            assert seen[0].startswith("<!DOCTYPE html>")
            assert 'role="alert">expected the id' in seen[0]
            assert not any(env.visit.site.token(env.visit.session) in page for page in seen)
        else:
            assert seen[0].shape == (800, 500, 3)


def test_a_page_that_differs_from_the_engine_is_noticed(env: BookingBrowserEnv) -> None:
    env.reset(seed=0)
    visit = env.visit
    state = env.snapshot()._moment.state
    shown = env.engine.act(state, "CLICK [go]").state
    with pytest.raises(PageMismatch, match="address"):
        visit.act("CLICK [go]", shown._replace(place=shown.place._replace(number=2)))
    visit.open(state)
    with pytest.raises(PageMismatch, match="state"):
        visit.act("CLICK [go]", shown._replace(steps=7))
    visit.open(state)
    with pytest.raises(PageMismatch, match="value of q"):
        visit.act("TYPE [q] [a]", state._replace(typed=(("q", "b"), state.typed[1]), steps=1))
    visit.open(shown)
    found = visit._read()
    for part, other in (("title", ["Shops"]), ("lines", []), ("notice", ["Hello"]), ("said", ["x"])):
        with pytest.raises(PageMismatch):
            visit._compare(shown, {**found, part: other})
    with pytest.raises(PageMismatch, match="elements"):
        visit._compare(shown, {**found, "elements": found["elements"][1:]})
    bare = BookingVisit(env.engine, chromium="/no/such/browser")  # HTML needs none
    assert 'role="alert">no way' in bare.html(state, "no way")
    bare.close()


def test_a_copy_opens_the_page_where_the_original_is(env: BookingBrowserEnv, browsers: Browsers) -> None:
    env.reset(seed=0)
    env.step("CLICK [go]")
    other = copy.deepcopy(env)
    assert other.visit is not env.visit
    driver = env.visit.browser.driver
    here = driver.find_element("tag name", "h1").text
    seen = env.step("TYPE [q] [bar]")
    with browsers.lent(other):
        other.render()  # it goes there when it is asked for something
        assert other.visit.browser.driver.find_element("tag name", "h1").text == here != ""
        assert same(other.step("TYPE [q] [bar]"), seen)
        assert other.visit.n_lost == env.visit.n_lost == 0


@pytest.mark.slow
@pytest.mark.timeout(300)
class TestBookingBrowser(EnvironmentContract):
    @pytest.fixture
    def subject(self) -> Subject:
        (text,) = (subject for subject in SUBJECTS if subject.id == "IAD/Booking-v0")
        return replace(text, id="IAD/BookingBrowser-v0")
