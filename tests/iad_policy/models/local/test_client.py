"""The client of a model on this machine, against a server that speaks as llama.cpp's does, and misbehaves."""

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from iad_policy import IADPolicyWrapper
from iad_policy.agents.language import LanguageAgent
from iad_policy.errors import Interrupted, ModelError
from iad_policy.models import Completion, identity_of
from iad_policy.models.cache import CachedModel
from iad_policy.models.local.client import LocalModel
from iad_policy.models.local.files import ModelFile
from iad_policy.models.local.generation import TokenRoom, n_tokens
from iad_policy.models.local.gguf import Gguf
from iad_policy.models.local.process import ServerProcess
from iad_policy.types import Usage
from iad_policy.types.call_context import Call, use_call
from iad_policy.types.names import NO_VERIFIER
from tests.iad_policy.models.openai_server import OpenAIServer, Reply, Slowly, event
from tests.iad_policy.quiz import Quiz

EventStream = Iterator[dict[str, Any]]
N_PROMPT, N_CACHED = 11, 5


class FakeLlama:
    """A process with a server, as `ServerProcess` is one."""

    host = "127.0.0.1"
    key = "secret"

    def __init__(self, port: int) -> None:
        self.port = port
        self.heard_at = monotonic()
        self.has_refused = self.has_ended = False

    @property
    def is_alive(self) -> bool:
        return not (self.has_refused or self.has_ended)

    def end(self) -> None:
        self.has_ended = True

    def last_words(self) -> str:
        return "no more memory"


class Llama:
    """Answers every request with the events of `reply`, which may be replaced; a stream may end before its answer."""

    def __init__(self, server: OpenAIServer) -> None:
        self.server = server
        self.requests = server.requests
        self.started: list[Mapping[str, Any]] = []
        self.processes: list[FakeLlama] = []
        self.reply: Callable[[dict[str, Any]], EventStream] = answers
        server.reply_to = lambda request: Reply(Slowly(map(event, self.reply(request)), is_chunked=True))

    def start(self, options: Mapping[str, Any]) -> ServerProcess:
        """Start a process, of which there is none."""
        self.started.append(options)
        self.processes.append(FakeLlama(urlsplit(self.server.address).port or 0))
        return cast(ServerProcess, self.processes[-1])

    def model(self, template: str = "{{ messages }}", **options: Any) -> LocalModel:
        """A client of this server."""
        file = ModelFile("toy", Path(__file__), "f00d", Gguf({"tokenizer.chat_template": template}))
        return LocalModel(file, serve=self.start, **{"n_threads": 1, "timeout_s": 20.0, **options})


def chunk(index: int, text: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """An event about one sample."""
    return {"choices": [{"index": index, "finish_reason": finish, "delta": {"content": text}, **more}]}


def progress(processed: int = N_PROMPT, index: int = 0) -> dict[str, Any]:
    """An event about the prompt."""
    shown = {"total": N_PROMPT, "cache": N_CACHED if index == 0 else 0, "processed": processed}
    return {**chunk(index), "prompt_progress": shown}


def usage(n_tokens: int, n_cached: int = 0) -> dict[str, Any]:
    """The event after the end of a sample."""
    counts = {"prompt_tokens": N_PROMPT, "completion_tokens": n_tokens}
    return {"choices": [], "usage": {**counts, "prompt_tokens_details": {"cached_tokens": n_cached}}}


def answers(request: dict[str, Any]) -> EventStream:
    """Each sample tells its seed. The last one ends first, as with llama.cpp."""
    yield progress(0)
    for index in reversed(range(request["n"])):
        yield progress(index=index)
        yield chunk(index, "seed ")
        yield chunk(index, str(request["seed"] + index))
        yield chunk(index, finish="stop")
        yield usage(3, N_CACHED if index == 0 else 0)


HELLO = ({"role": "user", "content": "hello"},)


@pytest.fixture
def llama(model_server: OpenAIServer) -> Llama:
    return Llama(model_server)


def drawn(model: LocalModel | CachedModel, index: int, siblings: set[int] | None = None, **options: Any) -> Completion:
    with use_call(Call("task:0", index, siblings=set() if siblings is None else siblings)):
        return model.complete(HELLO, **{"temperature": 0.7, **options})


def together(model: LocalModel, n: int) -> list[Completion]:
    """Samples that are asked for at once."""
    siblings = set(range(n))
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(lambda index: drawn(model, index, siblings), range(n)))


