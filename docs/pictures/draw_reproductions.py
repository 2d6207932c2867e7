"""Draw the pictures of the papers' pages, from the results that are kept beside them."""

import json
from pathlib import Path

from PIL import Image

from iad_policy.report.arm_pictures import draw_pictures

RESULTS = Path(__file__).parents[1] / "learning" / "reproductions"


def main() -> None:
    """Draw the pictures of each result, as PNG alone."""
    for path in RESULTS.glob("*.json"):
        for drawn in draw_pictures(json.loads(path.read_text(encoding="utf-8")), path.with_suffix("")):
            if drawn.suffix == ".svg":
                drawn.unlink()
            else:
                Image.open(drawn).convert("RGB").quantize(32).save(drawn, optimize=True)  # a third of the size


if __name__ == "__main__":
    main()
