"""The litellm client against a real local server."""

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from typing import Any

import pytest

from iad_policy.errors import Interrupted, ModelError
from iad_policy.models import LanguageModel
from iad_policy.models.litellm import LiteLLMModel, listed_usd
from iad_policy.models.loading import load_model
from iad_policy.models.rate_limit import RateLimit
from iad_policy.models.streaming import Limits, heard
from iad_policy.types import Usage
from iad_policy.types.call_context import Call, pause, use_call
from tests.iad_policy.models.openai_server import OpenAIServer, Reply, Slowly, calling, chunks, completion, event

HELLO = ({"role": "user", "content": "hello"},)
TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}
OFFERED = ({**HELLO[0], "tools": [TOOL]},)


@pytest.fixture
def server(model_server: OpenAIServer) -> OpenAIServer:
    return model_server


class Waits(list[float]):
    """A sleep that only takes notes."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def client(server: OpenAIServer, *, waits: Waits | None = None, **options: Any) -> LiteLLMModel:
    options = {"timeout_s": 60.0, "max_retries": 2, **options}
    return LiteLLMModel(
        "openai/toy", api_base=server.address, api_key="fake", sleep=Waits() if waits is None else waits, **options
    )


def test_an_answer_comes_back_with_its_usage_and_what_is_not_asked_for_is_not_sent(server: OpenAIServer) -> None:
    server.script(Reply("Action: search[chair]"))
    with use_call(Call()) as call:
        answer = client(server, top_p=0.9).complete(HELLO, temperature=0.3, max_tokens=50)
    assert (answer.text, answer.finish_reason, answer.logprobs) == ("Action: search[chair]", "stop", None)
    assert answer.usage == call.usage == Usage(prompt_tokens=11, completion_tokens=7, n_unpriced=1)
    given = {"model": "toy", "messages": list(HELLO), "temperature": 0.3, "max_tokens": 50, "top_p": 0.9}
    assert given.items() <= server.requests[0].items()
    assert server.keys == ["Bearer fake"]
    client(server).complete(HELLO)
    assert set(server.requests[1]) == {"model", "messages", "stream", "stream_options"}


def test_a_price_is_given_or_listed_and_a_missing_usage_counts_nothing_and_says_so(server: OpenAIServer) -> None:
    usage = client(server, price_usd=(1.0, 2.0)).complete(HELLO).usage
    assert usage == Usage(prompt_tokens=11, completion_tokens=7, usd=pytest.approx(25e-6), n_unpriced=0)
    server.script(Reply(completion("hi", usage=None)))
    assert client(server, price_usd=(1.0, 2.0)).complete(HELLO).usage == Usage(n_unpriced=1)
    own = LiteLLMModel("openai/gpt-4o-mini", api_base=server.address, api_key="fake")  # a listed name elsewhere
    server.script(Reply("hi"))
    assert own.complete(HELLO).usage.n_unpriced == 1
    assert listed_usd("no response", "nobody-knows-it") is None
    import litellm  # quiet and without a network only after the client has loaded it

    response = litellm.ModelResponse(
        model="gpt-4o-mini", usage=litellm.Usage(prompt_tokens=1_000_000, completion_tokens=0, total_tokens=1_000_000)
    )
    priced = {name: listed_usd(response, name) for name in ("gpt-4o-mini", "hosted_vllm/unknown", "ollama/unknown")}
    assert priced == {"gpt-4o-mini": pytest.approx(0.15), "hosted_vllm/unknown": None, "ollama/unknown": None}


@pytest.mark.parametrize(
    ("status", "asked", "expected"),
    [
        *((429, ["7"], [7.0]), (429, ["Thu, 01 Jan 1970 00:01:40 GMT"], [5.0]), (429, ["86400"], [60.0])),
        *((429, ["soon"], [1.0]), (500, ["", ""], [1.0, 2.0])),
    ],
)
def test_what_may_pass_is_waited_for_ever_longer_or_as_long_as_the_server_asks_up_to_a_minute(
    server: OpenAIServer, status: int, asked: list[str], expected: list[float]
) -> None:
    failures = [Reply({"error": {"message": "slow down"}}, status, {"Retry-After": one}) for one in asked]
    server.script(*failures, Reply("hi"))
    waits = Waits()
    assert client(server, waits=waits, clock=lambda: 95.0).complete(HELLO).text == "hi"
    assert waits == expected


TOO_LONG = ("This model's maximum context length is 10 tokens", "context_length_exceeded")
FLAGGED = "Invalid prompt: your prompt was flagged as potentially violating our usage policy."


def refused(status: int, message: str, code: str = "", **more: str) -> Reply:
    return Reply({"error": {"message": message, "code": code, **more}}, status)


def held_back(finish_reason: str, **message: str) -> Reply:
    said = {"role": "assistant", "content": None, **message}
    return Reply(completion(None, choices=[{"index": 0, "finish_reason": finish_reason, "message": said}]))


BROKEN = (*[*map(event, chunks(completion("one two")))][:2], event({"error": {"message": "out of memory"}}))


@pytest.mark.parametrize(
    ("reply", "kind", "n_requests", "name"),
    [
        (refused(429, "slow down"), "rate_limit", 3, "RateLimitError"),
        (refused(503, "busy \ud83d of \u202e it"), "server", 3, ""),
        (Reply(b"".join(BROKEN)), "server", 3, "BrokenStream"),
        (refused(408, "too slow"), "timeout", 3, "APITimeoutError"),
        (Reply(hold=threading.Event()), "timeout", 3, "TimeoutError"),
        (Reply(is_cut=True), "connection", 3, "TransportError"),
        (Reply(is_reset=True), "connection", 3, "TransportError"),
        (Reply(completion("hi", choices=[])), "malformed", 3, ""),
        # What is no stream is asked for again at once in one piece.
        (Reply(b"<html>proxy</html>"), "malformed", 6, "JSONDecodeError"),
        (Reply(b'{"id": "x"}'), "malformed", 6, ""),
        (Reply(b"data: {nope\n\n"), "malformed", 3, "JSONDecodeError"),
        # What will not pass fails at once.
        (refused(401, "bad key", code="invalid_api_key"), "auth", 1, "AuthenticationError"),
        (refused(403, "not yours"), "auth", 1, "PermissionDeniedError"),
        (refused(404, "no such model", code="model_not_found"), "not_found", 1, "NotFoundError"),
        (refused(400, *TOO_LONG), "context", 1, "ContextWindowExceededError"),
        (refused(400, "policy", code="content_policy_violation", type="invalid_request_error"), "refusal", 1, ""),
        (refused(400, FLAGGED), "refusal", 1, "ContentPolicyViolationError"),
        (held_back("content_filter"), "refusal", 1, ""),
        (held_back("stop", refusal="I can't help with that"), "refusal", 1, ""),
        (refused(400, "bad parameter"), "other", 1, "BadRequestError"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_may_pass_is_tried_again_and_every_failure_has_its_kind(
    server: OpenAIServer, reply: Reply, kind: str, n_requests: int, name: str
) -> None:
    """The client knows classes by name, and one that litellm renames would be of the kind `other`."""
    server.script(reply)
    waits = Waits()
    with use_call(Call()) as call, pytest.raises(ModelError) as caught:
        client(server, waits=waits, timeout_s=0.3 if reply.hold else 60.0).complete(HELLO)
    error = caught.value
    assert (error.kind, len(server.requests)) == (kind, n_requests)
    assert ("3 tries" in str(error), len(waits)) == ((True, 2) if n_requests > 1 else (False, 0))
    assert not name or name in classes_of(error.__cause__), classes_of(error.__cause__)
    assert ("out of memory" in str(error)) == (name == "BrokenStream")
    is_paid = reply.status == 200 and kind == "refusal"  # what was held back was made
    assert call.usage.prompt_tokens == (11 if is_paid else 0) or kind == "malformed"
    import litellm

    assert issubclass(litellm.APIResponseValidationError, Exception)  # no reply of this server leads to it


def classes_of(error: BaseException | None) -> set[str]:
    """The names of the classes of an error and of its causes, with those they come from."""
    found = set[str]()
    while error is not None:
        found |= {kind.__name__ for kind in type(error).__mro__}
        error = error.__cause__ or error.__context__
    return found


def part(**delta: Any) -> bytes:
    """An event with one part of an answer."""
    (first, *_) = chunks(completion("x"))
    return event({**first, "choices": [{"index": 0, "finish_reason": None, "delta": delta}]})


NOTHING = {"index": 0, "id": "call_0", "type": "function", "function": {"arguments": ""}}
CALL = {"index": 0, "function": {"arguments": "x"}}
FIRST, LATER, END = "sign of the first words", "sign of another part", "end of the answer"


class Clock:
    """A clock that a stream's parts move, each by a second."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def stream(self, parts: Iterable[bytes]) -> Iterator[Any]:
        from openai.types.chat import ChatCompletionChunk

        for one in parts:
            self.now += 1.0
            yield ChatCompletionChunk.model_validate_json(one.removeprefix(b"data: "))