def test_an_answer_comes_back_with_its_usage(llama: Llama) -> None:
    model = llama.model(top_p=0.9)
    with use_call(Call("task:0", 0)) as call:
        answer = model.complete(HELLO, temperature=0.3, max_tokens=50)
    (sent,) = llama.requests
    assert (answer.text, answer.finish_reason, answer.logprobs) == (f"seed {sent['seed']}", "stop", None)
    assert answer.usage == call.usage == Usage(prompt_tokens=N_PROMPT, completion_tokens=3)
    assert answer.cached_tokens == N_CACHED
    assert sent["messages"] == [{"role": "user", "content": "hello"}]
    assert (sent["temperature"], sent["max_tokens"], sent["top_p"], sent["n"]) == (0.3, 50, 0.9, 1)
    assert llama.server.keys == ["Bearer secret"]
    own = "logprobs=True,min_p=0.0,n_context=16384,sha256=f00d,top_k=0,top_p=1.0"  # a model is known by its content
    assert identity_of(llama.model(logprobs=True)) == f"local:toy({own})"


def test_samples_that_are_asked_together_are_one_request_and_the_same_one_by_one_and_in_any_order(llama: Llama) -> None:
    model = llama.model()
    at_once = together(model, 4)
    (sent,) = llama.requests
    assert [one.text for one in at_once] == [f"seed {sent['seed'] + index}" for index in range(4)]
    assert {one.cached_tokens for one in at_once} == {N_CACHED}
    assert [drawn(model, index).text for index in range(4)] == [one.text for one in at_once]  # each drawn anew
    siblings = set(range(4))
    assert [drawn(model, index, siblings).text for index in (2, 0, 3, 1)] == [at_once[i].text for i in (2, 0, 3, 1)]
    assert [one["n"] for one in llama.requests] == [4, 1, 1, 1, 1, 4]
    model, siblings = llama.model(n_context=1000), set(range(5))  # only those that fit in beside the prompt
    for index in range(5):
        drawn(model, index, siblings, max_tokens=400)
    assert [one["n"] for one in llama.requests[6:]] == [2, 2, 1]


def test_samples_in_the_cache_are_not_drawn_again(llama: Llama, tmp_path: Path) -> None:
    with CachedModel(llama.model(), tmp_path / "cache.sqlite") as model:
        first = drawn(model, 0)
        siblings = set(range(4))
        found = [drawn(model, index, siblings) for index in (2, 0, 1, 3)]
    assert [one["n"] for one in llama.requests] == [1, 3]
    assert llama.requests[1]["seed"] == llama.requests[0]["seed"] + 1
    assert found[1].text == first.text
    assert len({one.text for one in found}) == 4


def test_another_task_seed_question_or_draw_has_other_seeds(llama: Llama, tmp_path: Path) -> None:
    model = llama.model()
    for stream in ("task:0", "task:1"):
        with use_call(Call(stream)):
            for temperature in (0.7, 0.7, 0.8):
                model.complete(HELLO, temperature=temperature)
    with CachedModel(model, tmp_path / "cache.sqlite") as cached:
        for n in (1, 2):  # the second time, the first draw is in the cache
            with use_call(Call("task:0")):
                kept = [cached.complete(HELLO, temperature=0.7).text for _ in range(n)]
    seeds = [one["seed"] for one in llama.requests]
    assert kept == [f"seed {seed}" for seed in seeds[:2]]  # a draw counts once with and without a cache
    assert len(set(seeds)) == 6
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_at_temperature_0_all_samples_are_one(llama: Llama) -> None:
    go_on, model, siblings = Event(), llama.model(), set(range(3))

    def slowly(request: dict[str, Any]) -> EventStream:
        go_on.wait(10)
        yield from answers(request)

    llama.reply = slowly
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(drawn, model, index, siblings, temperature=0.0) for index in range(3)]
        while model._n_waiting < 3:
            time.sleep(0.01)
        go_on.set()
        assert {one.result().text for one in asked} == {"seed 0"}
    assert [(one["n"], one["seed"]) for one in llama.requests] == [(1, 0)]


def test_log_probabilities_and_the_places_of_tokens_come_with_the_text(llama: Llama) -> None:
    def spelled(request: dict[str, Any]) -> EventStream:
        for text, logprob, spelling in (("", -0.5, b"\xc3"), ("é", -0.25, b"\xa9"), (" a", -1.0, b" a")):
            token = {"token": text, "logprob": logprob, "bytes": list(spelling), "top_logprobs": []}
            yield chunk(0, text, logprobs={"content": [token]})
        yield chunk(0, finish="length")
        yield usage(3)

    llama.reply = spelled
    answer = llama.model(logprobs=True).complete(HELLO, max_tokens=3)
    assert llama.requests[0]["n_probs"] == 1
    assert (answer.text, answer.finish_reason) == ("é a", "length")
    assert (answer.logprobs, answer.starts, answer.logprob_kind) == ((-0.5, -0.25, -1.0), (0, 0, 1), "model")


