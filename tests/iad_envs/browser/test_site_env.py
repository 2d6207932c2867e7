"""An environment that is not the shop acts on its site, and a simulation shows what a step will."""

import copy
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from iad_envs.browser.site_env import SiteEnv, require_site_browser
from iad_envs.core import IADEnv, Score, Snapshot, Transition, View
from iad_envs.errors import UnknownTask
from iad_envs.spaces import UnicodeText
from tests.browser import Browsers, missing
from tests.contract.environments import same
from tests.iad_envs.browser.test_site_visit import RoomVisit
from tests.webshop_server.site.two_rooms import RoomState

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "everything is there")


class Errand:
    task_id, instruction, split, difficulty = "errand", "Write a note in the garden", "", ""


class RoomEnv(IADEnv[str, RoomState]):
    """The two rooms as text."""

    def __init__(self, **options: Any) -> None:
        super().__init__({"errand": Errand()}, max_steps=9, **options)
        self.action_space, self.observation_space = UnicodeText(99), UnicodeText(999)

    def _start(self, task: Errand) -> RoomState:
        return RoomState()

    def _transition(self, state: RoomState, action: str, rng: Any) -> Transition:
        name, _, argument = action.removesuffix("]").partition("[")
        if name == "type":
            after = state._replace(note=argument)
            return Transition(after, "", after == RoomState("garden", "done"))
        if (name, argument) == ("click", state.other):
            return Transition(RoomState(argument), "", False)
        return Transition(state, f"expected click[{state.other}] or type[...], got {action!r:.60}", False)

    def _view(self, state: RoomState, complaint: str) -> View:
        return View(f"{state.room}: {state.note}{complaint}", (f"click[{state.other}]", "type[...]"), {}, {})

    def _score(self, task: Errand, now: Snapshot, memory: Any) -> Score:
        return Score(float(now.terminated), float(now.terminated), now.terminated, {}, None)

    def _reference(self, task: Errand) -> dict[str, Any]:
        return {}


class RoomBrowserEnv(SiteEnv[RoomState], RoomEnv):
    """The two rooms in a browser."""

    def __init__(self, *, observation_mode: str = "text", render_mode: str | None = None) -> None:
        require_site_browser(observation_mode, None, None)
        super().__init__(render_mode=render_mode)
        size = (500, 400)
        self._browse(RoomVisit(size=size), observation_mode=observation_mode, window_size=size)


@pytest.fixture(params=["text", "html", "screenshot"])
def env(request: pytest.FixtureRequest, browsers: Browsers) -> Iterator[RoomBrowserEnv]:
    with browsers.lent(RoomBrowserEnv(observation_mode=request.param, render_mode="rgb_array")) as env:
        yield env


def test_steps_and_simulations_show_the_same_of_an_episode_on_a_site(env: RoomBrowserEnv) -> None:
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    for action in ("type[roses]", "click[garden]", "click[cellar]"):
        ahead = env.simulate(env.snapshot(), action)
        observation, _, _, _, info = env.step(action)
        assert info["invalid_action"] == (action == "click[cellar]")
        assert same(ahead.observation, observation), action
    assert isinstance(env.visit, RoomVisit)
    assert env.visit.stayed == [RoomState("garden")], "the visit is told of the refused action, and of no other"
    kept = env.snapshot()
    observation, reward, terminated, _, _ = env.step("type[done]")
    assert (reward, terminated) == (1.0, True)
    assert env.observation_space.contains(observation)
    assert env.render().shape == (400, 500, 3)
    env.restore(kept)
    assert env.visit.browser.driver.execute_script("return document.querySelector('input').value") == ""
    assert env.visit.n_lost == 0


@pytest.mark.parametrize("env", ["screenshot"], indirect=True)
def test_copies_open_the_page_where_the_original_is(env: RoomBrowserEnv) -> None:
    env.reset(seed=0)
    env.step("click[garden]")
    with closing(copy.deepcopy(env)) as other, closing(copy.deepcopy(env)) as third:
        third.visit._browser = other.visit.browser
        assert same(other.render(), env.render())
        assert same(third.step("click[cellar]"), env.step("click[cellar]"))
        assert same(third.step("type[roses]"), env.step("type[roses]"))
        assert env.visit is not other.visit is not third.visit
        assert other.visit.n_lost == third.visit.n_lost == 0


def test_a_site_in_a_browser_has_three_kinds_of_observation_and_two_of_pictures() -> None:
    with pytest.raises(UnknownTask, match="screenshot"):
        require_site_browser("url", None, None)
    assert RoomBrowserEnv.metadata["render_modes"] == ["ansi", "rgb_array"]
    assert [need.name for need in RoomBrowserEnv.NEEDS]
