"""Secrets that a process was given are nowhere in what it writes, however they got there."""

import base64
import html
import io
import json
import re
import zlib
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from iad_policy.bridges.mcp import ToolSession
from iad_policy.bridges.openenv import ServedEpisodes
from iad_policy.bridges.trial import TrialChat
from iad_policy.ledger.answer_log import AnswerLine, AnswerLog
from iad_policy.ledger.run import Run
from iad_policy.run.config import RunConfig
from iad_policy.types import secrets
from iad_policy.types.secrets import MASK, learn, mask_stream, masked, without_masks, without_secrets
from tests.command_line import iad
from tests.iad_policy.models.openai_server import Reply, serving
from tests.security.planted import ARGUMENT, DSN, HEADER, ID, PLANTED, QUERY, VARIABLES, Leaky

HOME = "tests.security.planted"


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(secrets, "_given", set())
    monkeypatch.setattr(secrets, "_made_of", ({}, 0))
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("IAD_CACHE", str(tmp_path / "cache" / "answers.sqlite"))


def forms(secret: str) -> set[str]:
    """What is looked for: a secret as it can be spelled, and most of it."""
    known = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret)}
    known |= {json.dumps(json.dumps(secret)[1:-1])[1:-1], html.escape(secret), repr(secret)[1:-1]}
    return known | {b64encode(secret.encode()).decode().rstrip("=")[:-1], secret[: 2 * len(secret) // 3]}


def found(folder: Path, *printed: str) -> list[tuple[str, str]]:
    """Where the planted secrets are, among all files, what reports have packed, and what was printed."""
    texts = [("terminal", text) for text in printed]
    for path in filter(Path.is_file, folder.rglob("*")):
        texts.append((path.name, path.read_bytes().decode(errors="replace")))
    for name, text in texts.copy():
        packed = re.findall('"(e[JNA][a-zA-Z0-9+/=]{20,})"', text)
        texts += [(f"{name}, packed", zlib.decompress(base64.b64decode(one)).decode()) for one in packed]
    assert "report.html, packed" in [name for name, _ in texts]
    assert any(MASK in text for name, text in texts if name == "report.html, packed")
    return [(name, secret) for name, text in texts for secret in PLANTED for one in forms(secret) if one in text]


def compare(out: Path, agent: str, *more: object, dsn: str = DSN) -> str:
    asked = ("--verifier", f"{HOME}:Strict", "--strategies", "single,bon", "--n", "2", "--keep-going", "--out", out)
    run = iad("compare", ID, "--agent", f"{HOME}:{agent}", "--env-arg", f"dsn={dsn}", *asked, *more)
    assert run.exception is None or isinstance(run.exception, SystemExit), run.exception
    return str(run.output)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "form"),
    [*((status, "json") for status in (400, 401, 403, 404, 500)), (502, "html"), (200, "html"), (200, "answer")],
)
def test_what_a_server_echoes_is_masked(tmp_path: Path, status: int, form: str) -> None:
    with serving() as server:

        def echo(body: object) -> Reply:
            said = f"{server.keys[-1]} {HEADER} {VARIABLES['PLANTED_PAGE_TOKEN']}"
            if form == "answer":
                return Reply(f"Thought: {said} and {QUERY}\nAction: turn[0]")
            long = f"{'You sent ' * 54}{said}"  # so that the error is cut in the secret
            return Reply(f"<p>{html.escape(long)}" if form == "html" else {"error": {"message": long}}, status)

        server.reply_to = echo
        own = ("--agent-arg", f"base={server.address}", "--agent-arg", f"api_key={ARGUMENT}", "--tasks", "2")
        said = compare(tmp_path / "run", "Keyed", *own)
        assert MASK in said or status == 200
        assert MASK in (tmp_path / "run" / ("answers.jsonl" if status == 200 else "episodes.jsonl")).read_text()
        assert {*server.keys} <= {f"Bearer {ARGUMENT}", f"Bearer {VARIABLES['OPENAI_API_KEY']}"}
        iad("report", tmp_path / "run")
        assert found(tmp_path, said, iad("export", tmp_path / "run", "--out", tmp_path / "all.jsonl").output) == []


