"""Downloads a file over HTTP, and goes on where a broken download ended.

pooch (1.9) asks for no range, and a broken download of gigabytes has to go on. huggingface_hub (2.4) does, but it knows
one of the kinds of source that there are, and the files of a hub are plain HTTPS.
"""

import errno
import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from iad_envs.official.errors import DownloadError

HUB = "https://huggingface.co"
CHUNK = 1 << 18
PAUSES_S = (1.0, 3.0, 9.0)
"""Seconds before each further attempt."""

Report = Callable[[int, int], None]
"""Called with the number of bytes that are here, and of all bytes or 0."""
Admit = Callable[[int], None]
"""Called with the number of bytes that are to come, before they do. It may raise an error."""
Wait = Callable[[float], None]


class _BrokenError(Exception):
    """The connection broke, or the server is busy. Another attempt may go on."""


def download(
    url: str,
    part: Path,
    *,
    size: int = 0,
    admit: Admit = lambda n_bytes: None,
    report: Report = lambda done, total: None,
    wait: Wait = time.sleep,
) -> None:
    """Bring the content of an address into a file. Its hash is not checked here.

    A file that a broken download left there is continued, if the server still has the same version. What is known of
    it lies beside it, in `<part>.json`.

    Args:
        url: The address. `$HF_ENDPOINT` stands for the hub's own.
        part: The file.
        size: Expected number of bytes, 0 if not known.
        admit: Called with the number of bytes that are to come, once the server has said it.
        report: Called as bytes arrive.
        wait: Function that waits between attempts.

    Raises:
        DownloadError: The address does not give the content.
        OSError: The file can't be written.
    """
    address = hub_address(url)
    pauses = iter(PAUSES_S)
    best = _bytes_in(part)
    while True:
        try:
            _attempt(address, part, size, admit=admit, report=report)
            _notes_of(part).unlink(missing_ok=True)
            return
        except _BrokenError as error:
            if _bytes_in(part) >= best + (1 << 16):  # some servers drop every connection after a few MB
                pauses, best = iter(PAUSES_S), _bytes_in(part)
            pause = next(pauses, None)
            if pause is None:
                raise DownloadError(f"{error} ({len(PAUSES_S) + 1} attempts)") from None
            wait(pause)


def discard(part: Path) -> None:
    """Delete what a download left, and what is known of it."""
    part.unlink(missing_ok=True)
    _notes_of(part).unlink(missing_ok=True)


def hub_address(url: str, variables: Mapping[str, str] = os.environ) -> str:
    """Return an address with `$HF_ENDPOINT` in place of the hub's, if it is set."""
    endpoint = variables.get("HF_ENDPOINT", "").rstrip("/")
    return f"{endpoint}{url.removeprefix(HUB)}" if endpoint and url.startswith(f"{HUB}/") else url


def _attempt(address: str, part: Path, size: int, *, admit: Admit, report: Report) -> None:
    begun: dict[str, Any] = {}  # what is known of a broken download: its address, version, and number of all bytes or 0
    with suppress(OSError, ValueError, TypeError):
        begun = dict(json.loads(_notes_of(part).read_text(encoding="utf-8")))
    offset = _bytes_in(part) if begun.get("url") == address and begun.get("validator") else 0
    if offset and offset == begun.get("total"):
        return
    offset = 0 if 0 < begun.get("total", 0) < offset else offset
    ranged = {"Range": f"bytes={offset}-", "If-Range": str(begun["validator"])} if offset else {}
    with _answer(address, ranged) as (answer, head):
        start = 0  # a server without ranges begins anew
        if answer.status == 206:
            said = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
            if said is None or int(said[1]) != offset:
                raise DownloadError("the server sent another range than was asked for")
            start = offset
        ranged_of = re.search(r"/(\d+)$", answer.headers.get("Content-Range", ""))
        length = answer.headers.get("Content-Length", "")
        total = int(ranged_of[1]) if ranged_of else start + int(length) if length.isdecimal() else 0
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise DownloadError("the server sent the content in another encoding than was asked for")
        if size and total and total != size:
            raise DownloadError(f"expected {size:,} bytes, the server has {total:,}")
        admit(max(total - start, 0))
        # What names the version of the content. A weak ETag can't be asked for with a range.
        tag = answer.headers.get("ETag", "")
        validator = tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified", "")
        notes = {"url": address, "validator": validator, "total": total}
        _notes_of(part).write_text(json.dumps(notes), encoding="utf-8")
        done = start
        with part.open("r+b" if start else "wb") as file:
            file.seek(start)
            report(done, total or size)
            while head:
                file.write(head)
                done += len(head)
                report(done, total or size)
                head = _read(answer, CHUNK)
        if total and done < total:
            raise _BrokenError(f"the connection ended after {done:,} of {total:,} bytes")


