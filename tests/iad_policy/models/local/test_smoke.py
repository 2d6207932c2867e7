"""A real model answers; tests/full/test_smollm2.py has the rest."""

from iad_policy.types.call_context import Call, use_call
from tests.iad_policy.models.local.smollm2 import smollm2

QUESTION = [{"role": "user", "content": "What is the capital of France? Answer with one word."}]


def test_smollm2_answers() -> None:
    model = smollm2(n_context=2048, logprobs=True)
    try:
        with use_call(Call()) as call:
            answer = model.complete(QUESTION, temperature=0.0, max_tokens=16)
        assert "Paris" in answer.text
        assert answer.usage == call.usage
        assert 30 < answer.usage.prompt_tokens < 60
        assert answer.logprobs is not None
        assert answer.starts is not None
        assert all(value <= 0.0 for value in answer.logprobs)
        assert len(answer.logprobs) == len(answer.starts) <= answer.usage.completion_tokens
    finally:
        model.release()