def test_what_users_code_and_pages_say_is_masked(tmp_path: Path) -> None:
    run = tmp_path / "run"
    said = [compare(run, "Own", "--agent-arg", f"api_key={ARGUMENT}", "--full", "--tasks", "3")]
    asked = [("export", run, "--out", tmp_path / "all.jsonl"), ("report", run), ("validate", run), ("doctor",)]
    said += [iad(*one).output for one in asked]
    assert found(tmp_path, *said) == []
    leaks = {"error", "traceback", "why", "failed_verdict"}
    records = Run(run).records.values()
    assert {name for one in records for name in leaks if MASK in getattr(one, name)} == leaks


@pytest.mark.parametrize("style", ["direct", "tool"])
def test_what_pages_say_is_masked_for_the_clients_of_a_server(style: str) -> None:
    session = ToolSession(lambda: TrialChat(Leaky(), style), None, None)
    served = ServedEpisodes(lambda: TrialChat(Leaky(), style))
    said: list[Any] = [session.begin(None, 0), session.use(TrialChat.say, "turn[1]")]
    said += [served.reset({"seed": 0}), served.step("turn[1]")]
    assert all(MASK in str(one) for one in said)
    assert not [secret for secret in PLANTED for form in forms(secret) if form in str(said)]
    session.close()
    served.close()


def test_a_run_goes_on_with_another_password_and_not_with_another_user(tmp_path: Path) -> None:
    compare(tmp_path, "Own", "--agent-arg", f"api_key={ARGUMENT}", "--tasks", "1")
    first = (tmp_path / "episodes.jsonl").read_bytes()
    other = ("--agent-arg", "api_key=another-key-0", "--tasks", "1")
    compare(tmp_path, "Own", *other, dsn=DSN.replace("planted6pass", "an0ther-pass"))
    assert (tmp_path / "episodes.jsonl").read_bytes() == first
    said = compare(tmp_path, "Own", *other, dsn=DSN.replace("reader", "writer"))
    assert "got another env_args: dsn" in said
    config = RunConfig.of(json.loads((tmp_path / "config.json").read_text()))
    assert config.env_args == {"dsn": f"postgresql://reader@127.0.0.1:1/bird?sslpassword={MASK}"}
    assert config.agent_args == {}


def test_an_answer_with_a_secret_is_asked_again_where_an_episode_goes_on(tmp_path: Path) -> None:
    key = VARIABLES["OPENAI_API_KEY"]
    with closing(AnswerLog(tmp_path)) as log:
        lines: dict[str, dict[str, Any]] = {
            "0.0.0": {"kind": "new", "action": f"type[{key}]"},
            "0.0.1": {"kind": "new", "action": "b", "exchanges": [{"prompt": key}]},
            "0.1.0": {"kind": "new", "observation": log.put(f"{'long ' * 500}{key}")},
            "0.2.0": {"kind": "new", "observation": log.put_list([f"{'long ' * 1000}{key}"])},
            "0.step": {"kind": "step", "observation": key} | dict.fromkeys(("info", "done", "reward", "seen")),
        }
        log.episode("e").write(*(AnswerLine(item, "asked", record) for item, record in lines.items()))
    assert key not in "".join(path.read_text() for path in tmp_path.rglob("*.json*"))
    with closing(AnswerLog(tmp_path)) as log:
        again = log.episode("e")
        assert [item for item in lines if again.recorded(item, "asked") is None] == ["0.0.0", "0.1.0", "0.2.0"]


B64 = b64encode(b"me:s3cret-pass").decode()


