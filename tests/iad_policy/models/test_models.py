"""The scripted model and the cache."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from iad_policy.errors import ModelError
from iad_policy.models import Completion, Messages
from iad_policy.models.cache import CachedModel
from iad_policy.models.loading import load_model
from iad_policy.models.scripted import ScriptedModel
from iad_policy.types import Usage
from iad_policy.types.call_context import Call, use_call

HELLO = ({"role": "user", "content": "hello"},)


class Counter:
    """A priced model that numbers its answers."""

    name = "counter"

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.n_calls = 0
        self._lock = threading.Lock()

    def complete(self, messages: Messages, **sampling: Any) -> Completion:
        with self._lock:
            self.n_calls += 1
            return Completion(f"answer {self.n_calls}", Usage(prompt_tokens=3, completion_tokens=2, usd=0.5), (-0.25,))


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.fixture
def cached(counter: Counter, tmp_path: Path) -> Iterator[CachedModel]:
    with CachedModel(counter, tmp_path / "deep" / "cache.sqlite") as model:
        yield model


def asked(model: Any, *, stream: str = "task:0", index: int = 0, messages: Messages = HELLO, **sampling: Any) -> str:
    with use_call(Call(stream, index)):
        return model.complete(messages, **sampling).text


def test_a_script_is_read_in_order_or_called_and_may_fail_and_counts_a_token_for_four_characters() -> None:
    model = ScriptedModel(["one", "two", ModelError("down", kind="server")])
    assert [model.complete(HELLO).text for _ in range(2)] == ["one", "two"]
    for said in ("down", "end of its script"):
        with pytest.raises(ModelError, match=said):
            model.complete(HELLO)
    assert ScriptedModel(text for text in ["made"]).complete(HELLO).text == "made"
    assert ScriptedModel(lambda messages: messages[-1]["content"].upper()).complete(HELLO).text == "HELLO"
    parts = {"role": "user", "content": [{"type": "text", "text": "12345"}, {"type": "image_url", "image_url": {}}]}
    with use_call(Call()) as call:
        answer = ScriptedModel(["123456789"]).complete([*HELLO, parts])
    assert answer.usage == call.usage == Usage(prompt_tokens=2 + 2, completion_tokens=3)


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(TypeError, match=r"object with name and complete"):
        load_model(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="litellm:gpt-4o-mini"):
        load_model("")


def test_a_hit_is_charged_to_the_budget_and_not_to_the_bill(cached: CachedModel, counter: Counter) -> None:
    first = asked(cached)
    with use_call(Call("task:0", 0)) as call:
        again = cached.complete(HELLO)
    assert (again.text, again.logprobs, counter.n_calls) == (first, (-0.25,), 1)
    assert call.usage == again.usage
    assert call.usage._replace(seconds=0.0) == Usage(prompt_tokens=3, completion_tokens=2, n_cached=1)


def test_a_hit_counts_with_the_seconds_that_the_answer_took_at_first(tmp_path: Path) -> None:
    def slow(messages: Messages) -> str:
        start = perf_counter()
        while perf_counter() - start < 0.05:
            pass
        return "late"

    for n_cached in (0, 1, 1):
        with CachedModel(ScriptedModel(slow), tmp_path / "cache.sqlite") as model, use_call(Call("task:0", 0)) as call:
            start = perf_counter()
            model.complete(HELLO)
            took = perf_counter() - start
        assert call.usage.n_cached == n_cached
        assert not n_cached or call.usage.seconds >= 0.05 > took


def test_every_part_of_the_key_makes_a_sample_of_its_own(cached: CachedModel, counter: Counter) -> None:
    hullo = ({"role": "user", "content": "hullo"},)
    changes: list[dict[str, Any]] = [
        *({}, {"stream": "task:1"}, {"index": 1}, {"temperature": 0.5}, {"max_tokens": 9}, {"messages": hullo}),
        *({"temperature": 0}, {"temperature": 0, "max_tokens": 9}, {"temperature": 0, "messages": hullo}),
    ]
    texts = [asked(cached, **one) for one in changes]
    assert [asked(cached, **one) for one in changes] == texts
    counter.settings["api_base"] = "elsewhere"
    asked(cached)
    assert counter.n_calls == len({*texts}) + 1 == 10


def test_several_draws_within_one_item_differ_and_are_found_again(cached: CachedModel, counter: Counter) -> None:
    for _ in range(2):
        with use_call(Call("task:0", 0)):
            assert [cached.complete(HELLO).text for _ in range(3)] == ["answer 1", "answer 2", "answer 3"]


def test_an_identical_question_at_temperature_0_is_asked_once(cached: CachedModel, counter: Counter) -> None:
    spent = []
    for stream, index in (("task:0", 0), ("task:0", 1), ("task:0", 1), ("task:1", 0), ("other task:0", 0)):
        with use_call(Call(stream, index)) as call:
            assert {cached.complete(HELLO, temperature=0).text for _ in range(2)} == {"answer 1"}
            spent.append(call.usage)
    # The model itself reports what it costs, so a hit is all that is reported here: tokens without dollars.
    assert [one._replace(seconds=0.0) for one in spent] == [
        Usage(prompt_tokens=3 * n, completion_tokens=2 * n, n_cached=n) for n in (1, 2, 2, 2, 2)
    ]


def test_a_model_that_varies_at_temperature_0_can_be_asked_for_every_sample(counter: Counter, tmp_path: Path) -> None:
    with CachedModel(counter, tmp_path / "cache", asks_greedy_once=False) as model:
        assert [asked(model, index=index, temperature=0) for index in (0, 1, 1)] == ["answer 1", "answer 2", "answer 2"]


def test_errors_are_not_kept(tmp_path: Path) -> None:
    with CachedModel(ScriptedModel([ModelError("busy", kind="server"), "fine"]), tmp_path / "cache") as model:
        with pytest.raises(ModelError):
            asked(model)
        assert asked(model) == "fine"
        assert asked(model) == "fine"


def test_two_caches_on_one_file_share_answers_between_threads(tmp_path: Path) -> None:
    counters = [Counter(), Counter()]
    caches = [CachedModel(counter, tmp_path / "cache") for counter in counters]
    with ThreadPoolExecutor(4) as threads:
        texts = list(threads.map(lambda n: asked(caches[n % 2], index=n), range(40)))
    assert [asked(caches[(n + 1) % 2], index=n) for n in range(40)] == texts
    assert sum(counter.n_calls for counter in counters) == 40
    for cache in caches:
        cache.close()
        cache.close()


def test_a_cache_that_breaks_later_warns_once_and_goes_on_without(cached: CachedModel, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "deep" / "cache.sqlite")
    other.execute("DROP TABLE completions")
    other.close()
    with pytest.warns(RuntimeWarning, match="going on without it"):
        assert asked(cached) == "answer 1"
    assert asked(cached) == "answer 2"


ROW = '{"text": "t", "prompt_tokens": 1, "completion_tokens": 1, "logprobs": null, "finish_reason": "stop"}'


@pytest.mark.parametrize(
    "row",
    [
        *("{", "[1]", "null", "{}", ROW[:40], ROW + ROW, "[" * 100_000, '{"text":' * 100_000),
        *(ROW.replace('tokens": 1', f'tokens": {n}') for n in ("1e400", "NaN", '"x"', "null", "[1]")),
        *(ROW.replace('"logprobs": null', f'"logprobs": {value}') for value in ('["x"]', "7", "[[1]]")),
        *(
            ROW.replace('"t"', "7"),
            ROW.replace("}", ', "starts": [1e400]}'),
            ROW.replace("}", ', "cached_tokens": [1]}'),
        ),
        *(ROW.replace("stop", "déjà").encode("latin-1"), ROW.encode() + b"\0", bytes(100), b"\xff\xfe", 7, 1.5),
    ],
)
def test_a_damaged_row_is_asked_for_again(row: Any, cached: CachedModel, tmp_path: Path) -> None:
    asked(cached)
    other = sqlite3.connect(tmp_path / "deep" / "cache.sqlite")
    is_text = isinstance(row, bytes)
    other.execute(f"UPDATE completions SET answer = {'CAST(? AS TEXT)' if is_text else '?'}", (row,))
    other.commit()
    other.close()
    assert [asked(cached), asked(cached)] == ["answer 2", "answer 2"]


NO_FIFO = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs on Windows")


@pytest.mark.parametrize(
    "path",
    ["folder", "file/cache", "file/deep/cache", pytest.param("fifo", marks=NO_FIFO), "long" * 100, "no database"],
)
def test_what_is_no_cache_is_one_sentence_that_says_how_to_go_on(path: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "no database").write_bytes(b"not a database, and long enough to be taken for one" * 99)
    if path == "fifo":
        os.mkfifo(tmp_path / path)
    with pytest.raises(ValueError, match=r"expected a language-model cache in .*name another path") as caught:
        CachedModel(Counter(), tmp_path / path)
    assert "\n" not in str(caught.value)
    assert path != "no database" or "delete it, or name another path" in str(caught.value)
