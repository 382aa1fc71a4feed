"""`belated serve`: run the HTTP service in one process."""

import gc
import os
import signal
import socket
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from belated.cli.support.options import help_from_docstring
from belated.cli.support.stores import DEFAULT_STORE, StoreOption, hide_password, open_ledger

if TYPE_CHECKING:
    import uvicorn

    from belated.ledger.ledger import Ledger
    from belated.service.operations.connections import ConnectionLimits

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8000

SHUTDOWN_TIMEOUT_S: Final = 10
"""Maximum number of seconds to wait for requests in progress when the service stops."""

GC_THRESHOLD_OBJECTS: Final = 10_000
"""Number of new objects after which Python's garbage collector looks for reference cycles."""


def load_settings(context: typer.Context, file: Path | None) -> Path | None:
    """Use the values in the TOML file `file` as defaults of the options of a command.

    Values on the command line and in the environment take precedence. If `file` is None, nothing
    is done. Returns `file`, as the callback of an option must. Exit with a usage error if the file
    cannot be read or has an unknown key.
    """
    if file is None or context.resilient_parsing:
        return file
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}.") from None
    known = [str(param.name) for param in context.command.params if param.name != "settings"]
    for key in values:
        if key not in known:
            raise typer.BadParameter(
                f"{file} has the unknown key {key!r}; keys are: {', '.join(known)}."
            )
    context.default_map = values
    return file


@help_from_docstring(envvar_prefix="BELATED_")
def serve(
    store: StoreOption = DEFAULT_STORE,
    host: str = DEFAULT_HOST,
    port: Annotated[int, typer.Option(min=0, max=65535)] = DEFAULT_PORT,
    interval: Annotated[float, typer.Option(min=0.01, max=86400)] = 1.0,
    memory_limit: Annotated[
        int | None, typer.Option(min=1, metavar="MIB", show_default="no limit")
    ] = None,
    max_total_cells: Annotated[int, typer.Option(min=1, show_default="20 million")] = 20_000_000,
    rate_limit: Annotated[float, typer.Option(min=0)] = 0,
    verbose: bool = False,
    log_format: Literal["text", "json"] = "text",
    settings: Annotated[Path | None, typer.Option(is_eager=True, callback=load_settings)] = None,
) -> None:
    """Serve policies and record feedback over HTTP, until Ctrl-C.

    As long as there are no tokens, requests need no token, and the service can listen only on this
    machine. Once `belated token create` has created a token, every request needs a token. For TLS,
    run the service behind a proxy.

    Each option can also be set by an environment variable, such as BELATED_PORT, or in a TOML file
    (--settings). The command line takes precedence over the environment, and the environment over
    the file.

    Example: belated serve --store sqlite:///belated.db --port 8000

    Parameters
    ----------
    host
        Address to listen on. If other machines can reach it, a token must exist.
    port
        Port to listen on; 0 for any free port.
    interval
        Seconds between two checks for new feedback.
    memory_limit
        Memory for learners, in MiB; learners not used recently are released beyond it.
    max_total_cells
        Maximum sum of horizon x states x actions over all problems; a learner takes about 100 bytes
        for each unit.
    rate_limit
        Maximum number of requests per second with one token; 0 for no limit.
    verbose
        Log a line for each request.
    log_format
        Format of the log, which is written to stderr.
    settings
        TOML file with values of these options, such as store = 'sqlite:///belated.db'.
    """
    with open_ledger(store) as ledger:
        from belated.learner.background import compilation_in_background
        from belated.service.auth import is_loopback
        from belated.service.operations.log import configure_log

        tokens, now = ledger.tokens.all(), ledger.store.now()
        if not is_loopback(host) and not any(token.is_valid(now) for token in tokens):
            raise typer.BadParameter(
                f"other machines can reach host {host}, and there is no token; "
                f"create one first: {format_token_command(store)}",
                param_hint="'--host'",
            )
        configure_log(as_json=log_format == "json", log_requests=verbose)
        server = build_server(
            ledger,
            interval=interval,
            open=is_loopback(host),
            memory_limit_bytes=None if memory_limit is None else memory_limit << 20,
            max_total_cells=max_total_cells,
            max_requests_per_s=rate_limit,
        )
        with compilation_in_background(), open_listener(host, port) as listener:
            url = format_url(host, listener.getsockname()[1])
            print_start(url, store, has_tokens=bool(tokens))
            reduce_gc_frequency()
            # uvicorn raises the signal again after its shutdown, which would end the process
            # before the ledger is closed.
            with stop_signals(lambda *_: None):
                server.run(sockets=[listener])
    typer.echo(f"Stopped; everything is stored in {hide_password(store)}.")


