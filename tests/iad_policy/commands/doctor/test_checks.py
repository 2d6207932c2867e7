"""The doctor's checks with machines, packages and environments of every kind."""

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from io import StringIO
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import pytest
from packaging.requirements import Requirement
from rich.console import Console

from iad_policy.commands.doctor.environments import check_environments
from iad_policy.commands.doctor.findings import Deadline, Finding, FindingGroup
from iad_policy.commands.doctor.installed import check_extras, check_installation, extras_of
from iad_policy.commands.doctor.machine import Machine, pip_command, project_words
from iad_policy.commands.doctor.models import check_local, check_models
from iad_policy.commands.doctor.page import as_json, print_groups
from tests.iad_policy.report.snapshots import require_snapshot

CHROMIUM = {"apt-get": "chromium fonts-liberation", "ubuntu": "chromium-browser", "brew": "--cask chromium"}
DRIVER = {"apt-get": "chromium-driver", "brew": "--cask chromedriver"}
FOLDER = Path("/home/me/iad")


def machine(*programs: str, **given: Any) -> Machine:
    known: dict[str, Any] = {"platform": "linux", "distribution": "debian", "prefix": "sudo ", "knows_packages": True}
    known["which"] = lambda name: f"/usr/bin/{name}" if name in programs else None
    return Machine(**{**known, "pip": "pip install", "project": ("-e", ".{}"), **given})


BROWSER = [CHROMIUM, DRIVER]
NEW = machine("apt-get", prefix="", knows_packages=False)
SEVERAL = [CHROMIUM, {"extra": "browser"}, {"root": "sysctl -w a=1"}, {"extra": "lucene", "package": "torch"}]


@pytest.mark.parametrize(
    ("here", "needs", "command"),
    [
        (machine("apt-get"), BROWSER, "sudo apt-get install chromium fonts-liberation chromium-driver"),
        (machine("apt-get", prefix=""), BROWSER, "apt-get install chromium fonts-liberation chromium-driver"),
        (machine("apt-get", distribution="ubuntu"), BROWSER, "sudo apt-get install chromium-browser chromium-driver"),
        (NEW, [DRIVER], "apt-get update && apt-get install chromium-driver"),
        (machine("brew", platform="darwin"), BROWSER, "brew install --cask chromium chromedriver"),
        (machine("brew"), BROWSER, ""),
        (machine(), BROWSER, ""),
        (machine("apt-get"), [{"command": "docker pull debian:12"}], "docker pull debian:12"),
        (machine("apt-get"), [], ""),
        (machine("apt-get"), SEVERAL, "sudo apt-get install chromium fonts-liberation && sudo sysctl -w a=1 && "
         "pip install torch -e '.[browser,lucene]'"),
    ],
)  # fmt: skip
def test_one_command_gives_everything_that_is_missing(here: Machine, needs: Sequence[Any], command: str) -> None:
    assert here.command(needs) == command


EDITABLE = {"url": "file:///home/me/iad", "dir_info": {"editable": True}}
FROM_GIT = {"url": "https://x.org/iad.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}


@pytest.mark.parametrize(
    ("origin", "folder", "words"),
    [
        (EDITABLE, FOLDER, "-e '.[ray]'"),
        (EDITABLE, FOLDER.parent, "-e './iad[ray]'"),
        (EDITABLE, Path("/tmp"), "-e '/home/me/iad[ray]'"),
        ({"url": "file:///home/me/iad%20one", "dir_info": {}}, Path("/tmp"), "'/home/me/iad one[ray]'"),
        ({"url": "file:///x/iad-1.whl", "archive_info": {}}, FOLDER, "'iad[ray] @ file:///x/iad-1.whl'"),
        (FROM_GIT, FOLDER, "'iad[ray] @ git+https://x.org/iad.git@abc'"),
        ({}, FOLDER, "'iad[ray]'"),
    ],
)
def test_the_project_is_named_as_it_was_installed(origin: dict[str, Any], folder: Path, words: str) -> None:
    here = machine(project=project_words(origin, Path("/usr/lib/python3/site-packages"), folder))
    assert here.with_extras(["ray"]) == words


def test_the_pip_of_this_environment_is_named_and_a_checkout_is_installed_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    assert project_words({}, tmp_path, tmp_path) == ("-e", ".{}")
    python = tmp_path / "bin" / "python"
    ours = {"pip": str(tmp_path / "bin" / "pip"), "uv": "/usr/bin/uv"}
    assert pip_command(python, ours.get, has_pip=True) == "pip install"
    assert pip_command(python, {"pip": "/usr/bin/pip"}.get, has_pip=True) == f"{python} -m pip install"
    assert pip_command(python, ours.get, has_pip=False) == f"uv pip install --python {python}"


def versions(**installed: str) -> Callable[[str], str]:
    def version(name: str) -> str:
        if name.replace("-", "_") not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name.replace("-", "_")]

    return version


