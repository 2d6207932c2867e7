"""A rule-based agent for `IAD/Sketch2Code-v0`. It is stochastic and reads only the sketch, not the reference.

It finds frames, crosses and lines of text in the sketch's ink, guesses the meaning of each frame, and writes a page of
placed blocks. The temperature spreads its thresholds and guesses. Given best and worst, it edits parts of Best's page:
it moves, stretches or renames them, or reads a part of the sketch again. It drops parts that only Worst has.
"""

import math
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from iad_envs.sketch2code.policy.html import blocks_of, near, snapped, without, written
from iad_envs.sketch2code.policy.reading import FRAMES, SketchReading, frame_fits, read_sketch
from iad_envs.sketch2code.policy.strokes import SketchParams
from iad_policy.agents.rule_based import RuleBasedAgent
from iad_policy.types import Candidate, Feedback, State


class Sketch2CodeAgent(RuleBasedAgent):
    """The rule-based agent of IAD/Sketch2Code-v0: it finds frames and text in a sketch, and places blocks.

    Args:
        env: Not used. The agent reads observations only.
        temperature: Randomness of the reading. 0 always reads a sketch the same way, and 1 is the default.
    """

    name = "tracer"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return a page."""
        heat = self.heat(temperature)
        best = None if feedback is None or feedback.best is None else blocks_of(str(feedback.best.action))
        if feedback is None or best is None:
            reading = _traced(state, heat, rng)
            return Candidate(written(reading, _title(state)), thought=f"I see {len(reading.blocks)} parts.")
        worst = None if feedback.worst is None else blocks_of(str(feedback.worst.action))
        avoid = {str(one.action) for one in (feedback.best, feedback.worst) if one is not None}
        bad = [] if worst is None else without(worst.blocks, best.blocks)
        for _ in range(8):
            names = rng.choices(list(EDITS), [weight for weight, _ in EDITS.values()], k=rng.choice((1, 1, 2)))
            edited = best
            for name in names:
                edited = EDITS[name][1](edited, lambda: _traced(state, 0.5 * heat, rng), rng)  # calmer
            blocks = [snapped(block) for block in edited.blocks]
            kept = [block for block in blocks if block in best.blocks or not any(near(block, b) for b in bad)]
            page = written(SketchReading(tuple(kept), edited.height), _title(state))
            if page not in avoid:
                return Candidate(page, thought=f"I keep the best page and {' and '.join(names)}.")
        return Candidate(written(_traced(state, heat, rng), _title(state)), thought="I start again.")


def solution(state: State, reference: Mapping[str, Any]) -> str:
    """Answer with the reference page: the right action in a state, from the oracle's reference."""
    return str(reference["html"])


def _title(state: State) -> str:
    _, _, title = str(state.info["instruction"]).partition("The page's title: ")
    return title or "Page"


def _traced(state: State, heat: float, rng: Random) -> SketchReading:
    """Read the sketch, and choose the meaning of its frames."""
    # At temperature 1, as the standard deviation of the logarithm.
    spreads = SketchParams(
        darker=0.25, stroke=0.2, corner=0.35, cross=0.25, bridge=0.4, purity=0.08, rule=0.05, word_gap=0.35,
        line_gap=0.35, leading=0.2, margin=0.5, upright=0.5,
    )  # fmt: skip
    factors = [math.exp(heat * spread * rng.gauss(0.0, 1.0)) for spread in spreads]
    params = SketchParams(*(value * factor for value, factor in zip(SketchParams(), factors, strict=True)))
    reading = read_sketch(state.observation["sketch"], state.info["facts"]["sketch_size"], params)
    named = []
    for block in reading.blocks:
        if block.kind == "frame":
            fits = frame_fits(block, reading)
            kind = max(FRAMES, key=lambda name: fits[name] + heat * 0.35 * rng.gauss(0.0, 1.0))
            block = block._replace(kind=kind)
        named.append(block)
    buttons = [block for block in named if block.kind == "button"]
    kept = [
        block for block in named if block.kind != "text_block" or not any(button.holds(block) for button in buttons)
    ]
    return SketchReading(tuple(kept), reading.height)


