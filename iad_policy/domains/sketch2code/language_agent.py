"""A language model with vision as an agent: it answers a sketch with a page."""

from collections.abc import Mapping
from typing import Any

from iad_policy.agents.language import SHOWN_CHARS, LanguageAgent
from iad_policy.domains.sketch2code.ink import image_part
from iad_policy.types import Feedback, State

TEMPERATURE = 0.5
MAX_TOKENS = 4096
"""Both values are those of arXiv 2504.01931 v1."""


class Sketch2CodeLanguageAgent(LanguageAgent):
    """Shows the sketch to a language model and proposes the page that it answers. See `LanguageAgent`.

    The whole answer is the action, as the environment reads code fences. A question is an answer too.
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

    def _read(self, text: str, state: State) -> tuple[Any, str]:
        if "<" in text or "ask[" in text:
            return text.strip(), ""
        got = f"got {text[:SHOWN_CHARS]!r}" if text.strip() else "got an empty answer"
        return None, f"expected an HTML page in a fence, {got}"
