"""`IAD/Sketch2Code-v0`: from a hand-drawn sketch to a web page."""

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from gymnasium import spaces

from iad_envs.browser.images import Image, decoded, encoded, letterboxed, side_by_side, written
from iad_envs.core import Effect, IADEnv, Score, Snapshot, Token, Transition, View
from iad_envs.data import DataVersion, data_folder, data_version
from iad_envs.errors import UnknownTask
from iad_envs.requirements import Requirement
from iad_envs.requirements.browser import BROWSER, OPENCV
from iad_envs.sketch2code.answers import read_answer, texts_of
from iad_envs.sketch2code.blocks import TextBlock
from iad_envs.sketch2code.page import RenderedPage
from iad_envs.sketch2code.renderer import Renderer, RendererLease, photographed
from iad_envs.sketch2code.scoring import layout_parts, no_parts, visual_parts
from iad_envs.sketch2code.simulated_user import COMPLETE, User, UserTurn, sees_reference
from iad_envs.sketch2code.sketcher import draw_sketch
from iad_envs.sketch2code.tasks import ASK, QUESTION, SketchTask, load_assets, load_tasks
from iad_envs.sketch2code.visual import candidate_blocks
from iad_envs.spaces import UnicodeText

THUMBNAIL = (320, 240)
"""Height and width of the pictures of candidates in a run folder."""


class Sketch(NamedTuple):
    """A sketch in the top left of its frame, and its height and width there."""

    frame: Image
    size: tuple[int, int]


class SketchState(NamedTuple):
    """The state of an episode: the current page and the conversation.

    Attributes:
        task: The task with its sketch.
        html: HTML of the current page, empty before the first page.
        page: The current page, rendered. None before the first page.
        blocks: Text blocks of the current page, where the visual metrics are computed.
        conversation: Questions, answers and comments, oldest first.
        done: Whether the episode has ended with a page.
    """

    task: SketchTask
    html: str = ""
    page: RenderedPage | None = None
    blocks: tuple[TextBlock, ...] = ()
    conversation: tuple[str, ...] = ()
    done: bool = False


def page_data(state: SketchState) -> dict[str, Any]:
    """Return the current page for the public info, as plain lists and texts."""
    page = state.page or RenderedPage({}, 0, 0, "", "")
    return {
        "html": state.html,
        "boxes": {kind: [list(box) for box in boxes] for kind, boxes in page.boxes.items()},
        "width": page.width,
        "height": page.height,
        "title": page.title,
        "engine": page.engine,
        "failure": page.failure,
    }


