"""Verifiers of `IAD/Sketch2Code-v0`.

Some use the reference and are labelled `oracle`, as in the papers: layout, text IoU and image IoU, and a judge that
sees both pages, as pictures (arXiv 2504.01931 v1) or as HTML (v2). The others do not: the sketch's ink (`proxy`), and a
judge that sees sketch and page (`self`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import gymnasium as gym

from iad_envs.sketch2code.layout import Box, Boxes, covered, score_layout
from iad_envs.sketch2code.policy import DOMAIN
from iad_envs.sketch2code.policy.differences import NAMES, PartDifference, differences
from iad_envs.sketch2code.policy.pictures import PAGE_WIDTH_PX, Screenshot, image_part, page_scale, sent_size
from iad_envs.sketch2code.policy.reading import boxes_read, read_sketch
from iad_envs.sketch2code.policy.rendering import page_height
from iad_policy.errors import UnknownName
from iad_policy.models import LanguageModel, identity_of
from iad_policy.models.component import ModelComponent
from iad_policy.prompts import domain_prompts
from iad_policy.types import Candidate, State, Verdict
from iad_policy.types.answers import read_critique, read_score
from iad_policy.types.information import Information

FAILED = -1.0
"""Score of a candidate that is not a page, or can't be rendered."""
NEAR = {"image": 0.8, "form_table": 0.87, "nav_bar": 0.78, "button": 0.64, "divider": 0.0}
"""IoU from which a part is where the sketch has it. Of the parts of right pages 90 % have it or more."""
N_TOLD = 4
"""Number of differences that are told."""
PROMPTS = domain_prompts(DOMAIN)


class ReferenceVerifier:
    """Scores a candidate by a part of the true score, as the papers' verifiers do.

    Args:
        part: `layout`, `text_iou` or `image_iou`.
    """

    information: Information = "oracle"
    needs_preview = True
    per_candidate = True

    def __init__(self, part: str = "layout") -> None:
        known = ("layout", "text_iou", "image_iou")
        if part not in known:
            raise UnknownName("part of the score", part, known)
        self.part = part
        self.identity = f"reference {part}"

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Read the gold that the driver attached to the previews."""
        verdicts = []
        for preview in map(_preview, candidates):
            parts = {} if failure_of(preview) else gold_of(preview)["reward_parts"]
            failed = Verdict(FAILED, failure_of(preview))
            verdicts.append(Verdict(float(parts[self.part]), details=dict(parts)) if parts else failed)
        return verdicts


class Sketch2CodeVerifier:
    """Scores a candidate by the layout score of its page against the parts that are read from the sketch. No reference.

    The bundled pages themselves score 0.70 on average: strokes are never exact, least those of texts.
    """

    information: Information = "proxy"
    needs_preview = True
    reads_info = True
    per_candidate = True
    identity = "proxy:sketch2code:2"
    """Its number is raised with every change of the scores, so that no run goes on with other ones."""

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        pass

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Compare each candidate's preview with the sketch."""
        size = state.info["facts"]["sketch_size"]
        reading = read_sketch(state.observation["sketch"], size)
        height = page_height(*size)
        verdicts = []
        for preview in map(_preview, candidates):
            if failure_of(preview):
                verdicts.append(Verdict(FAILED, failure_of(preview)))
                continue
            page = preview.info["page"]
            boxes = {kind: [Box(*box) for box in of_kind] for kind, of_kind in page["boxes"].items()}
            wanted = boxes_read(reading, boxes)
            sketch = {"boxes": wanted, "width": PAGE_WIDTH_PX, "height": height}
            estimate = score_layout(wanted, boxes)
            said = list(_compared(wanted, boxes))
            if page["width"] > PAGE_WIDTH_PX:
                said.append(f"It is {page['width']} pixels wide instead of {PAGE_WIDTH_PX}.")
            if abs(page["height"] / height - 1) > 0.1:
                said.append(f"It is {page['height']} pixels high, and should be about {height}.")
            found = [one for one in differences(sketch, page, NEAR) if _is_sure(one)]
            said += map(str, sorted(found, key=lambda one: -one.cost)[:N_TOLD])
            parts = {kind: one.iou for kind, one in estimate.kinds.items() if one.weight}
            verdicts.append(Verdict(estimate.layout, " ".join(said), passed=not said or None, details=parts))
        return verdicts


def _is_sure(one: PartDifference) -> bool:
    """Whether a difference is one of the page's, and not one of reading the sketch."""
    if one.there is None:
        return one.kind in ("nav_bar", "button")
    if one.here is None:
        return one.kind in ("image", "nav_bar", "button")
    return one.cost > 0.004 and one.kind != "text_block"


