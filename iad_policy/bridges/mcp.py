"""Serves an environment to agents that use tools, by the Model Context Protocol (`iad[mcp]`).

An agent calls `begin`, then `act` until the task is over. In the terminal: `iad serve --mcp IAD/WebShop-v0`. In Python:

```python
from iad_policy.bridges.mcp import mcp_server

mcp_server("IAD/WebShop-v0", split="train").run("stdio")
```
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeVar, cast

from iad_policy.bridges.chat import ChatOutcome, parts_of, png_of
from iad_policy.bridges.trial import TrialChat
from iad_policy.errors import ContractError, IADError, MissingExtra
from iad_policy.prompts import prompts_of
from iad_policy.types.secrets import masked

T = TypeVar("T")
TRIAL = "(This is a trial: nothing is done until you call commit.)"
MAX_BODY_BYTES = 1 << 22
"""The library's own limit of a request over HTTP."""


class ToolSession:
    """One client's session: an environment of its own, made by the first `begin` and closed with the session.

    Use it in one thread at a time.

    Args:
        make: Makes the conversation with a new environment.
        on_end: Called with each episode's outcome, also of one that was left before its end.
        limiter: The limit of one thread that keeps its calls one after another.
    """

    def __init__(
        self, make: Callable[[], TrialChat], on_end: Callable[[ChatOutcome], None] | None, limiter: Any
    ) -> None:
        self._make = make
        self._on_end = on_end
        self.limiter = limiter
        self._chat: TrialChat | None = None
        self._is_open = False

    def begin(self, task_id: str | None, seed: int | None) -> list[dict[str, Any]]:
        """Start a task and return its first messages. A task that is under way is left, unless there is no such task.

        Raises:
            ValueError: There is no such task.
        """
        if self._chat is None:
            self._chat = self._make()
        left = self._chat.outcome
        messages = self._chat.begin(task_id=task_id, seed=seed)
        self._end(left)
        self._is_open = True
        return masked(messages)

    def use(self, do: Callable[..., str], *given: Any) -> str:
        """Call a method of the conversation and return what is seen, with a word about it in a trial.

        Raises:
            ContractError: No task was begun, or the method raises it.
            SimulationError: The environment can't be simulated.
        """
        chat = self._chat
        if chat is None:
            raise ContractError("expected begin before anything else, got no task yet; call begin")
        text = masked(do(chat, *given))
        if chat.done:
            self._end(chat.outcome)
        return f"{text}\n\n{TRIAL}" if chat.is_trial else text

    def close(self) -> None:
        """Close the environment. Closing twice is harmless."""
        chat, self._chat = self._chat, None
        if chat is not None:
            self._end(chat.outcome)
            chat.close()

    def _end(self, outcome: ChatOutcome) -> None:
        """Tell the outcome of the task that was under way, if there was one."""
        was_open, self._is_open = self._is_open, False
        if was_open and self._on_end is not None:
            self._on_end(outcome)


class OneRequestPerId:
    """An ASGI application that refuses a request with the id of one that is in work, and passes on all others.

    The library would answer one of two such requests of a session, and let the other one wait for ever.

    Args:
        app: The application.
    """

    def __init__(self, app: Callable[..., Any]) -> None:
        self._app = app
        self._in_work: set[tuple[bytes, str]] = set()

    async def __call__(self, scope: dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        """Answer a request, or refuse it with status 409."""
        session = dict(scope.get("headers", ())).get(b"mcp-session-id")
        if scope.get("method") != "POST" or session is None:  # no session is begun yet, or it is no message
            await self._app(scope, receive, send)
            return
        read, body, is_whole = [], b"", False
        while not is_whole and len(body) <= MAX_BODY_BYTES:
            read.append(await receive())
            body += read[-1].get("body", b"")
            is_whole = not read[-1].get("more_body")

        async def again() -> Any:
            return read.pop(0) if read else await receive()

        asked, known = _request_id(body), self._in_work
        name = session, str(asked)  # as the library tells them apart
        if asked is None or name not in known:
            try:
                known.update({name} if asked is not None else ())
                await self._app(scope, again, send)
            finally:
                known.discard(name)
            return
        said = f"expected an id of its own for each request in work, got {asked!r:.100} again; count the ids up"
        error = {"jsonrpc": "2.0", "id": asked, "error": {"code": -32600, "message": said}}
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 409, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(error).encode()})