class Sketch2CodeEnv(IADEnv[dict[str, Any], SketchState]):
    """The agent sees a hand-drawn sketch of a web page and answers with HTML.

    ## Description
    Sketch2Code (Li et al., 2024) with its layout score. The page is rendered, and the boxes of its components are
    compared with those of the reference page. docs/sketch2code.md lists all differences.

    ## Action Space
    Text. HTML, with or without a code fence. In the setting `question` also `ask[question]`. A text without a tag
    counts as a step, and the observation says why it is invalid.

    ## Observation Space
    Dict. `sketch` is an image (height, width, 3; uint8) with the sketch scaled into its top left. `text` contains the
    instruction, the page's title, its texts if `texts=True`, the conversation and the current page.

    ## Rewards
    0 until the end, then the layout score of the current page, 0-1. Success is a layout score of `success_at` or more.

    ## Starting State
    The sketch and no page.

    ## Episode End
    `direct`: terminated by the first page. `feedback`: terminated when the user is satisfied. Truncated after
    `max_steps` actions.

    ## Information
    docs/sketch2code.md lists all keys. `page` is the current page as data: `html`, `boxes` by type as shares of the
    page, `width`, `height`, `title`, `engine`, and `failure`, the reason why it could not be rendered or, with
    `visual=True`, photographed. Such a page scores 0. Gold keys: `progress` (the best layout score so far), `success`,
    `reward_parts`.

    ## Arguments
        data_dir: Folder in the official layout. Default: `$IAD_DATA/sketch2code`, else the bundled data.
        split: Split of `tasks.jsonl`. Without this file all tasks are in `test`. None means all splits.
        setting: Interaction: `direct`, `feedback` or `question`.
        user: Simulated user for `feedback` and `question`: a function from `UserTurn` to a sentence.
        max_steps: Actions per episode.
        texts: Whether observations list all texts of the page, as in the text-augmented setting.
        success_at: Lowest layout score that counts as success.
        image_size: Height and width of the observed sketch.
        as_published: Whether answers and texts are read as in the published code: the name of a fence's language stays
            as the first line of the page, and visual metrics take the texts from the file, without those of scripts.
        scripts: Whether pages may run scripts, as in the published scorer.
        visual: Whether to compute four visual metrics of Design2Code too. They need three more renderings per page.
        chromium: Path or name of the browser. Default: `$IAD_CHROMIUM`, else the usual names.
        n_tabs: Number of pages rendered in parallel by all environments with the same options.
        render_mode: `rgb_array` (sketch, current page and reference side by side), `ansi` or None.

    ## Version History
    * v0: First version.
    """

    domain = "iad_envs.sketch2code.policy:DOMAIN"

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 1}  # noqa: RUF012 (Gymnasium declares it so)

    NEEDS: ClassVar[tuple[Requirement, ...]] = (BROWSER, OPENCV)

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        split: str | None = "test",
        setting: Literal["direct", "feedback", "question"] = "direct",
        user: User | None = None,
        max_steps: int = 5,
        texts: bool = False,
        success_at: float = 0.75,
        image_size: tuple[int, int] = (1024, 768),
        as_published: bool = False,
        scripts: bool = False,
        visual: bool = False,
        chromium: str | None = None,
        n_tabs: int = 2,
        render_mode: str | None = None,
    ) -> None:
        if setting not in ASK:
            raise UnknownTask("setting", setting, ASK)
        if (user is None) != (setting == "direct"):
            raise ValueError(
                f"expected a user in the settings feedback and question, and none in direct, got {user!r} in "
                f"{setting!r}; pass user= in Python, such as iad_envs.sketch2code.simulated_user.PointingUser()"
            )
        self._folder = data_folder("sketch2code", data_dir).resolve()
        records = load_tasks(self._folder)
        tasks = {task_id: task._replace(setting=setting) for task_id, task in records.items()}
        super().__init__(tasks, max_steps=max_steps, split=split, render_mode=render_mode)
        self.setting = setting
        self.success_at = success_at
        self.success_rule = f"layout >= {success_at:g}"
        self._user = user
        self._texts = texts
        self._as_published = as_published
        self._visual = visual
        assets = load_assets(self._folder)
        self._new_lease = partial(RendererLease, chromium=chromium, scripts=scripts, assets=assets, n_tabs=n_tabs)
        self._lease: RendererLease | None = self._new_lease()
        self._image_size = image_size
        self._sketches: dict[str, Sketch] = {}
        self.action_space = text = UnicodeText(1 << 23)
        self.observation_space = spaces.Dict({"sketch": spaces.Box(0, 255, (*image_size, 3), np.uint8), "text": text})

    @property
    def data(self) -> DataVersion:
        """Version of the data this environment runs on."""
        return data_version(self._folder, ("*.html", "*.png", "webpages/*.html", "sketches/*.png", "tasks.jsonl"))

    @property
    def renderer(self) -> Renderer:
        """The renderer, shared with the other environments of this process."""
        if self._lease is None:
            self._lease = self._new_lease()
        return self._lease.renderer

    def screenshot(self, html: str) -> Image | None:
        """Return a picture of any page, or None if it can't be rendered."""
        shot = self.renderer.screenshot(html)
        return None if shot is None else decoded(shot, "the screenshot")

    def thumbnail(self, token: Token) -> bytes | None:
        """Return a small PNG of a state's page for the run folder, or None before the first page.

        It never raises: where the page can't be photographed, the picture says in words why.
        """
        html = token._moment.state.html
        return encoded(self._shown(html, THUMBNAIL)) if html else None

    def close(self) -> None:
        """Release the browser. It ends with the last environment of this process."""
        if self._lease is not None:
            self._lease.close()
            self._lease = None

    def render(self) -> Any:
        """Return sketch, current page and reference side by side in mode `"rgb_array"`, or text in mode `"ansi"`."""
        if self.render_mode != "rgb_array":
            return super().render()
        state: SketchState = self._required().state
        size = (720, 540)
        sketch = letterboxed(self._sketch(state.task).frame, size)[0]
        page = self._shown(state.html, size) if state.html else np.full((*size, 3), 255, dtype=np.uint8)
        return side_by_side([sketch, page, self._shown(state.task.html, size)])

    def action_key(self, action: str) -> str:
        """Return the page without its code fence, or the question."""
        answer = read_answer(action, as_published=self._as_published)
        return f"ask[{answer.question}]" if answer.question else answer.html or action.strip()

    def terminal(self, action: str) -> bool:
        """Whether the action may end the episode: a page that is final, or that may satisfy the user."""
        return self.setting != "question" and bool(read_answer(action, as_published=self._as_published).html)

    def _start(self, task: SketchTask) -> SketchState:
        return SketchState(task)

    def _transition(self, state: SketchState, action: str, rng: np.random.Generator | None) -> Transition:
        answer = read_answer(action, as_published=self._as_published)
        if answer.question:
            if self.setting != "question":
                return Transition(state, f"expected HTML, got a question, which setting={self.setting} has not", False)
            question = f"You asked: {answer.question[:2_000]}"
            return Transition(state._replace(conversation=(*state.conversation, question)), "", False)
        if not answer.html:
            got = "nothing" if not action.strip() else f"a text of {len(action)} characters without a tag"
            return Transition(state, f"expected an HTML page, got {got}; answer with the whole page", False)
        done = self.setting == "direct"
        page = self.renderer.page(answer.html)
        blocks: tuple[TextBlock, ...] = ()
        if self._visual and not page.failure:
            # Where pictures are scored, a page that can't be photographed has failed.
            pictured, blocks, _ = candidate_blocks(self.renderer, answer.html, published=self._as_published)
            page = pictured if pictured.failure else page
        return Transition(state._replace(html=answer.html, page=page, blocks=blocks, done=done), "", done)

    def _committed(self, after: Snapshot) -> Snapshot:
        """Get the user's reply. Simulations never get one."""
        state: SketchState = after.state
        before: SketchState = after.state if after.parent is None else after.parent.state
        has_question = len(state.conversation) > len(before.conversation)
        if self._user is None or after.complaint or (not has_question and self.setting != "feedback"):
            return after
        seen = sees_reference(self._user)
        turn = UserTurn(
            question=state.conversation[-1].removeprefix("You asked: ") if has_question else "",
            sketch=self._sketch(state.task).frame,
            html=state.html,
            page=state.page,
            screenshot=self.renderer.screenshot,
            reference_html=state.task.html if seen else "",
            reference=self.renderer.page(state.task.html) if seen else None,
        )
        words = " ".join(self._user(turn).split())
        content = not has_question and COMPLETE.lower() in words.lower()
        return replace(
            after,
            state=state._replace(conversation=(*state.conversation, f"The user said: {words}"), done=content),
            stop_reason="done" if content else after.stop_reason,
            terminated=content or after.terminated,
        )

    def _arrive(self, now: Snapshot) -> tuple[dict[str, Any], dict[str, Any]]:
        """Give the caller of `step` a copy of the sketch. Simulations share one, because many are cached."""
        observation, info = super()._arrive(now)
        return {**observation, "sketch": observation["sketch"].copy()}, info

    def _view(self, state: SketchState, complaint: str) -> View:
        page = state.page
        parts = [state.task.instruction]
        if self._texts:
            parts.append("The page's texts:\n" + "\n".join(f"- {text}" for text in texts_of(state.task.html)))
        parts += state.conversation
        if state.html:
            parts.append(f"Your page:\n{state.html[:40_000]}")
        if page is not None and page.failure:
            parts.append(f"It could not be rendered: {page.failure}")
        if complaint:
            parts.append(f"Invalid action: {complaint}")
        example = "<!DOCTYPE html><html><body></body></html>"
        actions = () if state.done else (example, QUESTION) if self.setting == "question" else (example,)
        facts = {
            "complaint": complaint,
            "setting": self.setting,
            "user_saw_reference": sees_reference(self._user),
            "sketch": "drawn" if state.task.sketch is None else "given",
            "sketch_size": list(self._sketch(state.task).size),
        }
        observation = {"sketch": self._sketch(state.task).frame, "text": "\n\n".join(parts)}
        return View(observation, actions, facts, page_data(state))

    def _score(self, task: SketchTask, now: Snapshot, memory: float | None) -> Score:
        state: SketchState = now.state
        parts = no_parts(visual=self._visual)
        if state.page is not None:
            parts |= layout_parts(self.renderer, task, state.page)
            if self._visual:
                parts |= visual_parts(self.renderer, task, state.blocks, published=self._as_published)
        layout = parts["layout"]
        best = max(memory or 0.0, layout)
        return Score(layout if now.done else 0.0, best, layout >= self.success_at, parts, best)

    def _why(self, now: Snapshot, score: Score) -> str:
        """Return the layout's score, or why there is none."""
        page = now.state.page
        if page is None:
            return "no page was written"
        return page.failure or f"layout {score.parts['layout']:.2f}, below {self.success_at:g}"

    def _reference(self, task: SketchTask) -> dict[str, Any]:
        return {"html": task.html, "page": page_data(SketchState(task, task.html, self.renderer.page(task.html)))}

    def _solution(self, task: SketchTask) -> list[str]:
        return [task.html]

    def _shown(self, html: str, size: tuple[int, int]) -> Image:
        """Return a page's picture in a frame of `size` (height, width), or in words the reason why there is none."""
        try:
            page, shot = self.renderer.run(html, photographed)
            if shot is not None:
                return letterboxed(decoded(shot, "the screenshot"), size)[0]
            failure = page.failure
        except Exception as error:  # whatever it is, a picture must not end an episode
            failure = f"{type(error).__name__}: {error}"
        return written(f"no picture: {failure}", size)

    def _effect(self, before: SketchState, after: SketchState) -> Effect:
        """Tell why a page could not be rendered."""
        page = after.page
        failure = page.failure if page is not None and page is not before.page else ""
        return Effect(failure, (before.html, before.conversation) != (after.html, after.conversation))

    def _result_key(self, state: SketchState, view: View) -> Hashable:
        page = state.page
        looks = page and (page.failure, page.width, page.height, sorted(page.boxes.items()))
        return (blake2b(repr(looks).encode(), digest_size=16).hexdigest(), state.conversation)

    def _sketch(self, task: SketchTask) -> Sketch:
        known = self._sketches.get(task.task_id)
        if known is not None:
            return known
        if task.sketch is not None:
            image = decoded(task.sketch.read_bytes(), str(task.sketch))
        else:
            with self.renderer.patiently():
                page = self.renderer.page(task.html)
            seed = [task.number, *task.page.stem.encode()]
            image = draw_sketch(page.boxes, (page.width, page.height), seed=seed)
        frame, size = letterboxed(image, self._image_size)
        frame.flags.writeable = False
        self._sketches = {task.task_id: Sketch(frame, size)}  # for one task at a time, as an episode needs
        return self._sketches[task.task_id]
