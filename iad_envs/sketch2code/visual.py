"""The visual metrics of Design2Code (Si et al., 2024): block match, text, position, colour, and optionally CLIP."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_envs.browser.images import Image, opencv
from iad_envs.sketch2code.blocks import TextBlock, file_blocks, text_blocks
from iad_envs.sketch2code.layout import Box
from iad_envs.sketch2code.page import RenderedPage
from iad_envs.sketch2code.renderer import Renderer

VISUAL_PARTS = ("block_match", "text", "position", "colour")
ALIKE = 0.5
"""Lowest text ratio at which a pair counts as matched, and at which a neighbouring pair adds to the reward."""

Clip = Callable[[Image, Image], float]
"""Function that returns the similarity (0-1) of two pictures whose text was painted over."""


class VisualScore(NamedTuple):
    """Visual similarity of two pages. All scores are 0-1.

    Attributes:
        block_match: Share of the text area that is matched.
        text: Mean similarity ratio of matched texts.
        position: Mean closeness of matched centres.
        colour: Mean closeness of matched colours.
        clip: Result of the CLIP function. None without this function, and then not included in any mean.
    """

    block_match: float
    text: float
    position: float
    colour: float
    clip: float | None = None

    def parts(self) -> dict[str, float]:
        """The four parts, by name."""
        return {name: float(getattr(self, name)) for name in VISUAL_PARTS}

    @property
    def mean_of_four(self) -> float:
        """Mean of the four parts without CLIP. It is not the published score."""
        return fmean(self.parts().values())

    @property
    def final(self) -> float | None:
        """The published score, the mean of all five parts. None without CLIP."""
        return None if self.clip is None else (4 * self.mean_of_four + self.clip) / 5


def visual_score(
    renderer: Renderer,
    reference: str,
    candidate: str,
    *,
    clip: Clip | None = None,
    published: bool = False,
) -> VisualScore:
    """Return the visual metrics of a candidate's HTML.

    The published code takes the texts from the file. Here they are those of the page, unless `published` is set. They
    differ where a script makes texts: a page built by a script alone scores 0 as published, compared with itself too.

    Args:
        renderer: Renderer for both pages.
        reference: HTML of the reference.
        candidate: HTML of the candidate.
        clip: Function for the fifth metric, which is None without it.
        published: Whether texts are read from the files, as the published code does. See `file_blocks`.

    Raises:
        ValueError: The reference could not be photographed. A candidate that can't be scores 0.
    """
    _, ours, our_image = candidate_blocks(renderer, candidate, published=published)
    theirs, their_image = reference_blocks(renderer, reference, published=published)
    score = score_blocks(theirs, ours)
    if clip is None or our_image is None or not ours or not theirs:
        return score if clip is None else score._replace(clip=0.0)
    return score._replace(clip=clip(without_text(our_image, ours), without_text(their_image, theirs)))


def candidate_blocks(
    renderer: Renderer, html: str, *, published: bool = False
) -> tuple[RenderedPage, tuple[TextBlock, ...], Image | None]:
    """Return a candidate's page, its text blocks in order, and its picture (None if it could not be rendered).

    As published, it is wrapped in html, body and p if it does not start with an html tag. A page that begins with a
    doctype is wrapped too, and rendered in quirks mode. With `published`, texts are read from the file: `file_blocks`.
    """
    if not re.match(r"<html[^>]*>", html, re.IGNORECASE):
        html = f"<html><body><p>{html}</p></body></html>"
    return file_blocks(renderer, html, is_candidate=True) if published else text_blocks(renderer, html)


def reference_blocks(renderer: Renderer, html: str, *, published: bool = False) -> tuple[tuple[TextBlock, ...], Image]:
    """Return the text blocks of a reference, in order, and its picture. `published` is that of `candidate_blocks`.

    Raises:
        ValueError: It could not be photographed.
    """
    with renderer.patiently():
        page, blocks, image = file_blocks(renderer, html) if published else text_blocks(renderer, html)
    if image is None:
        raise ValueError(
            f"expected a reference that can be photographed, got one that failed: {page.failure}; check the page"
        )
    return blocks, image


def score_blocks(reference: Sequence[TextBlock], candidate: Sequence[TextBlock]) -> VisualScore:
    """Return the metrics of two pages' text blocks. All are 0 if a page has no blocks or nothing matches."""
    ours, theirs, pairs = matched_blocks(reference, candidate)
    if not pairs:
        return VisualScore(0.0, 0.0, 0.0, 0.0)
    matched = sum(one.box.area + other.box.area for one, other, _ in pairs)
    return VisualScore(
        matched / sum(block.box.area for block in (*ours, *theirs)),
        fmean(ratio for *_, ratio in pairs),
        fmean(1 - max(map(abs, np.subtract(_centre(one), _centre(other)).tolist())) for one, other, _ in pairs),
        fmean(max(0.0, 1 - colour_difference(one.colour, other.colour) / 100) for one, other, _ in pairs),
    )


