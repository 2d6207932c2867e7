"""A real language model on this machine, from the client to a run that is resumed.

SmolLM2-135M-Instruct, fetched by `make test-model`. Its answers depend on the machine's arithmetic, so no test expects
a text of it: they compare answers with each other.
"""

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401  # registers the environments
from iad_policy import evaluate
from iad_policy.agents.language import language_agent
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
    with use_call(Call(stream, index, siblings=set() if siblings is None else siblings)):
        return model.complete(FOX, temperature=0.8, max_tokens=24)


def test_a_seed_repeats_a_sample_and_those_that_are_drawn_together_differ(model: LocalModel) -> None:
    assert drawn(model, 0).text == drawn(model, 0).text
    assert drawn(model, 0, stream="task:1").text != drawn(model, 0).text
    siblings = set(range(4))
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda index: drawn(model, index, siblings), range(4)))
    for samples in (together, [drawn(model, index) for index in range(4)]):
        assert len({one.text for one in samples}) == 4
    assert {one.usage.prompt_tokens for one in together} == {drawn(model, 0).usage.prompt_tokens}


def test_log_probabilities_are_those_of_the_model_at_any_temperature(model: LocalModel) -> None:
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


def test_a_prompt_that_was_read_before_is_served_from_the_cache_and_one_too_long_refused(model: LocalModel) -> None:
    first = model.complete(LONG, temperature=0.0, max_tokens=2)
    longer = [*LONG, {"role": "assistant", "content": first.text}, {"role": "user", "content": "And then?"}]
    again = model.complete(longer, temperature=0.0, max_tokens=2)
    assert again.cached_tokens is not None
    assert again.cached_tokens > 0.9 * first.usage.prompt_tokens
    small = smollm2(n_context=512)
    try:
        with pytest.raises(ModelError, match=r"512 tokens, got \d+ tokens") as caught:
            small.complete(LONG, max_tokens=2)
        assert caught.value.kind == "context"
        # A server that is killed in the middle of an answer is started again.
        small.complete(FOX, max_tokens=1)
        assert small._server is not None
        pid = small._server.pid
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(small.complete, FOX, temperature=1.0, max_tokens=400)
            os.kill(pid, signal.SIGKILL)
            assert asked.result().usage.completion_tokens > 1
        assert small._server.pid != pid
    finally:
        small.release()


def test_a_run_is_repeated_from_its_record_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smollm2()  # or skip
    agent = language_agent(gym.make("IAD/BIRD-v0"), "local:smollm2#cot")  # a style may follow the name
    assert (agent.kind, agent.model.name) == ("cot", "local:smollm2")
    monkeypatch.setenv("IAD_CACHE", str(tmp_path / "cache.sqlite"))
    run = tmp_path / "run"
    given: dict[str, Any] = {"agent": "local:smollm2", "agent_args": {"max_tokens": 48, "logprobs": True}}
    given |= {"env_args": {"max_steps": 1}, "strategies": ("single", "bon-sc"), "n": 2, "tasks": 2, "out": run}
    first = evaluate("IAD/WebShop-v0", **given)
    answers = (run / "answers.jsonl").read_bytes()
    identity = json.loads((run / "config.json").read_text())["identity"]["local:smollm2"]["agent"]
    assert "sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53" in identity
    assert any(json.loads(line).get("kind") == "candidate" for line in answers.splitlines())
    episodes = (run / "episodes.jsonl").read_text().splitlines()
    (run / "episodes.jsonl").write_text(f"{episodes[0]}\n")
    (tmp_path / "cache.sqlite").unlink()  # the record alone has the answers
    again = evaluate("IAD/WebShop-v0", **given)
    assert (run / "answers.jsonl").read_bytes() == answers
    assert again.n_episodes == first.n_episodes == 4