def _request_id(body: bytes) -> str | int | None:
    """Return the id of a JSON-RPC request, or None for what has none."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    asked = message.get("id") if isinstance(message, dict) and "method" in message else None
    return asked if isinstance(asked, str | int) else None


def mcp_server(
    env: str,
    *,
    preview: bool = False,
    snapshots: int = 0,
    on_end: Callable[[ChatOutcome], None] | None = None,
    **env_args: Any,
) -> Any:
    """Return an `MCPServer` with the tools `begin` and `act`. Each session has an environment of its own.

    Serve it with its own `run("stdio")` or `run("streamable-http", port=...)`. No text that it sends has gold. Over
    HTTP it refuses clients without a session (protocol 2026-07-28); those that know both fall back by themselves.

    Args:
        env: The id of an environment.
        preview: Whether agents also get the tool `preview`, which simulates an action.
        snapshots: How many snapshots a session may keep. Agents then also get the tools `snapshot`, `restore` and
            `commit`: see `TrialChat`.
        on_end: Called with each episode's outcome, which is gold, also of one that was left before its end (then
            `stop_reason` is ""). Several threads may call it.
        env_args: Arguments of the environment, such as `split="train"`. With a split, no task of another one is given.

    Raises:
        MissingExtra: The extra `mcp` is not installed.
        gymnasium.error.Error: There is no such environment.
    """
    try:
        from anyio import CancelScope, CapacityLimiter
        from anyio.to_thread import run_sync
        from mcp.server.mcpserver import Context, MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.shared.exceptions import MCPError
        from mcp.types import UNSUPPORTED_PROTOCOL_VERSION
        from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
        from pydantic import Field
    except ImportError:
        raise MissingExtra("mcp", "mcp") from None

    def made() -> TrialChat:
        return TrialChat(env, "tool", snapshots=snapshots, **env_args)  # the model is told to call the tool `act`

    def session() -> ToolSession:
        return ToolSession(made, on_end, CapacityLimiter(1))

    async def closed(its: ToolSession) -> None:
        with CancelScope(shield=True):
            await run_sync(its.close, limiter=its.limiter)

    @asynccontextmanager
    async def lifespan(server: Any) -> AsyncIterator[ToolSession]:
        """Yield the session of the only client: without HTTP, a server lives as long as its client."""
        own = session()
        try:
            yield own
        finally:
            await closed(own)

    def session_of(context: Any) -> ToolSession:
        request = context.request_context
        if request.request is None:
            return cast(ToolSession, request.lifespan_context)
        # All clients of an HTTP server share its lifespan. What belongs to one of them hangs on its connection, where
        # handlers are to leave their cleanup, but 2.3 gives them no public way to it.
        connection = request.session._connection
        if "iad" not in connection.state:
            connection.state["iad"] = session()
            connection.exit_stack.push_async_callback(closed, connection.state["iad"])
        return cast(ToolSession, connection.state["iad"])

    async def call(
        context: Any, do: Callable[..., T], *given: Any, mendable: tuple[type[Exception], ...] = (IADError,)
    ) -> T:
        """Call a method of the client's session in a thread. What the client can mend is told to it."""
        its = session_of(context)
        try:
            return cast(T, await run_sync(do, its, *given, limiter=its.limiter))
        except mendable as error:
            raise ToolError(masked(str(error))) from error

    async def with_sessions(context: Any, call_next: Callable[[Any], Any]) -> Any:
        """Refuse requests that stand alone, as every one of them would be in a session of its own."""
        if context.request is not None and context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            known = {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": context.protocol_version}
            raise MCPError(
                UNSUPPORTED_PROTOCOL_VERSION,
                "expected a protocol version with sessions, as an episode lives in one, got a request that stands "
                "alone; connect with the initialize handshake",
                known,
            )
        return await call_next(context)

    with made() as chat:  # so what is wrong with the environment is said before anybody connects
        form = prompts_of(chat.env).part("form") or "an action, in the form of the available ones"

    async def begin(
        context: Context,
        task_id: Annotated[str | None, Field(description="Id of the task; by default the seed picks one.")] = None,
        seed: Annotated[
            int | None, Field(description="Picks the task if none is named, and seeds the environment.")
        ] = None,
    ) -> Any:
        """Start a task. Returns what to do and what is seen first. Call it before act, and again for another task."""
        messages = await call(context, ToolSession.begin, task_id, seed, mendable=(IADError, ValueError))
        return contents(messages)

    async def act(context: Context, action: Annotated[str, Field(description=form)]) -> str:
        """Carry out one action. Returns what is seen next, or that the task is over."""
        return await call(context, ToolSession.use, TrialChat.say, action)

    async def show(context: Context, action: Annotated[str, Field(description=form)]) -> str:
        """Show what an action would lead to, in a simulation. Nothing is carried out, and it costs no action."""
        return await call(context, ToolSession.use, TrialChat.preview, action)

    async def snapshot(context: Context) -> str:
        """Take a snapshot. From then on act only tries actions, in a simulation, until commit. Returns its id."""
        return await call(context, ToolSession.use, kept)

    async def restore(context: Context, snapshot: Annotated[str, Field(description="Id of the snapshot.")]) -> str:
        """Go back to a snapshot of this task, to try something else. Returns what is seen there."""
        return await call(context, ToolSession.use, TrialChat.restore, snapshot)

    async def commit(context: Context) -> str:
        """Carry out what was tried since the last commit, up to where you are, and end the trial and its snapshots.

        Returns what is seen after the last action.
        """
        return await call(context, ToolSession.use, TrialChat.commit_tried)

    class EpisodeServer(MCPServer):  # type: ignore[misc]
        """A server that refuses, over HTTP, what it would never answer."""

        def streamable_http_app(self, **options: Any) -> Any:
            app = super().streamable_http_app(**options)
            app.add_middleware(OneRequestPerId)
            return app

    told = "Call begin to be given a task, then act, with one action at a time, until it says that the task is over."
    named = {"name": env, "instructions": told, "log_level": "WARNING"}
    server = EpisodeServer(**named, lifespan=lifespan, middleware=[with_sessions])
    for tool in (begin, act, *((snapshot, restore, commit) if snapshots else ())):
        server.add_tool(tool, structured_output=False)
    if preview:
        server.add_tool(show, "preview", structured_output=False)
    return server


def kept(chat: TrialChat) -> str:
    """Take a snapshot and return its id in a sentence."""
    return f"Snapshot {chat.snapshot()}. restore goes back to it."


def contents(messages: list[dict[str, Any]]) -> list[Any]:
    """Return what messages say as a tool's result: texts, and the pictures among them."""
    from mcp.server.mcpserver import Image

    return [part["text"] if part["type"] == "text" else Image(data=png_of(part)) for part in parts_of(messages)]