@pytest.mark.parametrize(
    ("given", "text", "shown"),
    [
        ({"api_key": "k-12345678"}, "ak-12345678b", "a***b"),
        ({"x": [{"Authorization": "Bearer k-12345678"}]}, "with k-12345678", "with ***"),
        ({"api_key": "abcdefgh-12345678-abcdefgh"}, "cut: abcdefgh-12345678-ab", "cut: ***"),
        ({"api_key": "abcdefgh-12345678-abcdefgh"}, "abcdefgh-1234", None),
        ({"dsn": "postgresql://me:s3cret-pass@db/x"}, "a s3cret-pass", "a ***"),
        ({"dsn": "postgresql://me:s3cret%2Fpass@db/x"}, "s3cret/pass, s3cret%2Fpass", "***, ***"),
        ({"dsn": "mysql://me:s3cret-pass@db/x"}, f"Basic {B64}", "Basic ***"),
        ({"dsn": "mysql://me:pw@db/x"}, "pw: mysql://me:pw@db/x", "pw: mysql://me:***@db/x"),
        ({"dsn": "mysql://me:pass@db/x"}, f"Basic {b64encode(b'me:pass').decode()}", "Basic ***"),
        ({"dsn": "mysql://:p@db/x", "password": "p"}, "Basic English", None),
        ({"dsn": "host=db user=me password=s3cret-pass"}, "FATAL s3cret-pass", "FATAL ***"),
        ({"base": "https://h/v1?model=x&key=s3cret-key"}, "s3cret-key x", "*** x"),
        ({"repository": "https://ghp_0123456789abcdef@h/x"}, "ghp_0123456789abcdef", "***"),
        # Short and usual texts are only replaced where they can be nothing else.
        ({"password": "candidate"}, "a candidate, Bearer candidate", "a candidate, Bearer ***"),
        ({"api_key": "a&b<c>-1234"}, "a&amp;b&lt;c&gt;-1234", "***"),
        ({"api_key": "k-12345", "token": "k+123456"}, "k-12345 k+123456", "k-12345 ***"),
        ({"password": "true", "api_key": "none", "token": "1234567"}, "true none 1234567", None),
        ({"eos_token": "<|im_end|>", "max_tokens": "1234567890123"}, "<|im_end|>1234567890123", None),
    ],
)
def test_a_known_secret_is_replaced_in_every_text(given: Any, text: str, shown: str | None) -> None:
    learn(given)
    shown = shown or text
    assert masked(text) == shown
    stream = io.StringIO()
    mask_stream(stream)
    assert (stream.write(text), stream.getvalue()) == (len(text), shown)
    assert masked(json.loads(json.dumps({"a": [text]}))) == {"a": [shown]}


def test_the_environment_is_looked_at_as_it_is_now(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = "now s3cret-now"
    for name in ("A_API_KEY", "WATSONX_APIKEY", "PGPASSWORD", "MYSQL_PWD", "AWS_SECRET_ACCESS_KEY", "X_TOKEN"):
        assert masked(told) == told
        monkeypatch.setenv(name, "s3cret-now")
        assert masked(told) == "now ***", name
        monkeypatch.setenv(name, str(tmp_path))
        assert masked(f"{told} {tmp_path}") == f"{told} {tmp_path}", name


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"api_key": "x", "n": 3}, {"api_key": MASK, "n": 3}),
        ({"a": {"password": 12, "token": ""}}, {"a": {"password": MASK, "token": ""}}),
        ({"headers": {"Authorization": "x"}}, {"headers": {"Authorization": MASK}}),
        ({"dsn": "mysql://me:pw@h:1/x?ssl_ca=y"}, {"dsn": f"mysql://me:{MASK}@h:1/x?ssl_ca=y"}),
        ({"dsn": "host=h password='p w' user=me"}, {"dsn": f"host=h password={MASK} user=me"}),
        ({"api_base": "http://h/v1?version=2&key=x"}, {"api_base": f"http://h/v1?version=2&key={MASK}"}),
        ({"keys": ("a", "b"), "max_tokens": 5, "eos_token": "x"}, None),
    ],
)
def test_an_argument_keeps_all_but_its_secrets(given: Any, shown: Any) -> None:
    assert without_secrets(given) == (given if shown is None else shown)


def test_recorded_addresses_are_used_without_their_masks() -> None:
    recorded = {"dsn": f"host=h password={MASK} user=me", "guard_dsn": f"mysql://me:{MASK}@h", "token": MASK, "n": 3}
    assert without_masks(recorded) == {"dsn": "host=h user=me", "guard_dsn": "mysql://me@h", "n": 3}