TEMPLATE = "{{ tools }} {{ messages }}"
TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "dict", "properties": {}}}}
OFFERED = ({**HELLO[0], "tools": [TOOL]},)
REFUSED = {"error": {"code": 400, "message": "no such sampler"}}
TOO_LONG = {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 931, "n_ctx": 512, "message": "no"}


@pytest.mark.parametrize(
    ("reply", "options", "messages", "kind", "said", "n_asked"),
    [
        (Reply(REFUSED, 400), {}, HELLO, "other", ["no such sampler"], 1),
        (Reply({"error": TOO_LONG}, 400), {}, HELLO, "context", ["512 tokens", "931 tokens", "IAD_LOCAL_CONTEXT"], 1),
        (Reply({"error": {"code": 500, "message": "oh"}}, 500), {}, HELLO, "server", ["got: oh", "(3 tries)"], 3),
        (Reply(event({"choices": [{"index": 0}]})), {}, HELLO, "malformed", ["expected an answer of llama.cpp"], 1),
        (Reply(event(progress(0))), {}, HELLO, "server", ["the end of its answer", "(3 tries)"], 3),
        (Reply(hold=Event()), {"timeout_s": 0.3}, HELLO, "timeout", ["local:toy within 0.3 s", "IAD_TIMEOUT_S"], 1),
        # Every later question would fail too, so the run ends.
        (Reply(), {"free": lambda: 1_000_000}, HELLO, "not_found", ["0.3 GB", "16384", "0.0 GB", "=4096"], 0),
        (Reply(), {}, OFFERED, "other", ["place for tools, got local:toy"], 0),
    ],
    ids=["refusal", "prompt", "server", "form", "end", "silence", "memory", "tools"],
)
def test_every_failure_has_its_kind_and_says_what_to_do(
    llama: Llama, reply: Reply, options: Any, messages: Any, kind: str, said: list[str], n_asked: int
) -> None:
    llama.server.reply_to = lambda request: reply
    with pytest.raises(ModelError) as caught:
        llama.model(**options).complete(messages)
    assert (caught.value.kind, len(llama.requests), bool(llama.started)) == (kind, n_asked, n_asked > 0)
    assert all(word in str(caught.value) for word in said), caught.value


def test_a_full_cache_is_asked_again_one_by_one(llama: Llama) -> None:
    def full(request: dict[str, Any]) -> EventStream:
        if request["n"] > 1:
            yield progress(0)
            yield {"error": {"code": 500, "message": "Context size has been exceeded."}}
        else:
            yield from answers(request)

    llama.reply = full
    assert len({one.text for one in together(llama.model(), 3)}) == 3


def test_a_server_that_refuses_while_its_lease_lives_is_gone(llama: Llama) -> None:
    """The system closes what a killed process holds one by one: where it listens comes before its lease."""
    model = llama.model()
    model.complete(HELLO, temperature=0)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        llama.processes[0].port = closed.getsockname()[1]
        assert model.complete(HELLO, temperature=0).text
    assert len(llama.processes) == 2


@pytest.mark.parametrize("n_killed", [1, 3])
def test_a_server_that_was_killed_is_started_again_and_given_up_after_three_times(llama: Llama, n_killed: int) -> None:
    def killed(request: dict[str, Any]) -> EventStream:
        yield progress(0)
        if len(llama.requests) <= n_killed:
            llama.processes[-1].end()
            return
        yield from answers(request)

    llama.reply = killed
    if n_killed < 3:
        assert llama.model().complete(HELLO).text.startswith("seed ")
    else:
        with pytest.raises(ModelError, match=r"no more memory.*\(3 tries\)"):
            llama.model().complete(HELLO)
    assert len(llama.processes) == min(3, n_killed + 1)


def test_reading_a_long_prompt_is_no_silence(llama: Llama) -> None:
    def slowly(request: dict[str, Any]) -> EventStream:
        for place in range(5):
            time.sleep(0.15)
            yield progress(place)
        yield from answers(request)

    llama.reply = slowly
    assert llama.model(timeout_s=0.6).complete(HELLO).text.startswith("seed ")


def test_a_stopped_run_does_not_wait_for_an_answer(llama: Llama) -> None:
    asked, stopped = Event(), Event()

    def endless(request: dict[str, Any]) -> Reply:
        asked.set()
        return Reply(Slowly(repeat(event(progress(0))), pause_s=0.01, is_chunked=True))

    def ask() -> None:
        with use_call(Call("task:0", stopped=stopped)):
            model.complete(HELLO)

    llama.server.reply_to = endless
    model = llama.model()
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        asked.wait(10)
        stopped.set()
        with pytest.raises(Interrupted):
            asking.result(timeout=10)
    assert llama.server.is_idle(), "the server goes on with an answer that nobody waits for"


