"""Every code block of the documents and every example runs, guides lead where they say, and the site is whole."""

import ast
import json
import os
import re
import runpy
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
import typer

import iad_envs  # noqa: F401 (registers)
import iad_policy
from iad_envs import ENVIRONMENTS
from iad_policy import IADPolicyWrapper
from iad_policy.cli import app
from iad_policy.commands.suite import read_suite
from iad_policy.models.hf import PACKAGES
from tests import command_line
from tests.iad_policy.models.local.smollm2 import require_smollm2, smollm2
from tests.iad_policy.models.openai_server import Reply, completion, serving

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
PAGES = sorted(
    [
        ROOT / "docs/bridges/trl.md",
        *(path for folder in ("docs", "docs/learning") for path in (ROOT / folder).glob("*.md")),
    ]
)
"""The pages of the other bridges need frameworks that exclude each other: `tests/full/test_bridge_*.py` run those."""
DOCUMENTS = ["README.md", "CONTRIBUTING.md", *(path.relative_to(ROOT).as_posix() for path in PAGES)]
ALONE = [name for name in DOCUMENTS if not name.startswith(("docs/add-", "docs/compare-my-agent"))]
"""All but the guides, whose steps build on each other: a `Reader` follows those."""
TUTORIALS = [f"docs/{name}.md" for name in ("advise", "adaptive", "learning", "learning/tutorial")]
TUTORIALS += ["docs/learning/language-models.md"]
"""Documents whose commands build on each other."""
LONG_PAGES = {
    *("advise", "booking-browser", "comparison", "exports", "hidden-state", "learning", "learning/tutorial"),
    *("learning/language-models", "runs", "simulators", "sketch2code", "training", "webshop-browser"),
}
LONG = ("iad sweep", "iad serve", "iad index build", "iad score predictions/pages", "iad compare")
QUICK = ("iad compare IAD/WebShop-v0 --strategies bon-episode,reflexion",)
"""Commands that take long, and one of them that does not."""
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = re.compile(r'dialect="(?:postgresql|mysql)"|^from (?:trl|verl)\b', re.MULTILINE)
"""Blocks that need a server, or another framework and a model: other tests run them. Here they are compiled."""
ON_THIS_MACHINE = "local:smollm2"
slow = [pytest.mark.slow, pytest.mark.timeout(900)]


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return [body for its, body in BLOCK.findall(text) if its == language]


def commands(document: str) -> Iterator[str]:
    for body in blocks(document, "sh"):
        lines = (line.split("#")[0].strip() for line in body.replace("\\\n", " ").splitlines())
        yield from filter(None, lines)


SUITES = {f"{name} suite": body for name in ALONE for body in blocks(name, "toml")}


