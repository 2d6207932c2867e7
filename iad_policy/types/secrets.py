"""Keeps the secrets of this process out of all that it writes: files, reports, caches and the terminal.

Secrets are what the process was given as such: environment variables and arguments whose names say so, passwords in
addresses, and `Authorization` headers. `masked` puts `***` in the place of each, however it is spelled there, and all
writers call it. What a name doesn't tell, and what stands in users' files and databases, can't be known.
"""

import html
import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeVar
from urllib.parse import quote, quote_plus, unquote

T = TypeVar("T")
MASK = "***"
_NAMES = (
    r"(?:\w*(?:password|passwd|passphrase)|(?:\w*[-_])?(?:pwd|credentials?|authorization|cookie"
    r"|(?:api|access|secret|private|auth|account|subscription)[-_]?key"
    r"|(?:auth|access|refresh|session|client|bearer|id)?(?:secret|(?<!bos_)(?<!eos_)(?<!pad_)(?<!unk_)token)))"
)
_ARGUMENT = re.compile(_NAMES, re.IGNORECASE)
"""Names of arguments and headers that hold a secret. Names of special tokens, such as `eos_token`, are others."""
_VARIABLE = re.compile(
    r"(?:^|_)(?:KEY|TOKEN|SECRET|PAT|JWT)(?:_|$)|(?:PASSWORD|PASSWD|PASSPHRASE|APIKEY|CREDENTIALS?|AUTHORIZATION|_PWD)$",
    re.IGNORECASE,
)
"""Names of environment variables that do: those that litellm, databases and proxies read."""
_ADDRESS = re.compile(r"(?<=://)([^\s:/?#@]*):([^\s/?#]*)@")
_TOKEN_ADDRESS = re.compile(r"(https?://)([^\s:/?#@]{16,})@", re.IGNORECASE)
"""A user without a password is a token in some addresses of the web. Names of users are shorter."""
_PARAMETER = re.compile(rf"((?:[?&](?:key|sig|signature)|(?:^|[?&;,\s]){_NAMES})=)('[^']*'|[^\s&#;]+)", re.IGNORECASE)
"""A secret in a query, or in a database's address of the form `host=... password=...`."""
_SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s+", re.IGNORECASE)
_COMMON = re.compile(r".{0,7}|[A-Za-z][a-z]{0,10}|[0-9]{0,11}|any-word|not-needed|no-key-required", re.DOTALL)
"""What is no secret elsewhere: short texts, words and numbers stand in logs and in code for other things, too."""
_LONG, _HEAD = 24, 16
"""A text that was cut in a long secret is known by its first characters."""


class _Secret(NamedTuple):
    text: str
    user: str | None = None
    """The user whose password it is, in an address."""


class _Spelling(NamedTuple):
    """One of the forms in which a secret can stand in a text: how it begins, the whole, and what is put there."""

    head: str
    whole: str
    shown: str


_given: set[_Secret] = set()
_spellings: Mapping[str, list[_Spelling]] = {}
"""By their heads, as the search in a text is what takes time."""
_made_of: tuple[Mapping[Any, Any], int] = {}, 0
"""The environment, and how many secrets were given, when these were made."""


def learn(given: Any, name: str = "") -> None:
    """Remember the secrets in an argument of the process, such as an address or a mapping of options.

    Args:
        given: The argument. In mappings and sequences every part is looked at.
        name: Its name, which may say that it is a secret as a whole.
    """
    if isinstance(given, Mapping):
        for key, part in given.items():
            learn(part, str(key))
    elif isinstance(given, list | tuple | set | frozenset):
        for part in given:
            learn(part, name)
    elif isinstance(given, str | int) and not isinstance(given, bool):
        _given.update(_secrets_in(str(given), is_secret=_ARGUMENT.fullmatch(name) is not None))


def masked(value: T) -> T:
    """Return a text with `***` in place of every secret that the process knows.

    Of a list, tuple or dict, all texts in it are changed, but no keys. Other values are returned as they are.
    """
    made: Any = value
    if isinstance(made, str):
        for head, spellings in _known().items():
            if head in made:
                for spelling in spellings:
                    made = made.replace(spelling.whole, spelling.shown)
                for spelling in spellings:
                    made = _without_parts(made, spelling)
    elif type(made) is dict:
        made = {name: masked(part) for name, part in made.items()}
    elif type(made) in (list, tuple):
        made = type(made)(map(masked, made))
    return made  # type: ignore[no-any-return]


