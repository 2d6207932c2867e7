"""The scorer and the box collector against recorded outputs of the published Sketch2Code scorer."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from iad_envs.sketch2code.layout import KINDS, Box, score_layout
from iad_envs.sketch2code.page import score_pages
from iad_envs.sketch2code.renderer import Renderer
from iad_envs.sketch2code.visual import visual_score
from tests.browser import Browsers
from tests.effort import some

FOLDER = "sketch2code"


def folder() -> Path:
    return Path(os.environ.get("IAD_VECTORS", "/nonexistent")) / FOLDER


@pytest.fixture(scope="module")
def recorded(vectors: Any) -> Any:
    return vectors(f"{FOLDER}/scores.json")


@pytest.fixture(scope="module")
def scored(recorded: Any) -> dict[str, Any]:
    """The pairs that the published scorer could score; it divides by zero where neither page has a component."""
    pairs = recorded["pairs"]
    return {name: pair for name, pair in pairs.items() if isinstance(pair.get("layout_score"), int | float)}


@pytest.fixture(scope="module")
def renderer(browsers: Browsers, recorded: Any) -> Iterator[Renderer]:
    """No recorded page has a script."""
    fonts = {font for font in recorded["fonts"] if font.startswith("Liberation")}
    command = ["fc-list", ":", "family"] if shutil.which("fc-list") else ["true"]
    if not fonts <= {*subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()}:
        pytest.skip("the fonts are not the recorded ones: apt-get install fontconfig fonts-liberation")
    with browsers.renderer(assets={"rick.jpg": (folder() / "rick.jpg").read_bytes()}) as made:
        yield made


@pytest.fixture(scope="module")
def scripted(browsers: Browsers, renderer: Renderer) -> Iterator[Renderer]:
    """As published, with scripts on."""
    with browsers.renderer(scripts=True, assets=renderer._assets) as made:
        yield made


def boxes(recorded: dict[str, list[list[float]]]) -> dict[str, tuple[Box, ...]]:
    return {kind: tuple(Box(*box) for box in recorded.get(kind, [])) for kind in KINDS}


def html(name: str) -> str:
    return (folder() / name).read_bytes().decode("utf-8", "replace")


def test_recorded_boxes_score_as_published_to_1e_9(scored: dict[str, Any]) -> None:
    assert scored
    for name, pair in scored.items():
        score = score_layout(boxes(pair["ref_boxes"]), boxes(pair["pred_boxes"]))
        wanted = {kind: (one["iou"], one["weight"]) for kind, one in pair["components"].items()}
        found = {kind: (score.kinds[kind].iou, score.kinds[kind].weight) for kind in wanted}
        assert score.layout == pytest.approx(pair["layout_score"], abs=1e-9), name
        for kind, numbers in wanted.items():
            assert found[kind] == pytest.approx(numbers, abs=1e-9), (name, kind)
        ious = [score.kinds[kind].iou for kind in ("text_block", "image")]
        assert ious == pytest.approx([pair["text_iou"], pair["image_iou"]], abs=1e-9), name


def test_pages_have_the_recorded_boxes_to_1e_6(scored: dict[str, Any], renderer: Renderer, scripted: Renderer) -> None:
    with_scripts = some([*scored], 12)  # each is a page in a process of its own
    for name, pair in scored.items():
        for side in ("ref", "pred"):
            expected = boxes(pair[f"{side}_boxes"])
            page = renderer.page(html(pair[side]))
            assert not page.failure, name
            for kind in KINDS:
                assert len(page.boxes[kind]) == len(expected[kind]), (name, side, kind)
                for box, wanted in zip(page.boxes[kind], expected[kind], strict=True):
                    assert box == pytest.approx(wanted, abs=1e-6), (name, side, kind)
        pages = [renderer.page(html(pair[side])) for side in ("ref", "pred")]
        assert score_pages(*pages).layout == pytest.approx(pair["layout_score"], abs=1e-6), name
        if name in with_scripts:
            assert [scripted.page(html(pair[side])) for side in ("ref", "pred")] == pages, name


@pytest.mark.parametrize("published", [True, False], ids=["texts of the file", "texts of the page"])
def test_visual_metrics_are_as_published_to_1e_3(published: bool, scored: dict[str, Any], renderer: Renderer) -> None:
    pairs = {name: pair for name, pair in scored.items() if "visual" in pair}
    assert pairs
    for name in some([*pairs], 5):
        pair = pairs[name]
        score = visual_score(renderer, html(pair["ref"]), html(pair["pred"]), published=published)
        wanted = [pair["visual"][part] for part in ("block_match", "text", "position", "color")]
        assert list(score.parts().values()) == pytest.approx(wanted, abs=1e-3), name
        assert score.final is None


def test_every_real_page_scores_1_against_itself(real_data: Path, browsers: Browsers) -> None:
    pages = sorted((real_data / "sketch2code" / "webpages").glob("*.html"))
    assert pages
    assets = {"rick.jpg": (pages[0].parent / "rick.jpg").read_bytes()}
    with browsers.renderer(assets=assets) as first, browsers.renderer(assets=assets) as second:
        for path in some(pages, 16):
            source = path.read_bytes().decode("utf-8", "replace")
            assert score_pages(first.page(source), second.page(source)).layout == 1.0, path.name