@pytest.mark.parametrize(
    ("first", "drip", "missed"),
    [
        ([], part(role="assistant", content=""), FIRST),
        ([part(content="one")], part(content=""), LATER),
        ([], part(content=" one more"), END),
        ([], part(reasoning_content="Hm."), END),
        ([], part(tool_calls=[NOTHING]), FIRST),
        ([part(tool_calls=[CALL])], part(tool_calls=[NOTHING]), LATER),
        ([], part(tool_calls=[CALL]), END),
    ],
)
def test_no_stream_buys_time_by_dripping(first: list[bytes], drip: bytes, missed: str) -> None:
    clock = Clock()
    with pytest.raises(TimeoutError, match=missed):
        list(heard(lambda: clock.stream(chain(first, repeat(drip))), Limits(8.0, 4.0, 20.0), clock=clock))


def test_what_goes_on_is_no_silence_and_a_prompt_may_take_longer_than_a_pause() -> None:
    clock = Clock()
    parts = [part(reasoning_content="Hm.")] * 6 + [part(content="one")] * 6 + [part(tool_calls=[CALL])] * 6
    assert len(list(heard(lambda: clock.stream(parts), Limits(4.0, 4.0, 99.0), clock=clock))) == 18
    given: list[dict[str, Any]] = [{}, {"timeout_s": 7.0}, {"timeout_s": 7.0, "deadline_s": 9.0}]
    assert [LiteLLMModel("openai/toy", **one)._limits for one in given] == [
        (300.0, 60.0, 3000.0), (7.0, 7.0, 70.0), (7.0, 7.0, 9.0)
    ]  # fmt: skip


