"""Strategies ask for samples, and a local model draws those of one prompt in one request."""

from collections.abc import Iterator

import pytest

from iad_policy import IADPolicyWrapper
from iad_policy.agents.language import LanguageAgent
from iad_policy.types.names import NO_VERIFIER
from tests.iad_policy.models.local.fake_llama import Llama, serving
from tests.iad_policy.quiz import Quiz


@pytest.fixture
def llama() -> Iterator[Llama]:
    with serving() as running:
        yield running


def decided(llama: Llama, strategy: str, threads: int) -> list[str]:
    """The answers of one decision, none of which is an answer to the quiz, in order."""
    env = Quiz()
    agent = LanguageAgent(llama.model(), temperature=0.7)
    with IADPolicyWrapper(agent, env, strategy=strategy, verifier=NO_VERIFIER, threads=threads, n=4) as policy:
        policy.act(*env.reset(options={"task_id": "3"}))
        return [one.thought for one in policy.decisions[-1].candidates]


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_samples_of_one_prompt_are_one_request_with_any_number_of_threads(llama: Llama, threads: int) -> None:
    proposed = decided(llama, "bon-sc", threads)
    (sent,) = llama.requests
    assert sent["n"] == 4
    assert proposed == [f"seed {sent['seed'] + place}" for place in range(4)]


def test_the_first_sample_is_shared_by_all_strategies(llama: Llama) -> None:
    assert decided(llama, "bon-sc", 1)[0] == decided(llama, "single", 1)[0]
    assert [one["n"] for one in llama.requests] == [4, 1]
