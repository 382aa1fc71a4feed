"""`belated serve`: the service, in one process."""

import gc
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from belated.cli.token import DEFAULT, Store, open_ledger

if TYPE_CHECKING:
    import uvicorn

    from belated.ledger.ledger import Ledger

HOST: Final = "127.0.0.1"
PORT: Final = 8000
"""Where to listen, unless another place is asked for."""
GRACE: Final = 10
"""Seconds that open requests have at the end."""
CYCLES: Final = 10_000
"""How many more objects there must be before Python looks for those that hold only each other."""


def serve(
    store: Store = DEFAULT,
    host: Annotated[
        str,
        typer.Option(
            help="Where to listen. Any other address than this machine's own needs a token."
        ),
    ] = HOST,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = PORT,
    interval: Annotated[
        float,
        typer.Option(min=0.01, max=86400, help="Seconds between two looks at what has come back."),
    ] = 1.0,
    verbose: Annotated[bool, typer.Option(help="Log a line for each request.")] = False,
) -> None:
    """Serve policies and take in what comes back, until Ctrl-C.

    Without tokens it runs open, for a trial on this machine alone; `belated token create` makes
    one, and from then on every request needs one. Put it behind a proxy that speaks TLS.
    """
    with open_ledger(store) as ledger:
        with extra():
            from belated.service.auth import is_loopback
        check_host(host, store, local=is_loopback(host), ledger=ledger)
        logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
        logging.getLogger("belated.service").setLevel("INFO" if verbose else "WARNING")
        server = server_of(ledger, open=is_loopback(host), interval=interval, grace=GRACE)
        with listening(host, port) as listener:
            address = address_of(host, listener.getsockname()[1])
            tell(address, store, guarded=bool(ledger.tokens.all()))
            look_for_cycles_rarely()
            with ending_in_order():
                server.run(sockets=[listener])
    typer.echo(f"Stopped; everything is in {hidden(store)}.")


def look_for_cycles_rarely() -> None:
    """Requests leave next to none, and the search is long where many episodes are out."""
    gc.set_threshold(CYCLES)


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Let a server that was told to end return, so that the ledger is closed after it.

    It raises the signal again when it is done, which would end the process at once.
    """
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(one, lambda *_: None) for one in signals]
    try:
        yield
    finally:
        for one, handler in zip(signals, before, strict=True):
            signal.signal(one, handler)


@contextmanager
def extra() -> Iterator[None]:
    """Imports within that need what is not installed leave with a sentence."""
    try:
        yield
    except ImportError as error:
        raise typer.BadParameter(str(error)) from None


def server_of(ledger: "Ledger", *, open: bool, interval: float, grace: int) -> "uvicorn.Server":
    """A server of the service around a ledger.

    `open` lets it do without tokens as long as there are none. `grace` is how many seconds
    requests have that are open at the end.
    """
    with extra():
        import uvicorn

        from belated.online.host import Host
        from belated.service import Settings, create_app
    config = uvicorn.Config(
        create_app(ledger, Host(ledger, interval=interval), Settings(open=open)),
        log_config=None,
        log_level="warning",
        access_log=False,  # it would tell of ids and subjects
        server_header=False,
        timeout_graceful_shutdown=grace,
    )
    return uvicorn.Server(config)


def check_host(host: str, store: str, *, local: bool, ledger: "Ledger") -> None:
    """Refuse to be reached by others while nobody needs a token."""
    if local or any(token.revoked is None for token in ledger.tokens.all()):
        return
    raise typer.BadParameter(
        f"host is {host}, which others can reach, and there is no token; "
        f"make one first: {make_token(store)}",
        param_hint="'--host'",
    )


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(found[4][:2], family=found[0])
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise typer.BadParameter(
            f"{host}:{port} cannot be listened at: {why}. With --port 0 it takes one that is free.",
            param_hint="'--port'",
        ) from None
    # asyncio leaves this out for a socket that it is handed, and each answer would wait 40 ms
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def address_of(host: str, port: int) -> str:
    """Where a browser finds it.

    >>> address_of("::1", 8000)
    'http://[::1]:8000'
    """
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def tell(address: str, store: str, *, guarded: bool) -> None:
    """Say where it is and what to do next."""
    typer.echo(f"belated serves {hidden(store)} at {address}; stop it with Ctrl-C.")
    typer.echo(f"Dashboard: {address}/ ; what else it can do: {address}/openapi.json")
    if guarded:
        typer.echo("Every request needs a token: curl -H 'Authorization: Bearer belated_...'")
        return
    typer.echo("WARNING: there are no tokens, so whoever is on this machine may do anything.")
    typer.echo(f"Close it with: {make_token(store)}")


def make_token(store: str) -> str:
    """The command that makes a token for this store."""
    return f"belated token create --scope admin --store {hidden(store)}"


def hidden(store: str) -> str:
    """An address without its password.

    >>> hidden("postgresql://me:secret@host/belated")
    'postgresql+psycopg://me:***@host/belated'
    """
    from belated.ledger.store import parse_url

    return str(parse_url(store))
