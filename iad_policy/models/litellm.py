"""Hosted and local models through litellm. It is imported with the first question, as the import takes seconds.

Only litellm's translation to providers is used, not its retries, cache, router and callbacks. Our retries are bounded
and honour Retry-After, and a call is counted once. Answers of your own OpenAI-compatible endpoint are streamed,
because a model on a CPU may be slow without being stuck.
"""

import math
import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from iad_policy.errors import MissingExtra, ModelError, install_command
from iad_policy.models import Completion, Messages
from iad_policy.models.rate_limit import RateLimit
from iad_policy.models.streaming import BrokenStream, Limits, answered, collected, heard
from iad_policy.models.tools import (
    CallFragments,
    answer_text,
    reasoning_of,
    sent_messages,
    starts_of,
    template_options,
    tools_of,
)
from iad_policy.types import Usage
from iad_policy.types.call_context import current_call, pause
from iad_policy.types.secrets import learn, masked, without_secrets

PACKAGE = "litellm"


class LiteLLMModel:
    """A model by its litellm name.

    Args:
        name: A name such as `gpt-4o-mini`, `anthropic/<model>`, `ollama/<model>`, `hosted_vllm/<model>` or
            `openai/<model>`.
        api_base: An OpenAI-compatible endpoint. By default it is an environment variable (`OPENAI_API_BASE` ...).
        api_key: The provider's key. By default it is litellm's environment variable (`OPENAI_API_KEY` ...).
        timeout_s: Longest silence of a server that streams, and the time limit of one try otherwise. By default a
            server may be silent for five minutes until its first words, and for one minute after them; a try without
            streaming may take five minutes.
        deadline_s: Time limit of one try of a server that streams, however often it says something. By default it is
            ten times the limit until the first words.
        max_retries: Number of tries after the first, for temporary errors.
        max_parallel: Maximum number of requests at once. It shrinks while the server complains, and threads wait.
        price_usd: Dollars per million prompt and completion tokens. The default is litellm's table. Your own endpoint
            has no default price, so its calls count as unpriced.
        logprobs: Whether to ask for the log-probabilities of the answer's tokens.
        thinking: Whether a model at your own OpenAI-compatible endpoint thinks before it answers. It is the option
            `enable_thinking` of the chat template. None leaves it to the model.
        sleep: Waits between tries. By default the wait ends when the run is stopped.
        clock: Returns the seconds since the epoch, to read a Retry-After that is a date.
        sampling: Options for the provider (`top_p=`, `stop=` ...). Those that it doesn't know are dropped.

    Raises:
        MissingExtra: The package litellm is not installed.
        ValueError: A limit is too low, or `thinking` is given for a model that is not at an endpoint of your own.
    """

    def __init__(
        self,
        name: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        timeout_s: float | None = None,
        deadline_s: float | None = None,
        max_retries: int = 4,
        max_parallel: int = 8,
        price_usd: tuple[float, float] | None = None,
        logprobs: bool = False,
        thinking: bool | None = None,
        sleep: Callable[[float], None] = pause,
        clock: Callable[[], float] = time.time,
        **sampling: Any,
    ) -> None:
        if max_retries < 0 or max_parallel < 1:
            raise ValueError(
                f"expected max_retries of 0 or more and max_parallel of 1 or more, got {max_retries} and "
                f"{max_parallel}; the defaults are 4 and 8"
            )
        _require_litellm()
        learn({"api_key": api_key, "api_base": api_base, **sampling})
        self.name = name
        self._api_base = api_base
        self._api_key = api_key
        first_s = timeout_s or 300.0
        self._limits = Limits(first_s, timeout_s or 60.0, deadline_s or 10 * first_s)
        self._has_miscounted = False
        self._streams = True
        self._has_streamed = False
        self._max_retries = max_retries
        self.rate_limit = RateLimit(max_parallel)
        self._price_usd = price_usd
        self._sampling = {**sampling, **({"logprobs": True} if logprobs else {})}
        self._thinking = thinking
        if thinking is not None and (self._endpoint() is None or self._provider() not in ("openai", "hosted_vllm")):
            raise ValueError(
                f"expected thinking= for a model at your own endpoint (openai/... with OPENAI_API_BASE, or "
                f"hosted_vllm/...), got {name}; leave it out, or pass the provider's own option, such as "
                "reasoning_effort=, to LiteLLMModel"
            )
        self._sleep = sleep
        self._clock = clock

    @property
    def settings(self) -> Mapping[str, Any]:
        """The endpoint, unless it is the provider's default, and the extra sampling parameters."""
        thinking = {} if self._thinking is None else {"thinking": self._thinking}
        return {"api_base": self._endpoint(), **self._sampling, **thinking}

    def complete(
        self, messages: Messages, *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer, after retries if needed. See `LanguageModel.complete`."""
        # Kinds of errors that are retried. All others fail at once.
        retried = frozenset({"rate_limit", "timeout", "connection", "server", "malformed"})
        max_wait_s = 60.0
        n_tries, wait_s, backoff_s = 0, 0.0, 1.0
        while True:
            wait_s = max(wait_s, self.rate_limit.blocked_s())
            if wait_s:
                self._sleep(wait_s)
            n_tries += 1
            try:
                return self._try(messages, temperature, max_tokens)
            except _Failure as failure:
                wait_s = min(max(backoff_s, failure.retry_after_s(self._clock)), max_wait_s)
                if failure.kind == "rate_limit":
                    self.rate_limit.block(wait_s)
                if failure.kind not in retried or n_tries > self._max_retries:
                    tries = "1 try" if n_tries == 1 else f"{n_tries} tries"
                    raise ModelError(
                        f"expected an answer from {self._where()}, got: {masked(failure.reason):.500} ({tries}); "
                        f"{self._fix(failure)}",
                        kind="not_found" if failure.kind == "no_provider" else failure.kind,
                    ) from failure.__cause__
                backoff_s = min(backoff_s * 2, max_wait_s)

    def _try(self, messages: Messages, temperature: float | None, max_tokens: int | None) -> Completion:
        _litellm()  # if it can't be imported, that is no failure of a server
        optional = {"temperature": temperature, "max_tokens": max_tokens, "api_base": self._api_base}
        optional |= {"api_key": self._api_key}
        given = {key: value for key, value in optional.items() if value is not None}
        asked: dict[str, Any] = {
            "model": self.name,
            "messages": sent_messages(messages),
            "timeout": self._limits.first_s,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            **given,
            **self._sampling,
        }
        if tools := tools_of(messages):
            if self._provider() == "ollama":  # litellm would write the functions into the prompt in its own words
                raise ModelError(
                    f"expected a model with a chat for functions, got {self.name}; name it ollama_chat/..., or "
                    "openai/... with OPENAI_API_BASE=http://localhost:11434/v1",
                    kind="other",
                )
            # Options that litellm does not know of a provider are dropped; a model must not lose its functions so.
            asked |= {"tools": tools, "allowed_openai_params": ["tools"], **_without_mcp()}
        if self._thinking is not None:
            own = self._sampling.get("extra_body", {})
            template = {**own.get("chat_template_kwargs", {}), **template_options(self._thinking)}
            asked["extra_body"] = {**own, "chat_template_kwargs": template}
        with self.rate_limit.slot():
            try:
                response = self._streamed(asked) or self._in_one_piece(asked)
            except _Failure:
                raise
            except BrokenStream as error:
                raise _Failure("server", str(error)) from error
            except Exception as error:  # providers raise all sorts; each gets a kind
                raise _failure(error) from error
        self.rate_limit.answered()
        usage = self._usage(response)
        current_call().report(usage)
        return _completion(response, usage)

    def _streamed(self, asked: Mapping[str, Any]) -> Any:
        """Return a streamed response, or None where answers come in one piece."""
        # Only the stream of this provider is left by litellm as the server sent it.
        if not self._streams or self._endpoint() is None or self._provider() != "openai":
            return None

        def start() -> Iterable[Any]:
            # litellm's own reading of the stream drops refusals, and makes up the usage where there is none.
            stream = _litellm().completion(**asked, stream=True, stream_options={"include_usage": True})
            raw: Iterable[Any] = stream.completion_stream
            return raw

        response = collected(heard(start, self._limits))
        if response is not None:
            self._has_streamed = True
        elif self._has_streamed:
            raise _Failure("malformed", "an empty answer")
        return response

    def _in_one_piece(self, asked: Mapping[str, Any]) -> Any:
        response = answered(lambda: _litellm().completion(**asked), self._limits.first_s)
        if getattr(response, "choices", None):
            self._streams = self._has_streamed  # an endpoint that has sent an empty stream and this does not stream
        return response

    def _usage(self, response: Any) -> Usage:
        counts = getattr(response, "usage", None)
        given = [getattr(counts, name, None) or 0 for name in ("prompt_tokens", "completion_tokens")]
        n_prompt, n_completion = map(_count, given)
        if n_prompt is None or n_completion is None:
            n_prompt = n_completion = 0
            if not self._has_miscounted:
                self._has_miscounted = True
                got = " and ".join(f"{count!r:.40}" for count in given)
                warnings.warn(
                    f"expected numbers of prompt and completion tokens from {self._where()}, got {got}; such calls "
                    "count as no tokens and unpriced, so limit a budget by proposals or seconds, not by tokens",
                    RuntimeWarning,
                    stacklevel=2,
                )
        usd: float | None = None
        is_counted = n_prompt + n_completion > 0  # a missing usage looks like no tokens at all
        if is_counted and self._price_usd is not None:
            usd = (n_prompt * self._price_usd[0] + n_completion * self._price_usd[1]) / 1e6
        elif is_counted and self._endpoint() is None:
            usd = listed_usd(response, self.name)
        return Usage(
            prompt_tokens=n_prompt, completion_tokens=n_completion, usd=usd or 0.0, n_unpriced=1 if usd is None else 0
        )

    def _endpoint(self) -> str | None:
        if self._api_base is not None:
            return self._api_base
        return next((os.environ[name] for name in self._variables() if os.environ.get(name)), None)

    def _provider(self) -> str:
        provider, slash, _ = self.name.partition("/")
        return provider if slash else "openai"

    def _variables(self) -> tuple[str, ...]:
        """Return the environment variables that may hold the model's endpoint."""
        provider = self._provider()
        # Variables in which litellm looks for an endpoint. Other providers have `<PROVIDER>_API_BASE`.
        known = {"openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "ollama_chat": ("OLLAMA_API_BASE",)}
        return known.get(provider, (f"{provider.upper()}_API_BASE",))

    def _where(self) -> str:
        """Return its name, and its endpoint without secrets if that is not the provider's default."""
        endpoint = self._endpoint()
        return self.name if endpoint is None else f"{self.name} at {without_secrets(endpoint)}"

    def _fix(self, failure: "_Failure") -> str:
        endpoint = self._endpoint()
        fixes = {
            "rate_limit": "send fewer requests at once (max_parallel=), or try later",
            "timeout": "give it more time (IAD_TIMEOUT_S=600, or timeout_s=), or check that the server is up",
            "connection": "check that the server runs, and its address",
            "server": "try again later, or check the server's log",
            "auth": "set the provider's key, such as OPENAI_API_KEY",
            "not_found": "check the model's name and the endpoint",
            "context": "shorten the prompt, or take a model with a longer context",
            "malformed": "check that the endpoint speaks the chat-completions protocol",
            "refusal": "the provider's content filter refused; another model may not",
            "other": "fix what the message says",
        }
        if failure.kind == "no_provider":
            return (
                f"put one before the name: openai/{self.name} for an OpenAI-compatible server, whose address is in "
                f"OPENAI_API_BASE, ollama/{self.name}, hosted_vllm/{self.name} ..."
            )
        if failure.kind == "auth" and endpoint is not None:
            return "set the server's key, such as OPENAI_API_KEY; if the server needs none, any word works"
        if failure.kind in ("connection", "not_found"):
            hint = "" if endpoint is None or endpoint.rstrip("/").endswith("/v1") else ", which usually ends in /v1"
            if endpoint is not None and "://" not in endpoint:
                hint = ", which begins with http:// or https://"
            return f"{fixes[failure.kind]} ({self._variables()[-1]} or api_base=){hint}"
        return fixes[failure.kind]


def listed_usd(response: Any, name: str) -> float | None:
    """Return the price of a response by litellm's table, or None if it has no price (the table says 0 for some)."""
    try:
        return float(_litellm().completion_cost(completion_response=response, model=name)) or None
    except Exception:  # the price is unknown then, but the answer must not be lost
        return None


class _Failure(Exception):
    """One failed try."""

    def __init__(self, kind: str, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self._headers = headers or {}

    def retry_after_s(self, clock: Callable[[], float]) -> float:
        """Return the seconds that the server asks to wait, or 0."""
        header = self._headers.get("retry-after", "")
        try:
            seconds = float(header) if header else 0.0
        except ValueError:
            try:
                seconds = parsedate_to_datetime(header).timestamp() - clock()
            except ValueError:
                seconds = 0.0
        return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def _failure(error: Exception) -> _Failure:
    if "LLM Provider NOT provided" in str(error):
        return _Failure("no_provider", "a name without a provider that litellm knows")
    # Without the class names that litellm puts before the server's message.
    said = re.sub(r"^(litellm\.)?(\w+(Error|Exception)(: | - ))+", "", str(error)).strip()
    own = getattr(getattr(error, "response", None), "headers", None)
    headers = getattr(error, "litellm_response_headers", None) or own or {}
    return _Failure(_kind(error), said or type(error).__name__, headers)


_importing = Lock()


def _require_litellm() -> None:
    """Say that litellm is missing before anything is asked, without importing it.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        found = find_spec(PACKAGE)
    except (ImportError, ValueError):  # something keeps it from being found
        found = None
    if found is None:
        raise MissingExtra(PACKAGE)


@cache
def _litellm() -> Any:
    # Without this variable the import fetches a price table, and retries for seconds if there is no network.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # Filters belong to the whole process, so they change only here, under the lock, and never around a call.
    with _importing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import litellm
        except ImportError as error:
            raise ModelError(
                f"expected to import litellm, got: {error}; {install_command(PACKAGE)} --upgrade",
                kind="not_found",
            ) from error

        # What builds a pydantic schema at its first use, which warns: answers, and since 1.108 a module of every call.
        litellm.ModelResponse()
        with suppress(ImportError):
            import_module("litellm.llms.github_copilot.per_user_auth")
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    return litellm


@cache
def _without_mcp() -> dict[str, Any]:
    """Return the option that keeps litellm from looking for MCP servers among tools, which needs the package mcp."""
    looks = Path(_litellm().__file__).with_name("responses") / "mcp" / "chat_completions_handler.py"
    return {"_skip_mcp_handler": True} if looks.is_file() else {}


def _kind(error: Exception) -> str:
    codes = {
        "content_policy_violation": "refusal",
        "content_filter": "refusal",
        "context_length_exceeded": "context",
    }
    # Subclasses first: litellm's context and policy errors are BadRequestErrors, and its Timeout is a connection error
    kinds = (
        ("ContextWindowExceededError", "context"),
        ("ContentPolicyViolationError", "refusal"),
        ("APIResponseValidationError", "malformed"),
        ("JSONDecodeError", "malformed"),
        ("RateLimitError", "rate_limit"),
        ("APITimeoutError", "timeout"),
        ("TimeoutError", "timeout"),
        ("TimeoutException", "timeout"),
        ("AuthenticationError", "auth"),
        ("PermissionDeniedError", "auth"),
        ("NotFoundError", "not_found"),
        ("BadRequestError", "other"),
        ("APIConnectionError", "connection"),
        ("TransportError", "connection"),
    )
    # litellm reports a refused connection, an unreadable answer and a missing key as a server's error 500. Its cause
    # tells them apart.
    for cause in _causes(error):  # a provider's own code says more than the class that litellm makes of it
        code = getattr(cause, "code", None)
        if isinstance(code, str) and code in codes:
            return codes[code]
    for cause in _causes(error):
        if "missing credentials" in str(cause).lower():
            return "auth"
        names = {kind.__name__ for kind in type(cause).__mro__}
        for name, kind in kinds:
            if name in names:
                return kind
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or status < 500:
        return "other"
    # A real error 500 comes with the response's headers.
    return "malformed" if getattr(error, "litellm_response_headers", None) is None else "server"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _count(given: Any) -> int | None:
    """Return a number of tokens, or None if it can't be one: no model reads or writes 10**8 in one call."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return int(given) if is_number and 0 <= given <= 10**8 else None


def _completion(response: Any, usage: Usage) -> Completion:
    choices = getattr(response, "choices", None)
    if not choices:
        raise _Failure("malformed", "an answer without choices")
    choice = choices[0]
    content = str(choice.message.content or "")
    calls = CallFragments()
    calls.add(getattr(choice.message, "tool_calls", None))
    if choice.finish_reason == "content_filter":
        raise _Failure("refusal", "an answer that the provider's content filter held back")
    refusal = (getattr(choice.message, "provider_specific_fields", None) or {}).get("refusal")
    if not content and not calls.calls and refusal:
        raise _Failure("refusal", f"a refusal: {refusal}")
    tokens = getattr(getattr(choice, "logprobs", None), "content", None)
    text = answer_text(content, calls.calls, reasoning_of(choice.message))
    logprobs = None if not tokens else tuple(float(token.logprob) for token in tokens)
    details = getattr(getattr(response, "usage", None), "prompt_tokens_details", None)
    cached = _count(getattr(details, "cached_tokens", None))
    # Tokens are joined as bytes, which servers return with the text.
    spelled = [
        str(token.token).encode(errors="replace") if token.bytes is None else bytes(token.bytes)
        for token in tokens or ()
    ]
    starts = starts_of(spelled, text)
    return Completion(text, usage, logprobs, str(choice.finish_reason), starts, cached_tokens=cached)