@pytest.fixture
def official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which documents are followed: what they name is there, and a model answers."""
    data, logs = ROOT / "data", FIXTURES / "other_logs"
    links = {f"official/{name}": data / name for name in ("intercode", "sketch2code", "bfcl", "acebench")}
    links |= {f"official/webshop-{size}": data / "webshop" for size in ("small", "full")}
    links |= {"official/bird-dev": data / "bird", "path/to/intercode": data / "intercode"}
    links |= {"path/to/webshop": Path(gym.make("IAD/WebShop-v0").unwrapped.data.folder)}  # type: ignore[attr-defined]
    links |= {"official/bird-mini-dev/mini_dev_sqlite.json": data / "bird/dev.json"}
    links |= {"official/bird-mini-dev/dev_databases": data / "bird/dev_databases"}
    links |= {"logs": logs / "inspect/models", "outputs": logs / "verifiers", "predictions": FIXTURES / "predictions"}
    links["answers.jsonl"] = logs / "jsonl/answers.jsonl"
    for name, target in links.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(target)
    step = {"step_id": 1, "source": "user", "message": "Add them"}
    about = {"schema_version": "ATIF-v1.7", "agent": {"name": "terminus-2", "version": "2.0.0"}, "steps": [step]}
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "trajectory.json").write_text(json.dumps({**about, "extra": {"reward": 1.0}}))
    monkeypatch.chdir(tmp_path)
    with serving() as server:
        server.script(Reply(completion("Score: 5\nAction: search[walking shoes]")))
        told = {"OPENAI_API_KEY": "none", "OPENAI_API_BASE": server.address}
        for name, value in (told | {"IAD_OFFICIAL": tmp_path / "official", "IAD_INDEX": tmp_path / "indexes"}).items():
            monkeypatch.setenv(name, str(value))
        yield tmp_path


def iad(*words: str, typed: str = "") -> str:
    done = command_line.iad(*words, stdin=typed)
    assert done.exit_code == 0, f"{shlex.join(words)}: {done.output}"
    return done.stdout


def test_blocks_are_of_a_language_that_is_executed_and_suites_and_commands_are_understood(tmp_path: Path) -> None:
    """The others are texts: tests of the commands, environments and prompts that make them see them."""
    found = {language for name in ALONE for language, _ in BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))}
    assert found == {"python", "sh", "toml", "text", "", "{eval-rst}"}
    for page in sorted((ROOT / "docs" / "bridges").glob("*.md")):
        for body in blocks(page.relative_to(ROOT).as_posix(), "python"):
            compile(body, page.name, "exec")
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


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # vectors fork beside the server
@pytest.mark.parametrize(
    "document",
    [pytest.param(name, marks=slow if name[5:-3] in LONG_PAGES else []) for name in ALONE if blocks(name, "python")],
)
def test_python_blocks_run_one_after_another(document: str, official: Path, capsys: pytest.CaptureFixture[str]) -> None:
    namespace = {"env": gym.make("IAD/WebShop-v0"), "gym": gym, "IADPolicyWrapper": IADPolicyWrapper}
    for body in blocks(document, "python"):
        code = compile(body, document, "exec")
        if not ELSEWHERE.search(body):
            exec(code, namespace)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("suite", SUITES)
def test_toml_blocks_are_suites_that_run(suite: str, official: Path) -> None:
    """Every run of one, on one task, with the smallest n and one seed: the command line goes before the file."""
    Path("suite.toml").write_text(SUITES[suite], encoding="utf-8")
    iad("compare", *shlex.split("--config suite.toml --tasks 1 --n 1 --seed 0 --out runs"))
    assert len(list(Path("runs").rglob("summary.json"))) == len(read_suite(Path("suite.toml")))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("document", TUTORIALS)
def test_the_commands_of_a_tutorial_run_one_after_another(document: str, tmp_path: Path, monkeypatch: Any) -> None:
    if any("hf:smollm2" in command for command in commands(document)):
        if any(find_spec(package) is None for package in PACKAGES):
            pytest.skip("needs the extra training: make training")
        require_smollm2()
    monkeypatch.chdir(tmp_path)
    printed = [iad(*shlex.split(command)[1:]) for command in commands(document)]
    if document == "docs/advise.md":
        number = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")
        (text,) = blocks(document, "text")
        words, shown = (number.sub("#", one.replace("─", "")).split() for one in (text, printed[1]))
        figures, found = ([float(each.replace(",", "")) for each in number.findall(one)] for one in (text, printed[1]))
        assert words == shown
        # Draws may fall otherwise with the last digit of a sum.
        assert figures == pytest.approx(found, rel=0.1, abs=0.02)


def _command(document: str, command: str) -> Any:
    """Return a command's parameters. Models on this machine take long; one of their commands runs in `make test`."""
    is_slow = command.startswith(LONG) and not command.startswith(QUICK)
    is_slow |= ON_THIS_MACHINE in command and document != "README.md"
    return pytest.param(document, command, marks=slow if is_slow else ())