def test_a_server_is_started_with_the_first_question_once_and_ends_with_the_run(llama: Llama, tmp_path: Path) -> None:
    model = llama.model(n_context=4096)
    assert llama.started == []
    with CachedModel(model, tmp_path / "cache.sqlite") as cached:
        for index in range(3):
            drawn(cached, index)
        (options,) = llama.started
        assert (options["n_context"], options["n_threads"], options["sha256"]) == (4096, 1, "f00d")
        cached.release()
        assert not llama.processes[0].is_alive
        drawn(cached, 4)
    assert len(llama.processes) == 2


def test_tools_go_beside_the_messages_and_take_room(llama: Llama) -> None:
    llama.model(TEMPLATE, thinking=False).complete(OFFERED)
    (sent,) = llama.requests
    assert (sent["tools"], sent["messages"]) == ([TOOL], list(HELLO))
    assert sent["chat_template_kwargs"] == {"enable_thinking": False}
    plain = llama.model(TEMPLATE)
    plain.complete(HELLO)
    assert {"tools", "chat_template_kwargs"}.isdisjoint(llama.requests[1])
    assert "thinking" not in plain.settings
    prompt = {"messages": [{"role": "user", "content": ""}], "max_tokens": 1}
    assert n_tokens({**prompt, "tools": [TOOL] * 30})[0] > n_tokens(prompt)[0] + 600


def test_calls_and_reasoning_that_the_server_returns_apart_are_in_the_text(llama: Llama) -> None:
    def apart(request: dict[str, Any]) -> EventStream:
        for index in range(request["n"]):  # of several samples at once, each has its own
            for delta in (
                {"reasoning_content": "Hm."},
                {"content": None, "tool_calls": [{"index": 0, "id": "a", "function": {"name": "find"}}]},
                {"tool_calls": [{"index": 0, "function": {"arguments": '{"q":'}}]},
                {"tool_calls": [{"index": 0, "function": {"arguments": f" {index}}}"}}]},
            ):
                yield {"choices": [{"index": index, "finish_reason": None, "delta": delta}]}
        for index in range(request["n"]):
            yield chunk(index, finish="tool_calls")
            yield usage(3)

    llama.reply = apart
    found = together(llama.model(TEMPLATE, thinking=True), 2)
    assert [(one.text, one.finish_reason) for one in found] == [
        (f'<think>\nHm.\n</think>\n<tool_call>{{"name": "find", "arguments": {{"q": {n}}}}}</tool_call>', "tool_calls")
        for n in (0, 1)
    ]
    assert len(llama.requests) == 1


def decided(llama: Llama, strategy: str, threads: int, reask: int) -> list[str]:
    """The answers of one decision, none of which is an answer to the quiz, in order."""
    env = Quiz()
    agent = LanguageAgent(llama.model(), temperature=0.7, reask=reask)
    with IADPolicyWrapper(agent, env, strategy=strategy, verifier=NO_VERIFIER, threads=threads, n=4) as policy:
        policy.act(*env.reset(options={"task_id": "3"}))
        return [one.thought for one in policy.decisions[-1].candidates]


@pytest.mark.parametrize("threads", [1, 8])
def test_a_strategy_s_samples_of_a_prompt_are_one_request_and_what_is_asked_again_is_asked_alone(
    llama: Llama, threads: int
) -> None:
    proposed = decided(llama, "bon-sc", threads, reask=0)
    (sent,) = llama.requests
    assert proposed == [f"seed {sent['seed'] + place}" for place in range(4)]
    assert decided(llama, "single", 1, reask=0)[0] == proposed[0]
    again = decided(llama, "bon-sc", threads, reask=1)
    assert [one["n"] for one in llama.requests] == [4, 1, 4, 1, 1, 1, 1]
    assert set(again).isdisjoint(proposed)


def test_requests_wait_for_room_unless_they_are_alone_or_cancelled() -> None:
    room, entered, leave = TokenRoom(100), Event(), Event()
    assert TokenRoom(1000).n_fitting(200, 200) == 4
    assert TokenRoom(1000).n_fitting(200, 900) == TokenRoom(1000).n_fitting(2000, 10) == 1
    order: list[str] = []

    def first() -> None:
        with room.taken(500, lambda: False):  # too large, and alone
            entered.set()
            leave.wait(10)
            order.append("first")

    def second() -> None:
        with room.taken(30, lambda: False):
            order.append("second")

    with ThreadPoolExecutor(2) as pool:
        pool.submit(first)
        entered.wait(10)
        waiting = pool.submit(second)
        with room.taken(80, lambda: True):  # who is cancelled does not wait
            assert order == []
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.1)
        leave.set()
    assert order == ["first", "second"]
