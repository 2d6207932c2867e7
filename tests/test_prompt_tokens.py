"""The prompts of recorded episodes stay short, and consecutive ones begin alike."""

from pathlib import Path

import pytest


def test_a_step_in_the_shop_takes_fewer_tokens_than_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    from support.prompt_tokens import TARGET, webshop_prompt_length

    for style, target in (("direct", TARGET), ("cot", 0.75)):
        length = webshop_prompt_length(style)  # type: ignore[arg-type]
        assert length.n == 261
        assert length.ratio < target
        assert length.shared > 0.5
