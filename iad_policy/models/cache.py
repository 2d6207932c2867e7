"""A cache of completions on disk, so that repeating a comparison costs nothing.

A hit counts for the budget (its tokens, and the seconds that the answer took at first) but not for the bill (no
dollars, nothing unpriced). So a method that needs ten calls is always compared as one that needs ten calls, whether or
not they had to be paid again, and whichever method asked first.
"""

import json
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from time import perf_counter
from types import TracebackType
from typing import Any

from iad_policy.models import Completion, LanguageModel, Messages, question_of, release, settings_of
from iad_policy.types import Usage
from iad_policy.types.call_context import current_call
from iad_policy.types.hashing import digest
from iad_policy.types.secrets import masked


class CachedModel:
    """A model whose answers are kept in a SQLite file, which threads and processes may share.

    The key contains the cache version, the model's name and settings (with its endpoint), the messages, the sampling
    parameters, the call's stream (task and seed), and the number of the sample. So a second sample of the same prompt
    is a new one, and the same run finds all of them again. Outside of a driver every call is the first sample. Errors
    are never kept.

    At temperature 0 the stream and the number are not in the key: another sample, task or seed would get the same
    answer, so an identical question is asked once.

    Args:
        model: The model that answers after a miss.
        path: The cache file. It and its folder are created if needed.
        asks_greedy_once: Whether an identical question at temperature 0 is asked once. False is for models whose
            answers differ even then.

    Raises:
        ValueError: The file exists and is not a cache, or it can't be created.
    """

    def __init__(self, model: LanguageModel, path: Path | str, *, asks_greedy_once: bool = True) -> None:
        self._model = model
        self._asks_greedy_once = asks_greedy_once
        self._path = Path(path)
        self._lock = Lock()
        self._asking: dict[str, tuple[Lock, int]] = {}
        self._connection: sqlite3.Connection | None = None
        self._connection = self._opened()

    def _opened(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.exists() and not self._path.is_file():
                raise IsADirectoryError("it is a folder or a device")
            connection = sqlite3.connect(self._path, timeout=30.0, check_same_thread=False, isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")  # a power cut may cost the last answers, a crash none
            connection.execute("CREATE TABLE IF NOT EXISTS completions (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")
            connection.execute("SELECT key, answer FROM completions LIMIT 1").fetchone()
        except (sqlite3.Error, OSError) as error:
            if connection is not None:
                connection.close()
            raise ValueError(
                f"expected a language-model cache in {self._path}, got a file that can't be used ({error}); delete it, "
                "or name another path"
            ) from error
        return connection

    @property
    def name(self) -> str:
        """The model's name. The cache does not change it."""
        return self._model.name

    @property
    def settings(self) -> Any:
        """The model's settings."""
        return settings_of(self._model)

    def complete(
        self, messages: Messages, *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return the stored answer, or ask the model and store its answer."""
        call = current_call()
        prompt = question_of(self, messages, temperature, max_tokens)
        is_asked_once = temperature == 0 and self._asks_greedy_once
        with call.drawing(prompt) as draw:

            def key_of(sample_index: int) -> str:
                return digest(1, prompt, *(() if is_asked_once else (call.stream, sample_index, draw)))

            key = key_of(call.sample_index)
            with self._alone_with(key):
                known = self._read(key)
                if known is not None:
                    call.siblings.discard(call.sample_index)
                    call.report(known.usage)
                    return known
                others = list(call.siblings - {call.sample_index})
                call.siblings.difference_update(one for one in others if self._read(key_of(one)) is not None)
                start = perf_counter()
                answer = self._model.complete(messages, temperature=temperature, max_tokens=max_tokens)
                text = masked(answer.text)
                if text is not answer.text:
                    answer = replace(answer, text=text, starts=None)
                self._write(key, answer, seconds=perf_counter() - start)
                return answer

    @contextmanager
    def _alone_with(self, key: str) -> Iterator[None]:
        """Let a thread wait while another one asks the same question, so that both get the same answer."""
        with self._lock:
            asking, n_waiting = self._asking.get(key, (Lock(), 0))
            self._asking[key] = asking, n_waiting + 1
        try:
            with asking:
                yield
        finally:
            with self._lock:
                _, n_waiting = self._asking.pop(key)
                if n_waiting > 1:
                    self._asking[key] = asking, n_waiting - 1

    def release(self) -> None:
        """Let the model end what it started. See `iad_policy.models.release`."""
        release(self._model)

    def close(self) -> None:
        """Close the file. Closing twice is harmless, and a closed cache forwards everything to the model."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def __enter__(self) -> "CachedModel":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self.close()

    def _read(self, key: str) -> Completion | None:
        # As bytes, because SQLite refuses a text that is not UTF-8, and a damaged row should cost that row only.
        row = self._execute("SELECT CAST(answer AS BLOB) FROM completions WHERE key = ?", key)
        if row is None:
            return None
        try:
            return _completion_of(json.loads(row[0]))
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
            # A damaged row is a miss.
            self._execute("DELETE FROM completions WHERE key = ?", key)
            return None

    def _write(self, key: str, answer: Completion, *, seconds: float) -> None:
        record = {
            "text": answer.text,
            "prompt_tokens": answer.usage.prompt_tokens,
            "completion_tokens": answer.usage.completion_tokens,
            "logprobs": answer.logprobs,
            "finish_reason": answer.finish_reason,
            "starts": answer.starts,
            "logprob_kind": answer.logprob_kind,
            "cached_tokens": answer.cached_tokens,
            "seconds": seconds,
        }
        self._execute("INSERT OR IGNORE INTO completions VALUES (?, ?)", key, json.dumps(record))

    def _execute(self, statement: str, *values: str) -> tuple[Any, ...] | None:
        with self._lock:
            if self._connection is None:
                return None
            try:
                row: tuple[Any, ...] | None = self._connection.execute(statement, values).fetchone()
            except sqlite3.Error as error:
                self._connection.close()
                self._connection = None
                warnings.warn(
                    f"expected to read and write the language-model cache {self._path}, got {error}; going on without "
                    "it. Delete the file if this happens again",
                    RuntimeWarning,
                    stacklevel=4,
                )
                return None
            return row


def _completion_of(record: dict[str, Any]) -> Completion:
    if not isinstance(record["text"], str):
        raise TypeError(f"expected a text, got {record['text']!r:.100}")
    logprobs, starts, cached = record["logprobs"], record.get("starts"), record.get("cached_tokens")
    return Completion(
        record["text"],
        Usage(
            prompt_tokens=int(record["prompt_tokens"]),
            completion_tokens=int(record["completion_tokens"]),
            seconds=float(record.get("seconds", 0.0)),  # older rows don't have it
            n_cached=1,
        ),
        None if logprobs is None else tuple(float(value) for value in logprobs),
        str(record["finish_reason"]),
        None if starts is None else tuple(int(value) for value in starts),
        str(record.get("logprob_kind", "")),
        None if cached is None else int(cached),
    )
