"""Measures a model on this machine: the client beside llama.cpp's own server, and samples drawn together."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import Request, urlopen

from support.figures import figure, timed

from iad_policy.models import Messages
from iad_policy.models.local import LocalModel, find_model
from iad_policy.models.local.process import ServerProcess
from iad_policy.types.call_context import Call, use_call

N_ANSWER = 64
ASKED: Mapping[str, Any] = {"temperature": 0.7, "max_tokens": N_ANSWER}


class EndlessModel(LocalModel):
    """A model whose answers always have their maximum length, so that their times can be compared."""

    def _body(self, messages: Messages, temperature: float | None, max_tokens: int | None) -> dict[str, Any]:
        return {**super()._body(messages, temperature, max_tokens), "ignore_eos": True}


def report_local_model(path: str, *, n_answers: int, n_drawings: int) -> None:
    """Print the figures of a model.

    Args:
        path: A known name, or the path of a GGUF file.
        n_answers: Number of answers by which the client is compared with the server.
        n_drawings: Number of times that four samples are compared with one.
    """
    numbers, servers = count(), list[ServerProcess]()
    with TemporaryDirectory() as folder:  # so that no other run shares the server

        def serve(options: Mapping[str, Any]) -> ServerProcess:
            servers.append(ServerProcess(options, Path(folder)))
            return servers[-1]

        model = EndlessModel(find_model(path), serve=serve)

        def prompt() -> list[dict[str, str]]:
            """Return a prompt of about 740 tokens, whose beginning no earlier one had."""
            text = f"{next(numbers)}. Write a long story of many chapters. " + "word " * 700
            return [{"role": "user", "content": text}]

        def client(messages: Messages, n: int = 1) -> None:
            """Draw samples of a prompt as a strategy does: each in a thread of its own."""
            siblings, stream = set(range(n)), f"benchmark:{next(numbers)}"

            def sample(index: int) -> None:
                with use_call(Call(stream, index, siblings=siblings)):
                    model.complete(messages, **ASKED)

            with ThreadPoolExecutor(n) as pool:
                list(pool.map(sample, range(n)))

        def direct(messages: Messages) -> None:
            """Ask llama.cpp's server with its simplest request."""
            plain = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "ignore_eos": True, "seed": next(numbers)}
            request = Request(
                f"http://{servers[-1].host}:{servers[-1].port}/v1/chat/completions",
                json.dumps({"messages": messages, **ASKED, **plain}).encode(),
                {"Content-Type": "application/json", "Authorization": f"Bearer {servers[-1].key}"},
            )
            with urlopen(request) as answer:
                answer.read()

        figure("local_ready_s", timed(lambda: client([{"role": "user", "content": "Hello"}])), "s")
        # On a prompt that the server has read: reading it anew would hide what the client adds.
        known = prompt()
        direct(known)
        pairs = [(timed(lambda: client(known)), timed(lambda: direct(known))) for _ in range(n_answers)]
        ours, theirs = (median(some) for some in zip(*pairs, strict=True))
        figure("local_overhead_ratio", ours, "s", baseline=theirs, ratio_target=1.05, n=n_answers)
        figure("local_generated_per_s", N_ANSWER / theirs, "tokens/s", better="higher", n=n_answers)
        pairs = [(timed(lambda: client(prompt(), 4)), timed(lambda: client(prompt()))) for _ in range(n_drawings)]
        four, one = (median(some) for some in zip(*pairs, strict=True))
        figure("four_samples_ratio", four, "s", baseline=one, ratio_target=1.6, n=n_drawings)
        model.release()