def test_no_server_buys_time_by_dripping(server: OpenAIServer) -> None:
    server.streams = False
    server.script(Reply(Slowly(chain([b'{"choices": ['], repeat(b"\n")), pause_s=0.02)))
    model = client(server, timeout_s=0.4, max_retries=0)
    model._streams = False
    with pytest.raises(ModelError, match=r"no end of the answer within 0\.4 s") as caught:
        model.complete(HELLO)
    assert caught.value.kind == "timeout"


@pytest.mark.parametrize(
    ("counts", "streams"),
    [
        ({"prompt_tokens": -5}, True),
        ({"completion_tokens": 10**30}, False),
        # In an answer in one piece litellm itself refuses what is no whole number.
        ({"prompt_tokens": True, "completion_tokens": float("inf")}, True),
        *(({"completion_tokens": "many"}, True), ({"prompt_tokens": float("nan")}, True)),
    ],
    ids=str,
)
def test_a_count_that_no_call_can_have_is_not_counted_and_said_once(
    server: OpenAIServer, counts: dict[str, Any], streams: bool
) -> None:
    server.streams = streams
    server.script(Reply(completion("hi", usage={"prompt_tokens": 11, "completion_tokens": 7, **counts})))
    model = client(server, price_usd=(1.0, 2.0))
    with use_call(Call()) as call, pytest.warns(RuntimeWarning, match="expected numbers of prompt and completion"):
        answer = model.complete(HELLO)
    assert (answer.text, answer.usage, call.usage) == ("hi", Usage(n_unpriced=1), Usage(n_unpriced=1))
    assert model.complete(HELLO).usage == Usage(n_unpriced=1)  # a second warning would be an error