def matched_blocks(
    reference: Sequence[TextBlock], candidate: Sequence[TextBlock]
) -> tuple[list[TextBlock], list[TextBlock], list[tuple[TextBlock, TextBlock, float]]]:
    """Return the candidate's blocks and the reference's, merged, and the pairs that match, with their text ratio."""
    if not reference or not candidate:
        return [*candidate], [*reference], []
    ours, theirs = _merged(_joined(candidate), _joined(reference))
    plain = _costs(ours, theirs)
    costs = plain.copy()
    for row, column in zip(*np.nonzero(plain < -ALIKE), strict=True):
        # A similar pair costs less by its two most similar neighbouring pairs.
        around = np.sort(plain[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2], axis=None)[::-1]
        itself = np.flatnonzero(around == plain[row, column])[0]
        costs[row, column] += 0.1 * np.delete(around, itself)[-2:].sum()
    pairs = [
        (ours[row], theirs[column], ratio)
        for row, column in _cheapest_pairs(costs)
        if (ratio := _ratio(ours[row].text, theirs[column].text)) >= ALIKE
    ]
    return ours, theirs, pairs


def without_text(image: Image, blocks: Sequence[TextBlock]) -> Image:
    """Prepare a picture for CLIP: paint over its text, and scale it to a square of its shorter side."""
    cv2 = opencv()
    height, width = image.shape[:2]
    mask = np.zeros((height, width), dtype=np.uint8)
    for block in blocks:
        x, y = int(block.box.x * width), int(block.box.y * height)
        mask[y : y + int(block.box.h * height), x : x + int(block.box.w * width)] = 255
    painted = cv2.inpaint(image, mask, 3, cv2.INPAINT_TELEA)
    side = min(height, width)
    return np.asarray(cv2.resize(painted, (side, side), interpolation=cv2.INTER_LANCZOS4), dtype=np.uint8)


Costs = NDArray[np.float64]


@lru_cache(maxsize=1 << 16)
def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()


def _cheapest_pairs(costs: Costs) -> list[tuple[int, int]]:
    """Return (row, column) pairs of the lowest total cost, by row; as many as the smaller side has."""
    from scipy.optimize import linear_sum_assignment  # 0.2 s of CPU, needed for the visual metrics only

    rows, columns = linear_sum_assignment(costs)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _centre(block: TextBlock) -> tuple[float, float]:
    return block.box.x + block.box.w / 2, block.box.y + block.box.h / 2


def _costs(ours: Sequence[TextBlock], theirs: Sequence[TextBlock]) -> Costs:
    return np.array([[-_ratio(one.text, other.text) for other in theirs] for one in ours])


def _joined(blocks: Sequence[TextBlock]) -> list[TextBlock]:
    """Join blocks at the same position, which are texts of one element."""
    places: dict[Box, TextBlock] = {}
    for block in blocks:
        there = places.get(block.box)
        if there is not None:
            red, green, blue = ((a + b) / 2 for a, b in zip(there.colour, block.colour, strict=True))
            block = TextBlock(f"{there.text} {block.text}", block.box, (red, green, blue))
        places[block.box] = block
    return list(places.values())


def _merged(ours: list[TextBlock], theirs: list[TextBlock]) -> tuple[list[TextBlock], list[TextBlock]]:
    """Merge neighbouring blocks on either side, as long as this makes the best pairing clearly cheaper."""
    while True:
        merged = _merge_once(ours, lambda blocks: _paired_costs(blocks, theirs))  # noqa: B023 (used at once)
        again = _merge_once(theirs, lambda blocks: _paired_costs(merged, blocks))  # noqa: B023
        if len(merged) == len(ours) and len(again) == len(theirs):
            return ours, theirs
        ours, theirs = merged, again


