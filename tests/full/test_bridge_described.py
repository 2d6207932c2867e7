"""Text environments of others under our strategies (`make bridges BRIDGES=described`)."""

import random
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textarena", reason="TextArena is not installed: make bridges BRIDGES=described")

from iad_policy import IADPolicyWrapper
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
ASKED_THERE = {"about:blank": FORM.replace('"', '\\"'), "Find the address.": GOAL, "max_steps=15": "max_steps=3"}
"""What the page's example of BrowserGym is changed to."""


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
    for seed, simulates in ((1, True), (2, False)):
        scripts = Scripts(bisect)
        reward, info = episode(textarena_env(GAME, simulates=simulates), scripts, strategy, seed)
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


def press(prompt: str) -> str:
    """Press the button, after a mistake, as long as it is there."""
    buttons = re.findall(r"\[(\w+)\] button 'Send'", prompt) if "click('999')" in prompt else []
    return f"Thought: a guess\nAction: click('{(buttons or ['999'])[-1]}')"


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_pages_example_of_browsergym_is_acted_on_without_simulations(tmp_path: Path, monkeypatch: Any) -> None:
    pytest.importorskip("browsergym", reason="BrowserGym is not installed: make bridges BRIDGES=described")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    import browsergym.core as core

    playwright = core._get_global_playwright()
    expected = Path(playwright.chromium.executable_path)  # where Playwright would have put its own
    expected.parent.mkdir(parents=True)
    expected.symlink_to(str(CHROMIUM))
    (example,) = examples("described.md", "browsergym.core")
    for text, other in ASKED_THERE.items():
        example = example.replace(text, other)
    names: dict[str, Any] = {}
    exec(example, names)
    scripts = Scripts(press)
    try:
        with closing(names["env"]) as env:
            _, info = episode(env, scripts, "iad", 3)
    finally:
        playwright.stop()
        core._set_global_playwright(None)
    assert (info["success"], info["step"], info["task_id"]) == (False, 3, "3")
    for prompt in scripts.prompts:
        assert all(text in prompt for text in (f"Task: {GOAL}", "click(bid: str"))
        assert "dom_object" not in prompt
    assert all(any(text in prompt for prompt in scripts.prompts) for text in ("Could not find element", "Thank you"))
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