@pytest.mark.parametrize(
    ("document", "command"), [_command(one, each) for one in ALONE if one not in TUTORIALS for each in commands(one)]
)
def test_shell_commands_run(document: str, command: str, official: Path) -> None:
    words = shlex.split(command)
    if "--tasks" in words:  # that it runs is shown by two as well
        words[words.index("--tasks") + 1] = "2"
    if ON_THIS_MACHINE in command and words[0] == "iad":
        smollm2()  # or skip
    if "--engine ray" in command and find_spec("ray") is None:
        pytest.skip("needs ray: make test-ray")
    if words[0] == "export":
        assert re.fullmatch(r"\w+=.*", words[1])
    elif words[0] == "make":  # it would run this test again; that its target is there and expands can be checked
        subprocess.run([*words, "--dry-run"], cwd=ROOT, check=True, capture_output=True)
    elif command.startswith("iad serve"):
        running = [sys.executable, "-m", "iad_policy.cli", *words[1:]]
        variables = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(running, env=variables, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            told = "".join(iter(process.stdout.readline, "Press Ctrl-C to stop.\n"))
            process.terminate()
            assert (process.communicate(timeout=30)[0], process.returncode) == ("", 0)
        assert "http://127.0.0.1:" in told
    elif words[0] == "iad":
        iad(*words[1:], typed="q\n" if command.startswith("iad play") else "")
    else:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        subprocess.run(words, env={**os.environ, "PATH": path}, capture_output=True, timeout=110, check=True)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "example",
    # grpo.py takes minutes: tests/full/test_bridge_trl.py runs it.
    [one.name for one in sorted((ROOT / "examples").glob("*.py")) if one.name != "grpo.py"],
)
def test_examples_run(example: str, tmp_path: Path) -> None:
    if example == "colossal_cave.py" and find_spec("adventure") is None:
        pytest.skip("needs adventure: pip install 'iad[games]'")
    words = [sys.executable, ROOT / "examples" / example]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.slow
