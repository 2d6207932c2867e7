"""Every code block of the README and of the other documents runs, and so does every example."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
import typer

import iad_envs  # noqa: F401 (registers)
from iad_policy import IADPolicyWrapper
from iad_policy.cli import app
from iad_policy.commands.suite import read_suite
from iad_policy.models.hf import PACKAGES
from tests import command_line
from tests.full.sql_servers import Dialect, missing
from tests.full.sql_servers import serving as serving_sql
from tests.iad_policy.models.local.smollm2 import require_smollm2, smollm2
from tests.iad_policy.models.openai_server import Reply, completion, serving

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [
        ROOT / "docs/bridges/trl.md",
        *(path for folder in ("docs", "docs/learning") for path in (ROOT / folder).glob("*.md")),
    ]
)
"""The pages of the other bridges need frameworks that exclude each other: `tests/full/test_bridge_*.py` run those."""
DOCUMENTS = ["README.md", "CONTRIBUTING.md", *(path.relative_to(ROOT).as_posix() for path in PAGES)]
ALONE = [name for name in DOCUMENTS if not name.startswith(("docs/add-", "docs/compare-my-agent"))]
"""All but the guides, whose steps build on each other: `test_guides.py` follows those."""
TUTORIALS = ["docs/advise.md", "docs/adaptive.md", "docs/learning.md", "docs/learning/tutorial.md"]
TUTORIALS += ["docs/learning/language-models.md"]
"""Documents whose commands build on each other."""
LONG = (
    *("docs/advise.md", "docs/comparison.md", "docs/hidden-state.md"),
    *("docs/learning.md", "docs/learning/tutorial.md", "docs/learning/language-models.md", "docs/training.md"),
    *("colossal_cave.py", "frozen_lake.py", "reinforce.py", "taxi.py"),
    *("docs/official-numbers.md suite", "iad sweep", "iad serve"),
    *(
        "iad compare IAD/WebShop-v0 --agent litellm:openai",
        "iad compare IAD/WebShop-v0 --strategies single,bon-sc,iad --n",
    ),
)
"""Those that take longer than others of the same kind: `make test-full` runs them."""
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ON_A_SERVER = re.compile('dialect="(?:postgresql|mysql)"')
OF_A_FRAMEWORK = re.compile(r"^from (?:trl|verl)\b", re.MULTILINE)
"""Blocks that need another framework, and a model: tests/full/ runs those of TRL. Here they are compiled."""
ON_THIS_MACHINE = "local:smollm2"


def slow_if_long(name: str) -> Any:
    return pytest.param(name, marks=[pytest.mark.slow, pytest.mark.timeout(900)] if name in LONG else [])


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return [body for its, body in BLOCK.findall(text) if its == language]


@pytest.fixture
def official(tmp_path: Path) -> Path:
    """A folder in the official format at the path that the documents name, and logs of other frameworks."""
    data = gym.make("IAD/WebShop-v0").unwrapped.data  # type: ignore[attr-defined]
    folder = tmp_path / "path" / "to"
    folder.mkdir(parents=True)
    (folder / "webshop").symlink_to(data.folder)
    (folder / "intercode").symlink_to(ROOT / "data" / "intercode")
    stand_ins(tmp_path / "official")
    logs = {"logs": "inspect/models", "outputs": "verifiers", "answers.jsonl": "jsonl/answers.jsonl"}
    for name, stand_in in logs.items():
        (tmp_path / name).symlink_to(ROOT / "tests" / "fixtures" / "other_logs" / stand_in)
    step = {"step_id": 1, "source": "user", "message": "Add them"}
    about = {"schema_version": "ATIF-v1.7", "agent": {"name": "terminus-2", "version": "2.0.0"}, "steps": [step]}
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "trajectory.json").write_text(json.dumps({**about, "extra": {"reward": 1.0}}))
    (tmp_path / "predictions").symlink_to(ROOT / "tests" / "fixtures" / "predictions")
    return tmp_path


def stand_ins(root: Path) -> None:
    """Put bundled data under the names of official data."""
    folders = {"webshop-small": "webshop", "webshop-full": "webshop", "bird-dev": "bird"}
    root.mkdir()
    for name in (*folders, "intercode", "sketch2code", "bfcl", "acebench"):
        (root / name).symlink_to(ROOT / "data" / folders.get(name, name))
    (root / "bird-mini-dev").mkdir()
    for name, bundled in (("mini_dev_sqlite.json", "dev.json"), ("dev_databases", "dev_databases")):
        (root / "bird-mini-dev" / name).symlink_to(ROOT / "data" / "bird" / bundled)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "bridges").glob("*.md")), ids=lambda path: path.name)
def test_the_blocks_of_bridges_can_be_compiled(page: Path) -> None:
    for body in blocks(page.relative_to(ROOT).as_posix(), "python"):
        compile(body, page.name, "exec")


def test_no_block_is_of_a_language_that_nothing_executes() -> None:
    """Tables, drawings and prompts are texts: tests of the commands, environments and prompts that make them see them.

    What the tests of the site build is the other.
    """
    found = {language for name in ALONE for language, _ in BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))}
    assert found == {"python", "sh", "toml", "text", "", "{eval-rst}"}


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # vectors fork beside the server
@pytest.mark.parametrize("document", [slow_if_long(name) for name in ALONE if blocks(name, "python")])
def test_python_blocks_run_one_after_another(
    document: str, official: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(official)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("IAD_OFFICIAL", str(official / "official"))
    env = gym.make("IAD/WebShop-v0")
    namespace = {"env": env, "gym": gym, "IADPolicyWrapper": IADPolicyWrapper}
    with serving() as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.address)
        server.script(Reply(completion("Action: search[walking shoes]")))
        for body in blocks(document, "python"):
            code = compile(body, document, "exec")
            if not ON_A_SERVER.search(body) and not OF_A_FRAMEWORK.search(body):
                exec(code, namespace)


@pytest.mark.parametrize("dialect", ["postgresql", "mysql"])
def test_python_blocks_for_a_server_run_on_one(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [body for name in ALONE for body in blocks(name, "python") if f'dialect="{dialect}"' in body]
    assert bodies
    if reason := missing(dialect):
        pytest.skip(reason)
    monkeypatch.chdir(ROOT)
    with serving_sql(dialect) as admin:
        if dialect == "postgresql":
            import psycopg

            with psycopg.connect(admin, autocommit=True) as connection:
                connection.execute("CREATE DATABASE bird")
            monkeypatch.setenv("PGHOST", dict(part.split("=", 1) for part in admin.split())["host"])
        for body in bodies:
            ours = body.replace("mysql://root@localhost/?unix_socket=/run/mysqld/mysqld.sock", admin)
            assert (ours != body) == (dialect == "mysql")
            exec(compile(ours, "on a server", "exec"), {"gym": gym})


def iad(*words: str, typed: str = "") -> str:
    """Run `iad`, and return what it prints."""
    done = command_line.iad(*words, stdin=typed)
    assert done.exit_code == 0, f"{shlex.join(words)}: {done.output}"
    return done.stdout


SUITES = {f"{name} suite": body for name in ALONE for body in blocks(name, "toml")}


@pytest.mark.parametrize("suite", [slow_if_long(one) for one in SUITES])
def test_toml_blocks_are_suites_that_run(suite: str, official: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of one, on one task, with the smallest n and one seed: the command line goes before the file."""
    monkeypatch.chdir(official)
    monkeypatch.setenv("IAD_OFFICIAL", str(official / "official"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    Path("suite.toml").write_text(SUITES[suite], encoding="utf-8")
    with serving() as server:
        server.script(Reply(completion("Score: 5\nAction: click[nothing]")))
        monkeypatch.setenv("OPENAI_API_BASE", server.address)
        iad("compare", *shlex.split("--config suite.toml --tasks 1 --n 1 --seed 0 --out runs"))
    assert len(list(Path("runs").rglob("summary.json"))) == len(read_suite(Path("suite.toml")))


def test_suites_and_commands_are_understood(tmp_path: Path) -> None:
    """Those that take long, too, which `make test-full` runs."""
    for body in SUITES.values():
        (tmp_path / "suite.toml").write_text(body, encoding="utf-8")
        assert read_suite(tmp_path / "suite.toml")
    typed = [shlex.split(command) for name in ALONE for command in commands(name)]
    for words in (words for words in typed if words[0] == "iad"):
        command: Any = typer.main.get_command(app)
        left = words[1:]
        while hasattr(command, "commands"):
            _, command, left = command.resolve_command(command.make_context("iad", left[:1]), left)
        command.make_context("iad", left)


def commands(document: str) -> Iterator[str]:
    for body in blocks(document, "sh"):
        for line in body.replace("\\\n", " ").splitlines():
            command = line.split("#")[0].strip()
            if command:
                yield command


@pytest.mark.parametrize("document", [slow_if_long(one) for one in TUTORIALS])
def test_the_commands_of_a_tutorial_run_one_after_another(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if any("hf:smollm2" in command for command in commands(document)):
        if any(find_spec(package) is None for package in PACKAGES):
            pytest.skip("needs the extra training: make training")
        require_smollm2()
    monkeypatch.chdir(tmp_path)
    printed = [
        "\n".join(line.rstrip() for line in iad(*shlex.split(command)[1:]).splitlines()).strip()
        for command in commands(document)
    ]
    if document == "docs/advise.md":
        (text,) = blocks(document, "text")
        (words, figures), (shown_words, shown) = (_words_and_figures(one) for one in (text, printed[1]))
        assert words == shown_words
        assert figures == pytest.approx(
            shown, rel=0.1, abs=0.02
        )  # draws may fall otherwise with the last digit of a sum


def _words_and_figures(text: str) -> tuple[list[str], list[float]]:
    """Return the words of a text, with a mark for each number, and the numbers."""
    number = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")
    figures = [float(one.replace(",", "")) for one in number.findall(text)]
    return number.sub("#", text.replace("─", "")).split(), figures


def _command(document: str, command: str) -> Any:
    """Return a command's parameters. Models on this machine take long; one of their commands runs in `make test`.

    `tests/iad_policy/test_cli_serve.py` serves there, and `report/test_paper_figures.py` sweeps.
    """
    is_slow = (ON_THIS_MACHINE in command and document != "README.md") or command.startswith(LONG)
    return pytest.param(document, command, marks=pytest.mark.slow if is_slow else ())


@pytest.mark.parametrize(
    ("document", "command"), [_command(one, each) for one in ALONE if one not in TUTORIALS for each in commands(one)]
)
def test_shell_commands_run(document: str, command: str, official: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(command)
    if "--tasks" in words:  # that it runs is shown by two as well
        words[words.index("--tasks") + 1] = "2"
    if words[0] == "export":
        assert re.fullmatch(r"\w+=.*", words[1])
        return
    if words[0] == "make":  # it would run this test again; that its target is there and expands is what can be checked
        subprocess.run([*words, "--dry-run"], cwd=ROOT, check=True, capture_output=True)
        return
    if "--engine ray" in command and find_spec("ray") is None:
        pytest.skip("needs ray: make test-ray")
    if ON_THIS_MACHINE in command:
        smollm2()  # or skip
    monkeypatch.chdir(official)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("IAD_INDEX", str(official / "indexes"))
    monkeypatch.setenv("IAD_OFFICIAL", str(official / "official"))
    if command.startswith("iad serve"):
        process = subprocess.Popen(
            [sys.executable, "-m", "iad_policy.cli", *words[1:]],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        said = "".join(iter(process.stdout.readline, "Press Ctrl-C to stop.\n"))
        process.terminate()
        assert (process.communicate(timeout=30)[0], process.returncode) == ("", 0)
        assert "http://127.0.0.1:" in said
        return
    with serving() as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.address)
        server.script(Reply(completion("Score: 5\nAction: click[nothing]")))
        if words[0] == "iad":
            iad(*words[1:], typed="q\n" if command.startswith("iad play") else "")
        else:
            path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            subprocess.run(words, env={**os.environ, "PATH": path}, capture_output=True, timeout=110, check=True)


@pytest.mark.parametrize(
    "example",
    # grpo.py takes minutes: tests/full/test_bridge_trl.py runs it.
    [slow_if_long(one.name) for one in sorted((ROOT / "examples").glob("*.py")) if one.name != "grpo.py"],
)
def test_examples_run(example: str, tmp_path: Path) -> None:
    if example == "colossal_cave.py" and find_spec("adventure") is None:
        pytest.skip("needs adventure: pip install 'iad[games]'")
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_links_in_documents_lead_somewhere() -> None:
    for document in DOCUMENTS:
        text = (ROOT / document).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            if not target.startswith("http"):
                assert ((ROOT / document).parent / target).exists(), f"{document}: {target}"


def test_the_demo_table_in_the_readme_is_what_the_demo_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "demo"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    words = shlex.split(recipe[recipe.index("-m iad_policy.cli") :].replace("\\\n", " "))
    words[words.index("--out") + 1] = str(tmp_path / "demo")
    monkeypatch.delenv("COLUMNS", raising=False)
    (shown,) = blocks("README.md", "text")
    assert without_times(shown) == without_times(iad(*words[2:]))


def without_times(table: str) -> list[str]:
    """The lines without progress and the folder's paths."""
    return [line.rstrip() for line in table.splitlines() if not re.match(r"Run folder|Intervals| *\d+/\d+ ", line)]
