"""Draws the bundled sketches from the boxes in boxes.json, and measures those boxes: two sketches a page.

Run from the project's root, with the extra `sketch2code`: `python data/sketch2code/draw_sketches.py` draws beside
itself, `--output DIR` elsewhere. `--measure` first renders the pages in Chromium and writes boxes.json, tasks.jsonl
and the image beside the pages; without it no browser is needed. Sketches are the same, pixel for pixel, under the same
OpenCV and numpy.
"""

import argparse
import json
import struct
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from iad_envs.browser.images import Image, opencv  # noqa: E402
from iad_envs.sketch2code.layout import Box  # noqa: E402
from iad_envs.sketch2code.renderer import Renderer  # noqa: E402
from iad_envs.sketch2code.sketcher import draw_sketch  # noqa: E402

PER_PAGE = 2
LEVEL_BITS = 1
"""Of grey, in the files: ink on paper needs no more."""
EASY_BOXES = 30
"""A page with at most so many components is easy."""
SPLITS = ("test", "test", "dev", "test", "test", "train")
"""Pages take turns, in order of their names."""
BLUE = (196, 114, 62)  # blue, green, red
IMAGE_SIZE = (1080, 1920)


def measure_pages(folder: Path) -> dict[str, Any]:
    """Return what boxes.json holds: each page's size in pixels, and its boxes as shares of it."""
    found = {}
    with Renderer(assets={"rick.jpg": (folder / "rick.jpg").read_bytes()}) as renderer:
        for path in sorted(folder.glob("*.html")):
            page = renderer.page(path.read_text(encoding="utf-8"))
            if page.failure:
                raise RuntimeError(f"expected {path.name} to be rendered, got: {page.failure}")
            boxes = {kind: [[round(edge, 6) for edge in box] for box in of] for kind, of in page.boxes.items() if of}
            found[path.stem] = {"size": [page.width, page.height], "boxes": boxes}
    return found


def task_lines(measured: Mapping[str, Any]) -> str:
    """Return tasks.jsonl: each page's split and difficulty."""
    lines = []
    for place, (page, found) in enumerate(measured.items()):
        n_boxes = sum(map(len, found["boxes"].values()))
        difficulty = "easy" if n_boxes <= EASY_BOXES else "hard"
        line = {"task_id": page, "split": SPLITS[place % len(SPLITS)], "difficulty": difficulty, "n_boxes": n_boxes}
        lines.append(json.dumps(line) + "\n")
    return "".join(lines)


def draw_page(page: str, found: Mapping[str, Any]) -> list[Image]:
    """Return a page's sketches, in grey (height, width), with the levels that the files have."""
    boxes = {kind: [Box(*box) for box in of] for kind, of in found["boxes"].items()}
    sheets = [draw_sketch(boxes, tuple(found["size"]), seed=[number, *page.encode()]) for number in range(PER_PAGE)]
    top = (1 << LEVEL_BITS) - 1
    return [np.round(sheet[:, :, 0] / 255 * top).astype(np.uint8) * (255 // top) for sheet in sheets]


def png(sheet: Image) -> bytes:
    """Return a sheet as a greyscale PNG of few levels, which OpenCV can't write."""
    height, width = sheet.shape
    bits = np.unpackbits((sheet >> (8 - LEVEL_BITS))[:, :, None], axis=2)[:, :, 8 - LEVEL_BITS :]
    rows = np.packbits(bits.reshape(height, -1), axis=1)
    plain = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()
    chunks = (
        (b"IHDR", struct.pack(">2I5B", width, height, LEVEL_BITS, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(plain, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def placeholder() -> bytes:
    """Return the image that stands for all images: plain blue, in the official size."""
    cv2 = opencv()
    flags = [cv2.IMWRITE_JPEG_QUALITY, 60, cv2.IMWRITE_JPEG_OPTIMIZE, 1, cv2.IMWRITE_JPEG_PROGRESSIVE, 1]
    return bytes(cv2.imencode(".jpg", np.full((*IMAGE_SIZE, 3), BLUE, np.uint8), flags)[1].tobytes())


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw all sketches; first measure the pages, if asked to."""
    parser = argparse.ArgumentParser(description="Draw the bundled sketches of Sketch2Code.")
    parser.add_argument("--output", type=Path, default=HERE, help="folder to draw to")
    parser.add_argument("--measure", action="store_true", help="render the pages first; needs Chromium")
    options = parser.parse_args(arguments)
    if options.measure:
        (HERE / "rick.jpg").write_bytes(placeholder())
        measured = measure_pages(HERE)
        rows = ",\n".join(f"{json.dumps(page)}: {json.dumps(found)}" for page, found in measured.items())
        (HERE / "boxes.json").write_text("{\n" + rows + "\n}\n", encoding="utf-8")
        (HERE / "tasks.jsonl").write_text(task_lines(measured), encoding="utf-8")
    for page, found in json.loads((HERE / "boxes.json").read_text(encoding="utf-8")).items():
        for number, sheet in enumerate(draw_page(page, found)):
            (options.output / f"{page}_{number}.png").write_bytes(png(sheet))


if __name__ == "__main__":
    main()
