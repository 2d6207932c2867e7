"""Text environments of others under our strategies (`make bridges BRIDGES=described`)."""

import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textarena", reason="TextArena is not installed: make bridges BRIDGES=described")

from iad_policy import IADPolicyWrapper, evaluate
from iad_policy.agents.language import language_agent
from iad_policy.bridges.textarena import textarena_env
from iad_policy.models import Messages
from iad_policy.models.scripted import ScriptedModel
from iad_policy.verifiers.judge import judge
from iad_policy.world import adapt
from tests.full.processes import examples, needing, printed
from tests.iad_policy.models.openai_server import Reply, completion, serving
from tests.iad_policy.playing import play

pytestmark = needing("textarena", how="make bridges BRIDGES=described")
GAME = "GuessTheNumber-v0"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
STRATEGIES = ("single", "bon-sc", "iad")
GOAL = "Press the button that sends the order."
FORM = (
    "data:text/html,<title>Order</title><h1>Order</h1><input id=name>"
    "<button onclick=\"document.body.innerHTML='<p>Thank you'\">Send</button>"
)


class Scripts:
    """A model for agent and judge, and all that it was asked."""

    def __init__(self, act: Callable[[str], str]) -> None:
        self._act, self.model = act, ScriptedModel(self._answer)
        self.prompts: list[str] = []
        self.judged: list[str] = []

    def _answer(self, messages: Messages) -> str:
        text = "\n".join(str(message["content"]) for message in messages)
        if "Score: <" in text:
            self.judged.append(text)
            return "Critique: fine.\nScore: 7"
        self.prompts.append(text)
        return self._act(text)


def episode(env: Any, scripts: Scripts, strategy: str, seed: int) -> tuple[float, Any]:
    """Play with a language model as agent and judge; its sum of rewards, and the last info."""
    agent, verifier = language_agent(env, scripts.model), judge(env, scripts.model)
    assert not verifier.needs_preview
    with IADPolicyWrapper(agent, env, strategy=strategy, n=2, verifier=verifier) as policy:
        reward, info = play(env, policy, seed=seed)[1:]
    assert bool(scripts.judged) == (strategy == "iad")
    assert "So far:" not in scripts.prompts[0]  # a new episode was seen as one
    return reward, info


def bisect(prompt: str) -> str:
    """The middle of the numbers that are left, after the turns that the prompt tells."""
    low, high = 1, 20
    turns = re.findall(r"^\d+\. \[(\d+)\]\n +The target number is (\w+)", prompt, re.MULTILINE)
    last = re.findall(r"^\d+\. \[(\d+)\]\n\n.*?The target number is (\w+)", prompt, re.MULTILINE | re.DOTALL)[:1]
    for number, hint in turns + last:
        low, high = (low, int(number) - 1) if hint == "lower" else (int(number) + 1, high)
    return f"Thought: between {low} and {high}\nAction: [{(low + high) // 2}]"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_game_of_textarena_is_played_and_won(strategy: str) -> None:
    env = textarena_env(GAME)
    for seed in (1, 2):
        scripts = Scripts(bisect)
        reward, info = episode(env, scripts, strategy, seed)
        assert (reward, info["success"], info["stop_reason"]) == (1.0, True, "done")
        assert all("guess the number between 1 and 20" in prompt for prompt in (*scripts.prompts, *scripts.judged))
        for prompt in scripts.judged:
            assert "Action: [" in prompt
            assert "simulated" not in prompt.partition("Proposed:")[2]


def test_games_are_repeatable_and_those_for_several_players_and_unknown_ones_are_refused() -> None:
    state, numbers = random.getstate(), []  # Python's generator is left alone
    for seed in (1, 2, 1):
        env: Any = textarena_env(GAME)
        env.reset(seed=seed)
        textarena_env(GAME).reset(seed=99)
        numbers.append(int(env.env.unwrapped._game.state.game_state["game_number"]))
    assert random.getstate() == state
    assert numbers[0] == numbers[2] != numbers[1]
    for game, said in (("TicTacToe-v0", "players has to be 2"), ("NoSuchGame-v0", "not found")):
        with pytest.raises(ValueError, match=f"{game}: .*{said}"):
            textarena_env(game).reset(seed=0)


def test_the_report_says_that_a_copied_game_tells_what_nobody_may_know_and_it_is_played_without_copies() -> None:
    scripts = Scripts(bisect)
    game = partial(textarena_env, GAME)
    common: dict[str, Any] = {"n": 2, "agent": language_agent(game(), scripts.model), "cache": False}
    seeing, blind = judge(game(), scripts.model, needs_preview=True), judge(game(), scripts.model)
    seeing.name, blind.name = "seeing", "blind"  # type: ignore[attr-defined]
    assert "simulator fork (sees hidden state)" in evaluate(game, ["iad"], 2, verifier=seeing, **common).table()
    assert any("It would lead to this" in prompt or "It would end the task" in prompt for prompt in scripts.judged)
    results = evaluate(game, STRATEGIES, 2, verifier=blind, **common)
    assert "hidden state" not in results.table()
    assert [row.success for row in results.figures().summaries.values()] == [1.0] * len(STRATEGIES)
    assert episode(game(simulates=False), Scripts(bisect), "iad", 1)[0] == 1.0


