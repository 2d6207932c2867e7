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

from iad_policy.errors import extra_command
from tests.command_line import iad
from tests.iad_policy.models.local.smollm2 import smollm2

SHOP = "IAD/WebShop-v0"


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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "192.0.2.1"], "assign"),
        (["--split", "moon"], "known: test"),
        (["--env-arg", "colour=red"], "known: "),
        (["--data-dir", "/no/such/folder"], "data_dir"),
        (["--port", "70000"], "port"),
        (["--site", "shop"], "known: webshop, booking"),
        (["--api"], "iad serve --openenv IAD/WebShop-v0"),
        (["--env-arg", "server=http://127.0.0.1:1"], "iad serve --openenv IAD/WebShop-v0"),
        (
            ["--site", "booking", "--env-arg", "max_steps=3"],
            "expected --env-arg with --site webshop or --mcp or --openenv only, got it with --site booking",
        ),
        (["--preview"], "expected --preview with --mcp only, got it with --site webshop"),
        (["--snapshots", "2"], "expected --snapshots with --mcp or --openenv only, got it with --site webshop"),
        (["--mcp", SHOP, "--oracle"], "expected --oracle with --openenv only, got it with --mcp"),
        (["--openenv", SHOP, "--oracle"], "expected --oracle with --snapshots, got it alone"),
        (["--outcomes", "file"], "expected --outcomes with --mcp only, got it with --site webshop"),
        (["--openenv", SHOP, "--preview"], "expected --preview with --mcp only, got it with --openenv"),
        (["--mcp", SHOP, "--openenv", SHOP], "one of --site, --mcp, --openenv and --model, got --mcp and --openenv"),
        (["--mcp", SHOP, "--site", "webshop"], "one of --site, --mcp, --openenv and --model, got --site and --mcp"),
        (["--mcp", SHOP, "--host", "127.0.0.1"], "expected --host with --port"),
        (["--site", "booking", "--split", "moon"], "known: train, dev, test"),
        (["--site", "booking", "--data-dir", "/no/such/folder"], "data_dir"),
        (["--site", "booking", "--host", "192.0.2.1"], "assign"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(options: list[str], said: str) -> None:
    done = iad("serve", *([] if "--mcp" in options else ["--port", "0"]), *options)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize(("option", "package"), [("--mcp", "mcp"), ("--openenv", "openenv")])
def test_a_framework_that_is_not_installed_is_named_with_its_extra(
    option: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    done = iad("serve", option, SHOP, "--port", "0")
    assert (done.exit_code, done.stdout) == (2, "")
    said = f"iad: expected the package {package!r}, which is not installed; {extra_command(package)}\n"
    assert done.stderr == said