def test_the_demo_table_in_the_readme_is_what_the_demo_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    making = ["make", "--no-print-directory", "--dry-run", "demo"]
    recipe = subprocess.run(making, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    words = shlex.split(recipe[recipe.index("-m iad_policy.cli") :].replace("\\\n", " "))
    words[words.index("--out") + 1] = str(tmp_path / "demo")
    monkeypatch.delenv("COLUMNS", raising=False)
    (shown,) = blocks("README.md", "text")
    assert without_times(shown) == without_times(iad(*words[2:]))


def without_times(table: str) -> list[str]:
    """The lines without progress and the folder's paths."""
    return [line.rstrip() for line in table.splitlines() if not re.match(r"Run folder|Intervals| *\d+/\d+ ", line)]


DOCS = ROOT / "docs"
MISSING = [name for name in ("sphinx", "myst_parser", "furo") if find_spec(name) is None]
LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*\"")
STYLED = re.compile(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//")


@pytest.mark.slow
@pytest.mark.timeout(320)
@pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}: pip install -e '.[docs]'")
def test_the_site_has_a_page_for_every_document_leads_to_pages_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    offline = {**os.environ, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(DOCS), str(tmp_path)]
    done = subprocess.run(words, env=offline, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for document in DOCS.glob("*.md"):
        assert (tmp_path / f"{document.stem}.html").stat().st_size > 1_000, document.name
    assert "searchtools.js" in (tmp_path / "search.html").read_text(encoding="utf-8")  # the generator's own page
    title = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    assert f"<h1>{title}<" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert (tmp_path / "llms.txt").read_text(encoding="utf-8").startswith(f"# {title}\n")
    for page in tmp_path.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not LOADED.search(text), page.name
        # A link to a document above docs/ leads to its page, and none to a copy of it for downloading.
        assert not re.search(r'href="[^":]*\.md[#"]', text), page.name
        for target in re.findall(r'href="([^":#?]+\.html)', text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
    for style in tmp_path.rglob("*.css"):
        assert not STYLED.search(style.read_text(encoding="utf-8")), style.name


def test_every_document_is_in_a_table_of_contents_and_in_llms_txt_loses_no_line_and_leads_somewhere() -> None:
    """The second is made of the first."""
    text = runpy.run_path(str(DOCS / "conf.py"))["llms"]()
    lines = re.findall(r"^- \[.+\]\((\S+)\.html\): (.+)$", text, re.MULTILINE)
    pages = [page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")]
    assert sorted(page for page, _ in lines) == sorted(set(pages) - {"index"})  # else see the toctrees of docs/index.md
    assert all("](" not in said and len(said) > 5 for _, said in lines)
    for page in [*DOCS.glob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]:
        # One that begins with a percent sign, as the end of "7 %" may in a wrapped line, would be a comment.
        lost = re.findall(r"^ *(?:%|\+\+\+).*$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert not lost, f"{page.name}: {lost}"
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / document).read_text(encoding="utf-8")):
            lost = not target.startswith("http") and not ((ROOT / document).parent / target).exists()
            assert not lost, f"{document}: {target}"


def test_every_public_name_environment_and_example_is_in_the_reference() -> None:
    reference = (DOCS / "reference.md").read_text(encoding="utf-8")
    for name in iad_policy.__all__:
        assert re.search(rf"^\.\. auto\w+:: iad_policy\.{name}$", reference, re.MULTILINE), name
    for name in ENVIRONMENTS:
        assert f".. autoclass:: {str(gym.spec(name).entry_point).replace(':', '.')}\n" in reference, name
    page = (DOCS / "examples.md").read_text(encoding="utf-8")
    for example in sorted((ROOT / "examples").glob("*.py")):
        assert f":::{{literalinclude}} ../examples/{example.name}\n" in page, f"add {example.name} to docs/examples.md"


GUIDES = sorted(DOCS.glob("add-*.md"))
COPIED = ("iad_policy", "iad_envs", "tests")
LINKED = ("webshop_server", "data", "pyproject.toml")
IGNORED = shutil.ignore_patterns(".pytest_cache")
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT_S = 110


class Reader:
    """Does what a guide says, in a folder; what it does not understand is not done, and then what follows fails."""

    def __init__(self, folder: Path, *, runs: bool) -> None:
        self.folder = folder
        self._runs = runs
        self.done: list[str] = []
        self._servers: list[subprocess.Popen[str]] = []
        self._with_block: dict[str, Callable[..., None]] = {
            r"Write `(\S+)`:$": self._write,
            r"replace\s+`([^`]+)` in\s+`(\S+)` by:$": self._replace,
            r"Add to `(\w+)` in\s+`(\S+)`:$": self._add_line,
            r"Add to `()(\S+\.py)`:$": self._add_line,
        }

    def follow(self, text: str) -> None:
        place = 0
        for fence in FENCED.finditer(text):
            said = text[place : fence.start()].strip()
            place = fence.end()
            for old, new in re.findall(r"move `(\S+)` to `(\S+)`", said):
                shutil.move(self.folder / old, self.folder / new)
                self.done.append(f"move {old}")
            for line, path in re.findall(r"remove `([^`]+)`\s+from `(\S+)`", said):
                self._replace(line, path)
            language, block = fence.groups()
            if language == "sh":
                for line in block.splitlines():
                    words = shlex.split(line)
                    self._start(words[:-1]) if words[-1] == "&" else self._run(words)
                continue
            for pattern, act in self._with_block.items():
                if match := re.search(pattern, said):
                    act(*match.groups(), block)
                    break
            else:
                self._run(["python", "-c", block])

    def _write(self, path: str, block: str, done: str = "write {}") -> None:
        ast.parse(block if path.endswith(".py") else "")
        (self.folder / path).write_text(block, encoding="utf-8")
        self.done.append(done.format(path))

    def _replace(self, line: str, path: str, block: str = "") -> None:
        text = (self.folder / path).read_text(encoding="utf-8")
        assert text.count(f"{line}\n") == 1, f"{line} in {path}"
        self._write(path, text.replace(f"{line}\n", block), "replace in {}")

    def _add_line(self, table: str, path: str, block: str) -> None:
        """Add to a table in a file, or to the file's end."""
        text = (self.folder / path).read_text(encoding="utf-8")
        (place,) = [one.end() for one in re.finditer(rf"^{table}\b.*[{{\[(]\n" if table else r"\Z", text, re.MULTILINE)]
        self._write(path, text[:place] + block + text[place:], f"add to {table or path}")

    @property
    def _at_home(self) -> dict[str, Any]:
        """Options of a process: as if the copy were what is installed."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {"cwd": self.folder, "env": {**os.environ, "PATH": path, "PYTHONPATH": str(self.folder)}, "text": True}

    def _start(self, words: list[str]) -> None:
        """Start a server, which `close` ends."""
        self.done.append(" ".join(words[:3]))
        server = subprocess.Popen(words, stdout=subprocess.PIPE, **self._at_home)
        self._servers.append(server)
        assert server.stdout is not None
        assert any("Ctrl-C" in line for line in server.stdout)

    def close(self) -> None:
        for server in self._servers:
            server.terminate()
            server.communicate(timeout=20)

    def _run(self, words: list[str]) -> None:
        self.done.append(" ".join(words[:3]))
        if not self._runs:
            return
        told = {"input": "leave[now]\n", "capture_output": True, "timeout": TIMEOUT_S}
        done = subprocess.run(words, check=False, **told, **self._at_home)
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
@pytest.mark.parametrize("runs", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["written", "run"])
@pytest.mark.timeout(300)  # a guide's commands take half a minute of CPU, beside the other tests
def test_following_a_guide_word_by_word_leads_where_it_says(guide: Path, tmp_path: Path, runs: bool) -> None:
    """In `make test` the files are only written, in a copy of what a guide may change, beside links to the rest."""
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=IGNORED)
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    text = guide.read_text(encoding="utf-8")
    reader = Reader(tmp_path, runs=runs)
    reader.follow(text)
    assert reader.done[0].startswith("write")
    assert sum(step.startswith("move") for step in reader.done) == 1
    assert reader.done[-1].startswith("python -m pytest")
    changed = [step for step in reader.done if not step.startswith(("write", "move", "python", "iad"))]
    assert any(step.startswith("add to") for step in changed)
    if guide.stem == "add-an-environment":  # less than 60 lines, and one line elsewhere
        blocks = FENCED.findall(text)
        code = next(block for language, block in blocks if language == "python")
        assert code.startswith('"""')
        assert len(code.splitlines()) < 60
        assert changed == ["replace in iad_envs/lamp.py", "add to ENTRY_POINTS"]
        assert all(block.count("\n") == 1 for language, block in blocks if language == "text")


@pytest.mark.slow
@pytest.mark.alone
def test_an_agent_of_ones_own_is_compared_word_by_word_with_a_model_that_is_served(tmp_path: Path) -> None:
    """The pilot takes two tasks: sixty would take this model a quarter of an hour."""
    smollm2()  # skips where it is not
    text = (ROOT / "docs/compare-my-agent.md").read_text(encoding="utf-8")
    assert text.count("--tasks 60") == 1
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    reader = Reader(tmp_path, runs=True)
    try:
        reader.follow(text.replace("--tasks 60", "--tasks 2").replace("8099", port))
    finally:
        reader.close()
    assert reader.done[:2] == ["iad serve --model", "write my_agent.py"]
    for name in ("first", "pilot"):
        summary = json.loads((tmp_path / "runs" / name / "summary.json").read_text())
        assert summary["is_complete"]
        assert summary["alarms"] == []
        assert all(one["tokens"] > 0 for one in summary["strategies"].values())