def _shifted(best: SketchReading, again: Callable[[], SketchReading], rng: Random) -> SketchReading:
    dx, dy = rng.gauss(0.0, 0.005), rng.gauss(0.0, 0.005)
    return best._replace(blocks=tuple(block._replace(x=block.x + dx, y=block.y + dy) for block in best.blocks))


def _scaled(best: SketchReading, again: Callable[[], SketchReading], rng: Random) -> SketchReading:
    across, down = (math.exp(rng.gauss(0.0, 0.012)) for _ in range(2))
    return best._replace(
        blocks=tuple(
            block._replace(
                x=0.5 + (block.x - 0.5) * across,
                y=(block.y - best.height / 2) * down + best.height / 2,
                w=block.w * across,
                h=block.h * down,
            )
            for block in best.blocks
        )
    )


def _stretched(best: SketchReading, again: Callable[[], SketchReading], rng: Random) -> SketchReading:
    more = rng.choice((-0.004, 0.004, 0.008))
    return best._replace(
        blocks=tuple(
            block._replace(y=block.y - more / 2, h=max(0.004, block.h + more)) if block.kind == "text_block" else block
            for block in best.blocks
        )
    )


def _renamed(best: SketchReading, again: Callable[[], SketchReading], rng: Random) -> SketchReading:
    places = [place for place, block in enumerate(best.blocks) if block.kind in FRAMES]
    if not places:
        return best
    blocks = list(best.blocks)
    place = rng.choice(places)
    blocks[place] = blocks[place]._replace(kind=rng.choice([kind for kind in FRAMES if kind != blocks[place].kind]))
    return best._replace(blocks=tuple(blocks))


def _dropped(best: SketchReading, again: Callable[[], SketchReading], rng: Random) -> SketchReading:
    if not best.blocks:
        return best
    dropped = rng.randrange(len(best.blocks))
    return best._replace(blocks=best.blocks[:dropped] + best.blocks[dropped + 1 :])


def _reread_kind(best: SketchReading, again: Callable[[], SketchReading], rng: Random) -> SketchReading:
    new = again()
    kinds = rng.choice((("text_block", "divider"), ("image",), FRAMES, ("image", *FRAMES)))
    old = [block for block in best.blocks if block.kind not in kinds]
    return best._replace(blocks=(*old, *(block for block in new.blocks if block.kind in kinds)))


def _reread_band(best: SketchReading, again: Callable[[], SketchReading], rng: Random) -> SketchReading:
    new = again()
    top, bottom = rng.uniform(0.0, 0.4) * best.height, rng.uniform(0.6, 1.0) * best.height
    old = [block for block in best.blocks if not top <= block.y + block.h / 2 <= bottom]
    return best._replace(blocks=(*old, *(block for block in new.blocks if top <= block.y + block.h / 2 <= bottom)))


def _added(best: SketchReading, again: Callable[[], SketchReading], rng: Random) -> SketchReading:
    """Add the frames and pictures that a new reading finds, and drop the parts that a new picture covers."""
    boxes = [block for block in again().blocks if block.kind in ("image", *FRAMES)]
    new = [block for block in boxes if not any(near(block, old, 0.02) for old in best.blocks)]
    covering = [block for block in new if block.kind == "image"]
    kept = [block for block in best.blocks if not any(image.holds(block) for image in covering)]
    return best._replace(blocks=(*kept, *new))


EDITS: Mapping[str, tuple[float, Callable[[SketchReading, Callable[[], SketchReading], Random], SketchReading]]] = {
    "read parts of a kind again": (0.3, _reread_kind),
    "read a stretch again": (0.4, _reread_band),
    "add what was overlooked": (0.2, _added),
    "move everything": (0.02, _shifted),
    "scale everything": (0.02, _scaled),
    "stretch the texts": (0.03, _stretched),
    "take a frame for something else": (0.01, _renamed),
    "leave a part out": (0.02, _dropped),
}
"""Edit of Best's page -> its weight and its function."""