def _compared(sketch: Boxes, page: Boxes) -> Iterator[str]:
    """Yield how many parts and how much text sketch and page have, where these differ."""
    for kind, name in NAMES.items():
        wanted, found = len(sketch.get(kind, ())), len(page.get(kind, ()))
        if wanted > found and kind in ("image", "nav_bar", "button"):  # other parts are read less surely
            yield f"{name.capitalize()}s: {wanted} in the sketch, {found} on the page."
    in_sketch, on_page = (covered(boxes.get("text_block", ())) for boxes in (sketch, page))
    if not 0.95 * on_page <= in_sketch <= 2.5 * on_page:  # right pages have 1.06 to 2.85 (90 %)
        much = "much" if in_sketch < on_page else "little"
        yield f"Too {much} text: it covers {on_page:.0%} of the page, and about {in_sketch:.0%} of the sketch."


Sees = Literal["images", "html", "sketch"]


class PageJudge(ModelComponent):
    """A language model that scores a page 0-10, scaled to 0-1, with a critique.

    Args:
        model: A litellm name or an object with `complete`.
        sees: `images` or `html` shows the reference and the page. `sketch` shows the sketch and the page.
        screenshot: Renders HTML to a picture.
        temperature: Sampling temperature of the judge.
        max_tokens: Maximum length of an answer.
    """

    needs_preview = True
    per_candidate = True

    def __init__(
        self,
        model: str | LanguageModel,
        sees: Sees,
        screenshot: Screenshot,
        *,
        temperature: float | None = 0.0,
        max_tokens: int | None = 512,
    ) -> None:
        known: Mapping[str, tuple[Information, str]] = {  # its label, and what its prompt says of what it sees
            "images": ("oracle", "First the page as it should be, then the page to review."),
            "html": ("oracle", "First the HTML of the page as it should be, then the HTML to review."),
            "sketch": ("self", "First the sketch, then the page to review."),
        }
        if sees not in known:
            raise UnknownName("view of a judge", sees, known)
        super().__init__(model, temperature=temperature, max_tokens=max_tokens)
        self.sees = sees
        self.information, self._caption = known[sees]
        self._screenshot = screenshot

    @property
    def identity(self) -> str:
        """Everything its verdicts depend on."""
        prompts = PROMPTS.digest(["score"])
        return f"{identity_of(self.model)} page judge sees={self.sees} prompts={prompts} {self.sampling}"

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Ask about each candidate separately."""
        return [self._verdict(state, _preview(candidate)) for candidate in candidates]

    def _verdict(self, state: State, preview: State) -> Verdict:
        failure = failure_of(preview)
        if failure:
            return Verdict(FAILED, failure)
        prompt = PROMPTS.render("score", instruction=state.info["instruction"], candidate=self._caption)
        content = self._content(prompt.user, state, preview)
        if content is None:
            return Verdict(FAILED, "the page could not be photographed")
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": content}]
        text = self.complete(messages).text
        score = read_score(text)
        if score is None:
            critique = f'expected a line "Score: n" with a number from 0 to 10 from the judge, got {text[:200]!r}'
            return Verdict(-math.inf, critique, details={"error_kind": "malformed"})
        return Verdict(score, read_critique(text, "score"))

    def _content(self, prompt_text: str, state: State, preview: State) -> Any:
        """Return the content of the prompt, or None if it needs a picture of the page and there is none."""
        html = preview.info["page"]["html"]
        if self.sees == "html":
            reference = gold_of(preview)["reference"]["html"]
            return f"{prompt_text}\n\nAs it should be:\n{reference[:40_000]}\n\nTo review:\n{html[:40_000]}"
        if self.sees == "images":
            first = self._screenshot(gold_of(preview)["reference"]["html"])
            if first is None:
                raise ValueError("expected a reference that can be photographed, got one that can't; check the page")
            scale = sent_size(*first.shape[:2])[1] / first.shape[1]
        else:
            height, width = state.info["facts"]["sketch_size"]
            first = state.observation["sketch"][:height, :width]
            scale = page_scale(height, width)
        second = self._screenshot(html)
        if second is None:
            return None
        return [{"type": "text", "text": prompt_text}, image_part(first), image_part(second, scale)]


def reference_verifier(env: gym.Env[Any, Any], part: str = "layout") -> ReferenceVerifier:
    """Score by a part of the true score, `reference:<part>`: layout, text_iou or image_iou. See `ReferenceVerifier`."""
    return ReferenceVerifier(part)


def page_judge(env: gym.Env[Any, Any], argument: str = "", **options: Any) -> PageJudge:
    """Let a language model compare the page with the reference or the sketch: `page-judge:<sees>:<model>`."""
    sees, _, model = argument.partition(":")
    return PageJudge(model, sees, env.get_wrapper_attr("screenshot"), **options)  # type: ignore[arg-type]


def _preview(candidate: Candidate) -> State:
    if candidate.preview is None:
        raise ValueError(f"expected a preview of {str(candidate.action)[:80]!r}, got none; a driver attaches it")
    return candidate.preview


def failure_of(preview: State) -> str:
    """Return why a candidate is no page that was rendered, or ""."""
    return str(preview.info["facts"]["complaint"] or preview.info["page"]["failure"])


def gold_of(preview: State) -> Mapping[str, Any]:
    """Return what only an oracle may see of a preview."""
    if preview.gold is None:
        raise ValueError("expected a preview with gold, got none; a driver attaches it for what is labelled oracle")
    return preview.gold