def test_prompt_tokens_from_the_cache_are_passed_on_if_they_can_be(server: OpenAIServer) -> None:
    for given, cached in ((5, 5), (-1, None), (10**30, None), ("some", None)):
        counts = {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": given}}
        server.script(Reply(completion("hi", usage=counts)), Reply("hi"))
        answers = [client(server).complete(HELLO) for _ in range(2)]
        assert [one.cached_tokens for one in answers] == [cached, None]
        assert answers[0].usage.tokens == 18


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("text", ["a \ud83d", "\udfff\ud800", "\x00\u202e\u2069", "x" * 10**5])
def test_any_text_is_an_answer_as_it_was_sent(server: OpenAIServer, text: str, streams: bool) -> None:
    server.streams = streams
    spelled = ((text[:1], None), (text[1:], list(text[1:].encode(errors="replace"))))
    tokens = [{"token": one, "logprob": -0.5, "bytes": own, "top_logprobs": []} for one, own in spelled]
    choice = {**completion(text)["choices"][0], "logprobs": {"content": tokens}}
    server.script(Reply(completion(None, choices=[choice])))
    answer = client(server, logprobs=True, max_retries=0).complete(HELLO)
    assert (answer.text, answer.logprobs, answer.starts) == (text, (-0.5, -0.5), (0, 1))


def test_a_server_that_does_not_stream_is_asked_in_one_piece_from_then_on_unless_it_has_streamed(
    server: OpenAIServer,
) -> None:
    server.streams = False
    model = client(server)
    assert [model.complete(HELLO).text for _ in range(2)] == ["click[buy now]"] * 2
    assert [one.get("stream") for one in server.requests] == [True, None, None]
    server.streams = True
    server.script(Reply("one"), Reply(b"<html>proxy</html>"), Reply("two"))
    model = client(server)
    assert [model.complete(HELLO).text for _ in range(2)] == ["one", "two"]
    assert [one.get("stream") for one in server.requests[3:]] == [True, True, True]


LOCAL = "localhost:8080/v1"
NOBODY = "http://127.0.0.1:1/v1"
AT = {"api_key": "fake", "api_base": NOBODY}


@pytest.mark.parametrize(
    ("name", "options", "messages", "kind", "said"),
    [
        ("openai/toy", AT, HELLO, "connection", [f"openai/toy at {NOBODY}", "server runs", "OPENAI_API_BASE or api_b"]),
        ("openai/toy", {**AT, "api_base": LOCAL}, HELLO, "connection", ["begins with http:// or https://"]),
        ("openai/toy", {"api_base": f"http://{LOCAL}"}, HELLO, "auth", ["server needs none, any word works"]),
        ("no-such-provider/x", {}, HELLO, "not_found", ["openai/no-such-provider/x for an OpenAI-compatible server"]),
        ("ollama/toy", {}, OFFERED, "other", ["got ollama/toy; name it ollama_chat/"]),  # without a chat for functions
    ],
    ids=["nobody", "address", "key", "name", "tools"],
)
def test_what_is_wrong_with_an_address_a_key_or_a_name_is_said(
    monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, Any], messages: Any, kind: str, said: list[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError) as caught:
        LiteLLMModel(name, max_retries=0, **options).complete(messages)
    assert (caught.value.kind, [one for one in said if one not in str(caught.value)]) == (kind, []), caught.value
    assert "litellm." not in str(caught.value)
    assert options is not AT or "APIConnectionError" in classes_of(caught.value.__cause__)


def test_an_error_names_the_endpoint_without_its_password_and_what_is_wrong_with_it(server: OpenAIServer) -> None:
    server.script(refused(404, "File Not Found"))
    address = server.address.replace("http://", "http://me:secret@").removesuffix("/v1")
    with pytest.raises(ModelError) as caught:
        LiteLLMModel("openai/toy", api_base=f"{address}?key=secret", api_key="fake").complete(HELLO)
    assert "secret" not in str(caught.value)
    assert "got: File Not Found (1 try)" in str(caught.value)
    assert str(caught.value).endswith("which usually ends in /v1")


def test_only_so_many_requests_are_under_way_at_once(server: OpenAIServer) -> None:
    # The barrier opens only when two requests are in; a third one beside them would raise the maximum.
    server.script(Reply("hi", hold=threading.Barrier(2)))
    model = client(server, max_parallel=2)
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: model.complete(HELLO).text, range(6)))
    assert answers == ["hi"] * 6
    assert server.most_at_once == 2