REQUIREMENTS = ["numpy>=1.26", "litellm!=1.82.7", "pywin32>=1; sys_platform == 'win32'", "ray>=2; extra == 'x'"]


@pytest.mark.parametrize(
    ("installed", "status", "said"),
    [
        ({"iad": "0.1", "numpy": "2.0", "litellm": "1.90"}, "ok", "0.1 with its 2 required packages"),
        ({"iad": "0.1", "numpy": "1.9", "litellm": "1.90"}, "broken", "numpy is 1.9, expected >=1.26"),
        ({"iad": "0.1", "numpy": "2.0", "litellm": "1.82.7"}, "broken", "litellm is 1.82.7, expected !=1.82.7"),
        ({"iad": "0.1", "litellm": "1.90"}, "broken", "numpy is not installed"),
        ({}, "missing", "not installed"),
    ],
)
def test_a_base_install_without_its_packages_is_a_failure(installed: dict[str, str], status: str, said: str) -> None:
    python, ours = check_installation(machine(), REQUIREMENTS, versions(**installed)).findings
    assert (python.status, ours.status, ours.is_failure) == ("ok", status, status != "ok")
    assert said in ours.said
    assert ours.fix == ("" if status == "ok" else "pip install -e .")


def test_extras_are_those_of_the_metadata() -> None:
    names = metadata.metadata("iad").get_all("Provides-Extra") or []
    nothing, *_ = check_extras(machine(), version=versions()).findings
    # Of trl the next major version is not taken yet.
    (everything,) = check_extras(machine(), version=lambda name: "1.99" if name == "trl" else "9999").findings
    assert nothing.said.startswith(f"{', '.join(sorted(names))}; ")
    assert nothing.fix == f"pip install -e '.[{min(names)}]'"
    assert (everything.name, everything.said) == ("installed", ", ".join(sorted(names)))
    # One that names others is complete with them.
    lines = ["iad[docker]; extra == 'dev'", "docker>=7; extra == 'docker'", "ruff; extra == 'dev'", "numpy"]
    found = extras_of([Requirement(line) for line in lines])
    assert [one.name for one in found["dev"]] == ["docker", "ruff"]
    assert [one.name for one in found["docker"]] == ["docker"]


class OwnPart(NamedTuple):
    name: str
    check: Callable[[float], str]
    use: str = ""


class OwnMissing(Exception):
    install: ClassVar = {"apt-get": "lamp-oil"}


def lacking(limit_s: float) -> str:
    raise OwnMissing("the lamp is empty")


def failing(limit_s: float) -> str:
    raise RuntimeError("it\nsmokes")


class Lamp:
    """As much of an environment as the doctor looks at."""

    NEEDS: Sequence[OwnPart] = ()
    data = SimpleNamespace(name="official", digest="abcdef", folder="/data/lamps")
    task_ids = ("red", "green")

    unwrapped = property(lambda self: self)

    def reset(self, *, seed: int) -> None: ...

    def close(self) -> None: ...


class Unlit(Lamp):
    def reset(self, *, seed: int) -> None:
        raise OSError("no match")


def kind(*needs: OwnPart, options: Sequence[OwnPart] = (), base: type[Lamp] = Lamp) -> type[Lamp]:
    return type("Own", (base,), {"NEEDS": needs, "OPTIONS": options})


def examined(limit_s: float = 20.0, **environments: Any) -> list[FindingGroup]:
    def make(name: str) -> Any:
        return environments[name]() if isinstance(environments[name], type) else Unlit()

    return list(check_environments(environments, make, machine=machine("apt-get"), deadline=Deadline(limit_s)))


def test_what_is_found_of_environments_and_their_parts_was_looked_at() -> None:
    """Each brings its own; a part that is broken is no failure, but an environment that is broken is."""
    oil, wick, smoke = OwnPart("oil", lacking), OwnPart("wick", lambda limit_s: "cotton"), OwnPart("smoke", failing)
    given: dict[str, Any] = {"full": kind(wick), "empty": kind(oil, wick), "other": kind(options=[oil])}
    given |= {"bright": kind(options=[OwnPart("glass", lacking, "the mode 'bright'")]), "smoking": kind(smoke, oil)}
    given |= {"unlit": kind(base=Unlit), "names no parts, so it is tried": "no.such.module:Env"}
    groups = examined(**given)
    require_snapshot("doctor.json", [[finding._asdict() for finding in group.findings] for group in groups])
    failures = [finding.name for group in groups for finding in group.findings if finding.is_failure]
    assert failures == ["unlit", "names no parts, so it is tried"]


