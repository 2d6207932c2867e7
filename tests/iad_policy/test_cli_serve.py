"""`iad serve`: it says where the shop is, answers, and ends when it is told to."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.iad_policy.models.local.smollm2 import smollm2


@contextmanager
def serving(*options: object, **variables: str) -> Iterator[tuple[Any, str]]:
    """A running `iad serve` and what it says."""
    command = [sys.executable, "-m", "iad_policy.cli", "serve", "--port", str(free_port()), *map(str, options)]
    piped: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(command, env=os.environ | variables, **piped)
    try:
        said = ""
        while process.poll() is None and "Ctrl-C" not in said:
            said += process.stdout.readline()
        yield process, said
    finally:
        process.kill()
        process.communicate()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def address(said: str) -> str:
    (found,) = re.findall(r"open at (\S+)", said)
    return str(found)


def got(asked: str | urllib.request.Request) -> Any:
    with urllib.request.urlopen(asked, timeout=200) as answer:
        return json.load(answer)


def ends_cleanly(process: Any, number: int) -> None:
    process.send_signal(number)
    rest, _ = process.communicate(timeout=20)
    assert (process.returncode, rest) == (0, "")


@pytest.mark.timeout(300)
def test_a_model_on_this_machine_is_open_to_programs_that_speak_to_openai() -> None:
    smollm2()  # skips where it is not
    # On a busy machine each thread of a model waits for the others, at every layer.
    with serving("--model", "local:smollm2", IAD_LOCAL_THREADS="1") as (process, said):
        base = re.findall(r"http://127\.0\.0\.1:\d+/v1", said)[0]
        question = {"model": "any", "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4}
        headers = {"Content-Type": "application/json"}
        said_by_model = got(urllib.request.Request(f"{base}/chat/completions", json.dumps(question).encode(), headers))
        assert said_by_model["choices"][0]["message"]["content"]
        assert said_by_model["usage"]["completion_tokens"] <= 4
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_it_serves_until_a_signal_and_ends_cleanly(number: int) -> None:
    with serving() as (process, said):
        assert got(f"{address(said)}/health")["products"] == 1000
        assert (address(said).startswith("http://127.0.0.1:"), "TOKEN" in said) == (True, False)
        ends_cleanly(process, number)
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", int(address(said).rpartition(":")[2]))) != 0


def test_the_booking_site_is_served_too() -> None:
    with serving("--site", "booking", "--split", "dev") as (process, said):
        assert said.startswith("The booking site is open at http://127.0.0.1:")
        assert got(f"{address(said)}/health")["restaurants"] == 240
        with urllib.request.urlopen(f"{address(said)}/fixed_99/", timeout=20) as answer:
            assert "Tablefind" in answer.read().decode()
        ends_cleanly(process, signal.SIGINT)
