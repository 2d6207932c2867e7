"""Measures a model on this machine: the client beside llama.cpp's own server, and samples drawn together."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from urllib.request import Request, urlopen

from support.figures import figure

from iad_policy.models import Completion, Messages
from iad_policy.models.local import LocalModel, find_model
from iad_policy.models.local.process import ServerProcess
from iad_policy.types.call_context import Call, use_call

N_PROMPT_WORDS, N_ANSWER, N_SAMPLES = 700, 64, 4
TEMPERATURE = 0.7


def report_local_model(path: str, *, n_answers: int, n_drawings: int) -> None:
    """Print the figures of a model.

    Args:
        path: A known name, or the path of a GGUF file.
        n_answers: Number of answers by which the client is compared with the server.
        n_drawings: Number of times that four samples are compared with one.
    """
    measured = MeasuredModel(path)
    seconds, _ = timed(lambda: measured.client("Hello"))
    figure("local_ready_s", seconds, "s")
    overhead(measured, n_answers)
    four_samples(measured, n_drawings)
    measured.close()


class EndlessModel(LocalModel):
    """A model whose answers always have their maximum length, so that their times can be compared."""

    def _body(self, messages: Messages, temperature: float | None, max_tokens: int | None) -> dict[str, Any]:
        return {**super()._body(messages, temperature, max_tokens), "ignore_eos": True}


class MeasuredModel:
    """A model, and its server called directly.

    Args:
        path: A known name, or the path of a GGUF file.
    """

    def __init__(self, path: str) -> None:
        self.servers: list[ServerProcess] = []
        self.model = EndlessModel(find_model(path), serve=self._serve)
        self._numbers = count()
        self._folder = TemporaryDirectory()

    def close(self) -> None:
        """End the server."""
        self.model.release()
        self._folder.cleanup()

    def _serve(self, options: Mapping[str, Any]) -> ServerProcess:
        # In a folder of its own, so that no other run shares the server.
        self.servers.append(ServerProcess(options, Path(self._folder.name)))
        return self.servers[-1]

    def prompt(self) -> str:
        """Return a prompt of about 740 tokens, whose beginning no earlier one had."""
        return f"{next(self._numbers)}. Write a long story of many chapters. " + "word " * N_PROMPT_WORDS

    def client(self, prompt: str, n: int = 1) -> list[Completion]:
        """Draw samples of a prompt as a strategy does: each in a thread of its own."""
        siblings = set(range(n))
        stream = f"benchmark:{next(self._numbers)}"

        def sample(index: int) -> Completion:
            with use_call(Call(stream, index, siblings=siblings)):
                return self.model.complete(_messages(prompt), temperature=TEMPERATURE, max_tokens=N_ANSWER)

        with ThreadPoolExecutor(n) as pool:
            return list(pool.map(sample, range(n)))

    def direct(self, prompt: str) -> Any:
        """Ask llama.cpp's server with its simplest request."""
        server = self.servers[-1]
        plain = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "ignore_eos": True, "seed": next(self._numbers)}
        body = {"messages": _messages(prompt), "temperature": TEMPERATURE, "max_tokens": N_ANSWER, **plain}
        request = Request(
            f"http://{server.host}:{server.port}/v1/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {server.key}"},
        )
        with urlopen(request) as answer:
            return json.load(answer)


def overhead(measured: MeasuredModel, n: int) -> None:
    """Compare the client with the server called directly, on a prompt that the server has read.

    Reading it anew would take most of the time, and hide what the client adds.
    """
    prompt = measured.prompt()
    measured.direct(prompt)
    ours, theirs = [], []
    for _ in range(n):
        ours.append(timed(lambda: measured.client(prompt))[0])
        theirs.append(timed(lambda: measured.direct(prompt))[0])
    figure("local_overhead_ratio", median(ours), "s", baseline=median(theirs), ratio_target=1.05, n=n)
    figure("local_generated_per_s", N_ANSWER / median(theirs), "tokens/s", better="higher", n=n)


def four_samples(measured: MeasuredModel, n: int) -> None:
    """Compare four samples of a prompt with one, each time of a prompt that the server has not read."""
    four, one = [], []
    for _ in range(n):
        four.append(timed(lambda: measured.client(measured.prompt(), N_SAMPLES))[0])
        one.append(timed(lambda: measured.client(measured.prompt()))[0])
    figure("four_samples_ratio", median(four), "s", baseline=median(one), ratio_target=1.6, n=n)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that some work takes, and its result."""
    start = perf_counter()
    result = work()
    return perf_counter() - start, result


def _messages(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}]