@contextmanager
def _answer(address: str, ranged: Mapping[str, str]) -> Iterator[tuple[Any, bytes]]:
    """Yield a server's answer and its first bytes. A drive's form that asks before a large file is confirmed once."""
    with _opened(address, ranged) as answer:
        head = _read(answer, CHUNK)
        if not _is_page(answer, head):
            yield answer, head
            return
        url, form = answer.geturl(), _Form()
        form.feed((head + _read(answer, 1 << 20)).decode("utf-8", "replace"))
    target = urljoin(url, form.action) if "confirm" in form.fields else ""
    was, now = urlsplit(url), urlsplit(target)
    # A drive sends its files from another host of the same owner, who has the end of the name.
    hosts = {
        host if host.replace(".", "").isdecimal() else ".".join(host.split(".")[-2:])
        for host in (was.hostname or "", now.hostname or "")
    }
    if now.scheme != was.scheme or len(hosts) > 1:
        raise DownloadError("a web page in place of the data: it was moved, or its quota is used up")
    with _opened(f"{target}{'&' if now.query else '?'}{urlencode(form.fields)}", ranged) as answer:
        head = _read(answer, CHUNK)
        if _is_page(answer, head):
            raise DownloadError("a web page in place of the data, after its form was confirmed")
        yield answer, head


@contextmanager
def _opened(address: str, ranged: Mapping[str, str]) -> Iterator[Any]:
    headers = {"User-Agent": "iad", "Accept-Encoding": "identity", **ranged}
    token, hub, asked = os.environ.get("HF_TOKEN", ""), urlsplit(hub_address(f"{HUB}/")), urlsplit(address)
    if token and (asked.scheme, asked.netloc) == (hub.scheme, hub.netloc):  # no other host gets it
        headers["Authorization"] = f"Bearer {token}"
    try:
        answer = build_opener(_Redirects()).open(Request(address, headers=headers), timeout=60.0)
    except HTTPError as error:
        with error:
            said = f"HTTP {error.code} {error.reason}"
        if error.code == 416 and ranged:  # not the version that was begun
            with _opened(address, {}) as answer:
                yield answer
            return
        may_pass = error.code in (408, 425, 429, 500, 502, 503, 504)
        raise (_BrokenError if may_pass else DownloadError)(said) from None
    except (URLError, OSError, HTTPException, ValueError) as error:
        raise _of(error) from None
    with answer:
        yield answer


class _Redirects(HTTPRedirectHandler):
    """Follows redirections, but none away from HTTPS, and takes no token to another host."""

    def redirect_request(self, req: Request, *given: Any) -> Request | None:
        new = super().redirect_request(req, *given)
        if new is None:
            return None
        was, now = urlsplit(req.full_url), urlsplit(new.full_url)
        if now.scheme not in ("http", "https") or (was.scheme, now.scheme) == ("https", "http"):
            raise URLError(f"redirected from {was.scheme} to {now.scheme}")
        if (was.scheme, was.netloc) != (now.scheme, now.netloc):
            new.remove_header("Authorization")
        return new


def _of(error: Exception) -> Exception:
    """Return what an error of a connection means: no such host, or a broken connection."""
    cause = error.reason if isinstance(error, URLError) else error
    said = " ".join(str(cause).split()) or type(cause).__name__
    unreachable = (errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH)
    if isinstance(cause, socket.gaierror) or getattr(cause, "errno", None) in unreachable:
        return DownloadError(f"the server can't be reached: {said}")
    if isinstance(cause, OSError | HTTPException):
        return _BrokenError(said)
    return DownloadError(said)


def _read(answer: Any, n: int) -> bytes:
    try:
        got: bytes = answer.read(n)
    except (OSError, HTTPException) as error:
        raise _of(error) from None
    return got


def _is_page(answer: Any, head: bytes) -> bool:
    said = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return said == "text/html" or bool(re.match(rb"\s*<(!doctype html|html)\b", head, re.IGNORECASE))


class _Form(HTMLParser):
    """Finds the first form of a page: where it is sent, and its hidden fields."""

    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form" and not self.action:
            self.action = given.get("action") or ""
        elif tag == "input" and self.action and given.get("type") == "hidden" and given.get("name"):
            self.fields[str(given["name"])] = given.get("value") or ""


def _bytes_in(part: Path) -> int:
    with suppress(OSError):
        return part.stat().st_size
    return 0


def _notes_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")