def without_secrets(given: Any, name: str = "") -> Any:
    """Return an argument with `***` in place of what its names and addresses say is secret.

    This is the form for configurations, identities and keys: another password gives the same, so a run resumes when it
    was changed, and nobody can guess one from a hash. Unlike `masked`, it does not depend on what the process knows.
    """
    if isinstance(given, Mapping):
        return {key: without_secrets(part, str(key)) for key, part in given.items()}
    if type(given) in (list, tuple):
        return type(given)(without_secrets(part, name) for part in given)
    if isinstance(given, str | int) and not isinstance(given, bool) and given != "" and _ARGUMENT.fullmatch(name):
        return MASK
    if not isinstance(given, str):
        return given
    text = _TOKEN_ADDRESS.sub(rf"\1{MASK}@", _ADDRESS.sub(rf"\1:{MASK}@", given))
    return _PARAMETER.sub(rf"\1{MASK}", text)


def without_masks(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return recorded arguments that can be used: passwords are left out, so that they come from the environment."""
    mask = re.escape(MASK)
    kept = {name: value for name, value in recorded.items() if value != MASK}
    return {
        name: re.sub(rf":{mask}(?=@)|(?:^|\s)\w+={mask}", "", value) if isinstance(value, str) else value
        for name, value in kept.items()
    }


def mask_stream(stream: TextIO) -> None:
    """Let a stream of the terminal write no secrets. The object stays the same, as others hold it already."""
    write = stream.write
    if not getattr(write, "is_masked", False):

        def write_masked(text: str) -> int:
            write(masked(text))
            return len(text)

        write_masked.is_masked = True  # type: ignore[attr-defined]
        stream.write = write_masked  # type: ignore[method-assign]


def _known() -> Mapping[str, list[_Spelling]]:
    """Return how the known secrets are spelled, longest first. The environment may have changed since the last call."""
    global _made_of, _spellings
    # To decode all variables would take as long as to write a line of the log.
    now = getattr(os.environ, "_data", os.environ), len(_given)
    if now != _made_of:
        made_of = dict(now[0]), now[1]
        secrets = _given.union(*(_secrets_of(*map(os.fsdecode, one)) for one in made_of[0].items()))
        found: dict[str, list[_Spelling]] = {}
        for one in sorted({one for secret in secrets for one in _spelled(secret)}, key=lambda one: -len(one.whole)):
            found.setdefault(one.head, []).append(one)
        _spellings, _made_of = found, made_of
    return _spellings


def _secrets_of(variable: str, value: str) -> Iterator[_Secret]:
    is_secret = _VARIABLE.search(variable) is not None and not Path(value).exists()  # a file's name is none
    if is_secret or "://" in value:
        yield from _secrets_in(value, is_secret=is_secret)


def _secrets_in(text: str, *, is_secret: bool) -> Iterator[_Secret]:
    if is_secret:
        yield _Secret(text)
        yield _Secret(_SCHEME.sub("", text, count=1))
    for user, password in _ADDRESS.findall(text):
        yield _Secret(password, user)
        yield _Secret(unquote(password), unquote(user))
    for _, found in (*_TOKEN_ADDRESS.findall(text), *_PARAMETER.findall(text)):
        yield _Secret(found.strip("'"))
        yield _Secret(unquote(found))


def _spelled(secret: _Secret) -> Iterator[_Spelling]:
    text, user = secret
    if not _COMMON.fullmatch(text):
        for one in _escaped(text):
            yield _Spelling(one[:_HEAD] if len(one) >= _LONG else one, one, MASK)
        yield from _in_base64(text if user is None else f"{user}:{text}", "")
    elif text and user is None:
        yield _Spelling(f"Bearer {text}", f"Bearer {text}", f"Bearer {MASK}")
    elif text:
        yield _Spelling(f"//{user}:{text}@", f"//{user}:{text}@", f"//{user}:{MASK}@")
        yield from _in_base64(f"{user}:{text}", "Basic ")


def _escaped(text: str) -> set[str]:
    """Return a text as it stands in JSON, in JSON in JSON, in Python, in HTML and in addresses."""
    written = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]}
    written |= {json.dumps(one)[1:-1] for one in written}
    sent = text.encode(errors="replace")
    written |= {html.escape(text), html.escape(text).replace("&#x27;", "&#39;")}
    return written | {quote(sent, safe=""), quote(sent), quote_plus(sent)}


def _in_base64(text: str, before: str) -> Iterator[_Spelling]:
    """Yield a key or `user:password` as servers are told it. The last letters depend on what follows it there."""
    sent = text.encode(errors="replace")
    for code in (b64encode, urlsafe_b64encode) if len(sent) > 5 else ():
        whole, head = (f"{before}{code(part).decode()}" for part in (sent, sent[: len(sent) // 3 * 3]))
        yield _Spelling(head[: max(_HEAD, len(before) + 4)], whole, f"{before}{MASK}")


def _without_parts(text: str, spelling: _Spelling) -> str:
    """Return a text without a secret that was cut: what stands there is replaced as far as it agrees with it."""
    parts, end = [], 0
    while (start := text.find(spelling.head, end)) >= 0:
        parts += [text[end:start], spelling.shown]
        end = start + len(spelling.whole)
        while not spelling.whole.startswith(text[start:end]):
            end -= 1
    return "".join([*parts, text[end:]])
