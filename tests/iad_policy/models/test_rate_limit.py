"""The way to one endpoint that all workers share."""

import threading
import time

import pytest

from iad_policy.errors import Interrupted
from iad_policy.models.litellm import LiteLLMModel
from iad_policy.models.rate_limit import RateLimit
from iad_policy.types.call_context import Call, pause, use_call
from tests.iad_policy.models.openai_server import Reply, serving


def test_a_complaint_closes_it_and_halves_it_once_and_answers_open_it_again() -> None:
    now = [0.0]
    limit = RateLimit(16, clock=lambda: now[0])
    assert limit.blocked_s() == 0
    for _ in range(16):  # all that were under way are told
        limit.block(5.0)
    assert (limit.blocked_s(), limit.n_allowed) == (5.0, 8.0)
    limit.block(2.0)
    assert limit.blocked_s() == 5.0
    now[0] = 5.0
    assert limit.blocked_s() == 0
    limit.block(1.0)
    assert limit.n_allowed == 4.0
    for _ in range(4):
        limit.answered()
    assert 4.8 < limit.n_allowed < 5.1
    for _ in range(1000):
        limit.answered()
    assert limit.n_allowed == 16
    for _ in range(10):
        limit.block(1.0)
        now[0] += 1.0
    assert limit.n_allowed == 1.0  # it never closes for good
    with limit.slot():
        pass


def test_what_one_worker_is_told_holds_for_another() -> None:
    waits: list[float] = []
    with serving() as server:
        model = LiteLLMModel("openai/toy", api_base=server.address, api_key="none", max_retries=0, sleep=waits.append)
        server.script(Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "40"}), Reply("hi"))
        with pytest.raises(Exception, match="slow down"):
            model.complete([{"role": "user", "content": "hello"}])
        assert waits == []
        assert model.complete([{"role": "user", "content": "hello"}]).text == "hi"
    assert len(waits) == 1
    assert 30 < waits[0] <= 40


def test_a_run_that_is_told_to_stop_waits_no_longer() -> None:
    stopped = threading.Event()
    limit = RateLimit(1)
    with use_call(Call(stopped=stopped)), limit.slot():
        threading.Timer(0.05, stopped.set).start()
        start = time.monotonic()
        with pytest.raises(Interrupted):
            pause(60)
        with pytest.raises(Interrupted), limit.slot():
            raise AssertionError("it was full")
        assert time.monotonic() - start < 30
