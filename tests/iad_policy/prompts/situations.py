"""One decision in each environment, as a model meets it: the turns before, two candidates with results, an attempt."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class _Script:
    make: Callable[[], gym.Env[Any, Any]]
    task_id: str
    actions: tuple[str, ...]
    tried: Mapping[str, tuple[float, str]]
    """Candidates, each with its verdict's score and critique."""


QUERIES = {
    "submit[SELECT AVG(value) FROM result WHERE assay_code = 'cholesterol']": (
        0.2,
        "'cholesterol' is no value of result.assay_code; near: 'CHO'.",
    ),
    "submit[SELECT AVG(T1.value) FROM result AS T1 INNER JOIN assay AS T2 ON T1.assay_code = T2.assay_code "
    "WHERE T2.name = 'cholesterol']": (0.8, "Nothing odd: it runs, and uses what the evidence names."),
}

SCRIPTS: Mapping[str, _Script] = {
    "any": _Script(
        LampEnv,
        "green",
        ("paint[red]",),
        {"paint[blue]": (0.2, "Blue is not asked for."), "paint[green]": (0.9, "Green is asked for.")},
    ),
    "webshop": _Script(
        lambda: gym.make("IAD/WebShop-v0"),
        "test-0141",
        ("search[stain resistant rug charcoal 2 x 3 feet]", "click[b0wwpcxg4k]", "click[features]", "click[< prev]"),
        {
            "click[2 x 3 feet]": (0.6, "The size is as asked for; color is still open."),
            "click[buy now]": (0.1, "The instruction names a size and a color, and none is selected."),
        },
    ),
    "bash": _Script(
        lambda: gym.make("IAD/InterCodeBash-v0"),
        "fs_1-19",
        ("find /project/docs -name '*.md' | sort", "cd /project && mkdir papers"),
        {
            "cp docs/*.md papers/": (0.7, "It changes what the task names."),
            "cp -r docs papers": (0.3, "It creates files that the task does not name."),
        },
    ),
    "bird": _Script(
        lambda: gym.make("IAD/BIRD-v0"),
        "12",
        ("execute[SELECT code, name FROM assay WHERE name LIKE '%chol%']",),
        QUERIES,
    ),
    "booking": _Script(
        lambda: gym.make("IAD/Booking-v0"),
        "test-080",
        (
            "TYPE [q] [Juniper Bar]",
            "CLICK [go]",
            "CLICK [r-juniper-bar-port-alder]",
            "TYPE [date] [2026-04-23]",
            "TYPE [time] [20:45]",
            "TYPE [party] [4]",
            "CLICK [find]",
            "CLICK [slot-2045]",
        ),
        {
            "ASK USER HELP [Where would you like to sit?]": (0.9, "Only the user can say which seating is wanted."),
            "CLICK [seat-indoor]": (0.6, "The seating is not named in the instruction."),
        },
    ),
    "toolcalls": _Script(
        lambda: gym.make("IAD/BFCL-v0", category="multi_turn_base"),
        "multi_turn_base_54",
        (
            "[list_loans(member_id='MB-18')]",
            "reply[Here they are.]",
            "[find_books(words='Roads of Amber'), find_member(name='Osric Pemberton')]",
        ),
        {
            "[lend_book(book_id='BK-162', member_id='MB-57', days=30)]": (0.9, "It does what is asked for."),
            "[reserve_book(book_id='BK-162', member_id='MB-18')]": (0.3, "It fails, and nobody asked to reserve."),
        },
    ),
    "toolcalls/acebench": _Script(
        lambda: gym.make("IAD/ACEBench-v0", category="agent_multi_step"),
        "agent_multi_step_33",
        ("[find_reminders(words='sharpen the skates')]",),
        {
            "[log_in_phone(pin='6543')]": (0.9, "The result asks for it."),
            "[tick_reminder(reminder_id='RM-31')]": (0.2, "Nobody has said reminder_id, and no result has it."),
        },
    ),
    "toolcalls/acebench/answer": _Script(
        lambda: gym.make("IAD/ACEBench-v0", category="normal"),
        "normal_multi_turn_user_adjust_4_1",
        (),
        {
            "[harbour_fill_tank(litres=45, berth='E07')]": (0.9, "It is what is asked for."),
            "[harbour_fill_tank(litres=62.5, berth='E07')]": (0.5, "It was made before."),
        },
    ),
    "bird/answer": _Script(lambda: gym.make("IAD/BIRD-v0", mode="answer"), "12", (), QUERIES),
}


def situation(name: str) -> Situation:
    """Return an environment's situation."""
    if name == "sketch2code":
        return _sketch()
    script = SCRIPTS[name]
    env = script.make()
    states: list[State] = []
    previews: list[State] = []
    attempt: list[State] = []

    def decide(here: State) -> Asking[None]:
        attempt.append(here)
        for action in script.actions:
            attempt.append((yield from Simulate(attempt[-1], Candidate(action))))
        for action in script.actions:
            states.append(here)
            here = yield from Commit(Candidate(action, thought="I go on."))
        states.append(here)
        for action in script.tried:
            previews.append((yield from Simulate(here, Candidate(action))))
        yield from Commit(Candidate(next(iter(script.tried))))

    with IADPolicyWrapper(lambda observation, info: "", env, strategy=decide) as policy:
        observation, info = env.reset(seed=0, options={"task_id": script.task_id})
        for _ in range(len(script.actions) + 1):
            observation, _, _, _, info = env.step(policy.act(observation, info))
    words = prompts_of(env).rendering
    env.close()
    candidates = tuple(
        Candidate(action, key=action, preview=preview, verdict=Verdict(score, critique))
        for (action, (score, critique)), preview in zip(script.tried.items(), previews, strict=True)
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
    turn = Turn(here.observation, next(iter(pages)), here.info)
    attempt = replace(state(next(iter(pages)), {}, done=True), history=(turn,))
    return Situation((here,), candidates, attempt, SketchRendering())
