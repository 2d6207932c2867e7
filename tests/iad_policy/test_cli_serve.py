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
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | variables
    )
    try:
        said = []
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if "Ctrl-C" in line:
                break
        yield process, "".join(said)
    finally:
        process.kill()
        process.communicate()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def address(said: str) -> str:
    found = re.search(r"open at (\S+)", said)
    assert found, said
    return found[1]


@pytest.mark.timeout(300)
def test_a_model_on_this_machine_is_open_to_programs_that_speak_to_openai() -> None:
    smollm2()  # skips where it is not
    # On a busy machine each thread of a model waits for the others, at every layer.
    with serving("--model", "local:smollm2", IAD_LOCAL_THREADS="1") as (process, said):
        base = re.findall(r"http://127\.0\.0\.1:\d+/v1", said)[0]
        question = {"model": "any", "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4}
        asked = urllib.request.Request(
            f"{base}/chat/completions", json.dumps(question).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=200) as answer:
            said_by_model = json.load(answer)
        assert said_by_model["choices"][0]["message"]["content"]
        assert said_by_model["usage"]["completion_tokens"] <= 4
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_it_serves_until_a_signal_and_ends_cleanly(number: int) -> None:
    with serving() as (process, said):
        with urllib.request.urlopen(f"{address(said)}/health", timeout=20) as answer:
            assert json.load(answer)["products"] == 1000
        assert address(said).startswith("http://127.0.0.1:")
        assert "TOKEN" not in said
        process.send_signal(number)
        rest, _ = process.communicate(timeout=20)
        assert (process.returncode, rest) == (0, "")
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", int(address(said).rpartition(":")[2]))) != 0


def test_the_booking_site_is_served_too() -> None:
    with serving("--site", "booking", "--split", "dev") as (process, said):
        assert said.startswith("The booking site is open at http://127.0.0.1:")
        with urllib.request.urlopen(f"{address(said)}/health", timeout=20) as answer:
            assert json.load(answer)["restaurants"] == 240
        with urllib.request.urlopen(f"{address(said)}/fixed_99/", timeout=20) as answer:
            assert "Tablefind" in answer.read().decode()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
        assert (process.returncode, rest) == (0, "")


def test_a_port_in_use_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with serving("--port", port, "--env-arg", "page_size=3") as (_, said):
            assert f"Port {port} is in use, so" in said
            assert address(said) != f"http://127.0.0.1:{port}"
