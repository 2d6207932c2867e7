"""Downloads from a real server: whole, broken, of another version, behind forms, redirections and proxies."""

from pathlib import Path
from typing import Any

import pytest

from iad_envs.official.download import HUB, PAUSES_S, download, hub_address
from iad_envs.official.errors import DownloadError
from tests.iad_envs.official.file_server import FileServer, serving_files

CONTENT = bytes(range(256)) * 2000  # 512 kB
HALF = len(CONTENT) // 2
DATE = {"Last-Modified": "Mon, 23 Nov 2026 04:00:00 GMT"}
PAGE = b"<!DOCTYPE html><html><body>Sorry, too many users have viewed or downloaded this file recently.</body></html>"


def form(action: str, confirm: str = "confirm") -> bytes:
    """A drive's page that asks before a large file."""
    return (
        f'<html><body><form id="download-form" action="{action}" method="get"><input type="submit" value="Download">'
        f'<input type="hidden" name="id" value="7"><input type="hidden" name="{confirm}" value="t">'
        "</form></body></html>"
    ).encode()


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return tmp_path / "file.part"


class Waits(list[float]):
    """Notes the pauses and makes none."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def test_a_file_is_downloaded_whole_and_leaves_no_notes(server: FileServer, part: Path) -> None:
    told: list[tuple[int, int]] = []
    download(server.serve("/a", CONTENT), part, size=len(CONTENT), report=lambda *seen: told.append(seen))
    assert (part.read_bytes() == CONTENT, server.sent) == (True, len(CONTENT))
    assert (told[0], told[-1]) == ((0, len(CONTENT)), (len(CONTENT), len(CONTENT)))
    assert [path.name for path in part.parent.iterdir()] == ["file.part"]
    assert server.asked[0].headers["accept-encoding"] == "identity"
    assert "range" not in server.asked[0].headers


def test_what_was_cut_is_continued_while_bytes_arrive(server: FileServer, part: Path) -> None:
    waits = Waits()
    download(server.serve("/a", CONTENT, cuts=[HALF]), part, wait=waits)
    assert (part.read_bytes() == CONTENT, server.sent) == (True, len(CONTENT))  # no byte twice
    assert [asked.headers.get("range") for asked in server.asked] == [None, f"bytes={HALF}-"]
    assert server.asked[1].headers["if-range"] == '"v1"'
    part.unlink()
    download(server.serve("/b", CONTENT, cuts=[70_000] * 7), part, wait=waits)
    assert (part.read_bytes() == CONTENT, server.sent) == (True, 2 * len(CONTENT))
    assert waits == [PAUSES_S[0]] * 8
    part.unlink()
    url = server.serve("/c", CONTENT, cuts=[HALF, 0, 0, 0])
    with pytest.raises(DownloadError, match=r"256,000 of 512,000 bytes \(4 attempts\)"):
        download(url, part, wait=Waits())
    assert part.stat().st_size == HALF
    download(url, part, wait=Waits())
    assert (part.read_bytes() == CONTENT, server.sent) == (True, 3 * len(CONTENT))


@pytest.mark.parametrize("now", [{"etag": '"v2"'}, {"path": "/b"}, {"statuses": [416]}], ids=str)
def test_another_version_is_not_joined_to_what_was_begun(server: FileServer, part: Path, now: dict[str, Any]) -> None:
    with pytest.raises(DownloadError):
        download(server.serve("/a", CONTENT, cuts=[HALF, 0, 0, 0]), part, wait=Waits())
    changed = CONTENT[::-1]
    download(server.serve(**{"path": "/a", "content": changed, **now}), part, wait=Waits())
    assert part.read_bytes() == changed


@pytest.mark.parametrize(("facts", "version", "n_twice"), [
    ({"etag": '"v1"', "headers": DATE}, '"v1"', 0),
    ({"etag": 'W/"v1"', "headers": DATE}, DATE["Last-Modified"], HALF),  # the server knows etags only
    ({"ranges": False}, '"v1"', HALF),
    ({"etag": ""}, None, HALF),
], ids=str)  # fmt: skip
def test_a_download_goes_on_by_version_or_date_and_begins_anew_without_ranges_or_one(
    server: FileServer, part: Path, facts: dict[str, Any], version: str | None, n_twice: int
) -> None:
    download(server.serve("/a", CONTENT, cuts=[HALF], **facts), part, wait=Waits())
    assert part.read_bytes() == CONTENT
    assert server.sent == len(CONTENT) + n_twice
    assert server.asked[1].headers.get("if-range") == version
    assert (server.asked[1].headers.get("range") is None) == (version is None)


def test_what_will_not_change_is_asked_once_and_a_busy_server_again(server: FileServer, part: Path) -> None:
    waits = Waits()
    for path, facts, said, n in (
        ("/404", {"statuses": [404] * 9}, "^HTTP 404 Not Found$", 1),
        ("/403", {"statuses": [403] * 9}, "^HTTP 403 Forbidden$", 1),
        ("/503", {"statuses": [503] * 9}, r"HTTP 503 Service Unavailable \(4 attempts\)", 4),
        ("/size", {}, "expected 7 bytes, the server has 512,000", 1),
        ("/gzip", {"headers": {"Content-Encoding": "gzip"}}, "in another encoding", 1),
    ):
        with pytest.raises(DownloadError, match=said):
            download(server.serve(path, CONTENT, **facts), part, size=7 if path == "/size" else 0, wait=waits)
        assert sum(asked.path == path for asked in server.asked) == n
        assert not part.exists()
    assert waits == list(PAUSES_S)
    download(server.serve("/busy", CONTENT, statuses=[503, 429]), part, wait=waits)
    assert part.read_bytes() == CONTENT
    with serving_files() as gone:
        url = gone.serve("/a", CONTENT)
    with pytest.raises(DownloadError, match=r"the server can't be reached: .*refused"):
        download(url, part, wait=waits)
    assert waits == [*PAUSES_S, *PAUSES_S[:2]]


def test_a_drives_form_is_confirmed_once_and_then_continued(server: FileServer, part: Path) -> None:
    server.serve("/download?id=7&confirm=t", CONTENT, cuts=[HALF])
    download(server.serve("/uc?id=7", form("/download"), kind="text/html", ranges=False), part, wait=Waits())
    assert part.read_bytes() == CONTENT
    assert sum(asked.sent for asked in server.asked if asked.path.startswith("/download")) == len(CONTENT)
    server.serve("/download?id=7&confirm=t", form("/download"), kind="text/html")
    with pytest.raises(DownloadError, match="after its form was confirmed"):
        download(f"{server.address}/uc?id=7", part)
    assert len(server.asked) == 6


def test_a_web_page_is_no_data_and_other_forms_are_not_sent(server: FileServer, part: Path) -> None:
    for page in (PAGE, *(b"<!doctype html>" + form(*to) for to in (("https://elsewhere.example/",), ("/b", "query")))):
        for kind in ("text/html; charset=utf-8", "application/octet-stream"):
            server.asked.clear()
            said = "a web page in place of the data: it was moved, or its quota is used up"
            with pytest.raises(DownloadError, match=said):
                download(server.serve("/a", page, kind=kind), part)
            assert (len(server.asked), part.exists()) == (1, False)


def test_the_token_goes_to_the_hub_alone(server: FileServer, part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", f"{server.address}/")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert hub_address(f"{HUB}/datasets/a") == f"{server.address}/datasets/a"
    assert hub_address(f"{HUB}.example/a") == f"{HUB}.example/a"
    with serving_files() as other:
        cdn = other.serve("/blob", CONTENT, cuts=[HALF])
        server.serve("/datasets/a", statuses=[307] * 9, headers={"Location": "/moved"})
        server.serve("/moved", statuses=[302] * 9, headers={"Location": cdn})
        download(f"{HUB}/datasets/a", part, wait=Waits())
        assert part.read_bytes() == CONTENT
        assert [asked.headers.get("authorization") for asked in server.asked] == ["Bearer hf_secret"] * 4
        assert [asked.headers.get("authorization") for asked in other.asked] == [None, None]
        assert other.asked[1].headers["range"] == f"bytes={HALF}-"
        download(other.serve("/a", CONTENT), part)
        assert other.asked[2].headers.get("authorization") is None


def test_a_proxy_is_used_and_no_file_is_read(server: FileServer, part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for target in ("file:///etc/passwd", "ftp://data.example/a"):
        url = server.serve("/a", statuses=[302] * 9, headers={"Location": target})
        with pytest.raises(DownloadError):
            download(url, part, wait=Waits())
        assert not part.exists()
    monkeypatch.setenv("http_proxy", server.address)
    server.serve("http://data.example/a", CONTENT)
    download("http://data.example/a", part)
    assert part.read_bytes() == CONTENT
