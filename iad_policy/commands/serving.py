"""`iad serve`: the sites, and any environment to agents and trainers of other frameworks."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from iad_envs.booking.site.serving import open_booking_site
from iad_envs.errors import require_known
from iad_envs.webshop.env import NO_HOSTED_SHOP
from iad_policy.bridges.chat import ChatOutcome
from iad_policy.commands.asgi import AsgiServer
from iad_policy.commands.options import DataDir, EnvArgs, Split, pairs
from iad_policy.commands.terminal import clear_errors, tell
from iad_policy.run.resolve import make_env
from iad_policy.types.hashing import dumps
from webshop_server.site.server import LOOPBACK, announcement, serve_until_stopped
from webshop_server.site.serving import open_site

WEBSHOP, BOOKING, MCP, OPENENV, MODEL = "--site webshop", "--site booking", "--mcp", "--openenv", "--model"
SITES = ("webshop", "booking")
ONLY_FOR: Mapping[str, tuple[str, ...]] = {
    "--env-arg": (WEBSHOP, MCP, OPENENV),
    "--preview": (MCP,),
    "--snapshots": (MCP, OPENENV),
    "--oracle": (OPENENV,),
    "--outcomes": (MCP,),
}
"""What an option is for, where it isn't for everything that is served."""


@dataclass(frozen=True)
class Served:
    """The options of `iad serve`: see `serve`. None, False or nothing in a field means that it was not given."""

    site: str | None = None
    mcp: str | None = None
    openenv: str | None = None
    model: str | None = None
    preview: bool = False
    snapshots: int = 0
    oracle: bool = False
    outcomes: Path | None = None
    host: str | None = None
    port: int | None = None
    split: str | None = None
    env_args: Mapping[str, Any] = field(default_factory=dict)
    data_dir: str | None = None

    @property
    def kind(self) -> str:
        """What is served.

        Raises:
            ValueError: Two things at once, or an option that is for another one.
        """
        asked = {"--site": self.site, MCP: self.mcp, OPENENV: self.openenv, MODEL: self.model}
        given = [option for option, value in asked.items() if value is not None]
        if len(given) > 1:
            raise ValueError(
                f"expected one of --site, --mcp, --openenv and --model, got {' and '.join(given)}; leave one out"
            )
        if self.site is not None:
            require_known("site", self.site, SITES)
        kind = given[0] if given and given[0] != "--site" else f"--site {self.site or SITES[0]}"
        trying = {"--preview": self.preview, "--snapshots": self.snapshots, "--oracle": self.oracle}
        options = {"--env-arg": self.env_args, "--outcomes": self.outcomes, **trying}
        for option, value in options.items():
            if value and kind not in ONLY_FOR[option]:
                wanted = " or ".join(ONLY_FOR[option])
                raise ValueError(f"expected {option} with {wanted} only, got it with {kind}; leave it out")
        if self.oracle and not self.snapshots:
            raise ValueError("expected --oracle with --snapshots, got it alone; add --snapshots 8")
        if kind == MCP and self.host is not None and self.port is None:
            raise ValueError("expected --host with --port, which serves over HTTP, got it alone; add --port 3000")
        return kind

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments of the environment."""
        asked = {"split": self.split, "data_dir": self.data_dir}
        return {**self.env_args, **{name: value for name, value in asked.items() if value is not None}}


def serve(
    site: Annotated[str | None, typer.Option(help="The site: webshop (the default) or booking.")] = None,
    mcp: Annotated[
        str | None, typer.Option(metavar="ENV", help="Serve an environment to agents with tools, by MCP, instead.")
    ] = None,
    openenv: Annotated[
        str | None, typer.Option(metavar="ENV", help="Serve an environment to OpenEnv clients instead.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="local:MODEL", help="Serve a model on this machine to OpenAI clients instead."),
    ] = None,
    preview: Annotated[bool, typer.Option("--preview", help="MCP agents may simulate an action first.")] = False,
    snapshots: Annotated[
        int,
        typer.Option(min=0, help="Snapshots that each MCP or OpenEnv session may keep, to try actions and go back."),
    ] = 0,
    oracle: Annotated[
        bool, typer.Option("--oracle", help="OpenEnv clients are told rewards of what they only try, which is gold.")
    ] = False,
    outcomes: Annotated[
        Path | None, typer.Option(help="File for the outcomes of MCP agents' episodes, a line of JSON each.")
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on; by default 127.0.0.1, reachable from this machine only."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port to listen on, or the next free one; 3000 by default, and for MCP stdin and stdout."),
    ] = None,
    api: Annotated[bool, typer.Option("--api", hidden=True)] = False,
    split: Split = None,
    env_arg: EnvArgs = None,
    data_dir: DataDir = None,
) -> None:
    """Serve the shop, the booking site, a model, or an environment to other frameworks. Ctrl-C stops it."""
    with clear_errors():
        asked: dict[str, Any] = {"site": site, "mcp": mcp, "openenv": openenv, "model": model, "preview": preview}
        asked |= {"snapshots": snapshots, "oracle": oracle}
        if api:
            raise ValueError(f"expected no --api, which is gone; {NO_HOSTED_SHOP}")
        asked |= {"outcomes": outcomes, "host": host, "port": port, "split": split, "data_dir": data_dir}
        serving = opened(Served(**asked, env_args=pairs(env_arg, "--env-arg")), tell)
    serving()


def opened(served: Served, tell: Callable[[str], None]) -> Callable[[], None]:
    """Check the options and open what is asked for. Returns the function that serves it until it is stopped.

    Args:
        served: The options.
        tell: Shows a text.

    Raises:
        ValueError: The options exclude each other, or name what there is not.
        OSError: The port or the host can't be used.
        MissingExtra: The framework is not installed.
    """
    kind, host, port = served.kind, served.host or LOOPBACK, 3000 if served.port is None else served.port
    server: Any
    if kind == MCP:
        return _opened_mcp(served, tell, host)
    if kind == MODEL:
        from iad_policy.commands.endpoint import ModelEndpoint
        from iad_policy.models.local import local_model

        model = local_model((served.model or "").removeprefix("local:"))
        server = ModelEndpoint(model, host=host, port=port)
        message = announcement(f"{model.name} is open to OpenAI clients (any key, any model name)", server, port)
    elif kind == OPENENV:
        from iad_policy.bridges.openenv import openenv_app

        _check(served.openenv or "", served)
        trials: dict[str, Any] = {"snapshots": served.snapshots, "oracle": served.oracle}
        server = AsgiServer(openenv_app(served.openenv or "", **trials, **served.arguments), host=host, port=port)
        message = announcement(f"{served.openenv} is open to OpenEnv clients", server, port)
    elif kind == BOOKING:
        server, message = open_booking_site(served.data_dir, split=served.split or "test", host=host, port=port)
    else:
        made = make_env("IAD/WebShop-v0", served.env_args, split=served.split, data_dir=served.data_dir)
        env: Any = made.unwrapped
        server, message = open_site(env.storefront, split=env.split, host=host, port=port)
    return lambda: serve_until_stopped(server, lambda: tell(message))


def _opened_mcp(served: Served, tell: Callable[[str], None], host: str) -> Callable[[], None]:
    from iad_policy.bridges.mcp import mcp_server

    name = served.mcp or ""
    _check(name, served)
    on_end = None if served.outcomes is None else OutcomeFile(served.outcomes)
    offered: dict[str, Any] = {"preview": served.preview, "snapshots": served.snapshots, "on_end": on_end}
    bridge = mcp_server(name, **offered, **served.arguments)
    if served.port is not None:
        app = bridge.streamable_http_app(host=host)
        server = AsgiServer(app, host=host, port=served.port, path="/mcp")
        message = announcement(f"{name} is open to MCP clients", server, served.port)
        return lambda: serve_until_stopped(server, lambda: tell(message))

    def serve() -> None:
        # stdout is the protocol's. Clients keep what goes to stderr, and some show it.
        print(f"{name} is open to an MCP client at stdin and stdout.\nPress Ctrl-C to stop.", file=sys.stderr)
        with _ended_by_signals():
            bridge.run("stdio")

    return serve


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM end stdin, and so whoever reads it. A read under way could not be called off otherwise."""
    real, (reader, writer) = os.dup(0), os.pipe()
    os.dup2(reader, 0)
    os.close(reader)
    pipe = os.fdopen(writer, "wb", buffering=0)

    def pump() -> None:
        with suppress(OSError, ValueError), pipe:  # a signal or the end of the server closes it
            while given := os.read(real, 1 << 16):
                while given:
                    given = given[pipe.write(given) :]

    def end(number: int, frame: FrameType | None) -> None:
        pipe.close()
        restore()  # for somebody who presses Ctrl-C again

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    threading.Thread(target=pump, name="iad-stdin", daemon=True).start()
    try:
        yield
    finally:
        restore()


def _check(env: str, served: Served) -> None:
    """Refuse arguments that an environment doesn't take, in the words of every command."""
    make_env(env, served.env_args, split=served.split, data_dir=served.data_dir).close()


class OutcomeFile:
    """A file with a line of JSON for each episode. Several threads may write to it.

    Raises:
        ValueError: The file can't be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            path.open("a", encoding="utf-8").close()
        except OSError as error:
            raise ValueError(
                f"expected --outcomes with a file that can be written, got {path}: {error.strerror}; name another"
            ) from error

    def __call__(self, outcome: ChatOutcome) -> None:
        """Add an episode."""
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(dumps(outcome._asdict()) + "\n")