def test_equal_names_share_a_client_and_the_environment_may_give_it_more_time(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, own = load_model("gpt-4o-mini"), client(server)
    assert model is load_model("gpt-4o-mini") is load_model("litellm:gpt-4o-mini")
    assert isinstance(model, LanguageModel)
    assert load_model(own) is own
    monkeypatch.setenv("IAD_TIMEOUT_S", "0.5")
    monkeypatch.setenv("OPENAI_API_BASE", server.address)
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    server.script(Reply(hold=threading.Event()), Reply("late"))
    assert load_model("openai/slow-toy").complete(HELLO).text == "late"
    assert len(server.requests) == 2
    monkeypatch.setenv("IAD_TIMEOUT_S", "long")
    with pytest.raises(ValueError, match="IAD_TIMEOUT_S, got 'long'"):
        load_model("openai/another-toy")


FOUND = '<tool_call>{"name": "find", "arguments": {"q": %s}}</tool_call>'
ENDED = '<tool_call>{"name": "end", "arguments": {}}</tool_call>'


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (calling(("find", '{"q": "é"}')), FOUND % '"é"'),
        (calling(("find", '{"q": 1}'), ("end", ""), text="Two."), f"Two.\n{FOUND % 1}\n{ENDED}"),
        (calling(text="none", reasoning_content="Hm.\nWell."), "<think>\nHm.\nWell.\n</think>\nnone"),
        (calling(("end", "{}"), reasoning="Hm."), f"<think>\nHm.\n</think>\n{ENDED}"),
        (calling(text="", reasoning_content="Hm."), "<think>\nHm.\n</think>\n"),
    ],
    ids=["one", "two", "reasoning", "reasoning-and-call", "reasoning-alone"],
)
def test_calls_and_reasoning_are_in_the_text(
    server: OpenAIServer, body: dict[str, Any], text: str, streams: bool
) -> None:
    server.streams = streams
    server.script(Reply(body))
    answer = client(server).complete(OFFERED)
    assert (answer.text, answer.finish_reason) == (text, body["choices"][0]["finish_reason"])
    assert (answer.starts, answer.usage.tokens) == (None, 18)
    assert all(one["tools"] == [TOOL] and one["messages"] == list(HELLO) for one in server.requests)
    # Nothing that is meant for litellm is sent on.
    assert set(server.requests[0]) == {"model", "messages", "tools", "stream", "stream_options"}


@pytest.mark.parametrize("provider", ["hosted_vllm", "perplexity"])
def test_tools_are_sent_whatever_litellm_knows_of_the_provider(server: OpenAIServer, provider: str) -> None:
    """litellm would drop them for the second one."""
    server.script(Reply(calling(("end", "{}"))))
    model = LiteLLMModel(f"{provider}/toy", api_base=server.address, api_key="fake", max_retries=0)
    assert model.complete(OFFERED).text == ENDED
    assert server.requests[0]["tools"] == [TOOL]


@pytest.mark.parametrize(("provider", "thinking"), [("openai", True), ("hosted_vllm", False)])
def test_thinking_is_an_option_of_the_template_and_left_to_the_model_unless_it_is_given(
    server: OpenAIServer, provider: str, thinking: bool
) -> None:
    own = {"chat_template_kwargs": {"other": 1}, "top_k": 3}
    model = LiteLLMModel(
        f"{provider}/toy", api_base=server.address, api_key="fake", thinking=thinking, extra_body=own, max_retries=0
    )
    model.complete(HELLO)
    (sent,) = server.requests
    assert sent["chat_template_kwargs"] == {"other": 1, "enable_thinking": thinking}
    assert (sent["top_k"], model.settings["thinking"]) == (3, thinking)
    plain = client(server)
    plain.complete(HELLO)
    assert "chat_template_kwargs" not in server.requests[1]
    assert "thinking" not in plain.settings


@pytest.mark.parametrize("name", ["gpt-4o-mini", "anthropic/toy", "ollama_chat/toy"])
def test_a_provider_without_that_option_is_refused_thinking(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_BASE", raising=False)
    monkeypatch.setenv("OLLAMA_API_BASE", "http://localhost:11434")
    with pytest.raises(ValueError, match=f"at your own endpoint .*, got {name}; leave it out"):
        LiteLLMModel(name, thinking=True)


def test_a_complaint_closes_the_way_and_halves_it_once_and_answers_open_it_again() -> None:
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
    for n, least, most in ((4, 4.8, 5.1), (1000, 16, 16)):
        for _ in range(n):
            limit.answered()
        assert least <= limit.n_allowed <= most
    for _ in range(10):
        limit.block(1.0)
        now[0] += 1.0
    assert limit.n_allowed == 1.0  # it never closes for good
    with limit.slot():
        pass


def test_what_one_worker_is_told_holds_for_another(server: OpenAIServer) -> None:
    waits = Waits()
    model = client(server, waits=waits, max_retries=0)
    server.script(Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "40"}), Reply("hi"))
    with pytest.raises(ModelError, match="slow down"):
        model.complete(HELLO)
    assert waits == []
    assert model.complete(HELLO).text == "hi"
    assert [30 < one <= 40 for one in waits] == [True]


def test_a_run_that_is_told_to_stop_waits_no_longer() -> None:
    stopped, limit, start = threading.Event(), RateLimit(1), time.monotonic()
    with use_call(Call(stopped=stopped)), limit.slot():
        threading.Timer(0.05, stopped.set).start()
        with pytest.raises(Interrupted):
            pause(60)
        with pytest.raises(Interrupted), limit.slot():
            raise AssertionError("it was full")
        assert time.monotonic() - start < 30
