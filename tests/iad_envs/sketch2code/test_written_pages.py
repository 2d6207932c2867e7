"""The proxy verifier on pages that a reader wrote from sketches by eye."""

from collections.abc import Callable
from typing import Any

from tests.browser import Browsers


def test_the_proxy_ranks_written_pages_as_the_layout_score_does(
    load_benchmark: Callable[[str], Any], browsers: Browsers
) -> None:
    assert browsers.chromium  # or it is skipped, with the reason
    found = load_benchmark("support.sketch_verifier").page_evidence()
    assert found.correlation > 0.6  # .75 with the fonts of Debian 12, which decide text boxes
    assert found.mean + 0.03 < found.chosen < found.best
