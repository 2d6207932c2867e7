"""A language model with vision as an agent: it answers a sketch with a page."""

from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym

from iad_envs.sketch2code.policy.page_answers import read_page
from iad_envs.sketch2code.policy.pictures import Screenshot, image_part, page_scale
from iad_policy.agents.language import LanguageAgent
from iad_policy.models import Completion
from iad_policy.models.parsing import Reading
from iad_policy.types import Feedback, State
from iad_policy.types.names import CUT_OFF


class Sketch2CodeLanguageAgent(LanguageAgent):
    """Shows the sketch to a language model and proposes the page that it answers. See `LanguageAgent`.

    The action is the page, with its code fence if it has one, or a question where questions are available. A page that
    was cut off at `max_tokens` is proposed too, because browsers render what there is of it. The candidate's last
    exchange has `finish="length"` then.

    Feedback that tells what attempts led to has their pictures too: of the best one and of the newest.

    Args:
        given: As for `LanguageAgent`.
        screenshot: Renders HTML to a picture (height, width, 3), or returns None if it can't be rendered. Without it no
            pictures of attempts are sent.
        options: As for `LanguageAgent`.
    """

    default_style = "direct"

    def __init__(self, *given: Any, screenshot: Screenshot | None = None, **options: Any) -> None:
        # As in arXiv 2504.01931 v1.
        super().__init__(*given, **{"temperature": 0.5, "max_tokens": 4096, **options})
        self._screenshot = screenshot

    @classmethod
    def options_of(cls, env: gym.Env[Any, Any]) -> Mapping[str, Any]:
        """Return the environment's browser."""
        return {"screenshot": env.get_wrapper_attr("screenshot")}

    def messages(self, state: State, feedback: Feedback | None = None) -> tuple[Mapping[str, Any], ...]:
        """Return the messages for a state. The sketch stands before the text, of which only the end changes."""
        *before, last = super().messages(state, feedback)
        height, width = state.info["facts"]["sketch_size"]
        sketch = image_part(state.observation["sketch"][:height, :width])
        words = {"type": "text", "text": last["content"]}
        return (*before, {**last, "content": [sketch, words, *self._pictures(feedback, page_scale(height, width))]})

    def _pictures(self, feedback: Feedback | None, scale: float) -> Iterator[Mapping[str, Any]]:
        """Yield pictures of the best attempt and of the newest, each after its name, at the sketch's scale."""
        if self._screenshot is None or feedback is None:
            return
        pages = {number: one.key for number, one in enumerate(feedback.tried, start=1) if one.key}
        best = [number for number, html in pages.items() if feedback.best and html == feedback.best.key]
        for number in sorted({*best[:1], *list(pages)[-1:]}):
            picture = self._screenshot(pages[number])
            if picture is not None:
                yield {"type": "text", "text": f"Tried {number}, as a browser renders it, at the scale of the sketch:"}
                yield image_part(picture, scale)

    def _format(self) -> str:
        return ""

    def _read(self, answer: Completion, state: State) -> Reading:
        available = state.info.get("available_actions", ())
        return read_page(answer.text, available, is_cut=answer.finish_reason == CUT_OFF)

    def _expected(self, state: State) -> str:
        return "an HTML page in a fence"