def test_what_hangs_is_not_waited_for() -> None:
    began, hanging = time.monotonic(), OwnPart("wick", lambda limit_s: str(time.sleep(30)))
    envs, parts = (group.findings for group in examined(0.5, stuck=kind(hanging), well=kind()))
    assert time.monotonic() - began < 5
    assert [one.status for one in (*envs, *parts)] == ["slow", "ok", "slow"]
    assert "iad doctor --seconds 2" in parts[0].said


def models(cache: Path, **variables: str) -> dict[str, Finding]:
    group: FindingGroup = check_models(variables, cache, Deadline(5.0))
    return {finding.name: finding for finding in group.findings}


def test_keys_are_named_and_never_shown(tmp_path: Path) -> None:
    found = models(tmp_path / "none", OPENAI_API_KEY="sk-secret", HF_TOKEN="", MISTRAL_API_KEY="secret")
    assert found["keys"] == Finding("keys", "set", "OPENAI_API_KEY, MISTRAL_API_KEY")
    assert "secret" not in str(found)
    assert models(tmp_path / "none")["keys"].fix == "export OPENAI_API_KEY=..."


def test_an_endpoint_says_its_models_and_where_they_are_not_to_be_found(tmp_path: Path) -> None:
    none, listed = tmp_path / "none", '{"data": [{"id": "toy"}, {"id": "b"}, {"id": "c"}, {"id": "d"}]}'
    for folder, content in (("v1", listed), ("other", "[]")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "models").write_text(content)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=tmp_path)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        right = models(none, OPENAI_API_BASE=f"{address}/v1/", OLLAMA_API_BASE=f"{address}/other", OPENAI_API_KEY="sk")
        wrong = models(none, OPENAI_API_BASE=address, OLLAMA_API_BASE=address)
        server.shutdown()
    gone = models(none, HOSTED_VLLM_API_BASE=address, OLLAMA_API_BASE="localhost:11434")
    assert "endpoint" not in right
    said = f"{address}/v1/: answers with the models toy, b, c and 1 more"
    assert right["OPENAI_API_BASE"] == Finding("OPENAI_API_BASE", "ok", said)
    assert right["OLLAMA_API_BASE"] == Finding("OLLAMA_API_BASE", "ok", f"{address}/other: answers")
    assert wrong["OPENAI_API_BASE"].status == "broken"
    assert wrong["OPENAI_API_BASE"].said.endswith("status 404; such an address usually ends in /v1")
    assert wrong["OLLAMA_API_BASE"].status == "ok"
    assert not gone["HOSTED_VLLM_API_BASE"].is_failure
    assert [gone[name].status for name in ("HOSTED_VLLM_API_BASE", "OLLAMA_API_BASE")] == ["broken"] * 2


def test_models_on_this_machine_are_named_with_what_they_need(tmp_path: Path) -> None:
    none = check_local(tmp_path, is_installed=False)
    assert none == Finding("local:", "missing", "needs the extra local")
    fetched = check_local(tmp_path, is_installed=True)
    assert fetched == Finding("local:", "ok", "none fetched; local:smollm2 fetches one")
    (tmp_path / "smollm2.gguf").touch()
    assert check_local(tmp_path, is_installed=True) == Finding("local:", "ok", f"local:smollm2 in {tmp_path}")


def test_a_cache_that_is_something_else_is_moved_and_not_deleted(tmp_path: Path) -> None:
    file = tmp_path / "my notes.sqlite"
    file.write_text("not a database, but mine")
    found = models(file)["answer cache"]
    assert (found.status, found.is_failure) == ("broken", True)
    assert found.fix == f"mv '{file}' '{file}.old'"


def test_rows_are_wrapped_and_commands_and_paths_are_not() -> None:
    command, out = "pip install " + "x" * 60, StringIO()
    said = "several words that do not fit on a line of forty columns"
    findings = Finding("short", "missing", fix=command), Finding("long", "broken", said, command)
    parts = [FindingGroup("Parts", (*findings, Finding("path", "ok", "/a" * 30)))]
    print_groups(parts, Console(file=out, width=40))
    assert out.getvalue().splitlines() == [
        "Parts",
        f"  short missing $ {command}",
        "  long  broken  several words that do",
        "                not fit on a line of",
        "                forty columns",
        f"    $ {command}",
        "  path  ok      " + "/a" * 30,
    ]
    assert json.loads(as_json(parts))["Parts"][0]["fix"] == command
