"""A language model with vision as an agent: it answers a sketch with a page."""

from collections.abc import Mapping
from typing import Any

from iad_policy.agents.language import CUT_OFF, LanguageAgent
from iad_policy.domains.sketch2code.ink import image_part
from iad_policy.domains.sketch2code.page_answers import read_page
from iad_policy.models import Completion
from iad_policy.models.parsing import Reading
from iad_policy.types import Feedback, State

TEMPERATURE = 0.5
MAX_TOKENS = 4096
"""Both values are those of arXiv 2504.01931 v1."""


class Sketch2CodeLanguageAgent(LanguageAgent):
    """Shows the sketch to a language model and proposes the page that it answers. See `LanguageAgent`.

    The action is the page, with its code fence if it has one, or a question where questions are available. A page that
    was cut off at `max_tokens` is proposed too, because browsers render what there is of it. The candidate's last
    exchange has `finish="length"` then.
    """

    default_style = "direct"

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **{"temperature": TEMPERATURE, "max_tokens": MAX_TOKENS, **options})

    def messages(self, state: State, feedback: Feedback | None = None) -> tuple[Mapping[str, Any], ...]:
        """Return the messages for a state. The sketch stands before the text, of which only the end changes."""
        *before, last = super().messages(state, feedback)
        height, width = state.info["facts"]["sketch_size"]
        sketch = image_part(state.observation["sketch"][:height, :width])
        return (*before, {**last, "content": [sketch, {"type": "text", "text": last["content"]}]})

    def _format(self) -> str:
        return ""

    def _read(self, answer: Completion, state: State) -> Reading:
        available = state.info.get("available_actions", ())
        return read_page(answer.text, available, is_cut=answer.finish_reason == CUT_OFF)

    def _expected(self, state: State) -> str:
        return "an HTML page in a fence"
