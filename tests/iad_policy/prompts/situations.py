"""One decision in each environment, as a model meets it: the turns before, two candidates with results, an attempt."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import iad_envs  # noqa: F401 (registers)
from iad_envs.sketch2code.policy.rendering import SketchRendering
from iad_policy import IADPolicyWrapper
from iad_policy.prompts import prompts_of
from iad_policy.prompts.feedback import feedback_text
from iad_policy.prompts.rendering import Rendering
from iad_policy.requests import Asking, Commit, Simulate
from iad_policy.strategies.building_blocks.feedback_forms import FeedbackForm
from iad_policy.types import Candidate, Feedback, State, Turn, Verdict
from tests.iad_policy.toy_lamp import LampEnv


@dataclass(frozen=True)
class Situation:
    """A decision and what belongs to it.

    Attributes:
        states: The real states up to the decision, oldest first. The decision is made in the last one.
        candidates: Candidates for the decision, with previews and verdicts.
        attempt: Last state of a simulated attempt from the first state, stopped before its end.
        words: The environment's words.
    """

    states: tuple[State, ...]
    candidates: tuple[Candidate, ...]
    attempt: State
    words: Rendering

    @property
    def here(self) -> State:
        return self.states[-1]

    def feedback(self, form: FeedbackForm, n: int = 2) -> Feedback:
        """Return feedback about the first candidates. Their results are known, so nothing is asked for it."""
        given: list[Feedback | None] = []

        def ask() -> Asking[None]:
            given.append((yield from form(self.here, self.candidates[:n], 0.0)))

        assert not list(ask())
        assert given[0] is not None
        return replace(given[0], text=feedback_text(given[0], self.words))


SCRIPTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def situation(name: str) -> Situation:
    """Return an environment's situation."""
    if name == "sketch2code":
        return _sketch()
    script = SCRIPTS[name]
    env = gym.make(script["env"], **script.get("args", {})) if "env" in script else LampEnv()
    tried = {action: Verdict(score, critique) for action, score, critique in script["tried"]}
    states: list[State] = []
    previews: list[State] = []
    attempt: list[State] = []

    def decide(here: State) -> Asking[None]:
        attempt.append(here)
        for action in script["actions"]:
            attempt.append((yield from Simulate(attempt[-1], Candidate(action))))
        for action in script["actions"]:
            states.append(here)
            here = yield from Commit(Candidate(action, thought="I go on."))
        states.append(here)
        for action in tried:
            previews.append((yield from Simulate(here, Candidate(action))))
        yield from Commit(Candidate(next(iter(tried))))

    with IADPolicyWrapper(lambda observation, info: "", env, strategy=decide) as policy:
        observation, info = env.reset(seed=0, options={"task_id": script["task"]})
        for _ in range(len(script["actions"]) + 1):
            observation, _, _, _, info = env.step(policy.act(observation, info))
    words = prompts_of(env).rendering
    env.close()
    candidates = tuple(
        Candidate(action, key=action, preview=preview, verdict=verdict)
        for (action, verdict), preview in zip(tried.items(), previews, strict=True)
    )
    return Situation(tuple(states), candidates, attempt[-1], words)


def _sketch() -> Situation:
    """Return a situation made by hand, as the environment needs a browser."""
    task = (
        "Write one HTML page, with its CSS in it, that looks like the page in the sketch. Answer with the HTML.\n"
        "The page's title: Ferry times"
    )

    def state(html: str, boxes: Mapping[str, Any], *, done: bool = False) -> State:
        text = task if not html else f"{task}\n\nYour page:\n{html}"
        size = {"width": 1280, "height": 640 if html else 0}
        info = {
            "instruction": task,
            "available_actions": () if done else ("<!DOCTYPE html><html><body></body></html>",),
            "invalid_action": False,
            "stop_reason": "done" if done else "",
            "facts": {"complaint": "", "setting": "direct", "sketch": "drawn", "sketch_size": [1024, 768]},
            "page": {"html": html, "boxes": boxes, **size, "title": "", "engine": "", "failure": ""},
        }
        return State({"sketch": np.full((1024, 768, 3), 250, np.uint8), "text": text}, info, steps_left=5, done=done)

    here = state("", {})
    pages = {
        "<html><body><nav>Ferries</nav></body></html>": {"nav_bar": [[0, 0, 1, 0.1]]},
        '<html><body><nav>Ferries</nav><img src="rick.jpg" width="600"></body></html>': {
            "nav_bar": [[0, 0, 1, 0.1]],
            "image": [[0, 0.1, 0.5, 0.9]],
        },
    }
    verdicts = (Verdict(0.3, "The image is missing."), Verdict(0.8, "The outline agrees with the sketch to 81%."))
    candidates = tuple(
        Candidate(html, key=html, preview=state(html, boxes, done=True), verdict=verdict)
        for (html, boxes), verdict in zip(pages.items(), verdicts, strict=True)
    )
    first = next(iter(pages))
    attempt = replace(state(first, {}, done=True), history=(Turn(here.observation, first, here.info),))
    return Situation((here,), candidates, attempt, SketchRendering())