def reduce_gc_frequency() -> None:
    """Let Python's garbage collector search for reference cycles less often.

    Objects that exist now are not searched any more. Requests create almost no reference cycles,
    and a search takes long if many episodes are in flight.
    """
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD_OBJECTS)


@contextmanager
def stop_signals(handler: Callable[..., Any]) -> Iterator[None]:
    """Handle SIGINT and SIGTERM with `handler` inside the block.

    The previous handlers are restored at the end of the block.
    """
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, handler) for number in signals]
    try:
        yield
    finally:
        for number, previous in zip(signals, before, strict=True):
            signal.signal(number, previous)


def build_server(
    ledger: "Ledger",
    *,
    interval: float,
    memory_limit_bytes: int | None = None,
    shutdown_timeout_s: int = SHUTDOWN_TIMEOUT_S,
    limits: "ConnectionLimits | None" = None,
    **settings: Any,
) -> "uvicorn.Server":
    """Return a server of the HTTP service.

    Parameters
    ----------
    ledger : Ledger
        Ledger that the service uses.
    interval, memory_limit_bytes
        Arguments of `belated.online.host.Host`.
    shutdown_timeout_s : int
        Maximum number of seconds to wait for requests in progress when the server stops.
    limits : ConnectionLimits | None
        Limits on connections; None for the default limits.
    **settings
        Fields of `belated.service.Settings`.

    Returns
    -------
    uvicorn.Server
        The server, not yet running.
    """
    import uvicorn

    from belated.online.host import Host
    from belated.service import Settings, create_app
    from belated.service.operations.connections import ConnectionLimits, limit_connections
    from belated.service.operations.log import LimitLog

    learners = Host(ledger, interval=interval, memory_limit_bytes=memory_limit_bytes)
    limits = (limits or ConnectionLimits()).restrict_to_open_files()
    app = create_app(ledger, learners, Settings(**settings))
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,  # it would contain ids and subjects
        server_header=False,
        timeout_graceful_shutdown=shutdown_timeout_s,
        http=limit_connections(limits, LimitLog()),
        ws="none",
        timeout_keep_alive=limits.keep_alive_s,
    )
    server = uvicorn.Server(config)
    connections = server.server_state.connections
    app.state.belated.metrics.watch(
        "connections", "Open HTTP connections.", lambda: len(connections)
    )
    return server


def open_listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens on `host` and `port`.

    Exit with a usage error if this is not possible, for example if the port is in use.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(found[4][:2], family=found[0])
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise typer.BadParameter(
            f"cannot listen on {host}:{port}: {reason}. Use --port 0 for any free port.",
            param_hint="'--port'",
        ) from None
    # asyncio does not set this option on an existing socket; each response would take 40 ms more.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def format_url(host: str, port: int) -> str:
    """Return the URL of a service that listens on `host` and `port`.

    >>> format_url("::1", 8000)
    'http://[::1]:8000'
    """
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def print_start(url: str, store: str, *, has_tokens: bool) -> None:
    """Print the URL of the service, and instructions for its use.

    Parameters
    ----------
    url : str
        URL of the service.
    store : str
        Database address of the ledger.
    has_tokens : bool
        Whether requests need a token.
    """
    typer.echo(f"belated serves {hide_password(store)} at {url}; stop it with Ctrl-C.")
    typer.echo(f"Dashboard: {url}/ ; API description: {url}/openapi.json")
    if has_tokens:
        typer.echo("Every request needs a token: curl -H 'Authorization: Bearer belated_...'")
    else:
        typer.echo("WARNING: there are no tokens; everyone on this machine has full access.")
        typer.echo(f"To require tokens: {format_token_command(store)}")


def format_token_command(store: str) -> str:
    """Return the command that creates a token for the ledger at the address `store`."""
    return f"belated token create --scope admin --store {hide_password(store)}"