def _merge_once(blocks: list[TextBlock], paired: Callable[[list[TextBlock]], list[float]]) -> list[TextBlock]:
    now = paired(blocks)
    gains = []
    for place in range(len(blocks) - 1):
        trial = [*blocks[:place], _merge(blocks[place], blocks[place + 1]), *blocks[place + 2 :]]
        gain = _gain(now, paired(trial))
        if gain > 0.05:
            gains.append((gain, place))
    gains.sort(key=lambda found: found[0], reverse=True)
    firsts: set[int] = set()
    for _, place in gains:
        if not firsts & {place - 1, place, place + 1}:
            firsts.add(place)
    return [
        _merge(block, blocks[place + 1]) if place in firsts else block
        for place, block in enumerate(blocks)
        if place - 1 not in firsts
    ]


def _paired_costs(ours: Sequence[TextBlock], theirs: Sequence[TextBlock]) -> list[float]:
    costs = _costs(ours, theirs)
    return [float(costs[pair]) for pair in _cheapest_pairs(costs)]


def _merge(one: TextBlock, other: TextBlock) -> TextBlock:
    red, green, blue = ((a + b) // 2 for a, b in zip(one.colour, other.colour, strict=True))
    return TextBlock(f"{one.text} {other.text}", one.box.joined(other.box), (red, green, blue))


def _gain(before: Sequence[float], after: Sequence[float]) -> float:
    """Return the decrease of the mean of the costs that changed, or 0 if the lowest of them did not fall."""
    same = Counter(before) & Counter(after)
    old, new = (list((Counter(costs) - same).elements()) for costs in (before, after))
    gain = (fmean(old) if old else 0.0) - (fmean(new) if new else 0.0)
    return 0.0 if gain > 0 and not min(old, default=0.0) > min(new, default=0.0) else gain


def colour_difference(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the CIEDE2000 difference of two sRGB colours, red, green and blue from 0 to 255 (Sharma et al., 2005)."""
    l1, a1, b1 = _lab(one)
    l2, a2, b2 = _lab(other)
    chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(chroma**7 / (chroma**7 + 25**7)))
    c1, c2 = math.hypot((1 + g) * a1, b1), math.hypot((1 + g) * a2, b2)
    h1, h2 = _hue((1 + g) * a1, b1), _hue((1 + g) * a2, b2)
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    if abs(turn) == 180:
        turn = h2 - h1
    d_l, d_c, d_h = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    lightness, c = (l1 + l2) / 2, (c1 + c2) / 2
    h = h1 + h2 if c1 * c2 == 0 else (h1 + h2) / 2 if abs(h1 - h2) <= 180 else ((h1 + h2 + 360) / 2) % 360
    t = (
        1
        - 0.17 * math.cos(math.radians(h - 30))
        + 0.24 * math.cos(math.radians(2 * h))
        + 0.32 * math.cos(math.radians(3 * h + 6))
        - 0.20 * math.cos(math.radians(4 * h - 63))
    )
    s_l = 1 + 0.015 * (lightness - 50) ** 2 / math.sqrt(20 + (lightness - 50) ** 2)
    s_c, s_h = 1 + 0.045 * c, 1 + 0.015 * c * t
    rotation = -2 * math.sqrt(c**7 / (c**7 + 25**7)) * math.sin(math.radians(60 * math.exp(-(((h - 275) / 25) ** 2))))
    parts = (d_l / s_l, d_c / s_c, d_h / s_h)
    return math.sqrt(max(0.0, sum(part**2 for part in parts) + rotation * parts[1] * parts[2]))


def _lab(colour: Sequence[float]) -> tuple[float, float, float]:
    to_xyz = np.array(
        [[0.412424, 0.357579, 0.180464], [0.212656, 0.715158, 0.0721856], [0.0193324, 0.119193, 0.950444]]
    )
    rgb = np.asarray(colour, dtype=np.float64) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = to_xyz @ linear / np.array([0.95047, 1.0, 1.08883])
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return float(116 * y - 16), float(500 * (x - y)), float(200 * (y - z))


def _hue(a: float, b: float) -> float:
    return math.degrees(math.atan2(b, a)) % 360