def test_a_simulation_does_not_see_the_draws_that_will_come() -> None:
    """The bandit draws each reward as a button is pressed, so a copy must not know the next one."""
    env = textarena_env("Bandit-v0")
    observation, _ = env.reset(seed=3)
    world = adapt(env)
    world.begin(observation)
    token = world.snapshot()
    possible = {f"You pressed the red button and received a reward of {reward}." for reward in (0.0, 1.0)}
    for _ in range(2):
        assert {world.simulate(token, "[red]", draw).observation for draw in range(30)} == possible
    assert env.step("[red]")[0] in possible


@pytest.fixture(scope="module")
def order(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The order's page in BrowserGym on the Chromium of this machine, described as the documentation has it."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    pytest.importorskip("browsergym", reason="BrowserGym is not installed: make bridges BRIDGES=described")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path_factory.mktemp("browsers")))
        import browsergym.core as core
        from browsergym.core.registration import register_task
        from browsergym.core.task import AbstractBrowserTask

        class Sending(AbstractBrowserTask):  # type: ignore[misc]
            def setup(self, page: Any) -> tuple[str, dict[str, Any]]:
                page.goto(FORM)
                return GOAL, {}

            def validate(self, page: Any, chat_messages: Any) -> tuple[float, bool, str, dict[str, Any]]:
                is_sent = "Thank you" in page.inner_text("body")
                return float(is_sent), is_sent, "", {"solution": "the button Send"}

        playwright = core._get_global_playwright()
        expected = Path(playwright.chromium.executable_path)  # where Playwright would have put its own
        expected.parent.mkdir(parents=True)
        expected.symlink_to(CHROMIUM)
        register_task("sending", Sending)
        quick = 'gym.make("browsergym/sending", slow_mo=0, pre_observation_delay=0.05, disable_env_checker=True)'
        names: dict[str, Any] = {}
        exec(re.sub(r"gym\.make\(.*\)", quick, examples("described.md", "browsergym.core")[0]), names)
        try:
            with closing(names["env"]) as env:
                yield env
        finally:
            playwright.stop()
            core._set_global_playwright(None)


def press(prompt: str) -> str:
    """Press the button, after a mistake."""
    if "click('999')" not in prompt:
        return "Thought: a guess\nAction: click('999')"
    button = re.findall(r"\[(\w+)\] button 'Send'", prompt)[-1]
    return f"Thought: there it is\nAction: click('{button}')"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_page_of_browsergym_is_acted_on_without_simulations(strategy: str, order: Any) -> None:
    scripts = Scripts(press)
    reward, info = episode(order, scripts, strategy, 3)
    assert (reward, info["success"], info["step"], info["task_id"]) == (1.0, True, 2, "3")
    for prompt in scripts.prompts:
        assert all(text in prompt for text in (f"Task: {GOAL}", "button 'Send'", "click(bid: str"))
        assert not any(text in prompt for text in ("solution", "dom_object"))
    assert any("Could not find element" in prompt for prompt in scripts.prompts)
    assert all(f"Task: {GOAL}" in prompt and "Action: click('" in prompt for prompt in scripts.judged)


def test_the_pages_first_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.address)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        server.script(Reply(completion("Action: [10]")))
        told = printed(examples("described.md")[0])
    assert told[0].startswith("You are Player 0. You are playing Guess The Number.")
    assert told[1].startswith("The target number is ")


def test_the_pages_example_of_textworld_plays_a_game(tmp_path: Path) -> None:
    textworld = pytest.importorskip("textworld", reason="TextWorld is not installed: pip install textworld")
    options = textworld.GameOptions()
    options.seeds, options.nb_rooms, options.nb_objects, options.quest_length = 3, 2, 3, 2
    options.path = str(tmp_path / "game.z8")
    path, _ = textworld.make(options)
    names: dict[str, Any] = {}
    exec(examples("described.md", "textworld.gym")[0].replace("game.z8", path), names)

    def take_and_unlock(prompt: str) -> str:
        can_unlock = "unlock safe" in prompt.rpartition("Available actions:")[2]
        return "Action: unlock safe with latchkey" if can_unlock else "Action: take latchkey"

    scripts = Scripts(take_and_unlock)
    with closing(names["env"]) as env:
        reward, info = episode(env, scripts, "iad", 0)
    assert (reward, info["success"]) == (1.0, True)
    assert all("recover the latchkey from the floor" in prompt for prompt in (*scripts.prompts, *scripts.judged))
    assert all("take latchkey" in prompt for prompt in scripts.prompts)
    assert "\\$$" not in scripts.prompts[0]
