"""Critics of `IAD/Sketch2Code-v0` that see the reference, as the judge of arXiv 2504.01931 does. They are oracles.

The agent gets at most 100 tokens of what they say, and no markup.
"""

import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym

from iad_envs.sketch2code.blocks import text_blocks
from iad_envs.sketch2code.policy.differences import differences, text_differences
from iad_envs.sketch2code.policy.pictures import Screenshot, image_part
from iad_envs.sketch2code.policy.verifier import PROMPTS, failure_of, gold_of
from iad_envs.sketch2code.renderer import Renderer
from iad_policy.errors import UnknownName
from iad_policy.models import LanguageModel, identity_of
from iad_policy.models.component import ModelComponent
from iad_policy.types import Candidate, State
from iad_policy.types.information import Information
from iad_policy.types.names import NO_COMPLAINT
from iad_policy.types.texts import CHARS_PER_TOKEN, truncated

CRITIQUE_TOKENS = 100
TEMPLATE = "template"
ASKED = (
    "Say how the page differs from the one as it should be, the most important first. The agent must not be given that "
    "page: use your own words, quote no markup, and copy no passage. Use at most 70 words."
)


class ReferenceCritic:
    """Says by a template how a page's boxes differ from the reference's, what costs most of the layout score first.

    Where the environment computes the visual metrics (`visual=True`), it also names texts that are missing or have
    another colour.

    Args:
        renderer: Returns the renderer of the environment, for the texts.
    """

    information: Information = "oracle"
    reads_info = True
    source = identity = f"reference:{TEMPLATE}"

    def __init__(self, renderer: Callable[[], Renderer]) -> None:
        self._renderer = renderer

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Return the differences of a candidate's page, as many as fit."""
        preview = _preview(role, subject)
        if isinstance(preview, str):
            return preview
        reference, page = gold_of(preview)["reference"], preview.info["page"]
        found = [(one.cost, str(one)) for one in differences(reference["page"], page)]
        if "block_match" in gold_of(preview)["reward_parts"]:
            (_, theirs, _), (_, ours, _) = (text_blocks(self._renderer(), one["html"]) for one in (reference, page))
            found += text_differences(theirs, ours)
        said = ""
        for _, sentence in sorted(found, key=lambda one: -one[0]):
            if len(said) + len(sentence) < CRITIQUE_TOKENS * CHARS_PER_TOKEN:
                said += f" {sentence}"
        return said.strip() or NO_COMPLAINT


class ModelReferenceCritic(ModelComponent):
    """A language model that says how a page differs from the reference. It sees the HTML and a picture of both.

    Args:
        model: A litellm name or an object with `complete`.
        screenshot: Renders HTML to a picture, or returns None if it can't be rendered; then no pictures are sent.
    """

    information: Information = "oracle"
    reads_info = True

    def __init__(self, model: str | LanguageModel, screenshot: Screenshot) -> None:
        super().__init__(model, temperature=0.0, max_tokens=512)
        self.source = f"reference:{self.model.name}"
        self._screenshot = screenshot

    @property
    def identity(self) -> str:
        """Everything its answers depend on."""
        return f"{identity_of(self.model)} reference critic prompts={PROMPTS.digest(['critic'])} {self.sampling}"

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Return the model's text about a candidate's page, without markup and cut."""
        preview = _preview(role, subject)
        if isinstance(preview, str):
            return preview
        reference, words = gold_of(preview)["reference"]["html"], PROMPTS.rendering
        told = f"{words.subject(state, subject)}\n\nThe page as it should be:\n{reference[:40_000]}\n\n{ASKED}"
        prompt = PROMPTS.render("critic", subject=told, **words.values(state))
        content: Any = prompt.user
        pictures = [self._screenshot(html) for html in (reference, preview.info["page"]["html"])]
        if all(one is not None for one in pictures):
            lead = "Pictures: first the page as it should be, then the page."
            content = [
                {"type": "text", "text": f"{content}\n\n{lead}"},
                *(image_part(one) for one in pictures if one is not None),
            ]
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": content}]
        said = re.sub(r"```.*?(?:```|\Z)|</?[a-zA-Z!][^>]*>?", "", self.complete(messages).text, flags=re.DOTALL)
        return truncated(" ".join(said.split()), CRITIQUE_TOKENS)


def reference_critic(
    env: gym.Env[Any, Any], model: str | LanguageModel | None = None
) -> ReferenceCritic | ModelReferenceCritic:
    """Say how a page differs from the reference: `reference`, `reference:<model>` or `reference:template`.

    Without a model it is the agent's own, or the template if the agent has none.
    """
    if model is None or model == TEMPLATE:
        return ReferenceCritic(lambda: env.get_wrapper_attr("renderer"))
    return ModelReferenceCritic(model, env.get_wrapper_attr("screenshot"))


def _preview(role: str, subject: Any) -> State | str:
    """Return what a candidate was rendered to, or why it is no page."""
    if role != "critic":
        raise UnknownName("role of a critic that sees the reference", role, ("critic",))
    if not isinstance(subject, Candidate):
        raise ValueError(f"expected a candidate to review, got {subject!r:.200}; ask about one candidate")
    if subject.error or subject.preview is None:
        return subject.error
    return failure_of(subject.preview) or subject.preview
