"""The prompts of recorded episodes stay short, and consecutive ones begin alike."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    from support import prompt_tokens

    return prompt_tokens


@pytest.mark.parametrize("style", ["direct", "cot"])
def test_a_step_in_the_shop_takes_fewer_tokens_than_it_did(lengths: Any, style: Any) -> None:
    length = lengths.webshop_prompt_length(style)
    assert length.n == 261
    assert length.ratio(style) < (lengths.TARGET if style == "direct" else 0.75)
    assert length.shared > 0.5


def test_tokens_may_be_counted_by_a_tokenizer(lengths: Any) -> None:
    words = lengths.webshop_prompt_length("direct", lambda text: len(text.split()))
    assert 0 < words.example_tokens < words.tokens < lengths.webshop_prompt_length("direct").tokens
