"""A real language model on this machine behind its client.

SmolLM2-135M-Instruct, fetched by `make test-model`. Its answers depend on the machine's arithmetic, so no test expects
a text of it: they compare answers with each other.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from iad_policy.errors import ModelError
from iad_policy.models import Completion
from iad_policy.models.local import LocalModel
from iad_policy.types.call_context import Call, use_call
from tests.iad_policy.models.local.smollm2 import smollm2

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FOX = [{"role": "user", "content": "Write a sentence about a fox."}]
LONG = [{"role": "user", "content": "Here is a list. " + " ".join(f"item {n}," for n in range(150)) + " Go on."}]


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    made = smollm2(logprobs=True)
    yield made
    made.release()


def drawn(model: LocalModel, index: int, siblings: set[int] | None = None, stream: str = "task:0") -> Completion:
    with use_call(Call(stream, index, siblings=siblings or set())):
        return model.complete(FOX, temperature=0.8, max_tokens=24)


def test_a_seed_repeats_a_sample_and_those_that_are_drawn_together_differ(model: LocalModel) -> None:
    alone = [drawn(model, index) for index in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda index: drawn(model, index, set(range(4))), range(4)))
    assert drawn(model, 0).text == alone[0].text != drawn(model, 0, stream="task:1").text
    assert len({one.text for one in alone}) == len({one.text for one in together}) == 4
    assert {one.usage.prompt_tokens for one in together} == {alone[0].usage.prompt_tokens}


def test_log_probabilities_are_those_of_the_model_and_what_was_read_before_is_cached(model: LocalModel) -> None:
    greedy, again = (model.complete(FOX, temperature=0.0, max_tokens=8) for _ in range(2))
    cold = model.complete(FOX, temperature=0.01, max_tokens=8)  # the same tokens, sampled
    assert greedy.logprob_kind == cold.logprob_kind == "model"
    assert again.text == cold.text == greedy.text
    assert (greedy.finish_reason, greedy.usage.completion_tokens) == ("length", 8)
    assert greedy.logprobs is not None
    assert greedy.logprobs == pytest.approx(cold.logprobs, abs=0.05)
    assert min(greedy.logprobs) < -0.05  # after a temperature of 0.01 they would all be 0
    assert greedy.starts is not None  # where each token begins in the text
    assert [0, *greedy.starts[1:], len(greedy.text)] == sorted([*greedy.starts, len(greedy.text)])
    first = model.complete(LONG, temperature=0.0, max_tokens=2)
    longer = [*LONG, {"role": "assistant", "content": first.text}, {"role": "user", "content": "And then?"}]
    cached = model.complete(longer, temperature=0.0, max_tokens=2).cached_tokens
    assert (cached or 0) > 0.9 * first.usage.prompt_tokens


def test_a_prompt_that_is_too_long_is_refused() -> None:
    with ExitStack() as opened:
        small = smollm2(n_context=512)
        opened.callback(small.release)
        with pytest.raises(ModelError, match=r"512 tokens, got \d+ tokens") as caught:
            small.complete(LONG, max_tokens=2)
    assert caught.value.kind == "context"
